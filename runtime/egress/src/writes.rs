//! How much may be written with one credential in a while: as much as Kubernetes asks for, and a little more.
//!
//! A hostile module can make the host call it again and again, so that a limit for one call is not enough. All writes of
//! a credential are counted here, and those beyond the limits do not leave.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cloud_provider::{APPROVAL, Demand};
use http::StatusCode;
use parking_lot::{Mutex, MutexGuard};

use crate::effect::Effect;
use crate::policy::{Code, Denied, Permitted};
use crate::reports::{Report, Reports};

/// What Kubernetes asked for in a window of this length that ends now.
pub type Demands = Arc<dyn Fn(Duration) -> Demand + Send + Sync>;

/// What may be written with a credential: so much in any case, and so much for what Kubernetes asks for, whichever is more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WriteLimits {
    /// The time over which writes are counted.
    pub window: Duration,
    /// Deletions in a window.
    pub deletions: u32,
    /// Other writes in a window.
    pub creations: u32,
    /// Deletions for each change that Kubernetes asks for: of one object its own, and one that is repeated.
    pub deletions_per_change: u32,
    /// Other writes for each change, and for each Service or pod network that is new: of one object to build, to describe, and
    /// one that is repeated.
    pub creations_per_change: u32,
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(600),
            deletions: 20,
            creations: 50,
            deletions_per_change: 2,
            creations_per_change: 3,
        }
    }
}

/// What a write does in the cloud.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Deletion,
    /// Whatever else writes: nobody knows what a request makes or changes.
    Creation,
}

/// As what a request is counted: `None` if it only reads.
pub(crate) fn kind_of(permitted: &Permitted) -> Option<Kind> {
    match permitted.effect() {
        Effect::Read => None,
        Effect::Write => Some(Kind::Creation),
        Effect::Delete => Some(Kind::Deletion),
    }
}

/// Whether the cloud has certainly not done what it was asked for. 408 and 499 are said by those who gave up waiting.
pub(crate) fn was_refused(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 408 | 499)
}

/// The writes of one credential, or of one endpoint that has none.
pub(crate) struct Writes {
    /// In a sentence: `credential token`.
    whose: String,
    limits: WriteLimits,
    demands: Demands,
    reports: Reports,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    deletions: Count,
    creations: Count,
}

/// A write that is counted.
pub(crate) struct Place<'a> {
    writes: &'a Writes,
    kind: Kind,
    number: u64,
}

impl Writes {
    pub(crate) fn new(whose: String, limits: WriteLimits, demands: Demands, reports: Reports) -> Self {
        Self { whose, limits, demands, reports, counts: Mutex::default() }
    }

    /// Counts a write that is about to leave, or says why it must not.
    pub(crate) fn take(&self, kind: Kind, now: Instant) -> Result<Place<'_>, Denied> {
        let window = self.limits.window;
        let demand = (self.demands)(window);
        let limit = limit(kind, &self.limits, demand);
        let (taken, is_report_due) = {
            let mut counts = self.counts();
            let count = counts.of(kind);
            let taken = count.take(if demand.is_approved { u32::MAX } else { limit }, window, now);
            (taken, taken.is_err() && count.is_report_due(window, now))
        };
        taken.map(|number| Place { writes: self, kind, number }).map_err(|used| {
            let because = self.denial(kind, used, limit, demand);
            if is_report_due {
                tracing::error!("{because}");
                (self.reports)(Report::WritesWithheld(because.clone()));
            }
            Denied::new(Code::Writes, because)
        })
    }

    fn denial(&self, kind: Kind, used: usize, limit: u32, demand: Demand) -> String {
        let Demand { waiting, new, changes, .. } = demand;
        let (what, asked) = match kind {
            Kind::Deletion => ("deletions", format!("{changes} changes of Services and of pod networks")),
            Kind::Creation => (
                "creations and changes",
                format!(
                    "{changes} changes of Services and of pod networks, {new} new ones and {waiting} Services that wait \
                     for a load balancer"
                ),
            ),
        };
        let window = self.limits.window;
        format!(
            "{}: {used} {what} were sent in the last {window:?}, and no more than {limit} may be for {asked}: further \
             ones wait until the oldest are {window:?} old, or until the annotation {APPROVAL}: \"true\" on the Lease \
             lifts the limit for {window:?}",
            self.whose
        )
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock()
    }
}

