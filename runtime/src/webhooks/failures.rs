//! Over whose questions the provider crashed, and how many more of them each user may ask. No clock: times are arguments.
//!
//! A question may make the provider crash, or run until its CPU budget is gone, and whoever creates objects chooses what is
//! asked. So those over whose questions it crashed often wait, and nobody else does. A cloud that is silent is no user's doing.

use std::collections::HashMap;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use token_bucket::TokenBucket;
use tokio::time::Instant;

/// Crashes over questions of one user that nobody has to wait for. So many are asked side by side at most.
const CRASHES: u32 = 20;
/// After how long there may be one more, and how long such a user waits at most.
const PAUSE: Duration = Duration::from_secs(6);
/// So many users are told apart. Those who come when there are as many count as one.
const USERS: usize = 1024;
/// A provider that is busy for so long has lost its CPU budget (`provider.limits.cpu`, half a second by default): a question
/// that is given up later than this waited for the cloud.
pub(super) const BUSY: Duration = Duration::from_secs(2);

/// A caller: the digest of a name, which may be long. `None` are all for whom there is no room.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Caller(Option<[u8; 32]>);

/// The users who ask now, or over whose questions the provider crashed lately.
#[derive(Debug, Default)]
pub(super) struct Failures(HashMap<Caller, CallerRecord>);

#[derive(Debug)]
struct CallerRecord {
    /// A token is a crash.
    crashes: TokenBucket,
    /// Questions that are being asked: each may end with a crash.
    open: u32,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallEnd {
    /// With an answer, or because the cloud refused or failed.
    Answered,
    /// The provider crashed over it, or used up its CPU budget or its memory.
    Crashed,
    /// It was given up after this time.
    GivenUp(Duration),
}

impl Caller {
    /// By the name that the API server says.
    pub(super) fn named(name: &str) -> Self {
        Self(Some(Sha256::digest(name).into()))
    }
}

impl Failures {
    /// Whether a question of a user may be asked. Nothing is counted.
    ///
    /// # Errors
    ///
    /// How long it may not.
    pub(super) fn admit(&self, user: Caller, now: Instant) -> Result<(), Duration> {
        self.0.get(&self.known(user)).map_or(Ok(()), |it| it.admit(now))
    }

    /// Counts a question that is asked from now on. It has to be ended as the user that is returned.
    ///
    /// # Errors
    ///
    /// How long it may not be asked.
    pub(super) fn begin(&mut self, user: Caller, now: Instant) -> Result<Caller, Duration> {
        if self.0.len() >= USERS {
            self.0.retain(|_, it| it.open > 0 || !it.crashes.is_full(now));
        }
        let user = self.known(user);
        let asked = self.0.entry(user).or_insert_with(|| CallerRecord::new(now));
        asked.admit(now)?;
        asked.open += 1;
        Ok(user)
    }

    /// A question has ended.
    pub(super) fn end(&mut self, user: Caller, ended: CallEnd, now: Instant) {
        let Some(asked) = self.0.get_mut(&user) else { return };
        asked.open = asked.open.saturating_sub(1);
        if ended.counts() {
            // There was a token for each question that is open: nobody's debt grows beyond the burst.
            let _ = asked.crashes.try_take(now);
        }
    }

    /// The user as it is counted here: beyond as many as are told apart, one for all.
    fn known(&self, user: Caller) -> Caller {
        if self.0.len() >= USERS && !self.0.contains_key(&user) { Caller(None) } else { user }
    }
}

impl CallerRecord {
    fn new(now: Instant) -> Self {
        Self { crashes: TokenBucket::new(PAUSE, CRASHES, now), open: 0 }
    }

    /// Whether there is a token for one more question beside those that are open.
    fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut crashes = self.crashes;
        for _ in 0..self.open {
            crashes.reserve(now);
        }
        crashes.try_take(now)
    }
}

