//! Consequences of the cloud's answers to changes: which routes there are now, and when to come back. No client, no
//! clock, no log: times are arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cloud_provider::{Error, Result, Route, RouteOutcome, RouteOwnership, RouteState};
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::error::{BackOff, Pause};
use crate::pending;
use crate::route::listed::ListedRoute;
use crate::route::plan::DestinationChange;

/// The pauses of a destination whose change fails.
const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(5), longest: Duration::from_secs(300) };
/// The shortest and the longest pause of a change that the cloud works on.
const PENDING: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(300));
/// How long such a pause becomes as long as the cloud gets nothing done, if it is not longer by itself.
const SLOWEST: Duration = Duration::from_secs(10);
/// How long a route is changed by the cloud before that is told.
const LONG: Duration = Duration::from_secs(900);
/// How much later than necessary a list may come, if one is due then anyway.
const SHARED: Duration = Duration::from_secs(10);
/// New routes of so many nodes, and no fewer, have to be refused in a row before the table counts as full: one node's may be
/// refused for what is wrong with that node.
const FULL: usize = 2;
/// How long no new route is tried then.
pub(super) const FULL_PAUSE: Duration = Duration::from_secs(3600);

/// A change, and what the cloud answered.
pub(super) type Answered = (DestinationChange, Result<RouteOutcome>);

/// The destinations that have to wait.
#[derive(Debug, Default)]
pub(super) struct Rests {
    by_cidr: BTreeMap<Cidr, Rest>,
    /// Since when changes are pending in each pass, none is done, and all are for the same reasons.
    standstill: Option<Instant>,
}

#[derive(Debug)]
struct Rest {
    /// The next hop of the change that waits; another change does not.
    hop: Option<String>,
    due: Instant,
    /// Why the change was pending, in the provider's words.
    pending: Option<String>,
    failures: u32,
    /// Whether a list has to come first: nobody knows what is there.
    needs_list: bool,
    /// Since when the cloud changes the route by itself, and whether that was told.
    changing: Option<(Instant, bool)>,
}

/// When something has to be done for a destination that waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct NextDue {
    pub(super) at: Instant,
    /// Whether that is a list.
    pub(super) lists: bool,
}

impl Rests {
    /// Takes note of a pass's answers. `jitter` gives numbers between 0 and 1.
    pub(super) fn answered(&mut self, answers: &[Answered], now: Instant, jitter: impl Fn() -> f64) {
        let is_pending = |it: &Answered| matches!(it.1, Ok(RouteOutcome::Pending { .. }));
        let gets_on = |(change, answer): &Answered| match answer {
            Ok(RouteOutcome::Done) => true,
            Ok(RouteOutcome::Pending { reason, .. }) => self.reason(change).is_some_and(|it| it != reason),
            Err(_) => false,
        };
        let waits = answers.iter().any(is_pending);
        if !waits || answers.iter().any(gets_on) {
            self.standstill = None;
        }
        if waits {
            self.standstill.get_or_insert(now);
        }
        answers.iter().for_each(|(change, answer)| self.one_answered(change, answer, now, jitter()));
    }

    fn one_answered(&mut self, change: &DestinationChange, answer: &Result<RouteOutcome>, now: Instant, jitter: f64) {
        let hop = change.hop().cloned();
        let before = self.by_cidr.remove(&change.cidr).filter(|it| it.hop == hop);
        let failures = before.map_or(0, |it| it.failures);
        let mut pending = None;
        let (pause, failures, needs_list) = match answer {
            Ok(RouteOutcome::Done) => return,
            Ok(RouteOutcome::Pending { after, reason }) => {
                pending = Some(reason.clone());
                (self.pending(*after, now), failures, false)
            }
            Err(error) => {
                let pause = match error {
                    // What is there is not what was expected: a list shows it.
                    Error::Invalid(_) => Pause::AtLeast(BACK_OFF.after(failures)),
                    error => BACK_OFF.pause(failures, error),
                };
                let pause = match pause {
                    Pause::Exactly(pause) => pause,
                    Pause::AtLeast(pause) => pause.mul_f64(1.0 + jitter / 10.0),
                };
                // Nothing was sent, or it was refused.
                let is_unchanged = matches!(error, Error::RetryAfter { .. } | Error::Denied(_));
                (pause, failures.saturating_add(1), !is_unchanged)
            }
        };
        self.by_cidr.insert(change.cidr, Rest { hop, due: now + pause, pending, failures, needs_list, changing: None });
    }

    /// The pause of a change that the cloud works on.
    fn pending(&self, asked: Duration, now: Instant) -> Duration {
        let waited = self.standstill.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        pending::pause(asked.clamp(PENDING.0, PENDING.1), waited, SLOWEST)
    }

    /// With which reason this same change was pending the last time.
    pub(super) fn reason(&self, change: &DestinationChange) -> Option<&String> {
        self.by_cidr.get(&change.cidr).filter(|it| it.hop.as_ref() == change.hop())?.pending.as_ref()
    }

    /// Whether the cloud works on a change about which it is not to be asked yet.
    pub(super) fn is_busy(&self, now: Instant) -> bool {
        self.by_cidr.values().any(|it| it.pending.is_some() && it.due > now)
    }

    /// Takes note of the destinations at which the cloud is busy. Returns those at which it has been for so long that
    /// somebody should look.
    pub(super) fn changing(&mut self, changing: &BTreeSet<Cidr>, now: Instant) -> Vec<Cidr> {
        self.by_cidr.retain(|cidr, rest| rest.changing.is_none() || changing.contains(cidr));
        let mut long = Vec::new();
        for cidr in changing {
            let rest = self.by_cidr.entry(*cidr).or_insert_with(|| Rest {
                hop: None,
                due: now,
                pending: None,
                failures: 0,
                needs_list: true,
                changing: None,
            });
            let (since, is_told) = rest.changing.unwrap_or((now, false));
            let is_long = now.saturating_duration_since(since) >= LONG;
            if is_long && !is_told {
                long.push(*cidr);
            }
            rest.changing = Some((since, is_told || is_long));
            if rest.due <= now {
                rest.due = now + BACK_OFF.after(rest.failures);
                rest.failures = rest.failures.saturating_add(1);
            }
        }
        long
    }