impl Place<'_> {
    /// The write was certainly not carried out: it does not count.
    pub(crate) fn give_back(self) {
        self.writes.counts().of(self.kind).give_back(self.number);
    }
}

impl Counts {
    fn of(&mut self, kind: Kind) -> &mut Count {
        match kind {
            Kind::Deletion => &mut self.deletions,
            Kind::Creation => &mut self.creations,
        }
    }
}

impl Kind {
    /// As the metric says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Deletion => "deletion",
            Self::Creation => "creation",
        }
    }
}

/// The most writes of one kind in a window.
fn limit(kind: Kind, limits: &WriteLimits, demand: Demand) -> u32 {
    let Demand { waiting, new, changes, .. } = demand;
    match kind {
        Kind::Deletion => limits.deletions.max(changes.saturating_mul(limits.deletions_per_change)),
        Kind::Creation => {
            let asked = changes.saturating_add(new).saturating_add(waiting);
            limits.creations.max(asked.saturating_mul(limits.creations_per_change))
        }
    }
}

/// The writes of one kind in the last window. Its clock is an argument.
#[derive(Default)]
struct Count {
    /// Numbers and times, oldest first.
    taken: VecDeque<(u64, Instant)>,
    next: u64,
    reported: Option<Instant>,
}

impl Count {
    /// The number of a write, or how many there were already.
    fn take(&mut self, limit: u32, window: Duration, now: Instant) -> Result<u64, usize> {
        while self.taken.front().is_some_and(|(_, at)| now.saturating_duration_since(*at) >= window) {
            self.taken.pop_front();
        }
        if self.taken.len() >= limit as usize {
            return Err(self.taken.len());
        }
        self.next += 1;
        self.taken.push_back((self.next, now));
        Ok(self.next)
    }

    fn give_back(&mut self, number: u64) {
        if let Ok(index) = self.taken.binary_search_by_key(&number, |(it, _)| *it) {
            self.taken.remove(index);
        }
    }

