//! The forms of names, addresses and paths in annotations.

/// The longest name that the cloud takes.
const LONGEST_NAME: usize = 255;

/// A name that the cloud takes.
pub(super) fn name(text: &str) -> Option<String> {
    let good = text.len() <= LONGEST_NAME
        && text.starts_with(|it: char| it.is_ascii_alphanumeric())
        && text.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-'))
        && !text.ends_with('-');
    good.then(|| text.to_owned())
}

/// A name that may stand in the status of a Service, in lower case.
pub(super) fn dns_name(text: &str) -> Option<String> {
    let name = text.to_ascii_lowercase();
    let is_label = |it: &str| {
        (1..=63).contains(&it.len())
            && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
            && !it.starts_with('-')
            && !it.ends_with('-')
    };
    let good = name.len() <= 253 && name.split('.').all(is_label) && name.parse::<std::net::IpAddr>().is_err();
    good.then_some(name)
}

pub(super) fn ipv4(text: &str) -> Option<String> {
    text.parse::<std::net::Ipv4Addr>().is_ok().then(|| text.to_owned())
}

pub(super) fn path(text: &str) -> Option<String> {
    text.starts_with('/').then(|| text.to_owned())
}

/// A cookie's name: the cloud takes no shorter and no longer one.
pub(super) fn cookie_name(text: &str) -> Option<String> {
    (2..=40).contains(&text.len()).then(|| text.to_owned())
}
