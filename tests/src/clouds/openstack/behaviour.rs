//! How a simulated region differs from the usual one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::simulator::Taking;

use super::kind::Kind;

/// The behaviour that tests may choose. The default is a region as the recordings saw it, but faster.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long a load balancer is PENDING after each write.
    pub provisioning: Taking,
    /// Whether a creation of a load balancer ends in ERROR.
    pub creations_fail: bool,
    /// The names of load balancers whose creation ends so.
    pub failing_names: BTreeSet<String>,
    /// The drivers of load balancers that are enabled.
    pub drivers: BTreeSet<&'static str>,
    /// Whether the driver takes a load balancer with its listeners in one request.
    pub nested: bool,
    /// Whether the driver takes many members in one request.
    pub batches: bool,
    /// The minor version of Octavia's API 2.
    pub octavia: usize,
    /// How many bytes a body for Octavia or Nova may have.
    pub largest_body: usize,
    /// How late new load balancers come into lists. By id they can be had at once.
    pub lists_late_by: Duration,
    /// How late new floating IPs do.
    pub floating_ips_late_by: Duration,
    /// How many of a kind there may be. Absent: as many as one likes.
    pub quotas: BTreeMap<Kind, usize>,
    /// How many routes a router may have.
    pub routes: usize,
    /// Neutron's extensions, by alias.
    pub extensions: BTreeSet<&'static str>,
    /// Whether the policy lets everybody choose the address of a floating IP.
    pub chosen_addresses: bool,
    /// How long a change of a volume takes.
    pub volume_changes: Taking,
    /// Whether a backend of Cinder has room.
    pub volumes_have_room: bool,
    /// How many volumes a server may have.
    pub volumes_per_server: usize,
    /// How much a page holds at most.
    pub largest_page: usize,
}

/// A fraction of what it is in truth, and longer than a request.
const PROVISIONING: Duration = Duration::from_millis(200);

impl Behaviour {
    /// The same where each change has ended when something is read next.
    #[must_use]
    pub fn instant() -> Behaviour {
        Behaviour { provisioning: Taking::Time(Duration::ZERO), ..Behaviour::default() }
    }
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            provisioning: Taking::Time(PROVISIONING),
            creations_fail: false,
            failing_names: BTreeSet::new(),
            drivers: BTreeSet::from(["amphora", "octavia"]),
            nested: true,
            batches: true,
            octavia: 30,
            largest_body: 114_688,
            lists_late_by: Duration::ZERO,
            floating_ips_late_by: Duration::ZERO,
            quotas: BTreeMap::new(),
            routes: 30,
            extensions: BTreeSet::from([
                "allowed-address-pairs",
                "external-net",
                "extraroute",
                "extraroute-atomic",
                "port-security",
                "quotas",
                "revision-if-match",
                "router",
                "security-group",
                "standard-attr-revisions",
                "standard-attr-tag",
            ]),
            chosen_addresses: true,
            volume_changes: Taking::Reads(1),
            volumes_have_room: true,
            volumes_per_server: 26,
            largest_page: 1_000,
        }
    }
}
