//! Durations as Go writes them: `1h15m30.5s`, `500ms`, `0`.
//!
//! `kube::core::Duration` reads the same form, but is made for what an API server has checked: it panics at `5s-3s` and at
//! a time beyond what fits, takes the empty text for 0 and `--5s` for a duration, and its errors do not quote what was
//! written.

use std::time::Duration;

/// The units, longest spelling first where one begins another, in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// Reads a duration in Go's syntax. Negative ones are refused: nothing here has a use for them.
///
/// # Errors
///
/// A sentence that quotes `text` and shows the syntax.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("\"{text}\" is not a duration; write numbers with units, as in \"500ms\", \"30s\" or \"1h30m\"");
    if text.starts_with('-') {
        return Err(format!("\"{text}\" is a negative duration"));
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let (unit, factor) = UNITS
            .into_iter()
            .find(|(unit, _)| {
                rest.strip_prefix(unit).is_some_and(|after| !after.starts_with(|it: char| it.is_alphabetic()))
            })
            .ok_or_else(wrong)?;
        rest = &rest[unit.len()..];
        nanoseconds += number * factor;
    }
    // What Go can hold.
    if nanoseconds > i64::MAX as f64 {
        return Err(format!("\"{text}\" is longer than 292 years"));
    }
    Ok(Duration::from_nanos(nanoseconds as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_writes_is_read() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("15s", 15_000),
            ("5m0s", 300_000),
            ("12h0m0s", 43_200_000),
            ("1.5h", 5_400_000),
            ("1m30.25s", 90_250),
            (".5s", 500),
            ("+2s", 2_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(parse("7us"), Ok(Duration::from_micros(7)));
        assert_eq!(parse("7\u{b5}s"), Ok(Duration::from_micros(7)));
    }

    #[test]
    fn anything_else_is_refused_and_quoted() {
        for text in [
            "",
            "5",
            "s",
            "1d",
            "5 s",
            "1..2s",
            "-5s",
            "5sm",
            "1s2",
            "ten",
            "9999999999h",
            "5s-3s",
            "--5s",
            "99999999999999999999h",
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.contains(&format!("\"{text}\"")), "{error}");
        }
    }
}
