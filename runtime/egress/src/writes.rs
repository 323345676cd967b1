//! How much may be written with one credential in a while: as much as Kubernetes asks for, and a little more.
//!
//! A hostile module can make the host call it again and again, so that a limit for one call is not enough. All writes of
//! a credential are counted here, and those beyond the limits do not leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use budgets::{Count, Refusal, WriteAges, WriteKind, WriteLimits};
use cloud_provider::Demand;
use http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::effect::Effect;
use crate::reports::{Report, Reports};

/// The changes that Kubernetes asked for in a window of this length that ends now.
pub type Demands = Arc<dyn Fn(Duration) -> Demand + Send + Sync>;

/// How long a write waits until a record that covers it is stored.
const RECORD: Duration = Duration::from_secs(10);

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
    records: Arc<Records>,
    counts: Mutex<WriteCountsByKind>,
}

#[derive(Default)]
struct WriteCountsByKind {
    /// Until when it is not known what processes before have sent.
    filled_until: Option<Instant>,
    deletions: Count,
    creations: Count,
    detachments: Count,
    updates: Count,
}

/// Whether records of what was written are stored outside of this process, and when.
#[derive(Default)]
pub(crate) struct Records {
    /// Whether they are at all.
    is_kept: AtomicBool,
    /// A write waits for one.
    due: Notify,
    /// How many were stored.
    stored: watch::Sender<u64>,
}

/// A write that is counted.
pub(crate) struct CountedWrite<'a> {
    writes: &'a Writes,
    kind: WriteKind,
    number: u64,
}

/// Why a write is not counted, and does not leave.
#[derive(Debug)]
pub(crate) enum NotTaken {
    /// It is beyond the limits, in a sentence.
    Withheld(String),
    /// No record that covers it could be stored.
    Unrecorded,
}

impl Writes {
    pub(crate) fn new(
        whose: String,
        limits: WriteLimits,
        demands: Demands,
        reports: Reports,
        records: Arc<Records>,
    ) -> Self {
        Self { whose, limits, demands, reports, records, counts: Mutex::default() }
    }

    /// Counts a write that is about to leave, or says why it must not. Where records are kept it waits for one that covers it.
    pub(crate) async fn take(&self, kind: WriteKind) -> Result<CountedWrite<'_>, NotTaken> {
        let mut stored = self.records.stored.subscribe();
        loop {
            match self.try_take(kind, Instant::now()) {
                Ok(place) => return Ok(place),
                Err(Refusal::Used(used)) => return Err(self.withhold(kind, used)),
                Err(Refusal::Unrecorded) => self.records.due.notify_one(),
            }
            match timeout(RECORD, stored.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(NotTaken::Unrecorded),
            }
        }
    }

    fn try_take(&self, kind: WriteKind, now: Instant) -> Result<CountedWrite<'_>, Refusal> {
        let window = self.limits.window;
        let demand = (self.demands)(window);
        let limit = if demand.is_approved { u32::MAX } else { self.most(kind, demand, now) };
        let is_kept = self.records.is_kept.load(Ordering::Relaxed);
        let number = self.counts().of(kind).take(limit, window, now, is_kept)?;
        Ok(CountedWrite { writes: self, kind, number })
    }

    fn withhold(&self, kind: WriteKind, used: usize) -> NotTaken {
        let window = self.limits.window;
        let (demand, now) = ((self.demands)(window), Instant::now());
        let because = self.denial(kind, used, self.most(kind, demand, now), demand);
        if self.counts().of(kind).is_report_due(window, now) {
            tracing::error!("{because}");
            (self.reports)(Report::WritesWithheld(because.clone()));
        }
        NotTaken::Withheld(because)
    }

    fn most(&self, kind: WriteKind, demand: Demand, now: Instant) -> u32 {
        let is_filled = self.counts().filled_until.is_some_and(|it| now < it);
        self.limits.most(kind, demand, is_filled)
    }

    /// Why no more leave, as a sentence without its full stop.
    fn denial(&self, kind: WriteKind, used: usize, limit: u32, demand: Demand) -> String {
        let Demand { waiting, new, changes, .. } = demand;
        let Self { whose, limits: WriteLimits { window, .. }, .. } = self;
        let effect = match kind {
            WriteKind::Deletion => Effect::Delete,
            WriteKind::Creation => Effect::Write,
            WriteKind::Detachment => Effect::Detach,
            WriteKind::Update => Effect::Update,
        };
        let mut asked = format!("{changes} changes of Services and of pod networks");
        if kind != WriteKind::Deletion {
            asked += &format!(", {new} new ones and {waiting} Services that wait for a load balancer");
        }
        format!(
            "{whose}: {used} {} (effect: {}) were sent in the last {window:?}, and no more than {limit} may be for {asked}: \
             further ones wait until the oldest are {window:?} old, or until the annotation {}: \"true\" on the Lease lifts \
             the limit for {window:?}; limits.{} of the credential raises it",
            kind.many(),
            effect,
            cloud_provider::APPROVAL,
            kind.key()
        )
    }

    /// In a sentence: `credential token`.
    pub(crate) fn whose(&self) -> &str {
        &self.whose
    }

    /// The time over which writes are counted.
    pub(crate) fn window(&self) -> Duration {
        self.limits.window
    }

    /// The record to be stored of one kind, and the number up to which it covers.
    pub(crate) fn record(&self, kind: WriteKind, now: Instant, is_last: bool) -> (WriteAges, u64) {
        let recorded = self.counts().of(kind).record(self.limits.window, now, is_last);
        (recorded.ages, recorded.covers)
    }

    /// A record is stored that covers one kind up to this number.
    pub(crate) fn stored(&self, kind: WriteKind, covers: u64) {
        self.counts().of(kind).stored(covers);
    }

    /// Counts what processes before have written.
    pub(crate) fn restore(&self, kind: WriteKind, ages: &[(Duration, u32)], now: Instant) {
        self.counts().of(kind).restore(ages, self.limits.window, now);
    }

    /// Counts as much as may be written in any case, as if it had been written now. For a window, what Kubernetes asks for comes on
    /// top.
    pub(crate) fn fill(&self, now: Instant) {
        for kind in WriteKind::ALL {
            self.restore(kind, &[(Duration::ZERO, self.limits.most(kind, Demand::default(), false))], now);
        }
        self.counts().filled_until = Some(now + self.limits.window);
    }

    fn counts(&self) -> MutexGuard<'_, WriteCountsByKind> {
        self.counts.lock()
    }
}

