//! How a simulated project differs from the usual one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::simulator::Taking;

use super::collection::Collection;

/// How long an operation lasts.
pub type OperationTime = Taking;

/// The ending of operations that fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationFailure {
    /// The verb: `insert`, `delete`, `patch`, …
    pub verb: &'static str,
    /// The collection of the resource that it is about.
    pub collection: Collection,
    /// `RESOURCE_OPERATION_RATE_EXCEEDED`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
    /// The HTTP status in the operation.
    pub status: u16,
}

/// The behaviour that tests may choose. The default is Compute Engine, but faster.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long an operation lasts.
    pub operations: OperationTime,
    /// The operations that fail at their end: what they did is undone.
    pub failures: Vec<OperationFailure>,
    /// Whether a quota that is used up, a resource in use and a group too many are told by the operation, and not by the answer.
    pub refuses_in_operations: bool,
    /// The origin to which all links of operations lead. Absent: Google's.
    pub operation_links: Option<&'static str>,
    /// How late new resources come into lists.
    pub lists_late_by: Duration,
    /// How late new resources can be read by name.
    pub reads_late_by: Duration,
    /// How many of a collection a project may have. Absent: as many as one likes.
    pub quotas: BTreeMap<Collection, usize>,
    /// The zones that do not answer. Aggregated lists warn of them.
    pub unreachable: BTreeSet<String>,
    /// Collections of projects that the credential may read and not write.
    pub read_only: BTreeSet<(String, Collection)>,
    /// The projects whose API is not enabled.
    pub disabled: BTreeSet<String>,
    /// How many disks a machine takes.
    pub disks_per_machine: usize,
    /// How much a page holds at most.
    pub largest_page: usize,
}

/// A fraction of what it is in truth, and longer than a request.
const LASTS: Duration = Duration::from_millis(200);

impl Behaviour {
    /// The same where each operation has ended when something is read next.
    #[must_use]
    pub fn instant() -> Behaviour {
        Behaviour { operations: OperationTime::Time(Duration::ZERO), ..Behaviour::default() }
    }
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            operations: OperationTime::Time(LASTS),
            failures: Vec::new(),
            refuses_in_operations: false,
            operation_links: None,
            lists_late_by: Duration::ZERO,
            reads_late_by: Duration::ZERO,
            quotas: BTreeMap::new(),
            unreachable: BTreeSet::new(),
            read_only: BTreeSet::new(),
            disabled: BTreeSet::new(),
            disks_per_machine: 128,
            largest_page: 500,
        }
    }
}
