//! What controllers ask of a cloud, as plain values and traits. No I/O, no Kubernetes client, no WebAssembly.
//!
//! The same words stand in `wit/`, which is the contract towards providers.

mod description;
mod error;
mod instance;
mod notice;

pub use crate::description::{Annotation, Description, Endpoint, Permission, Setting};
pub use crate::error::{Error, Result};
pub use crate::instance::{Address, AddressKind, Instance, Instances, Machine, Page, State};
pub use crate::notice::{Notice, Reply, Severity};

use std::sync::Arc;

/// A cloud is the set of things that it can do.
///
/// What a provider does not export is `None`: nothing answers "not implemented" at run time.
#[derive(Clone)]
pub struct Cloud {
    /// What the provider says of itself.
    pub description: Arc<Description>,
    /// Which machine stands behind a node.
    pub instances: Option<Arc<dyn Instances>>,
}