impl CallEnd {
    /// Whether it is the user's doing. One that is given up soon may have been busy: how long an API server waits, its user
    /// can say.
    fn counts(self) -> bool {
        match self {
            Self::Answered => false,
            Self::Crashed => true,
            Self::GivenUp(after) => after < BUSY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Caller {
        Caller::named(name)
    }

    /// A question that ends at once.
    fn ask(failures: &mut Failures, name: &str, ended: CallEnd, now: Instant) -> Result<(), Duration> {
        let user = failures.begin(user(name), now)?;
        failures.end(user, ended, now);
        Ok(())
    }

    #[test]
    fn adv_103_a_user_refused_often_waits_and_no_other_does() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for _ in 0..CRASHES {
            assert_eq!(ask(&mut failures, "mallory", CallEnd::Crashed, now), Ok(()));
        }
        assert_eq!(failures.admit(user("mallory"), now), Err(PAUSE));
        assert_eq!(failures.admit(user("alice"), now), Ok(()));
        let later = now + PAUSE;
        assert_eq!(ask(&mut failures, "mallory", CallEnd::Answered, later), Ok(()));
        assert_eq!(failures.admit(user("mallory"), later), Ok(()), "what is answered costs nothing");
        assert_eq!(ask(&mut failures, "mallory", CallEnd::Crashed, later), Ok(()));
        assert_eq!(failures.admit(user("mallory"), later), Err(PAUSE));
    }

    #[test]
    fn adv_103_questions_on_the_way_count_as_crashes() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let begun: Vec<_> = (0..100).filter_map(|_| failures.begin(user("mallory"), now).ok()).collect();
        assert_eq!(begun.len(), 20, "no more than may crash are asked side by side");
        assert_eq!(failures.begin(user("alice"), now).map(drop), Ok(()));
        begun.iter().for_each(|it| failures.end(*it, CallEnd::Crashed, now));
        assert_eq!(failures.admit(user("mallory"), now), Err(PAUSE), "the debt ends at the burst");
        let later = now + PAUSE;
        assert!(failures.begin(user("mallory"), later).is_ok());
        assert_eq!(failures.begin(user("mallory"), later), Err(PAUSE), "one more, and not as many as come at once");
    }

    #[test]
    fn adv_168_a_silent_cloud_is_no_users_doing() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for _ in 0..1_000 {
            assert_eq!(ask(&mut failures, "provisioner", CallEnd::GivenUp(BUSY), now), Ok(()));
            assert_eq!(ask(&mut failures, "provisioner", CallEnd::Answered, now), Ok(()));
        }
        assert_eq!(failures.admit(user("provisioner"), now), Ok(()));
        // A user who lets the API server wait for a moment only could spend each time what no crash counts.
        let soon = CallEnd::GivenUp(BUSY - Duration::from_millis(1));
        let asked = (0..1_000).filter(|_| ask(&mut failures, "mallory", soon, now).is_ok()).count();
        assert_eq!(asked, 20);
    }

    #[test]
    fn adv_168_no_user_waits_longer_than_a_pause() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for second in 0..1_000 {
            let now = now + Duration::from_secs(second);
            let _ = ask(&mut failures, "mallory", CallEnd::Crashed, now);
            let waits = failures.admit(user("mallory"), now).err().unwrap_or_default();
            assert!(waits <= PAUSE, "{waits:?} after {second} s");
        }
    }

    #[test]
    fn adv_103_users_without_end_are_one_user() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        for nth in 0..2 * USERS {
            let _ = ask(&mut failures, &format!("user-{nth}"), CallEnd::Crashed, now);
        }
        assert_eq!(failures.0.len(), USERS + 1);
        assert!(failures.admit(user("somebody"), now).is_err(), "over whoever is not known it crashed too often");
        assert_eq!(failures.admit(user("user-1"), now), Ok(()), "and who was refused once is told apart");
        let later = now + PAUSE;
        assert_eq!(ask(&mut failures, "somebody", CallEnd::Crashed, later), Ok(()), "those of long ago are forgotten");
        assert!(failures.0.len() <= 2, "{}", failures.0.len());
    }

    /// A value that can be copied owns no text, however long.
    fn is_copied(_: impl Copy + 'static) -> bool {
        true
    }

    #[test]
    fn adv_168_a_digest_of_a_long_name_is_kept() {
        let (mut failures, now) = (Failures::default(), Instant::now());
        let long = "ä".repeat(1 << 20);
        ask(&mut failures, &long, CallEnd::Crashed, now).unwrap();
        assert!(is_copied(user(&long)) && size_of::<Caller>() < 64, "a name of any length takes as much");
        // Names that begin alike are told apart.
        (1..CRASHES).for_each(|_| ask(&mut failures, &long, CallEnd::Crashed, now).unwrap());
        assert!(failures.admit(user(&long), now).is_err());
        assert_eq!(failures.admit(user(&format!("{long}-2")), now), Ok(()));
    }
}
