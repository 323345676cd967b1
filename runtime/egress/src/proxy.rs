//! A proxy through which connections lead (CONNECT, RFC 9110, 9.3.6), as the operator wrote it. Nothing of it is read from the
//! environment.

use std::fmt;
use std::path::PathBuf;

use crate::addresses::AllowedAddresses;
use crate::base_url::{BaseUrl, CanonicalHost, Origin};

/// A proxy, which opens connections when it is asked to.
///
/// It resolves the names of what is behind it: the address filter judges its own address, and behind it literals and the names of
/// the inside (loopback, metadata services, the cluster) alone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Proxy {
    /// Where it is.
    pub url: ProxyUrl,
    /// Which addresses its host may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust for an `https://` proxy; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The login that it asks for.
    pub login: Option<ProxyLogin>,
}

/// Files with a user and a password, read for each connection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProxyLogin {
    /// The user's name, on one line.
    pub user_file: PathBuf,
    /// The password, on one line.
    pub password_file: PathBuf,
}

/// The address of a proxy: `http://proxy.example.com:3128`, or `https://…` for TLS to the proxy itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProxyUrl(pub(crate) Origin);

impl ProxyUrl {
    /// Reads `http://host:port` or `https://host[:port]`.
    ///
    /// # Errors
    ///
    /// A sentence that says what is wrong and what to write instead. It does not repeat the URL, which may hold a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.split("://").nth(1).is_some_and(|it| it.contains('@')) {
            return Err("the URL has a user name; put it and the password into files, as `login`".to_owned());
        }
        let url = BaseUrl::parse_any(text)?;
        match url.path().is_empty() {
            true => Ok(Self(url.origin())),
            false => Err("the URL of a proxy has no path; remove it".to_owned()),
        }
    }
}

impl fmt::Display for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of a name that no proxy is asked for, because it means something else there, or the inside of a machine or a cluster;
/// `None` for others. Addresses are judged as everywhere.
pub(crate) fn inside(host: &CanonicalHost) -> Option<&'static str> {
    let CanonicalHost::Name(name) = host else { return None };
    let is_below = |parent: &str| name == parent || name.strip_suffix(parent).is_some_and(|it| it.ends_with('.'));
    if ["localhost", "localdomain"].into_iter().any(is_below) {
        return Some("loopback");
    }
    if ["metadata", "metadata.google.internal", "metadata.goog", "instance-data"].into_iter().any(is_below)
        || name.starts_with("instance-data.")
    {
        return Some("a metadata service");
    }
    let in_cluster = ["svc", "cluster.local", "kubernetes", "kubernetes.default"].into_iter().any(is_below);
    (in_cluster || name.contains(".svc.")).then_some("a name of the cluster")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_scheme_a_host_and_a_port() {
        for (text, shown) in [
            ("http://proxy.example.com:3128", "http://proxy.example.com:3128"),
            ("https://Proxy.Example.com/", "https://proxy.example.com"),
            ("http://10.0.0.7:8080", "http://10.0.0.7:8080"),
        ] {
            assert_eq!(ProxyUrl::parse(text).map(|it| it.to_string()), Ok(shown.to_owned()), "{text}");
        }
        for (text, because) in [
            ("http://user:sesame@proxy.example.com", "files"),
            ("http://proxy.example.com/path", "no path"),
            ("socks5://proxy.example.com", "http"),
            ("proxy.example.com:3128", "http"),
        ] {
            let error = ProxyUrl::parse(text).expect_err(text);
            assert!(error.contains(because) && !error.contains("sesame"), "{text}: {error}");
        }
    }

    #[test]
    fn adv_174_names_of_the_inside_are_asked_of_no_proxy() {
        let kind = |name: &str| inside(&CanonicalHost::Name(name.to_owned()));
        for name in ["localhost", "api.localhost", "metadata.google.internal", "metadata", "instance-data.ec2.internal"]
        {
            assert!(kind(name).is_some(), "{name}");
        }
        for name in ["kubernetes.default.svc", "kubernetes", "a.b.svc.cluster.local", "a.b.svc.example.org"] {
            assert_eq!(kind(name), Some("a name of the cluster"), "{name}");
        }
        for name in ["api.example.com", "svc.example.com", "metadata.example.com", "mylocalhost.example.com"] {
            assert_eq!(kind(name), None, "{name}");
        }
    }
}
