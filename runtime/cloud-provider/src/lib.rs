//! What controllers ask of a cloud, as plain values and traits. No I/O, no Kubernetes client, no WebAssembly.
//!
//! The same words stand in `wit/`, which is the contract towards providers.

#![forbid(unsafe_code)]

mod cluster;
mod demand;
mod description;
mod error;
mod event;
mod identity;
mod instance;
mod load_balancer;
mod pattern;
mod place;
mod text;

pub use crate::cluster::Cluster;
pub use crate::demand::{APPROVAL, Demand};
pub use crate::description::{Annotation, Description, Effect, Endpoint, OperationPlace, Permission, Setting};
pub use crate::error::{Error, Result};
pub use crate::event::{Event, EventKind, EventList, Reply};
pub use crate::identity::Identity;
pub use crate::instance::{Address, AddressKind, Gap, Instance, Instances, Node, Page, State};
pub use crate::load_balancer::{
    Deletion, ExternalTrafficPolicy, Ingress, IpFamily, IpMode, LoadBalancer, LoadBalancerStatus, LoadBalancers, Owner,
    PendingStatus, Port, Progress, Protocol,
};
pub use crate::place::Place;
pub use crate::text::{is_printable, is_visible, printable};

use std::sync::Arc;

/// A cloud is the set of things that it can do.
///
/// What a provider does not export is `None`: nothing answers "not implemented" at run time.
#[derive(Clone)]
pub struct Cloud {
    /// What the provider says of itself.
    pub description: Arc<Description>,
    /// The account behind the credential: every provider names it, or says that it cannot.
    pub identity: Arc<dyn Identity>,
    /// Which machine stands behind a node.
    pub instances: Option<Arc<dyn Instances>>,
    /// Load balancers for Services.
    pub load_balancers: Option<Arc<dyn LoadBalancers>>,
}
