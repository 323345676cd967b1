//! Durations, in Go's spelling.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Reads `1.5s`, `300ms`, `2m30s`.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no duration")))
}

/// The same, where there may be none.
pub(super) fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    read(deserializer).map(Some)
}

fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let unit = rest[number..].find(|it: char| it.is_ascii_digit()).map_or(rest.len(), |it| number + it);
        let seconds = match &rest[number..unit] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        sum += Duration::try_from_secs_f64(rest[..number].parse::<f64>().ok()? * seconds).ok()?;
        rest = &rest[unit..];
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, milliseconds) in [("1s", 1000), ("300ms", 300), ("2m30s", 150_000), ("1.5s", 1500)] {
            assert_eq!(parse(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "5", "s", "5 days"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
