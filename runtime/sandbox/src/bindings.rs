//! `wit/` as Rust. Each world is a module of its own, because a provider exports only what its cloud can do; the types
//! are shared between them.

pub(crate) mod load_balancer_batches;

/// The imports of a provider.
#[doc(hidden)]
pub(crate) mod host {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "host",
        imports: { "aerostat:cloud/http.send": async },
    });
}

/// A module for the exports of one world.
macro_rules! exports {
    ($($(#[$doc:meta])* $module:ident: $world:literal)+) => { $(
        $(#[$doc])*
        #[doc(hidden)]
        pub(crate) mod $module {
            wasmtime::component::bindgen!({
                path: "../../wit",
                world: $world,
                exports: { default: async },
                with: {
                    "aerostat:cloud/http": crate::bindings::host::aerostat::cloud::http,
                    "aerostat:cloud/config": crate::bindings::host::aerostat::cloud::config,
                    "aerostat:cloud/log": crate::bindings::host::aerostat::cloud::log,
                    "aerostat:cloud/events": crate::bindings::host::aerostat::cloud::events,
                    "aerostat:cloud/types": crate::bindings::host::aerostat::cloud::types,
                },
            });
        }
    )+ };
}

exports! {
    /// The exports of every provider.
    description: "provides-description"
    /// The exports of a provider of machines.
    instances: "provides-instances"
    /// The exports of a provider of load balancers.
    load_balancers: "provides-load-balancers"
    /// The exports of a provider that lists load balancers.
    load_balancer_inventory: "provides-load-balancer-inventory"
    /// The exports of a provider of routes.
    routes: "provides-routes"
    /// The exports of a provider that knows where volumes are.
    persistent_volumes: "provides-persistent-volumes"
    /// The exports of a provider with disks for pods.
    volumes: "provides-volumes"
}
