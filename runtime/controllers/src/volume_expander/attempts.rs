//! What is remembered of the attempts to enlarge the volumes of claims. No client, no clock.

use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::Error as CloudError;
use tokio::time::Instant;

use super::plan::FailedSide;
use crate::error::SHOWN;

/// How long the cloud may be at work on a volume before a person is told.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// The attempts, by the names of their claims.
#[derive(Debug, Default)]
pub(super) struct GrowthAttempts(HashMap<String, GrowthAttempt>);

#[derive(Debug, Default)]
struct GrowthAttempt {
    /// The cloud has been at work since.
    since: Option<Instant>,
    /// The cloud has refused the last one.
    is_refused: bool,
    /// One that was infeasible is not repeated before.
    rests_until: Option<Instant>,
}

impl GrowthAttempts {
    /// Whether the cloud has refused the last attempt of this claim, so that nothing of it is under way.
    pub(super) fn is_refused(&self, claim: &str) -> bool {
        self.0.get(claim).is_some_and(|it| it.is_refused)
    }

    /// How long one that was infeasible on this side before has to rest. What a process before has found infeasible in the cloud rests
    /// first: after a restart not all of it is tried at once.
    pub(super) fn rest(&mut self, claim: &str, failed: FailedSide, now: Instant) -> Option<Duration> {
        let attempt = self.0.entry(claim.to_owned()).or_insert_with(|| GrowthAttempt {
            rests_until: (failed == FailedSide::Cloud).then_some(now + SHOWN),
            ..GrowthAttempt::default()
        });
        let rest = attempt.rests_until?.saturating_duration_since(now);
        (!rest.is_zero()).then_some(rest)
    }

    /// The cloud has answered an attempt with an error.
    pub(super) fn failed(&mut self, claim: &str, error: &CloudError, now: Instant) {
        let attempt = self.0.entry(claim.to_owned()).or_default();
        attempt.is_refused = matches!(error, CloudError::Invalid(_) | CloudError::Denied(_));
        attempt.rests_until = matches!(error, CloudError::Invalid(_)).then_some(now + SHOWN);
        attempt.since = attempt.since.filter(|_| !attempt.is_refused);
    }

    /// The cloud is at work. Returns whether it has been for so long that a person is told.
    pub(super) fn is_late(&mut self, claim: &str, now: Instant) -> bool {
        let attempt = self.0.entry(claim.to_owned()).or_default();
        attempt.is_refused = false;
        *attempt.since.get_or_insert(now) + PATIENCE <= now
    }

    /// The volume has grown, and the node may find it infeasible once more: it is not asked about again at once.
    pub(super) fn grown(&mut self, claim: &str, failed: Option<FailedSide>, now: Instant) {
        match failed {
            Some(FailedSide::Node) => {
                let rests_until = Some(now + SHOWN);
                self.0.insert(claim.to_owned(), GrowthAttempt { rests_until, ..GrowthAttempt::default() });
            }
            Some(FailedSide::Cloud) | None => self.forget(claim),
        }
    }

    /// Nothing is left to be done about a claim.
    pub(super) fn forget(&mut self, claim: &str) {
        self.0.remove(claim);
    }

    /// Nothing has to rest any more.
    pub(super) fn wake(&mut self) {
        self.0.values_mut().for_each(|it| it.rests_until = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn invalid() -> CloudError {
        CloudError::Invalid("no".to_owned())
    }

    /// Cases: csi 70
    #[test]
    fn infeasible_sizes_rest_between_two_attempts() {
        let (mut all, now) = (GrowthAttempts::default(), Instant::now());
        assert_eq!(all.rest("a", FailedSide::Cloud, now), Some(SHOWN), "a process before has tried it");
        assert_eq!(all.rest("a", FailedSide::Cloud, now + SHOWN - SECOND), Some(SECOND));
        assert_eq!(all.rest("a", FailedSide::Cloud, now + SHOWN), None);
        all.failed("a", &invalid(), now + SHOWN);
        assert_eq!(all.rest("a", FailedSide::Cloud, now + SHOWN), Some(SHOWN));
        all.wake();
        assert_eq!(all.rest("a", FailedSide::Cloud, now + SHOWN), None, "with another credential it may be otherwise");
        all.failed("a", &CloudError::Unavailable("busy".to_owned()), now);
        assert_eq!(all.rest("a", FailedSide::Cloud, now), None, "its pauses are those of every failure");
    }

    #[test]
    fn a_node_that_cannot_do_it_costs_a_question_now_and_then() {
        let (mut all, now) = (GrowthAttempts::default(), Instant::now());
        assert_eq!(all.rest("a", FailedSide::Node, now), None);
        all.grown("a", Some(FailedSide::Node), now);
        assert_eq!(all.rest("a", FailedSide::Node, now + SECOND), Some(SHOWN - SECOND));
        assert_eq!(all.rest("a", FailedSide::Node, now + SHOWN), None);
        all.grown("a", None, now);
        assert_eq!(all.rest("a", FailedSide::Node, now), None, "that was of another size");
    }

    #[test]
    fn a_refusal_ends_what_was_begun() {
        let (mut all, now) = (GrowthAttempts::default(), Instant::now());
        for (error, is_refused) in [
            (invalid(), true),
            (CloudError::Denied("quota".to_owned()), true),
            (CloudError::Unavailable("busy".to_owned()), false),
            (CloudError::RetryAfter { after: SECOND, reason: "rate".to_owned() }, false),
        ] {
            all.failed("a", &error, now);
            assert_eq!(all.is_refused("a"), is_refused, "{error:?}");
        }
        all.failed("a", &invalid(), now);
        assert!(!all.is_late("a", now) && !all.is_refused("a"), "it is under way again");
        assert!(!all.is_refused("b"));
    }

    #[test]
    fn a_person_is_told_of_what_takes_long() {
        let (mut all, now) = (GrowthAttempts::default(), Instant::now());
        assert_eq!([0, 299, 300].map(|it| all.is_late("a", now + it * SECOND)), [false, false, true]);
        all.failed("a", &invalid(), now);
        assert!(!all.is_late("a", now + PATIENCE), "that was another attempt");
        all.forget("a");
        assert!(!all.is_late("a", now + 2 * PATIENCE));
    }
}
