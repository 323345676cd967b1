//! When a cloud that is busy is asked again: later and later, so that it is asked seldom if it takes long, and soon after it is
//! done if it does not. No client, no clock, no log.

use std::time::Duration;

/// How long the pause of a load balancer becomes, if it is not longer by itself.
pub(crate) const SLOWEST_LOAD_BALANCER: Duration = Duration::from_secs(5);

/// The pause of what the cloud has been busy with for `waited` so far, for one and the same reason: half of that, so that each
/// question comes later than the one before by half of its time. It is `asked` at least, and no longer than that and `slowest`.
pub(crate) fn pause(asked: Duration, waited: Duration, slowest: Duration) -> Duration {
    (waited / 2).min(slowest).max(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times of the questions about something that takes so long, after it has begun, and that of the one that finds it done.
    fn questions(takes: u64, asked: u64, slowest: u64) -> Vec<u64> {
        let (mut now, mut at) = (0, Vec::new());
        while at.last().is_none_or(|it| *it < takes) {
            let of = Duration::from_millis;
            now += pause(of(asked), of(now), of(slowest)).as_millis() as u64;
            at.push(now);
        }
        at
    }

    #[test]
    fn a_cloud_that_takes_long_is_asked_later_and_later() {
        assert_eq!(questions(1_000, 500, 5_000), [500, 1_000]);
        assert_eq!(questions(1_900, 500, 5_000), [500, 1_000, 1_500, 2_250]);
        assert_eq!(questions(6_000, 500, 5_000), [500, 1_000, 1_500, 2_250, 3_375, 5_062, 7_593]);
        assert_eq!(questions(12_000, 5_000, 5_000), [5_000, 10_000, 15_000], "as was asked for");
        assert_eq!(questions(40_000, 15_000, 5_000), [15_000, 30_000, 45_000], "what is longer by itself stays so");
        for takes in [700, 3_000, 9_000] {
            let (done, last) = (takes, *questions(takes, 500, 5_000).last().unwrap());
            assert!(last - done <= 500.max(done / 2), "{takes} ms are seen after {last} ms");
        }
    }

    #[test]
    fn a_minute_takes_a_few_questions_more_than_at_an_even_pace() {
        assert_eq!((questions(60_000, 500, 5_000).len(), questions(60_000, 5_000, 5_000).len()), (18, 12));
    }
}