    /// Those that have to wait, and for which next hop.
    pub(super) fn resting(&self, now: Instant) -> BTreeMap<Cidr, Option<String>> {
        let waits = |it: &&Rest| it.changing.is_none() && (it.due > now || it.needs_list);
        self.by_cidr.iter().filter(|(_, it)| waits(it)).map(|(cidr, it)| (*cidr, it.hop.clone())).collect()
    }

    /// A list has shown what is there.
    pub(super) fn listed(&mut self) {
        self.by_cidr.values_mut().for_each(|it| it.needs_list = false);
    }

    /// The waits end: a credential has changed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets all destinations but these.
    pub(super) fn retain(&mut self, is_known: impl Fn(&Cidr) -> bool) {
        self.by_cidr.retain(|cidr, _| is_known(cidr));
    }

    /// When something has to be done, if the next list is due at `list` anyway: one that is needed a little earlier waits
    /// for it. A wait that was over at the last plan, at `planned`, wakes nobody: its change was made then, or is not wanted,
    /// or waits for something else.
    pub(super) fn next(&self, list: Instant, planned: Option<Instant>) -> Option<NextDue> {
        let next = |rest: &Rest| {
            let lists = rest.needs_list || rest.changing.is_some();
            let is_shared = lists && list >= rest.due && list - rest.due <= SHARED;
            NextDue { at: if is_shared { list } else { rest.due }, lists }
        };
        let is_ahead = |it: &NextDue| it.lists || planned.is_none_or(|planned| it.at > planned);
        self.by_cidr.values().map(next).filter(is_ahead).min_by_key(|it| (it.at, !it.lists))
    }
}

/// The routes after these answers, as far as they tell. A route that they do not mention is as it was.
pub(super) fn corrected(mut routes: Vec<ListedRoute>, answers: &[Answered]) -> Vec<ListedRoute> {
    let ownership = routes.iter().map(|it| it.route.ownership).find(|it| *it != RouteOwnership::Foreign);
    let ownership = ownership.unwrap_or(RouteOwnership::Ours);
    // Where no route has a name of its own, the next one has none either.
    let is_guess = routes.is_empty() || routes.iter().any(|it| it.is_guess || it.route.id != it.route.destination);
    for (change, answer) in answers {
        let DestinationChange { cidr, before, after, .. } = change;
        if *answer != Ok(RouteOutcome::Done) {
            continue;
        }
        if let Some(place) = routes.iter().position(|it| it.cidr == *cidr && Some(&it.route) == before.as_ref()) {
            routes.remove(place);
        }
        let Some(target) = after else { continue };
        let destination = cidr.to_string();
        let route = Route {
            next_hop: Some(target.hop.clone()),
            state: RouteState::Active,
            ownership: before.as_ref().map_or(ownership, |it| it.ownership),
            id: before.as_ref().map_or_else(|| destination.clone(), |it| it.id.clone()),
            destination,
            extra: Vec::new(),
        };
        routes.push(ListedRoute { cidr: *cidr, route, is_guess });
    }
    routes
}

/// Whether one of the changes is about a route that no list has shown as it is.
pub(super) fn rests_on_a_guess(changes: &[DestinationChange], routes: &[ListedRoute]) -> bool {
    let is_guess = |before: &Route| routes.iter().any(|it| it.is_guess && it.route == *before);
    changes.iter().filter_map(|it| it.before.as_ref()).any(is_guess)
}

/// The new routes that the cloud has refused since it last made one, or room for one. Nodes may join one by one: what counts is
/// not that they are refused together.
#[derive(Debug, Default)]
pub(super) struct RouteRefusals {
    /// The node that each destination is for.
    nodes: BTreeMap<Cidr, String>,
}

impl RouteRefusals {
    /// Takes note of a pass's answers. Returns the text of a refusal if the table looks as if it had no room: new routes of several
    /// nodes were refused in a row, one of them now.
    pub(super) fn answered<'a>(&mut self, answers: &'a [Answered]) -> Option<&'a str> {
        let creations = || answers.iter().filter(|(change, _)| change.is_creation());
        let is_made = creations().any(|(_, answer)| *answer == Ok(RouteOutcome::Done));
        if is_made || makes_room(answers) {
            self.clear();
        }
        if is_made {
            return None;
        }
        let refused = creations().filter_map(|(change, answer)| match answer {
            Err(Error::Invalid(text)) => Some((change.cidr, change.after.as_ref()?.node.clone(), text.as_str())),
            _ => None,
        });
        let mut texts = Vec::new();
        for (cidr, node, text) in refused {
            self.nodes.insert(cidr, node);
            texts.push(text);
        }
        let nodes: BTreeSet<_> = self.nodes.values().collect();
        texts.into_iter().next().filter(|_| nodes.len() >= FULL)
    }

    /// How many routes were refused.
    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Forgets all destinations but these.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&Cidr) -> bool) {
        self.nodes.retain(|cidr, _| is_wanted(cidr));
    }

    /// Something has changed: what was refused may be possible now.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }
}

/// Whether room was made: a route was deleted.
pub(super) fn makes_room(answers: &[Answered]) -> bool {
    answers.iter().any(|(change, answer)| change.after.is_none() && *answer == Ok(RouteOutcome::Done))
}

#[cfg(test)]
mod tests;
