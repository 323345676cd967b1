//! How a simulated account differs from the usual one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::simulator::Taking;

/// The behaviour that tests may choose. The default is the cloud's, but faster.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// How long a Network Load Balancer is `Provisioning`.
    pub creation: Taking,
    /// How long a job takes.
    pub job: Taking,
    /// How long a Classic Load Balancer takes no other change after one.
    pub configuring: Taking,
    /// How long a new entry of a route table is `Pending`, and one that goes `Deleting`: its table takes no other change meanwhile.
    pub route: Taking,
    /// Actions whose next job fails, once each: `CreateListener`. `CreateLoadBalancer` ends in `CreateFailed`.
    pub failing: Vec<String>,
    /// How late what is new comes into lists. By id it can be had at once.
    pub lists_late_by: Duration,
    /// The most load balancers of each kind.
    pub most_balancers: usize,
    /// The most machines of a group.
    pub most_servers: usize,
    /// The most entries of a route table that somebody has made.
    pub most_routes: usize,
    /// vSwitches that have no address left.
    pub full_switches: BTreeSet<String>,
    /// Codes with which one action refuses single routes, by the beginning of their destinations.
    pub refused_routes: BTreeMap<String, String>,
}

/// Fractions of what it is in truth, and longer than a request.
const CREATION: Duration = Duration::from_millis(200);
const CHANGE: Duration = Duration::from_millis(100);

impl Behaviour {
    /// The same where each change has ended when something is read next.
    #[must_use]
    pub fn instant() -> Behaviour {
        Behaviour::taking(Taking::Time(Duration::ZERO))
    }

    /// The same where each change takes this.
    #[must_use]
    pub fn taking(taking: Taking) -> Behaviour {
        Behaviour { creation: taking, job: taking, configuring: taking, route: taking, ..Behaviour::default() }
    }
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            creation: Taking::Time(CREATION),
            job: Taking::Time(CHANGE),
            configuring: Taking::Time(CHANGE / 4),
            route: Taking::Time(CHANGE),
            failing: Vec::new(),
            lists_late_by: Duration::ZERO,
            most_balancers: 60,
            most_servers: 200,
            most_routes: 200,
            full_switches: BTreeSet::new(),
            refused_routes: BTreeMap::new(),
        }
    }
}
