//! Where an endpoint is: one spelling for each origin, so that origins can be compared.

use std::fmt;
use std::net::IpAddr;

use http::uri::Authority;
use rustls_pki_types::ServerName;

use crate::canonical;

/// An endpoint's base URL, in canonical form: scheme, host, port, and the path that requests are put under.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BaseUrl {
    origin: Origin,
    /// Unescaped segments.
    path: Vec<String>,
}

/// Scheme, host and port. Two are equal only if all three parts are.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Origin {
    scheme: Scheme,
    host: CanonicalHost,
    port: u16,
}

/// The schemes that an endpoint can have.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// A canonical host.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum CanonicalHost {
    /// Lower-case LDH labels without a trailing dot, the last of them not a number.
    Name(String),
    /// An address literal.
    Address(IpAddr),
}

impl BaseUrl {
    /// Reads `https://host[:port][/path]`.
    ///
    /// Refused are user names, queries, fragments, an empty port or port 0, hosts that are not plain ASCII names or
    /// address literals, and `http://` to anything but a loopback literal.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong and what to write instead. It does not repeat the URL, which may hold a
    /// password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Self::parse_any(text)?;
        if url.origin.scheme == Scheme::Http && !url.origin.is_loopback() {
            return Err("the URL begins with http://, which is only for loopback literals such as \
                        http://127.0.0.1:8080; write https://"
                .to_owned());
        }
        Ok(url)
    }

    /// The same, also for `http://` to another host, which the operator has called insecure.
    ///
    /// # Errors
    ///
    /// As [`BaseUrl::parse`], but for the scheme.
    pub fn parse_insecure(text: &str) -> Result<Self, String> {
        Self::parse_any(text)
    }

    /// The same, whatever the scheme is.
    pub(crate) fn parse_any(text: &str) -> Result<Self, String> {
        let (scheme, rest) = scheme(text)?;
        if let Some(odd) = rest.chars().find(|it| it.is_control() || it.is_whitespace() || *it == '\\') {
            return Err(format!("the URL holds the character {odd:?}; remove it"));
        }
        if rest.contains('#') {
            return Err("the URL has a fragment; remove everything from `#` on".to_owned());
        }
        if rest.contains('?') {
            return Err("the URL has a query; remove everything from `?` on".to_owned());
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let origin = Origin::parse_authority(scheme, authority)?;
        let path = path.trim_end_matches('/');
        let path = path.strip_prefix('/').map_or_else(Vec::new, |it| it.split('/').map(str::to_owned).collect());
        for segment in &path {
            if segment.contains('%') {
                return Err("the URL's path is percent-encoded; write it unescaped".to_owned());
            }
            canonical::segment(segment).map_err(|it| format!("the URL's path has a segment that {it}"))?;
        }
        Ok(Self { origin, path })
    }

    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// The same origin with another path.
    pub(crate) fn with_path(self, path: Vec<String>) -> Self {
        Self { path, ..self }
    }

    /// The unescaped segments that every request's path begins with.
    pub(crate) fn path(&self) -> &[String] {
        &self.path
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if self.path.is_empty() { Ok(()) } else { f.write_str(&canonical::encode_path(&self.path)) }
    }
}