    /// Whether people are to be informed that writes are withheld: once in a window.
    fn is_report_due(&mut self, window: Duration, now: Instant) -> bool {
        let is_due = self.reported.is_none_or(|it| now.saturating_duration_since(it) >= window);
        if is_due {
            self.reported = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How many of 10,000 writes leave, and what is said of the others.
    fn sent(kind: Kind, demand: Demand) -> (usize, Option<String>) {
        sent_within(WriteLimits::default(), kind, demand)
    }

    fn sent_within(limits: WriteLimits, kind: Kind, demand: Demand) -> (usize, Option<String>) {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = reported.clone();
        let reports = move |it| sink.lock().push(text(it));
        let writes = Writes::new("credential token".to_owned(), limits, Arc::new(move |_| demand), Arc::new(reports));
        let now = Instant::now();
        let sent = (0..10_000).filter(|_| writes.take(kind, now).is_ok()).count();
        let reported = reported.lock();
        assert!(reported.len() <= 1, "once in a window");
        (sent, reported.first().cloned())
    }

    fn text(report: Report) -> String {
        match report {
            Report::WritesWithheld(text) => text,
            Report::EndpointPaused(text) => panic!("{text}"),
        }
    }

    #[test]
    fn adv_104_without_changes_twenty_deletions_leave() {
        assert_eq!(sent(Kind::Deletion, Demand { waiting: 400, new: 400, ..Demand::default() }).0, 20);
        assert_eq!(sent(Kind::Deletion, Demand { changes: 10, ..Demand::default() }).0, 20);
        assert_eq!(sent(Kind::Deletion, Demand { changes: 11, ..Demand::default() }).0, 22);
    }

    #[test]
    fn adv_104_without_services_fifty_creations_leave() {
        assert_eq!(sent(Kind::Creation, Demand::default()).0, 50);
        assert_eq!(sent(Kind::Creation, Demand { waiting: 10, new: 4, changes: 3, is_approved: false }).0, 51);
    }

    #[test]
    fn adv_104_twenty_node_changes_of_fifty_services_pass() {
        let demand = Demand { changes: 50 * 20, ..Demand::default() };
        assert!(sent(Kind::Deletion, demand).0 >= 50 * 20);
        assert!(sent(Kind::Creation, demand).0 >= 50 * 20);
    }

    #[test]
    fn adv_104_each_change_counts_for_as_many_writes_as_it_takes() {
        let limits = WriteLimits { deletions_per_change: 10, creations_per_change: 20, ..WriteLimits::default() };
        let demand = Demand { waiting: 4, new: 3, changes: 3, is_approved: false };
        assert_eq!(sent_within(limits, Kind::Deletion, demand).0, 30);
        assert_eq!(sent_within(limits, Kind::Creation, demand).0, 200);
        assert_eq!(sent_within(limits, Kind::Deletion, Demand::default()).0, 20, "without changes it is as before");
    }

    #[test]
    fn adv_104_an_approval_lifts_the_limit() {
        let demand = Demand { is_approved: true, ..Demand::default() };
        assert_eq!(sent(Kind::Deletion, demand), (10_000, None));
        assert_eq!(sent(Kind::Creation, demand), (10_000, None));
    }

    #[test]
    fn adv_104_a_denial_says_how_many_and_what_frees_it() {
        let (_, reported) = sent(Kind::Deletion, Demand { changes: 3, ..Demand::default() });
        let reported = reported.expect("it is reported");
        let asked = "3 changes of Services and of pod networks";
        for part in ["credential token: 20 deletions", "last 600s", asked, APPROVAL, "on the Lease"] {
            assert!(reported.contains(part), "{reported}");
        }
        let (_, reported) = sent(Kind::Creation, Demand { waiting: 2, new: 5, changes: 3, is_approved: false });
        let reported = reported.expect("it is reported");
        let asked =
            "3 changes of Services and of pod networks, 5 new ones and 2 Services that wait for a load balancer";
        assert!(reported.contains(asked), "{reported}");
    }

    #[test]
    fn adv_104_the_window_slides() {
        let (mut count, start, window) = (Count::default(), Instant::now(), 10 * SECOND);
        let times = 0..30_u32;
        let sent = times.map(|it| start + it * SECOND).filter(|now| count.take(2, window, *now).is_ok());
        let sent: Vec<_> = sent.map(|it| (it - start).as_secs()).collect();
        assert_eq!(sent, [0, 1, 10, 11, 20, 21], "never more than two in any ten seconds");
    }

    #[test]
    fn adv_104_what_was_refused_gives_its_place_back() {
        let (mut count, now) = (Count::default(), Instant::now());
        let numbers = [(); 3].map(|()| count.take(3, SECOND, now).unwrap());
        assert_eq!(count.take(3, SECOND, now), Err(3));
        count.give_back(numbers[1]);
        count.give_back(numbers[1]);
        assert!(count.take(3, SECOND, now).is_ok());
        assert_eq!(count.take(3, SECOND, now), Err(3), "one place for one that was given back");
        let late = now + SECOND;
        assert!(count.take(1, SECOND, late).is_ok());
        count.give_back(numbers[0]);
        assert_eq!(count.take(1, SECOND, late), Err(1), "its place was free already");
    }

    #[test]
    fn adv_104_withheld_writes_are_reported_once_in_a_window() {
        let (mut count, start) = (Count::default(), Instant::now());
        let reported = (0..60_u32).filter(|it| count.is_report_due(20 * SECOND, start + *it * SECOND));
        assert_eq!(reported.collect::<Vec<_>>(), [0, 20, 40]);
    }

    #[test]
    fn adv_104_what_may_have_been_done_counts() {
        for (status, refused) in
            [(200, false), (202, false), (303, false), (400, true), (403, true), (404, true), (408, false)]
                .into_iter()
                .chain([(409, true), (422, true), (429, true), (499, false), (500, false), (503, false)])
        {
            assert_eq!(was_refused(StatusCode::from_u16(status).unwrap()), refused, "{status}");
        }
    }
}
