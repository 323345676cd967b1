//! `wit/` as Rust. Each world is a module of its own, because a provider exports only what its cloud can do; the types
//! are shared between them.

/// What a provider imports.
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
    /// What every provider exports.
    description: "provides-description"
    /// What a provider of machines exports.
    instances: "provides-instances"
    /// What a provider of load balancers exports.
    load_balancers: "provides-load-balancers"
    /// What a provider that lists load balancers exports.
    load_balancer_inventory: "provides-load-balancer-inventory"
    /// What a provider of routes exports.
    routes: "provides-routes"
    /// What a provider that knows where volumes are exports.
    persistent_volumes: "provides-persistent-volumes"
}
