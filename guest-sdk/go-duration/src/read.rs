//! The reading of durations.

use std::fmt::{Display, Formatter};
use std::time::Duration;

/// The units in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// As long as Go can hold, in nanoseconds.
const LONGEST: u64 = i64::MAX as u64;

/// A text that is no duration. Its `Display` quotes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Error<'a> {
    text: &'a str,
    reason: Fault,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    Syntax,
    Negative,
    TooLong,
}

/// Reads a duration in Go's syntax. Negative ones are refused: nothing here has a use for them.
///
/// # Errors
///
/// A sentence that quotes `text` and shows the syntax.
pub fn parse(text: &str) -> Result<Duration, Error<'_>> {
    let error = |reason| Error { text, reason };
    if text.starts_with('-') {
        return Err(error(Fault::Negative));
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(error(Fault::Syntax));
    }
    let mut nanoseconds = 0_u64;
    while !rest.is_empty() {
        let (term, after) = first(rest).ok_or(error(Fault::Syntax))?;
        nanoseconds = nanoseconds.saturating_add(term);
        rest = after;
    }
    if nanoseconds > LONGEST {
        return Err(error(Fault::TooLong));
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// The nanoseconds of the first number with its unit, and the rest.
fn first(text: &str) -> Option<(u64, &str)> {
    let (number, rest) = text.split_at(text.find(|it: char| !it.is_ascii_digit() && it != '.')?);
    let (unit, rest) = rest.split_at(rest.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(rest.len()));
    let (_, size) = UNITS.into_iter().find(|(it, _)| *it == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    Some((whole_of(whole).saturating_mul(size).saturating_add(fraction_of(fraction, size)), rest))
}

/// The number that these digits are, or one that is too long in every unit.
fn whole_of(digits: &str) -> u64 {
    digits.bytes().fold(0, |sum: u64, it| sum.saturating_mul(10).saturating_add(u64::from(it - b'0')))
}

/// The share of a unit of so many nanoseconds that these digits behind the point are; as in Go, less than one nanosecond is
/// nothing.
fn fraction_of(digits: &str, size: u64) -> u64 {
    digits.bytes().rev().fold(0, |less, it| (u64::from(it - b'0') * size + less) / 10)
}

impl Display for Error<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let text = self.text;
        match self.reason {
            Fault::Syntax => write!(
                f,
                "\"{text}\" is not a duration; write numbers with units, as in \"500ms\", \"30s\" or \"1h30m\""
            ),
            Fault::Negative => write!(f, "\"{text}\" is a negative duration"),
            Fault::TooLong => write!(f, "\"{text}\" is longer than 292 years"),
        }
    }
}

impl std::error::Error for Error<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_are_read() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500_000_000),
            ("300ms", 300_000_000),
            ("1s", 1_000_000_000),
            ("15s", 15_000_000_000),
            ("2m30s", 150_000_000_000),
            ("5m0s", 300_000_000_000),
            ("12h0m0s", 43_200_000_000_000),
            ("1.5s", 1_500_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1m30.25s", 90_250_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("+2s", 2_000_000_000),
            ("7us", 7_000),
            ("7\u{b5}s", 7_000),
            ("7\u{3bc}s", 7_000),
            ("1.9ns", 1),
            ("0.1s", 100_000_000),
            ("0.3333333333333333333333h", 1_199_999_999_999),
            ("9223372036854775807ns", 9_223_372_036_854_775_807),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_and_quoted() {
        for text in [
            "",
            "+",
            "5",
            "s",
            ".",
            ".s",
            "1d",
            "5 s",
            "5 days",
            "1..2s",
            "1.2.3s",
            "-5s",
            "-0",
            "5sm",
            "1s2",
            "1m30",
            "ten",
            "NaNs",
            "9223372036854775808ns",
            "9999999999h",
            "5s-3s",
            "--5s",
            "++5s",
            "99999999999999999999h",
            "99999999999999999999999999999999999999999999999999h",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(&format!("\"{text}\"")), "{error}");
        }
    }
}
