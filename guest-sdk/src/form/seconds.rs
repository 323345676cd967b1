//! Whole seconds, as a number or as Go writes a duration.

use super::traits::Form;

/// Whole seconds within bounds: a number of them, or a duration as Go writes it: `90`, `90s`, `1m30s`, `1.5m`.
#[derive(Clone, Copy, Debug)]
pub struct Seconds {
    least: u32,
    most: u32,
}

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
        let unsigned = Some(text).filter(|it| !it.starts_with('+'))?;
        let seconds = unsigned.parse().ok().or_else(|| duration(unsigned))?;
        (self.least..=self.most).contains(&seconds).then_some(seconds)
    }

    fn allowed(&self) -> String {
        format!("a time such as 30s, from {}s to {}s in whole seconds", self.least, self.most)
    }
}

/// The whole seconds of one of Go's durations.
fn duration(text: &str) -> Option<u32> {
    let duration = crate::go_duration::parse(text).ok()?;
    (duration.subsec_nanos() == 0 && !duration.is_zero()).then(|| u32::try_from(duration.as_secs()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_a_number_or_a_duration_of_go() {
        let form = Seconds::between(1, 7_200);
        for (text, seconds) in
            [("10", 10), ("10s", 10), ("1m30s", 90), ("1.5m", 90), ("2h", 7_200), ("3000ms", 3), (".5m", 30)]
        {
            assert_eq!(form.parse(text), Some(seconds), "{text}");
        }
        for text in [
            "",
            "0",
            "0s",
            "1500ms",
            "s",
            "10 s",
            "-1s",
            "+2s",
            "+2",
            "1d",
            "3h",
            "1m30",
            "1..5m",
            ".s",
            "99999999999h",
            "NaNs",
        ] {
            assert_eq!(form.parse(text), None, "{text}");
        }
        assert_eq!(form.allowed(), "a time such as 30s, from 1s to 7200s in whole seconds");
    }
}
