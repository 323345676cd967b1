//! Lengths of time within bounds.

use std::time::Duration;

use super::traits::Form;

/// A length of time within bounds: a whole number and `ms`, `s`, `m` or `h`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    least: Duration,
    most: Duration,
}

/// The units of a [`Span`] in milliseconds, the largest first.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Span {
    /// Both bounds are allowed.
    #[must_use]
    pub const fn between(least: Duration, most: Duration) -> Self {
        Self { least, most }
    }

    fn shown(duration: Duration) -> String {
        let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (unit, size) = UNITS.into_iter().find(|(_, size)| milliseconds % size == 0).unwrap_or(("ms", 1));
        format!("{}{unit}", milliseconds / size)
    }
}

impl Form for Span {
    type Value<'a> = Duration;

    fn parse(&self, text: &str) -> Option<Duration> {
        let (_, unit) = text.split_at(text.find(|it: char| !it.is_ascii_digit())?);
        UNITS.into_iter().find(|(it, _)| *it == unit)?;
        crate::go_duration::parse(text).ok().filter(|it| (self.least..=self.most).contains(it))
    }

    fn allowed(&self) -> String {
        format!("between {} and {}", Self::shown(self.least), Self::shown(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit() {
        let span = Span::between(Duration::from_millis(1), Duration::from_hours(2));
        for (text, milliseconds) in [("250ms", 250), ("90s", 90_000), ("5m", 300_000), ("1h", 3_600_000)] {
            assert_eq!(span.parse(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "15", "1.5s", "-1s", "1d", "3h", "0s", "99999999999999999999h", "5 m", "5µ"] {
            assert_eq!(span.parse(text), None, "{text}");
        }
        assert_eq!(span.allowed(), "between 1ms and 2h");
    }
}
