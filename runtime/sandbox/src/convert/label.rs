//! Labels that Kubernetes takes.

const NAME: usize = 63;
const PREFIX: usize = 253;

/// Whether `key` is a name with or without a DNS prefix: "topology.example.com/rack".
pub(super) fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Whether `value` is empty or a name.
pub(super) fn is_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(text: &str) -> bool {
    let edges = text.starts_with(|it: char| it.is_ascii_alphanumeric())
        && text.ends_with(|it: char| it.is_ascii_alphanumeric());
    edges && text.len() <= NAME && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
}

/// Whether `text` is a DNS name in lower case.
pub(crate) fn is_subdomain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
    };
    text.len() <= PREFIX && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for key in ["rack", "a", "A_b.c-9", "example.com/rack", "node.kubernetes.io/instance-type", &"x".repeat(63)] {
            assert!(is_key(key), "{key:?} was refused");
        }
        let long = format!("{}/x", "a".repeat(254));
        for key in [
            "",
            "-a",
            "a-",
            "a b",
            "a/b/c",
            "/a",
            "a/",
            "Example.com/a",
            "a..b/c",
            "-a.b/c",
            "é",
            &"x".repeat(64),
            &long,
        ] {
            assert!(!is_key(key), "{key:?} was taken");
        }
    }

    #[test]
    fn values() {
        assert!(is_value("") && is_value("s-1vcpu-1gb") && is_value("nyc3"));
        assert!(!is_value("a b") && !is_value(".a") && !is_value("a\n") && !is_value(&"x".repeat(64)));
    }
}
