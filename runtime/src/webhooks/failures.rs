//! Whose questions the cloud could not answer, and how many more of them each user may ask. No clock: times are arguments.
//!
//! A question may make the provider crash, or run until its CPU budget is gone, and whoever creates objects chooses what is
//! asked. So those who were refused often wait, and nobody else does.

use std::collections::HashMap;
use std::time::Duration;

use token_bucket::TokenBucket;
use tokio::time::Instant;

/// Refused questions of one user that nobody has to wait for.
const REFUSED: u32 = 20;
/// After how long one more question of such a user may be refused.
const PAUSE: Duration = Duration::from_secs(6);
/// So many users are told apart. Those who come when there are as many count as one.
const USERS: usize = 1024;
/// So much of a user's name is remembered, in characters.
const NAME: usize = 256;

/// The users whose questions were refused lately.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<String, TokenBucket>);

impl Failures {
    /// Whether the cloud may be asked for a user.
    ///
    /// # Errors
    ///
    /// How long it may not.
    pub(super) fn admit(&self, user: &str, now: Instant) -> Result<(), Duration> {
        // Nothing is taken: only a question that is refused costs something.
        self.0.get(&self.key(user)).copied().map_or(Ok(()), |mut it| it.try_take(now))
    }

    /// A question of a user was refused.
    pub(super) fn refused(&mut self, user: &str, now: Instant) {
        if self.0.len() >= USERS {
            self.0.retain(|_, it| !it.is_full(now));
        }
        let bucket = self.0.entry(self.key(user)).or_insert_with(|| TokenBucket::new(PAUSE, REFUSED, now));
        bucket.reserve(now);
    }

    /// Under which name a user is remembered.
    fn key(&self, user: &str) -> String {
        let name: String = user.chars().take(NAME).collect();
        // Users of Kubernetes have a name: this one is nobody's.
        if self.0.len() >= USERS && !self.0.contains_key(&name) { String::new() } else { name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_103_who_is_refused_often_waits_and_nobody_else() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for _ in 0..REFUSED {
            assert_eq!(failures.admit("mallory", now), Ok(()));
            failures.refused("mallory", now);
        }
        assert_eq!(failures.admit("mallory", now), Err(PAUSE));
        assert_eq!(failures.admit("alice", now), Ok(()));
        let later = now + PAUSE;
        assert_eq!(failures.admit("mallory", later), Ok(()));
        assert_eq!(failures.admit("mallory", later), Ok(()), "what is not refused costs nothing");
        failures.refused("mallory", later);
        assert_eq!(failures.admit("mallory", later), Err(PAUSE));
    }

    #[test]
    fn adv_103_questions_on_the_way_count_when_they_are_refused() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        (0..2 * REFUSED).for_each(|_| failures.refused("mallory", now));
        assert_eq!(failures.admit("mallory", now), Err(PAUSE * (REFUSED + 1)));
    }

    #[test]
    fn adv_103_users_without_end_are_one_user() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for nth in 0..2 * USERS {
            failures.refused(&format!("user-{nth}"), now);
        }
        assert_eq!(failures.0.len(), USERS + 1);
        assert!(failures.admit("somebody", now).is_err(), "what is not known was refused too often");
        assert_eq!(failures.admit("user-1", now), Ok(()), "and who was refused once is told apart");
        let later = now + PAUSE;
        failures.refused("somebody", later);
        assert_eq!(failures.admit("user-1", later), Ok(()), "those of long ago are forgotten");
        assert_eq!(failures.admit(&"x".repeat(1 << 20), later), Ok(()));
        assert!(failures.0.keys().all(|it| it.len() <= NAME));
    }

    #[test]
    fn adv_103_of_a_long_name_only_the_beginning_is_kept() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        failures.refused(&"ä".repeat(1 << 20), now);
        let kept: Vec<_> = failures.0.keys().map(|it| it.chars().count()).collect();
        assert_eq!(kept, [NAME]);
    }
}
