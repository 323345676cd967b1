//! Text that the provider parses itself, and the forms of ids, names and addresses that many clouds share.

use std::net::{IpAddr, Ipv4Addr};

use super::traits::Form;

/// Text that the provider parses itself: an id, a name, an address.
#[derive(Debug)]
pub struct Custom<T> {
    /// The allowed values. In an error they follow "is not".
    pub allowed: &'static str,
    /// Reads it; `None` if it is not allowed.
    pub parse: fn(&str) -> Option<T>,
}

impl<T> Clone for Custom<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Custom<T> {}

impl<T> Form for Custom<T> {
    type Value<'a> = T;

    fn parse(&self, text: &str) -> Option<T> {
        (self.parse)(text)
    }

    fn allowed(&self) -> String {
        self.allowed.to_owned()
    }
}

impl Custom<String> {
    /// A UUID in its usual form, in upper or lower case; it is read in lower case.
    #[must_use]
    pub const fn uuid(allowed: &'static str) -> Self {
        Self { allowed, parse: uuid }
    }

    /// An IPv4 or IPv6 network: an address, and how many of its bits count. It is read as it is.
    #[must_use]
    pub const fn cidr(allowed: &'static str) -> Self {
        Self { allowed, parse: cidr }
    }

    /// An IPv4 or IPv6 address. It is read as it is.
    #[must_use]
    pub const fn address(allowed: &'static str) -> Self {
        Self { allowed, parse: |text| text.parse::<IpAddr>().is_ok().then(|| text.to_owned()) }
    }

    /// An IPv4 address. It is read as it is.
    #[must_use]
    pub const fn ipv4(allowed: &'static str) -> Self {
        Self { allowed, parse: |text| text.parse::<Ipv4Addr>().is_ok().then(|| text.to_owned()) }
    }

    /// A path of a URL: it begins with a slash. It is read as it is.
    #[must_use]
    pub const fn path(allowed: &'static str) -> Self {
        Self { allowed, parse: |text| text.starts_with('/').then(|| text.to_owned()) }
    }

    /// A cloud's short name of a region or a size: lower-case letters, digits and dashes. It is read as it is.
    #[must_use]
    pub const fn slug(allowed: &'static str) -> Self {
        Self { allowed, parse: slug }
    }

    /// A name that the status of a Service can show (RFC 1123); it is read in lower case.
    #[must_use]
    pub const fn dns_name(allowed: &'static str) -> Self {
        Self { allowed, parse: dns_name }
    }
}

fn uuid(text: &str) -> Option<String> {
    let groups: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = groups.iter().map(|it| it.len()).collect();
    let hexadecimal = groups.iter().all(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
    (hexadecimal && lengths == [8, 4, 4, 4, 12]).then(|| text.to_ascii_lowercase())
}

fn slug(text: &str) -> Option<String> {
    let is_allowed = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    (!text.is_empty() && text.bytes().all(is_allowed)).then(|| text.to_owned())
}

fn cidr(text: &str) -> Option<String> {
    let (address, bits) = text.split_once('/')?;
    let longest = if address.parse::<IpAddr>().ok()?.is_ipv4() { 32 } else { 128 };
    bits.parse::<u8>().ok().filter(|it| *it <= longest).map(|_| text.to_owned())
}

fn dns_name(text: &str) -> Option<String> {
    let name = text.to_ascii_lowercase();
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let good = name.len() <= 253 && name.split('.').all(is_label) && name.parse::<IpAddr>().is_err();
    good.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: Custom<String>, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(form.parse(text).as_deref(), Some(*text), "{text}");
        }
        for text in bad {
            assert_eq!(form.parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_uuid_is_read_in_any_case() {
        let id = "4DE7AC8B-495B-4884-9A69-1050C6793CD6";
        assert_eq!(Custom::uuid("").parse(id), Some(id.to_ascii_lowercase()));
        let bad = ["", "4de7ac8b", "4de7ac8b-495b-4884-9a69-1050c6793cdg", "../../../../etc/passwd-0000-000000000"];
        check(Custom::uuid(""), &[], &bad);
    }

    #[test]
    fn a_network_has_bits_that_its_family_has() {
        let bad = ["10.0.0.0", "10.0.0.0/33", "2001:db8::/129", "10.0.0/8", "/8", "10.0.0.0/", "10.0.0.0/-1", "x/8"];
        check(Custom::cidr(""), &["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/128"], &bad);
    }

    #[test]
    fn an_address_is_one_of_its_family() {
        check(Custom::address(""), &["192.0.2.1", "2001:db8::1"], &["", "192.0.2", "192.0.2.1/32", "web"]);
        check(Custom::ipv4(""), &["192.0.2.1"], &["2001:db8::1", "300.0.0.1"]);
    }

    #[test]
    fn paths_and_slugs_have_their_characters() {
        check(Custom::path(""), &["/", "/healthz?a=b"], &["", "healthz"]);
        check(Custom::slug(""), &["nyc3", "s-2vcpu-4gb"], &["", "New York", "NYC3", "a/b"]);
    }

    #[test]
    fn a_dns_name_is_no_address() {
        let bad = ["", "192.0.2.1", "lb_1.example.com", "-lb.example.com", "lb..example.com"];
        check(Custom::dns_name(""), &["lb.example.com", "localhost"], &bad);
        assert_eq!(Custom::dns_name("").parse("LB.example.com").as_deref(), Some("lb.example.com"));
    }
}
