//! Names in Go for names in WIT.

/// The words that Go writes in another way than with one capital letter.
const WORDS: [(&str, &str); 15] = [
    ("cidr", "CIDR"),
    ("cidrs", "CIDRs"),
    ("dns", "DNS"),
    ("http", "HTTP"),
    ("id", "ID"),
    ("ids", "IDs"),
    ("ip", "IP"),
    ("ipv4", "IPv4"),
    ("ipv6", "IPv6"),
    ("sctp", "SCTP"),
    ("tcp", "TCP"),
    ("udp", "UDP"),
    ("uid", "UID"),
    ("url", "URL"),
    ("vip", "VIP"),
];

/// The words that Go keeps for itself.
const TAKEN: [&str; 3] = ["type", "range", "func"];

/// A name that others see: "provider-id" is `ProviderID`.
pub(super) fn public(name: &str) -> String {
    name.split('-').map(word).collect()
}

/// A parameter's name: "provider-ids" is `providerIDs`.
pub(super) fn parameter(name: &str) -> String {
    let (first, rest) = name.split_once('-').unwrap_or((name, ""));
    let name = format!("{first}{}", if rest.is_empty() { String::new() } else { public(rest) });
    if TAKEN.contains(&&*name) { format!("{name}_") } else { name }
}

fn word(word: &str) -> String {
    if let Some((_, known)) = WORDS.iter().find(|(it, _)| *it == word) {
        return (*known).to_owned();
    }
    let mut letters = word.chars();
    letters.next().map(|it| it.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_go() {
        for (name, expected) in [("provider-id", "ProviderID"), ("pod-cidrs", "PodCIDRs"), ("ip-mode", "IPMode")] {
            assert_eq!(public(name), expected);
        }
        assert_eq!(parameter("provider-ids"), "providerIDs");
        assert_eq!(parameter("type"), "type_");
    }
}
