//! The state of the route controller, from pass to pass.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use cloud_provider::Error;
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::error::{BackOff, Pause};
use crate::route::answers::{Rests, RouteRefusals};
use crate::route::brake::RouteCount;
use crate::route::conditions::NetworkStatus;
use crate::route::hops::Hops;
use crate::route::listed::KnownRoutes;
use crate::route::plan::SeenChanges;

/// The pauses after a list that failed, or was incomplete.
const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(5), longest: Duration::from_secs(300) };
/// The pause before a condition that could not be written is written again.
const REWRITE: Duration = Duration::from_secs(5);
/// A pass is made so often as long as routes are withheld: then more of them may go.
const WITHHELD: Duration = Duration::from_secs(60);

/// The state of the route controller, from pass to pass.
pub(super) struct PassState {
    /// The last list, corrected by answers since; `None` before the first.
    pub(super) routes: Option<KnownRoutes>,
    /// When all routes are listed again.
    pub(super) list_due: Instant,
    /// No list is made before, whoever needs one: the last one has failed.
    no_list_before: Instant,
    /// How many lists in a row have failed, or were incomplete.
    list_failures: u32,
    pub(super) rests: Rests,
    pub(super) hops: Hops,
    pub(super) seen: SeenChanges,
    pub(super) count: RouteCount,
    /// The networks that each node had at the last pass, by UID.
    pub(super) held: HashMap<String, Vec<Cidr>>,
    pub(super) refusals: RouteRefusals,
    /// New routes wait until then, because the cloud refused all of them.
    pub(super) full_until: Option<Instant>,
    /// Conditions that are still to be written, by node's name.
    pub(super) unwritten: BTreeMap<String, NetworkStatus>,
    /// The condition that was written last on each node, by name, and which version of the node was known then.
    pub(super) written: HashMap<String, (Option<String>, NetworkStatus)>,
    /// When another try is made to write.
    pub(super) rewrite: Option<Instant>,
    /// Whether routes are withheld.
    pub(super) withheld: Option<Instant>,
    /// When the last plan was made.
    pub(super) planned: Option<Instant>,
}

