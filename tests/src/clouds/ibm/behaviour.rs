//! How a simulated account differs from the usual one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::simulator::Taking;

use super::kind::VpcKind;

/// The behaviour that tests may choose. The default is the API of the VPC, but faster.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long a load balancer is being made or deleted.
    pub creation: Taking,
    /// How long each change of it takes.
    pub change: Taking,
    /// How long an entry of a routing table is being deleted.
    pub route_deletion: Taking,
    /// Whether creations end in `failed`.
    pub creations_fail: bool,
    /// How late new load balancers and security groups come into lists. By id they can be had at once.
    pub lists_late_by: Duration,
    /// How many of a kind there may be. Absent: as many as one likes.
    pub quotas: BTreeMap<VpcKind, usize>,
    /// How much a page holds at most.
    pub largest_page: usize,
}

/// Fractions of what it is in truth, and longer than a request.
const CREATION: Duration = Duration::from_millis(200);
const CHANGE: Duration = Duration::from_millis(100);

impl Behaviour {
    /// The same where each change has ended when something is read next.
    #[must_use]
    pub fn instant() -> Behaviour {
        let at_once = Taking::Time(Duration::ZERO);
        Behaviour { creation: at_once, change: at_once, route_deletion: at_once, ..Behaviour::default() }
    }
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            creation: Taking::Time(CREATION),
            change: Taking::Time(CHANGE),
            route_deletion: Taking::Time(CHANGE),
            creations_fail: false,
            lists_late_by: Duration::ZERO,
            quotas: BTreeMap::new(),
            largest_page: 100,
        }
    }
}
