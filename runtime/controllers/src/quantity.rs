//! Sizes as Kubernetes writes them: "10Gi", "1.5G", "1e9". Values only.

/// Suffixes, and the powers of ten and two that they stand for.
const SUFFIXES: [(&str, u32, u32); 13] = [
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
    ("", 0, 0),
];
/// The most digits of a number: further ones would be no size.
const DIGITS: usize = 30;

/// The bytes of a quantity, rounded up; `None` for what is none, is negative or is larger than any disk.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    if let Some(milli) = text.strip_suffix('m') {
        return ceil(digits(milli)?, 1_000);
    }
    let exponential = text.split_once(['e', 'E']).filter(|(_, it)| it.ends_with(|last: char| last.is_ascii_digit()));
    if let Some((number, exponent)) = exponential {
        let exponent: u32 = exponent.parse().ok().filter(|it| *it <= 18)?;
        return scaled(number, 10_u128.checked_pow(exponent)?);
    }
    let (suffix, ten, two) = SUFFIXES.into_iter().find(|(suffix, ..)| text.ends_with(suffix))?;
    scaled(text.strip_suffix(suffix)?, 10_u128.checked_pow(ten)? << two)
}

/// So many bytes with the largest suffix that divides them, as Kubernetes itself would write it.
pub(crate) fn binary(bytes: u64) -> String {
    let fits = |it: &&(&str, u32, u32)| it.1 == 0 && bytes != 0 && bytes.trailing_zeros() >= it.2;
    match SUFFIXES[..6].iter().rev().find(fits) {
        Some((suffix, _, two)) => format!("{}{suffix}", bytes >> two),
        None => bytes.to_string(),
    }
}

fn scaled(number: &str, scale: u128) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let all = digits(&format!("{whole}{part}"))?;
    ceil(all.checked_mul(scale)?, 10_u128.checked_pow(u32::try_from(part.len()).ok()?)?)
}

fn digits(text: &str) -> Option<u128> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let is_number = !text.is_empty() && text.len() <= DIGITS && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn ceil(number: u128, by: u128) -> Option<u64> {
    u64::try_from(number.div_ceil(by)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_kubernetes_reads_them() {
        for (text, expected) in [
            ("10Gi", Some(10 << 30)),
            ("1.5Gi", Some(3 << 29)),
            ("1G", Some(1_000_000_000)),
            ("0.5k", Some(500)),
            ("7", Some(7)),
            ("+7", Some(7)),
            ("1500m", Some(2)),
            ("1e9", Some(1_000_000_000)),
            ("1.5E3", Some(1_500)),
            ("1E", Some(1_000_000_000_000_000_000)),
            ("1Ei", Some(1 << 60)),
            ("16Ei", None),
            ("-1", None),
            ("", None),
            ("Gi", None),
            ("1 Gi", None),
            ("1GiB", None),
            ("1e99", None),
            ("1.2.3", None),
            ("99999999999999999999999999999999Ei", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }

    #[test]
    fn sizes_are_written_with_the_largest_suffix_that_divides_them() {
        for (number, text) in [
            (0, "0"),
            (1, "1"),
            (1_500, "1500"),
            (1 << 10, "1Ki"),
            (10 << 30, "10Gi"),
            (3 << 29, "1536Mi"),
            (1 << 60, "1Ei"),
        ] {
            assert_eq!((binary(number).as_str(), bytes(text)), (text, Some(number)));
        }
    }
}