impl PassState {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            routes: None,
            list_due: now,
            no_list_before: now,
            list_failures: 0,
            rests: Rests::default(),
            hops: Hops::default(),
            seen: SeenChanges::default(),
            count: RouteCount::default(),
            held: HashMap::new(),
            refusals: RouteRefusals::default(),
            full_until: None,
            unwritten: BTreeMap::new(),
            written: HashMap::new(),
            rewrite: None,
            withheld: None,
            planned: None,
        }
    }

    /// Whether a list has to come first.
    pub(super) fn needs_list(&self, now: Instant) -> bool {
        let rests = self.rests.next(self.list_due, self.planned).is_some_and(|it| it.lists && it.at <= now);
        self.may_list(now) && (self.list_due <= now || rests)
    }

    /// Whether a list may be made now.
    pub(super) fn may_list(&self, now: Instant) -> bool {
        self.no_list_before <= now
    }

    /// A list was read that shows everything.
    pub(super) fn list_succeeded(&mut self, next: Instant) {
        self.list_failures = 0;
        self.list_due = next;
    }

    /// All machines were listed just now: a list that is due within `early` comes at once.
    pub(super) fn machines_listed(&mut self, early: Duration, now: Instant) {
        if self.list_failures == 0 && self.list_due.saturating_duration_since(now) <= early {
            self.list_due = self.list_due.min(now);
        }
    }

    /// A list failed, or may lack routes: another one comes after a pause, or when one is due.
    pub(super) fn list_failed(&mut self, error: Option<&Error>, next: Instant, now: Instant) {
        let pause = match error {
            Some(Error::RetryAfter { .. } | Error::Crashed { .. }) => error.map(|it| BACK_OFF.pause(0, it)),
            _ => None,
        };
        let (Pause::Exactly(pause) | Pause::AtLeast(pause)) =
            pause.unwrap_or(Pause::AtLeast(BACK_OFF.after(self.list_failures)));
        self.list_failures = self.list_failures.saturating_add(1);
        // A period that was given and is no longer than the longest pause is obeyed.
        let soon = next.saturating_duration_since(now) <= BACK_OFF.longest;
        self.list_due = if soon { next.max(now) } else { next.min(now + pause) };
        self.no_list_before = self.list_due;
    }

    /// The pass broke off: nobody knows what there is.
    pub(super) fn after_panic(&mut self, until: Instant) {
        (self.list_due, self.no_list_before) = (until, until);
        self.routes = None;
        self.rests.clear();
        self.hops = Hops::default();
    }

    /// The new credential may be allowed more: all refusals are forgotten.
    pub(super) fn credential_changed(&mut self, now: Instant) {
        self.rests.clear();
        self.hops.forget_errors();
        self.refusals.clear();
        self.full_until = None;
        self.list_failures = 0;
        (self.list_due, self.no_list_before) = (now, now);
    }

    /// The destinations that are of interest: those that a node has, and those that there are.
    pub(super) fn forget_others(&mut self, desired: &BTreeSet<Cidr>) {
        let listed: BTreeSet<Cidr> = self.routes.iter().flat_map(|it| &it.routes).map(|it| it.cidr).collect();
        self.rests.retain(|it| desired.contains(it) || listed.contains(it));
        self.refusals.retain(|it| desired.contains(it));
        // Whoever has the network now was seen, and what is not there cannot go.
        self.seen.gone.retain(|it| !desired.contains(it) && listed.contains(it));
    }

    /// When the next pass begins, if nothing happens before.
    pub(super) fn next(&self, warm_up: Instant) -> Instant {
        let rests = self.rests.next(self.list_due, self.planned);
        let rests = rests.map(|it| if it.lists { it.at.max(self.no_list_before) } else { it.at });
        let withheld = self.withheld.map(|it| if it < warm_up { warm_up } else { it + WITHHELD });
        let is_ahead = |it: &Instant| self.planned.is_none_or(|planned| *it > planned);
        let planned_for = [self.hops.next(), withheld, self.full_until].map(|it| it.filter(is_ahead));
        let due = [Some(self.list_due), rests, self.rewrite].into_iter().chain(planned_for);
        due.flatten().min().unwrap_or(self.list_due)
    }

    /// Conditions that could not be written are written again soon.
    pub(super) fn rewrite_at(&mut self, now: Instant) {
        self.rewrite = (!self.unwritten.is_empty()).then(|| now + REWRITE);
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::RouteOutcome;

    use super::*;
    use crate::route::EARLY;
    use crate::route::plan::{DesiredTarget, DestinationChange};

    const SECOND: Duration = Duration::from_secs(1);

    fn failed(state: &mut PassState, now: Instant) {
        answered(state, now, Err(Error::Unavailable("down".to_owned())));
    }

    /// The answer to the change that makes a route.
    fn answered(state: &mut PassState, now: Instant, answer: cloud_provider::Result<RouteOutcome>) {
        let change = DestinationChange {
            cidr: Cidr::parse("10.244.1.0/24").unwrap(),
            before: None,
            after: Some(DesiredTarget { node: "n1".to_owned(), hop: "hop-1".to_owned() }),
            is_braked: false,
        };
        state.rests.answered(&[(change, answer)], now, || 0.0);
    }

    #[test]
    fn case_189_a_failed_list_is_made_again_after_longer_pauses() {
        let begin = Instant::now();
        let (mut state, mut now) = (PassState::new(begin), begin);
        assert!(state.needs_list(now));
        let mut pauses = Vec::new();
        for _ in 0..8 {
            state.list_failed(Some(&Error::Unavailable("down".to_owned())), now + 600 * SECOND, now);
            // Whoever waits for one does not make it come sooner.
            failed(&mut state, now - 3600 * SECOND);
            assert!(!state.needs_list(now));
            let next = state.next(begin);
            pauses.push((next - now).as_secs());
            now = next;
            assert!(state.needs_list(now));
        }
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 300, 300]);
        state.list_succeeded(now + 600 * SECOND);
        state.rests.clear();
        assert_eq!(state.next(begin), now + 600 * SECOND);
    }

    #[test]
    fn case_189_a_short_period_is_kept_whatever_fails() {
        let now = Instant::now();
        let mut state = PassState::new(now);
        for _ in 0..5 {
            state.list_failed(Some(&Error::Unavailable("down".to_owned())), now + 10 * SECOND, now);
            assert_eq!(state.next(now), now + 10 * SECOND);
        }
    }

    /// When all routes are listed in three hours in which nothing changes, and whether all machines were listed at that
    /// moment. Each list is due `next` after the one before; all machines are listed each five minutes from `first` on.
    fn lists(next: Duration, first: Duration) -> Vec<(u64, bool)> {
        let begin = Instant::now();
        let (mut state, mut now, mut machines) = (PassState::new(begin), begin, begin + first);
        let mut lists = Vec::new();
        while now < begin + 3 * 3600 * SECOND {
            let is_shared = now == machines;
            if is_shared {
                state.machines_listed(EARLY, now);
                machines += 301 * SECOND;
            }
            if state.needs_list(now) {
                lists.push(((now - begin).as_secs(), is_shared));
                state.list_succeeded(now + next);
            }
            now = state.next(begin).min(machines);
        }
        lists
    }

    #[test]
    fn idle_hours_are_six_lists_beside_those_of_machines() {
        for (next, first) in [630, 645, 660].into_iter().flat_map(|next| (0..300).step_by(20).map(move |it| (next, it)))
        {
            let lists = lists(next * SECOND, first * SECOND);
            assert!(lists.len() <= 19, "with the one at the start, {next} and {first}: {lists:?}");
            assert!(lists.windows(2).all(|it| (530..=660).contains(&(it[1].0 - it[0].0))), "{lists:?}");
            assert!(lists[8..].iter().all(|it| it.1), "the two find each other, {next} and {first}: {lists:?}");
            assert!(first > 0 || lists.iter().all(|it| it.1), "and stay together: {lists:?}");
        }
    }

    #[test]
    fn waits_that_a_plan_has_seen_the_end_of_wake_nobody() {
        let begin = Instant::now();
        let mut state = PassState::new(begin);
        state.list_succeeded(begin + 600 * SECOND);
        let pending = RouteOutcome::Pending { after: 2 * SECOND, reason: "an operation".to_owned() };
        answered(&mut state, begin, Ok(pending));
        state.planned = Some(begin);
        assert_eq!(state.next(begin), begin + 2 * SECOND);
        // A list has shown the route before that, and so the change was not made again.
        state.planned = Some(begin + 2 * SECOND);
        assert_eq!(state.next(begin), begin + 600 * SECOND);
        // Nor do others.
        state.full_until = Some(begin + 3 * SECOND);
        state.withheld = Some(begin);
        assert_eq!(state.next(begin), begin + 3 * SECOND);
        state.planned = state.full_until;
        assert_eq!(state.next(begin), begin + WITHHELD);
        state.planned = Some(begin + WITHHELD);
        assert_eq!(state.next(begin), begin + 600 * SECOND);
    }

    #[test]
    fn waits_that_are_over_hide_no_list_that_is_needed() {
        let begin = Instant::now();
        let mut state = PassState::new(begin);
        state.list_succeeded(begin + 600 * SECOND);
        let pending = RouteOutcome::Pending { after: 2 * SECOND, reason: "an operation".to_owned() };
        answered(&mut state, begin, Ok(pending));
        state.planned = Some(begin + 2 * SECOND);
        let other = DestinationChange {
            cidr: Cidr::parse("10.244.2.0/24").unwrap(),
            before: None,
            after: None,
            is_braked: false,
        };
        let unclear = Err(Error::Unavailable("down".to_owned()));
        state.rests.answered(&[(other, unclear)], begin + 3 * SECOND, || 0.0);
        assert_eq!(state.next(begin), begin + 8 * SECOND);
        assert!(state.needs_list(begin + 8 * SECOND));
    }

    #[test]
    fn a_list_of_machines_brings_no_failed_list_forward() {
        let now = Instant::now();
        let mut state = PassState::new(now);
        state.list_failed(Some(&Error::Unavailable("down".to_owned())), now + 600 * SECOND, now);
        state.machines_listed(600 * SECOND, now + SECOND);
        assert!(!state.needs_list(now + SECOND));
        assert_eq!(state.next(now), now + 5 * SECOND);
        state.list_succeeded(now + 600 * SECOND);
        state.machines_listed(Duration::ZERO, now + 599 * SECOND);
        assert!(!state.needs_list(now + 599 * SECOND), "an operator's period is kept");
        state.machines_listed(60 * SECOND, now + 539 * SECOND);
        assert!(!state.needs_list(now + 539 * SECOND), "too early");
        state.machines_listed(60 * SECOND, now + 540 * SECOND);
        assert!(state.needs_list(now + 540 * SECOND));
    }

    #[test]
    fn another_credential_and_a_panic_begin_again() {
        let now = Instant::now();
        let mut state = PassState::new(now);
        state.list_failed(Some(&Error::Denied("no".to_owned())), now + 600 * SECOND, now);
        failed(&mut state, now);
        state.full_until = Some(now + 3600 * SECOND);
        state.credential_changed(now);
        assert!(state.needs_list(now) && state.full_until.is_none());
        state.routes = Some(KnownRoutes { routes: Vec::new(), began: now, incomplete: None });
        state.after_panic(now + 5 * SECOND);
        assert!(state.routes.is_none() && !state.needs_list(now));
        assert_eq!(state.next(now), now + 5 * SECOND);
    }
}
