//! The writing of durations.

use std::fmt::{Display, Formatter};
use std::time::Duration;

/// A duration whose `Display` is Go's.
#[derive(Clone, Copy, Debug)]
pub struct WrittenDuration(pub Duration);

impl Display for WrittenDuration {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let minutes = self.0.as_secs() / 60;
        let rest = self.0 - Duration::from_secs(minutes * 60);
        match (minutes / 60, minutes % 60) {
            (0, 0) => write!(f, "{rest:?}"),
            (0, minutes) => write!(f, "{minutes}m{}s", rest.as_secs_f64()),
            (hours, minutes) => write!(f, "{hours}h{minutes}m{}s", rest.as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_186_a_duration_is_written_as_go_writes_it() {
        for (duration, text) in [
            (Duration::ZERO, "0ns"),
            (Duration::from_nanos(1_234_567), "1.234567ms"),
            (Duration::from_micros(12), "12µs"),
            (Duration::from_millis(1500), "1.5s"),
            (Duration::from_secs(90), "1m30s"),
            (Duration::from_millis(150_250), "2m30.25s"),
            (Duration::from_secs(3661), "1h1m1s"),
        ] {
            assert_eq!(WrittenDuration(duration).to_string(), text);
        }
    }
}
