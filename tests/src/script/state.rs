//! State that a test and the script's server share.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::load_balancer::{Desired, LoadBalancer};
use super::machine::Machine;
use super::place::Place;
use super::route_table::Routes;

/// A question that was asked.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it came.
    pub time: Instant,
    /// The question that was asked.
    pub question: Question,
}

/// The question that was asked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Question {
    /// About the machine of a node.
    Get {
        /// The node's name.
        node: String,
        /// The node's provider id; empty if it has none.
        provider_id: String,
    },
    /// For a page of all machines. Where `after` is empty, the list begins.
    List {
        /// The last name of the page before.
        after: String,
    },
    /// For a load balancer.
    Ensure {
        /// Namespace and name, as in `default/web`.
        service: String,
        /// `--cluster-name`.
        cluster: String,
        /// The names of the nodes, in order.
        nodes: Vec<String>,
    },
    /// For the place of a volume.
    Volume {
        /// Its handle.
        handle: String,
    },
    /// For the absence of a load balancer.
    Delete {
        /// As in `default/web`.
        service: String,
    },
    /// For a page of all routes. Where `after` is empty, the list begins.
    ListRoutes {
        /// How many came before.
        after: String,
    },
    /// For a change of one route.
    Route {
        /// In canonical form.
        destination: String,
        /// Whether a route is said to be there.
        before: bool,
        /// The next hop that it shall have; `None`: it shall be gone.
        after: Option<String>,
    },
}

/// The state that a test and the server share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) machines: BTreeMap<String, Machine>,
    pub(super) load_balancers: BTreeMap<String, LoadBalancer>,
    /// By their handles.
    pub(super) volumes: BTreeMap<String, Place>,
    /// The last desired state of each load balancer, by Service.
    pub(super) desired: BTreeMap<String, Desired>,
    pub(super) routes: Routes,
    pub(super) calls: Vec<Call>,
}

impl Shared {
    pub(super) fn ask(&mut self, question: Question) {
        self.calls.push(Call { time: Instant::now(), question });
    }
}

pub(super) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
