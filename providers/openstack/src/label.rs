//! Words of the cloud as values of node labels.

/// The longest value of a label.
const LONGEST: usize = 63;

/// A value that may stand in a label as it is; `None` for every other.
pub(crate) fn valid(text: &str) -> Option<&str> {
    let is_end = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
    let is_good = text.len() <= LONGEST && text.chars().all(is_allowed);
    (is_good && is_end(text.chars().next()) && is_end(text.chars().next_back())).then_some(text)
}

/// A text with a dash for each run of characters that a label's value does not take, as the vendor's controller writes zones:
/// `zone 1` is `zone-1`. `None`, if nothing is left.
pub(crate) fn sanitised(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut is_run = false;
    for it in text.chars() {
        match is_allowed(it) {
            true => value.push(it),
            false if !is_run => value.push('-'),
            false => {}
        }
        is_run = !is_allowed(it);
    }
    let is_edge = |it: char| !it.is_ascii_alphanumeric();
    let value = value.trim_matches(is_edge);
    let value = value[..value.len().min(LONGEST)].trim_end_matches(is_edge);
    (!value.is_empty()).then(|| value.to_owned())
}

fn is_allowed(it: char) -> bool {
    it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openstack_019_a_flavour_with_a_space_is_no_label() {
        let long = "a".repeat(64);
        for text in ["m1.large", "a", "7", "A_b.c-d", &long[1..]] {
            assert_eq!(valid(text), Some(text));
        }
        for text in ["", "big one", "-a", "a.", "groß", &long] {
            assert_eq!(valid(text), None, "{text}");
        }
    }

    #[test]
    fn openstack_020_a_zone_becomes_a_label() {
        let long = format!("{}-.zone", "a".repeat(62));
        let table =
            [("nova", "nova"), ("zone 1", "zone-1"), (" zone  (1) ", "zone-1"), ("_a- b.", "a--b"), ("é1", "1")];
        for (zone, label) in table.into_iter().chain([(&*long, &*"a".repeat(62))]) {
            assert_eq!(sanitised(zone).as_deref(), Some(label), "{zone}");
        }
        assert_eq!((sanitised(""), sanitised(" ")), (None, None));
    }
}
