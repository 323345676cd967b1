//! Whole seconds, as a number or as Go writes a duration.

use super::traits::Form;

/// Whole seconds within bounds: a number of them, or a duration as Go writes it: `90`, `90s`, `1m30s`, `1.5m`.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    least: u32,
    most: u32,
}

/// The units of Go's durations in nanoseconds.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3_600e9),
];

impl Seconds {
    /// Both bounds are allowed.
    #[must_use]
    pub const fn between(least: u32, most: u32) -> Self {
        Self { least, most }
    }
}

impl Form for Seconds {
    type Value<'a> = u32;

    fn parse(&self, text: &str) -> Option<u32> {
        let seconds = text.parse().ok().or_else(|| duration(text))?;
        (self.least..=self.most).contains(&seconds).then_some(seconds)
    }

    fn allowed(&self) -> String {
        format!("a time such as 30s, from {}s to {}s in whole seconds", self.least, self.most)
    }
}

/// The whole seconds of one of Go's durations.
fn duration(mut text: &str) -> Option<u32> {
    let mut nanoseconds = 0.0;
    while !text.is_empty() {
        let unit = text.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let (number, rest) = text.split_at(unit);
        let end = rest.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(rest.len());
        let (unit, rest) = rest.split_at(end);
        let (_, size) = UNITS.into_iter().find(|(it, _)| *it == unit)?;
        nanoseconds += number.parse::<f64>().ok()? * size;
        text = rest;
    }
    let seconds = nanoseconds / 1e9;
    // Above this every number of seconds is out of bounds, and below it each is exact.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole, and within bounds")]
    (nanoseconds > 0.0 && seconds.fract() == 0.0 && seconds <= 4e9).then_some(seconds as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_number_or_a_duration_of_go() {
        let form = Seconds::between(1, 7_200);
        for (text, seconds) in [("10", 10), ("10s", 10), ("1m30s", 90), ("1.5m", 90), ("2h", 7_200), ("3000ms", 3)] {
            assert_eq!(form.parse(text), Some(seconds), "{text}");
        }
        for text in ["", "0", "0s", "1500ms", "s", "10 s", "-1s", "1d", "3h", "1m30", "1..5m", "99999999999h", "NaNs"] {
            assert_eq!(form.parse(text), None, "{text}");
        }
        assert_eq!(form.allowed(), "a time such as 30s, from 1s to 7200s in whole seconds");
    }
}
