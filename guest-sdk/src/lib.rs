#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

pub mod allowed;
pub mod annotations;
pub mod backend;
mod change;
pub mod clock;
mod cluster;
mod description;
mod desired;
mod error;
pub mod events;
pub mod form;
mod go_duration;
mod halves;
mod host;
pub mod http;
mod instances;
pub mod json;
pub mod key;
mod load_balancer_batches;
mod load_balancer_inventory;
mod load_balancers;
pub mod log;
pub mod nodes;
mod pages;
pub mod parameters;
mod persistent_volumes;
pub mod provider_id;
#[cfg(not(target_arch = "wasm32"))]
pub mod readme;
mod routes;
pub mod settings;
mod short_mark;
pub mod sorted;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod time;
pub mod volume_backend;
mod volumes;

#[doc(hidden)]
pub mod bindings;

// The types of the contract, listed by hand.
pub use crate::bindings::description::exports::aerostat::cloud::provider::{
    Annotation, Description, Effect, Endpoint, OperationPlace, Permission, Setting,
};
pub use crate::bindings::host::aerostat::cloud::types::{
    Address, AddressKind, Cluster, Error, Ingress, IpFamily, IpMode, Method, Node, Pause,
};
pub use crate::bindings::instances::exports::aerostat::cloud::instances::{Gap, Instance, Page, State};
pub use crate::bindings::load_balancer_batches::exports::aerostat::cloud::load_balancer_batches::{
    BatchDescription, BatchItem,
};
pub use crate::bindings::load_balancer_inventory::exports::aerostat::cloud::load_balancer_inventory::{
    InventoryDescription, Item as InventoryItem, MarkedOwner, Page as InventoryPage, Proof, State as InventoryState,
};
pub use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers::{
    Deletion, ExternalTrafficPolicy, FailedStatus, LoadBalancer, LoadBalancerStatus, Owner, PendingStatus, Port,
    Progress, Protocol,
};
pub use crate::bindings::persistent_volumes::exports::aerostat::cloud::persistent_volumes::{
    Topology, TopologyDescription, TopologySegments, Volume,
};
pub use crate::bindings::routes::exports::aerostat::cloud::routes::{
    Change as RouteChange, Outcome as RouteOutcome, Ownership as RouteOwnership, Page as RoutePage, PodNetwork, Route,
    RouteDescription, State as RouteState, Target as RouteTarget,
};
pub use crate::bindings::volumes::exports::aerostat::cloud::volumes::{
    AccessMode, AttachMode, Attachment as VolumeAttachment, Creation as VolumeCreation, Deletion as VolumeDeletion,
    DesiredVolume, Detachment as VolumeDetachment, ExpandedVolume, Expansion as VolumeExpansion, Growth, KnownVolume,
    MarkedOwner as MarkedClaim, Owner as ClaimOwner, Page as VolumePage, Parameter as ClassParameter,
    PendingStatus as PendingVolume, Source as VolumeSource, SourceKind as VolumeSourceKind, State as VolumeState,
    TopologySegments as VolumePlace, Volume as CloudVolume, VolumeDescription,
};
pub use crate::change::Change;
pub use crate::cluster::{Mark, NoMark, cluster};
pub use crate::description::Provider;
pub use crate::error::Result;
pub use crate::halves::in_halves;
pub use crate::instances::Instances;
pub use crate::load_balancer_batches::LoadBalancerBatches;
pub use crate::load_balancer_inventory::LoadBalancerInventory;
pub use crate::load_balancers::LoadBalancers;
pub use crate::pages::{Position, pages};
pub use crate::persistent_volumes::PersistentVolumes;
pub use crate::routes::Routes;
pub use crate::short_mark::ShortMark;
pub use crate::sorted::{SortedMap, SortedSet};
pub use crate::volumes::Volumes;

/// Makes a type the provider of this component, with the named capabilities and no others.
///
/// ```
/// # use aerostat_sdk::{Description, Provider, Result};
/// struct Acme;
///
/// aerostat_sdk::export!(Acme: Provider);
///
/// impl Provider for Acme {
///     fn describe() -> Result<Description> {
///         Ok(Description::new("acme", "1.0.0"))
///     }
/// }
/// ```
#[macro_export]
macro_rules! export {
    ($provider:ident: $($capability:ident),+ $(,)?) => {
        $( $crate::export_capability!($provider, $capability); )+

        // Off wasm the lines above are empty. What is named must be implemented there too.
        const _: () = {
            const fn implements<T>() where $( T: $crate::$capability ),+ {}
            implements::<$provider>()
        };
    };
}

/// One capability of [`export!`]. Off wasm it is empty: there is no host to export to, and the names would not link.
#[doc(hidden)]
#[macro_export]
macro_rules! export_capability {
    ($provider:ident, Provider) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::description::__export_description!(
            $provider with_types_in $crate::bindings::description
        );
    };
    ($provider:ident, Instances) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::instances::__export_instances!(
            $provider with_types_in $crate::bindings::instances
        );
    };
    ($provider:ident, LoadBalancers) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::load_balancers::__export_load_balancers!(
            $provider with_types_in $crate::bindings::load_balancers
        );
    };
    ($provider:ident, LoadBalancerBatches) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::load_balancer_batches::exports::aerostat::cloud::load_balancer_batches::__export_aerostat_cloud_load_balancer_batches_0_1_0_cabi!(
            $provider with_types_in $crate::bindings::load_balancer_batches::exports::aerostat::cloud::load_balancer_batches
        );
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[unsafe(link_section = "component-type:aerostat:cloud:provides-load-balancer-batches")]
            #[doc(hidden)]
            pub static WORLD: [u8; $crate::bindings::load_balancer_batches::WORLD.len()] =
                $crate::bindings::load_balancer_batches::WORLD;
        };
    };
    ($provider:ident, LoadBalancerInventory) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::load_balancer_inventory::__export_load_balancer_inventory!(
            $provider with_types_in $crate::bindings::load_balancer_inventory
        );
    };
    ($provider:ident, Routes) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::routes::__export_routes!(
            $provider with_types_in $crate::bindings::routes
        );
    };
    ($provider:ident, PersistentVolumes) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::persistent_volumes::__export_persistent_volumes!(
            $provider with_types_in $crate::bindings::persistent_volumes
        );
    };
    ($provider:ident, Volumes) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::volumes::__export_volumes!(
            $provider with_types_in $crate::bindings::volumes
        );
    };
}