impl Records {
    /// From now on a write leaves only once a stored record covers it.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Relaxed);
    }

    /// Ends when a write waits for a record.
    pub(crate) async fn due(&self) {
        self.due.notified().await;
    }

    /// A record was stored.
    pub(crate) fn stored(&self) {
        self.stored.send_modify(|it| *it += 1);
    }
}

impl CountedWrite<'_> {
    /// The write was certainly not carried out: it does not count.
    pub(crate) fn give_back(self) {
        self.writes.counts().of(self.kind).give_back(self.number);
    }
}

impl WriteCountsByKind {
    fn of(&mut self, kind: WriteKind) -> &mut Count {
        match kind {
            WriteKind::Deletion => &mut self.deletions,
            WriteKind::Creation => &mut self.creations,
            WriteKind::Detachment => &mut self.detachments,
            WriteKind::Update => &mut self.updates,
        }
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::APPROVAL;
    use futures::FutureExt as _;

    use super::*;

    /// How many of 10,000 writes leave, and what is said of the others.
    fn sent(kind: WriteKind, demand: Demand) -> (usize, Option<String>) {
        sent_within(WriteLimits::default(), kind, demand)
    }

    fn sent_within(limits: WriteLimits, kind: WriteKind, demand: Demand) -> (usize, Option<String>) {
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = reported.clone();
        let reports = move |it| sink.lock().push(text(it));
        let (whose, demands, reports) = ("credential token".to_owned(), Arc::new(move |_| demand), Arc::new(reports));
        let writes = Writes::new(whose, limits, demands, reports, Arc::default());
        let sent = (0..10_000).filter(|_| writes.take(kind).now_or_never().is_some_and(|it| it.is_ok())).count();
        let reported = reported.lock();
        assert!(reported.len() <= 1, "once in a window");
        (sent, reported.first().cloned())
    }

    fn text(report: Report) -> String {
        match report {
            Report::WritesWithheld(text) => text,
            Report::EndpointPaused(text) | Report::EndpointUnreachable(text) => panic!("{text}"),
        }
    }

    #[test]
    fn adv_104_without_changes_twenty_deletions_leave() {
        assert_eq!(sent(WriteKind::Deletion, Demand { waiting: 400, new: 400, ..Demand::default() }).0, 20);
        assert_eq!(sent(WriteKind::Deletion, Demand { changes: 10, ..Demand::default() }).0, 20);
        assert_eq!(sent(WriteKind::Deletion, Demand { changes: 11, ..Demand::default() }).0, 22);
    }

    #[tokio::test]
    async fn adv_162_an_unreadable_record_withholds_nothing_asked_for() {
        let demand = Demand { changes: 3, new: 2, ..Demand::default() };
        let reports = Arc::new(|_: Report| ());
        let writes =
            Writes::new("it".to_owned(), WriteLimits::default(), Arc::new(move |_| demand), reports, Arc::default());
        writes.fill(Instant::now());
        let mut sent = [0; 4];
        for (kind, sent) in WriteKind::ALL.into_iter().zip(&mut sent) {
            while writes.take(kind).await.is_ok() {
                *sent += 1;
            }
        }
        assert_eq!(sent, [6, 15, 15, 25], "deletions, creations, detachments, updates");
    }

    #[test]
    fn adv_104_without_services_fifty_creations_leave() {
        assert_eq!(sent(WriteKind::Creation, Demand::default()).0, 50);
        assert_eq!(sent(WriteKind::Creation, Demand { waiting: 10, new: 4, changes: 3, is_approved: false }).0, 51);
    }

    #[test]
    fn adv_161_each_kind_of_harm_has_its_own_limit() {
        let all = WriteKind::ALL.map(|it| sent(it, Demand::default()).0);
        assert_eq!(all, [20, 50, 50, 200], "deletions, creations, detachments, updates");
        let demand = Demand { waiting: 40, new: 40, changes: 20, is_approved: false };
        let all = WriteKind::ALL.map(|it| sent(it, demand).0);
        assert_eq!(all, [40, 300, 300, 500], "nothing is to be deleted because something is new");
        let limits = WriteLimits { detachments: 1, updates: 0, ..WriteLimits::default() };
        let (count, reported) = sent_within(limits, WriteKind::Detachment, Demand::default());
        assert_eq!(count, 1, "and what is raised for one raises no other");
        let reported = reported.expect("it is reported");
        for part in ["1 detachments of members", "effect: detach", "limits.detachments"] {
            assert!(reported.contains(part), "{reported}");
        }
        assert_eq!(sent_within(limits, WriteKind::Deletion, Demand::default()).0, 20);
    }

    #[test]
    fn adv_104_twenty_node_changes_of_fifty_services_pass() {
        let demand = Demand { changes: 50 * 20, ..Demand::default() };
        assert!(sent(WriteKind::Deletion, demand).0 >= 50 * 20);
        assert!(sent(WriteKind::Creation, demand).0 >= 50 * 20);
    }

    #[test]
    fn adv_104_each_change_counts_for_as_many_writes_as_it_takes() {
        let limits = WriteLimits { deletions_per_change: 10, creations_per_change: 20, ..WriteLimits::default() };
        let demand = Demand { waiting: 4, new: 3, changes: 3, is_approved: false };
        assert_eq!(sent_within(limits, WriteKind::Deletion, demand).0, 30);
        assert_eq!(sent_within(limits, WriteKind::Creation, demand).0, 200);
        assert_eq!(
            sent_within(limits, WriteKind::Deletion, Demand::default()).0,
            20,
            "without changes it is as before"
        );
    }

    #[test]
    fn adv_104_an_approval_lifts_the_limit() {
        let demand = Demand { is_approved: true, ..Demand::default() };
        assert_eq!(sent(WriteKind::Deletion, demand), (10_000, None));
        assert_eq!(sent(WriteKind::Creation, demand), (10_000, None));
    }

    #[test]
    fn adv_104_a_denial_says_how_many_and_what_frees_it() {
        let (_, reported) = sent(WriteKind::Deletion, Demand { changes: 3, ..Demand::default() });
        let reported = reported.expect("it is reported");
        let asked = "3 changes of Services and of pod networks";
        for part in ["credential token: 20 deletions", "last 600s", asked, APPROVAL, "on the Lease"] {
            assert!(reported.contains(part), "{reported}");
        }
        let (_, reported) = sent(WriteKind::Creation, Demand { waiting: 2, new: 5, changes: 3, is_approved: false });
        let reported = reported.expect("it is reported");
        let asked =
            "3 changes of Services and of pod networks, 5 new ones and 2 Services that wait for a load balancer";
        assert!(reported.contains(asked), "{reported}");
    }

    #[test]
    fn adv_104_a_write_that_may_have_been_done_counts() {
        for (status, refused) in
            [(200, false), (202, false), (303, false), (400, true), (403, true), (404, true), (408, false)]
                .into_iter()
                .chain([(409, true), (422, true), (429, true), (499, false), (500, false), (503, false)])
        {
            assert_eq!(was_refused(StatusCode::from_u16(status).unwrap()), refused, "{status}");
        }
    }
}
