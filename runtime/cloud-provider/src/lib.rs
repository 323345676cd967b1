//! What controllers ask of a cloud, as plain values and traits. No I/O, no Kubernetes client, no WebAssembly.
//!
//! The same words stand in `wit/`, which is the contract towards providers.

#![forbid(unsafe_code)]

mod demand;
mod description;
mod error;
mod identity;
mod instance;
mod load_balancer;
mod notice;
mod place;
mod text;

pub use crate::demand::{APPROVAL, Demand};
pub use crate::description::{Annotation, Description, Endpoint, Permission, Setting};
pub use crate::error::{Error, Result};
pub use crate::identity::Identity;
pub use crate::instance::{Address, AddressKind, Instance, Instances, Machine, Page, State};
pub use crate::load_balancer::{
    Ingress, IpFamily, IpMode, LoadBalancer, LoadBalancers, Owner, Port, Progress, Protocol, Removal, Standing,
    Traffic, Unfinished,
};
pub use crate::notice::{Notice, NoticeList, Reply, Severity};
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
    /// Whose cloud it is: every provider tells, or says that it cannot.
    pub identity: Arc<dyn Identity>,
    /// Which machine stands behind a node.
    pub instances: Option<Arc<dyn Instances>>,
    /// Load balancers for Services.
    pub load_balancers: Option<Arc<dyn LoadBalancers>>,
}
