//! The cloud as controllers see it: plain values and traits. No I/O, no Kubernetes client, no WebAssembly.
//!
//! The same words stand in `wit/`, which is the contract towards providers.

#![forbid(unsafe_code)]

mod cluster;
mod content;
mod current_description;
mod demand;
mod description;
mod error;
mod event;
mod freshness;
mod identity;
mod instance;
mod load_balancer;
mod load_balancer_inventory;
mod pattern;
mod persistent_volume;
mod place;
mod routes;
mod text;
mod volumes;

pub use crate::cluster::Cluster;
pub use crate::content::Content;
pub use crate::current_description::CurrentDescription;
pub use crate::demand::{APPROVAL, Demand};
pub use crate::description::{
    Annotation, ConfigMapKey, Description, Effect, Endpoint, IngressDescription, OperationPlace, Permission, Setting,
};
pub use crate::error::{Error, Result};
pub use crate::event::{Event, EventKind, EventList, Reply};
pub use crate::freshness::Freshness;
pub use crate::identity::Identity;
pub use crate::instance::{Address, AddressKind, Gap, Instance, Instances, Node, Page, State};
pub use crate::load_balancer::{
    Deletion, ExternalTrafficPolicy, Ingress, IpFamily, IpMode, LoadBalancer, LoadBalancerStatus, LoadBalancers, Owner,
    PendingStatus, Port, Progress, Protocol, ServiceCondition, ServiceConditionKind,
};
pub use crate::load_balancer_inventory::{
    InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, MarkedOwner, Proof,
};
pub use crate::persistent_volume::{PersistentVolumes, Topology, TopologyDescription, Volume};
pub use crate::place::Place;
pub use crate::routes::{
    PodNetwork, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership, RoutePage, RouteState, RouteTarget,
    Routes,
};
pub use crate::text::{is_printable, is_visible, printable};
pub use crate::volumes::{
    AccessMode, AttachMode, ClaimOwner, ClassParameter, CloudVolume, CloudVolumes, DesiredVolume, InTreeVolumes,
    KnownVolume, MarkedClaim, PendingVolume, TooLarge, VolumeAttachment, VolumeCreation, VolumeDeletion,
    VolumeDescription, VolumeDetachment, VolumeExpansion, VolumeGrowth, VolumePage, VolumePlace, VolumeSource,
    VolumeState,
};

use std::sync::Arc;

/// A cloud is the set of things that it can do.
///
/// A cloud. An interface that its provider does not export is `None`: nothing answers "not implemented" at run time.
#[derive(Clone)]
pub struct Cloud {
    /// The provider's description of itself.
    pub description: CurrentDescription,
    /// The account behind the credential: every provider names it, or says that it cannot.
    pub identity: Arc<dyn Identity>,
    /// Which machine stands behind a node.
    pub instances: Option<Arc<dyn Instances>>,
    /// Load balancers for Services.
    pub load_balancers: Option<Arc<dyn LoadBalancers>>,
    /// Routes for pod networks.
    pub routes: Option<Arc<dyn Routes>>,
    /// The list of all load balancers.
    pub load_balancer_inventory: Option<Arc<dyn LoadBalancerInventory>>,
    /// Where volumes are.
    pub persistent_volumes: Option<Arc<dyn PersistentVolumes>>,
    /// Disks for claims.
    pub volumes: Option<Arc<dyn CloudVolumes>>,
}

impl Cloud {
    /// A cloud that can do nothing yet, and describes itself so for good.
    #[must_use]
    pub fn new(description: Arc<Description>, identity: Arc<dyn Identity>) -> Self {
        Self {
            description: description.into(),
            identity,
            instances: None,
            load_balancers: None,
            routes: None,
            load_balancer_inventory: None,
            persistent_volumes: None,
            volumes: None,
        }
    }
}