impl Origin {
    /// Reads `https://host[:port]`, with or without one trailing slash.
    ///
    /// # Errors
    ///
    /// As [`BaseUrl::parse`], and for a path.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = BaseUrl::parse(text)?;
        if url.path.is_empty() { Ok(url.origin) } else { Err("an origin has no path; remove it".to_owned()) }
    }

    /// The same, also for `http://` to another host, which the operator has called insecure.
    ///
    /// # Errors
    ///
    /// As [`Origin::parse`], but for the scheme.
    pub fn parse_insecure(text: &str) -> Result<Self, String> {
        let url = BaseUrl::parse_any(text)?;
        if url.path.is_empty() { Ok(url.origin) } else { Err("an origin has no path; remove it".to_owned()) }
    }

    /// Whether the host is a loopback literal.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        matches!(self.host, CanonicalHost::Address(address) if address.is_loopback())
    }

    /// Whether the host is this address, written out.
    pub(crate) fn is_literal(&self, address: IpAddr) -> bool {
        matches!(self.host, CanonicalHost::Address(own) if own == address)
    }

    /// Host and, unless it is the scheme's own, port: what a request's authority is.
    pub(crate) fn authority(&self) -> Authority {
        let text = self.to_string();
        let text = text.split_once("://").map_or(text.as_str(), |(_, it)| it);
        text.parse().expect("a canonical host and port are an authority")
    }

    /// Host and port, whichever that is.
    pub(crate) fn authority_with_port(&self) -> Authority {
        format!("{}:{}", self.host, self.port).parse().expect("a canonical host and port are an authority")
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn host(&self) -> &CanonicalHost {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn parse_authority(scheme: Scheme, authority: &str) -> Result<Self, String> {
        if authority.contains('@') {
            return Err("the URL has a user name; credentials have a section of their own, remove it".to_owned());
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (inside, port) = rest.split_once(']').ok_or("the URL's host has `[` without `]`")?;
                let address = inside
                    .parse::<std::net::Ipv6Addr>()
                    .map_err(|_| "the URL's host in brackets is not an IPv6 address".to_owned())?;
                (CanonicalHost::Address(address.into()), port)
            }
            None => {
                let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
                (CanonicalHost::parse(host)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => scheme.default_port(),
            None => return Err("the URL has something between its host and its port".to_owned()),
            Some(digits) => port_number(digits)?,
        };
        Ok(Self { scheme, host, port })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.host)?;
        if self.port == self.scheme.default_port() { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

impl Scheme {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl CanonicalHost {
    /// The canonical form of a host that is not in brackets.
    ///
    /// Numbers are refused where a resolver would take them for an address: `127.1`, `0x7f000001`, `2130706433`.
    fn parse(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
            return Ok(Self::Address(address.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name.is_empty() {
            return Err("the URL has no host".to_owned());
        }
        if !name.is_ascii() {
            return Err("the URL's host is not ASCII; write its xn-- form".to_owned());
        }
        if name.len() > 253 {
            return Err("the URL's host is longer than 253 characters".to_owned());
        }
        for label in name.split('.') {
            let ldh = label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
            if !ldh || label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-') {
                return Err(format!(
                    "the URL's host has the label {label:?}; a label is 1 to 63 letters, digits and inner hyphens"
                ));
            }
        }
        let last = name.rsplit('.').next().unwrap_or(&name);
        if last.bytes().all(|it| it.is_ascii_digit()) || last.starts_with("0x") {
            return Err("the URL's host ends in a number without being an address in its usual form; write the \
                        name, or an address such as 192.0.2.7"
                .to_owned());
        }
        Ok(Self::Name(name))
    }
}

impl CanonicalHost {
    /// The name that a certificate must be for, and that SNI carries.
    pub(crate) fn server_name(&self) -> ServerName<'static> {
        match self {
            Self::Name(name) => ServerName::try_from(name.clone()).expect("canonical names are DNS names"),
            Self::Address(address) => ServerName::IpAddress((*address).into()),
        }
    }
}

impl fmt::Display for CanonicalHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

fn scheme(text: &str) -> Result<(Scheme, &str), String> {
    let (scheme, rest) = text.split_once("://").ok_or("the URL has no scheme; begin it with https://")?;
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok((Scheme::Https, rest)),
        "http" => Ok((Scheme::Http, rest)),
        _ => Err("the URL's scheme is not https; begin it with https://".to_owned()),
    }
}

fn port_number(digits: &str) -> Result<u16, String> {
    let plain = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    match digits.parse::<u16>() {
        Ok(port) if plain && port != 0 => Ok(port),
        _ => {
            Err("the URL's port is not a number from 1 to 65535; correct it, or leave it out with its colon".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_one_spelling() {
        for (text, canonical) in [
            ("https://api.example.com", "https://api.example.com"),
            ("HTTPS://API.Example.COM.", "https://api.example.com"),
            ("https://api.example.com:443/", "https://api.example.com"),
            ("https://api.example.com:08443", "https://api.example.com:8443"),
            ("https://192.0.2.7:6443", "https://192.0.2.7:6443"),
            ("https://[2001:DB8:0::7]", "https://[2001:db8::7]"),
            ("https://xn--mnchen-3ya.example", "https://xn--mnchen-3ya.example"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("https://api.example.com/v3/", "https://api.example.com/v3"),
        ] {
            assert_eq!(BaseUrl::parse(text).map(|it| it.to_string()).as_deref(), Ok(canonical), "{text}");
        }
    }

    #[test]
    fn a_base_url_that_is_not_plainly_an_origin_is_refused() {
        for (text, because) in [
            ("api.example.com", "no scheme"),
            ("ftp://api.example.com", "not https"),
            ("http://api.example.com", "http://"),
            ("http://10.0.0.1", "http://"),
            ("http://[::ffff:127.0.0.1]", "http://"),
            ("https://", "no host"),
            ("https://.", "no host"),
            ("https://user:word@api.example.com", "user name"),
            ("https://api.example.com?x=1", "query"),
            ("https://api.example.com/#x", "fragment"),
            ("https://api.example.com:", "port"),
            ("https://api.example.com:0", "port"),
            ("https://api.example.com:65536", "port"),
            ("https://api.example.com:+443", "port"),
            ("https://[::1", "without `]`"),
            ("https://[::1]x", "between its host and its port"),
            ("https://[fe80::1%25eth0]", "not an IPv6 address"),
            ("https://münchen.example", "xn--"),
            ("https://a_b.example", "label"),
            ("https://a..example", "label"),
            ("https://-a.example", "label"),
            ("https://2852039166", "ends in a number"),
            ("https://0xA9FEA9FE", "ends in a number"),
            ("https://169.254.43518", "ends in a number"),
            ("https://0251.0376.0251.0376", "ends in a number"),
            ("https://127.1", "ends in a number"),
            ("https://0", "ends in a number"),
            ("https://1.2.3.4.", "ends in a number"),
            ("https://api.example.com/a/../b", "segment"),
            ("https://api.example.com//b", "segment"),
            ("https://api.example.com/%2e%2e", "percent-encoded"),
            ("https://api.example.com\\@evil.test", "character"),
            ("https://api.example.com\n", "character"),
            ("https:// api.example.com", "character"),
        ] {
            let error = BaseUrl::parse(text).expect_err(text);
            assert!(error.contains(because), "{text}: {error}");
        }
    }

    #[test]
    fn a_label_and_a_name_have_a_longest_form() {
        let label = "a".repeat(63);
        assert!(BaseUrl::parse(&format!("https://{label}.example")).is_ok());
        assert!(BaseUrl::parse(&format!("https://{label}a.example")).is_err());
        let name = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert!(BaseUrl::parse(&format!("https://{name}")).is_ok(), "253 characters");
        assert!(BaseUrl::parse(&format!("https://{name}a")).is_err(), "254 characters");
    }
}
