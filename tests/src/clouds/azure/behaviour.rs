//! How a simulated subscription differs from the usual one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::simulator::Taking;

use super::kind::Kind;

/// The answer to a write of a resource on which an operation is at work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Overlap {
    /// 409 `AnotherOperationInProgress`.
    Conflict,
    /// 429 `RetryableError`.
    Retryable,
    /// The later one goes on, and the earlier ends `Canceled`.
    Supersedes,
}

/// The ending of operations that fail.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OperationFailure {
    /// The method: `PUT` or `DELETE`.
    pub method: &'static str,
    /// The kind of the resource that it is about.
    pub kind: Kind,
    /// `InternalServerError`.
    pub code: &'static str,
    /// A sentence.
    pub message: String,
}

/// The behaviour that tests may choose. The default is Azure, but faster.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long an operation lasts.
    pub operations: Taking,
    /// The seconds of `Retry-After` in answers that begin an operation, and of those that say that it is at work. Absent: they do not say.
    pub retry_after: Option<u64>,
    /// The operations that fail at their end: their resource is `Failed`.
    pub failures: Vec<OperationFailure>,
    /// The answer to a write while an operation is at work.
    pub overlap: Overlap,
    /// How late new resources come into lists.
    pub lists_late_by: Duration,
    /// How many of a kind a subscription may have. Absent: as many as one likes.
    pub quotas: BTreeMap<Kind, usize>,
    /// How many rules a load balancer may have.
    pub rules: usize,
    /// How many rules a security group may have.
    pub security_rules: usize,
    /// How many routes a table may have.
    pub routes: usize,
    /// How much a page holds at most.
    pub largest_page: usize,
    /// Actions that the credential may not do: `Microsoft.Network/loadBalancers/write`.
    pub denied: BTreeSet<String>,
    /// The letter case of `resourceGroups` in ids of new resources: that of Compute is not that of the network.
    pub upper_case_groups: bool,
    /// The ids of resources, in lower case, that lists leave out. They can still be asked for.
    pub unlisted: BTreeSet<String>,
    /// The labels of names that somebody else in the world has: `shop` of `shop.westeurope.cloudapp.azure.com`.
    pub taken_labels: BTreeSet<String>,
    /// Whether another writer changes load balancers and security groups, each time between somebody's read and the write over it.
    pub has_other_writer: bool,
}

/// A fraction of what it is in truth, and longer than a request.
const LASTS: Duration = Duration::from_millis(200);

impl Behaviour {
    /// The same where each operation has ended when something is read next.
    #[must_use]
    pub fn instant() -> Behaviour {
        Behaviour { operations: Taking::Time(Duration::ZERO), ..Behaviour::default() }
    }
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            operations: Taking::Time(LASTS),
            retry_after: Some(1),
            failures: Vec::new(),
            overlap: Overlap::Conflict,
            lists_late_by: Duration::ZERO,
            quotas: BTreeMap::new(),
            rules: 250,
            security_rules: 1_000,
            routes: 400,
            largest_page: 120,
            denied: BTreeSet::new(),
            upper_case_groups: false,
            unlisted: BTreeSet::new(),
            taken_labels: BTreeSet::new(),
            has_other_writer: false,
        }
    }
}
