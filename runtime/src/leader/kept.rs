//! Records on the Lease, so that limits outlive the process: writes to the cloud, changes that Kubernetes has asked for,
//! and nodes that were deleted.

use std::time::{Duration, Instant};

use cloud_provider::APPROVAL;
use controllers::{NodeDeletions, RequestedChanges};
use egress::WriteCounts;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;

use super::written::{History, WRITTEN};

/// The counts that are kept.
pub(crate) struct Kept {
    write_counts: WriteCounts,
    requested: RequestedChanges,
    nodes: NodeDeletions,
    /// Whether what processes before have done is counted.
    is_restored: bool,
}

/// The content of a Lease once it is stored.
pub(super) struct LeaseRecord {
    written: egress::WriteRecord,
    nodes: u64,
}

impl Kept {
    /// From now on nothing leaves that does not stand on the Lease. A deletion of a node counts for this window.
    pub(crate) fn new(
        write_counts: WriteCounts,
        requested: RequestedChanges,
        nodes: NodeDeletions,
        node_window: Duration,
    ) -> Self {
        write_counts.keep();
        nodes.keep(node_window);
        Self { write_counts, requested, nodes, is_restored: false }
    }

    /// Ends when something waits until it stands on the Lease.
    pub(super) async fn due(&self) {
        tokio::select! {
            () = self.write_counts.due() => {}
            () = self.nodes.due() => {}
        }
    }

    /// Notes the counts on a Lease that is about to be written, once it is known what processes before have done. `is_last`: nothing
    /// leaves any more.
    pub(super) fn note(&self, lease: &mut Lease, is_last: bool) -> Option<LeaseRecord> {
        if !self.is_restored {
            return None;
        }
        let (local, wall) = (Instant::now(), Timestamp::now());
        let written = self.write_counts.record(local, is_last);
        let changes = self.requested.changes(self.write_counts.window(), local.into());
        let (ages, nodes) = self.nodes.record(local.into());
        let history = History { written: written.written.clone(), changes, nodes: ages };
        let annotations = lease.metadata.annotations.get_or_insert_default();
        match history.text(wall) {
            Some(text) => annotations.insert(WRITTEN.to_owned(), text),
            None => annotations.remove(WRITTEN),
        };
        Some(LeaseRecord { written, nodes })
    }

    /// The Lease is stored.
    pub(super) fn stored(&self, record: &LeaseRecord) {
        self.write_counts.stored(&record.written);
        self.nodes.stored(record.nodes);
    }

    /// Counts what processes before have done, as the Lease says it: once, before anything leaves. Answers what a person should
    /// know if it cannot be read.
    pub(super) fn restore(&mut self, lease: &Lease) -> Option<String> {
        if std::mem::replace(&mut self.is_restored, true) {
            return None;
        }
        let text = lease.annotations().get(WRITTEN)?;
        let (local, wall) = (Instant::now(), Timestamp::now());
        let because = match History::parse(text, wall) {
            Ok(History { written, changes, nodes }) => {
                self.write_counts.restore(&written, local);
                self.requested.restore(&changes, self.write_counts.window(), local.into());
                self.nodes.restore(&nodes, local.into());
                return None;
            }
            Err(because) => because,
        };
        self.write_counts.fill(local);
        self.nodes.fill(local.into());
        Some(format!(
            "the annotation {WRITTEN} says what was written to the cloud and which nodes were deleted lately, and cannot be read \
             ({because}): for {:?} no more is written than Kubernetes asks for, and no node is deleted without a person's word. Next step: \
             find out what has changed it, since only the holder of the Lease writes it; the annotation {APPROVAL}: \"true\" lifts \
             the limits on writes once",
            self.write_counts.window(),
        ))
    }
}
