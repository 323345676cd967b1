//! Counts of the latest writes with all credentials, so that they can be kept where they outlive the process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use budgets::{WriteAges, WriteKind};

use crate::writes::{Records, Writes};

/// The counts of the latest writes with all credentials. Cloning shares them.
///
/// Nothing is stored here: [`WriteCounts::record`] says what is to be stored, and [`WriteCounts::stored`] is told that it is. Without
/// [`WriteCounts::keep`] the counts live in memory.
#[derive(Clone)]
pub struct WriteCounts {
    all: Arc<[Arc<Writes>]>,
    records: Arc<Records>,
}

/// The writes of one kind with one credential.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredCounts {
    /// `credential token`, or `endpoint api` for one without a credential.
    pub whose: String,
    /// `deletion`, `creation`, `detachment` or `update`.
    pub kind: String,
    /// When, and how many. What is reserved counts as written now.
    pub ages: WriteAges,
}

/// A record to be stored.
#[derive(Debug)]
pub struct WriteRecord {
    /// Without those of which there are none.
    pub written: Vec<StoredCounts>,
    /// In the order of the credentials.
    covers: Vec<[u64; WriteKind::ALL.len()]>,
}

impl WriteCounts {
    pub(crate) fn new(all: Arc<[Arc<Writes>]>, records: Arc<Records>) -> Self {
        Self { all, records }
    }

    /// From now on no write leaves before a record is stored that covers it.
    pub fn keep(&self) {
        self.records.keep();
    }

    /// Ends when a write waits for a record.
    pub async fn due(&self) {
        self.records.due().await;
    }

    /// The longest time over which writes are counted.
    #[must_use]
    pub fn window(&self) -> Duration {
        self.all.iter().map(|it| it.window()).max().unwrap_or_default()
    }

    /// The record to be stored now. While writes leave it holds some that are reserved, so that few records are needed; the
    /// last record of a process holds none.
    #[must_use]
    pub fn record(&self, now: Instant, is_last: bool) -> WriteRecord {
        let mut record = WriteRecord { written: Vec::new(), covers: Vec::with_capacity(self.all.len()) };
        for writes in self.all.iter() {
            record.covers.push(WriteKind::ALL.map(|kind| {
                let (ages, covers) = writes.record(kind, now, is_last);
                if !ages.is_empty() {
                    let (whose, kind) = (writes.whose().to_owned(), kind.as_str().to_owned());
                    record.written.push(StoredCounts { whose, kind, ages });
                }
                covers
            }));
        }
        record
    }

    /// The record is stored: what it covers may leave.
    pub fn stored(&self, record: &WriteRecord) {
        for (writes, covers) in self.all.iter().zip(&record.covers) {
            for (kind, covers) in WriteKind::ALL.into_iter().zip(covers) {
                writes.stored(kind, *covers);
            }
        }
        self.records.stored();
    }

    /// Counts what processes before have written. Credentials that are no more are left out.
    pub fn restore(&self, written: &[StoredCounts], now: Instant) {
        for writes in self.all.iter() {
            for kind in WriteKind::ALL {
                let mut own = written.iter().filter(|it| it.whose == writes.whose() && it.kind == kind.as_str());
                if let Some(StoredCounts { ages, .. }) = own.next() {
                    writes.restore(kind, ages, now);
                }
            }
        }
    }

    /// The writes of processes before cannot be known: for one window, only what Kubernetes asks for leaves.
    pub fn fill(&self, now: Instant) {
        self.all.iter().for_each(|it| it.fill(now));
    }
}
