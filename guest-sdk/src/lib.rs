#![forbid(unsafe_code)]
#![doc = include_str!("../README.md")]

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
mod host;
pub mod http;
mod instances;
pub mod json;
pub mod key;
mod load_balancers;
pub mod log;
pub mod nodes;
mod pages;
pub mod provider_id;
#[cfg(not(target_arch = "wasm32"))]
pub mod readme;
pub mod settings;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

#[doc(hidden)]
pub mod bindings;

// The types of the contract, listed by hand.
pub use crate::bindings::description::exports::aerostat::cloud::provider::{
    Annotation, Description, Effect, Endpoint, OperationPlace, Permission, Setting,
};
pub use crate::bindings::host::aerostat::cloud::types::{
    Address, AddressKind, Cluster, Error, IpFamily, Method, Node, Pause,
};
pub use crate::bindings::instances::exports::aerostat::cloud::instances::{Gap, Instance, Page, State};
pub use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers::{
    Deletion, ExternalTrafficPolicy, FailedStatus, Ingress, IpMode, LoadBalancer, LoadBalancerStatus, Owner,
    PendingStatus, Port, Progress, Protocol,
};
pub use crate::change::Change;
pub use crate::cluster::{Mark, NoMark, cluster};
pub use crate::description::Provider;
pub use crate::error::Result;
pub use crate::instances::Instances;
pub use crate::load_balancers::LoadBalancers;
pub use crate::pages::{Position, pages};

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
}
