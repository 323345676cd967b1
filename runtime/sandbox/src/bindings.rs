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

/// What every provider exports.
#[doc(hidden)]
pub(crate) mod description {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provides-description",
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

/// What a provider of machines exports.
#[doc(hidden)]
pub(crate) mod instances {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provides-instances",
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

/// What a provider of load balancers exports.
#[doc(hidden)]
pub(crate) mod load_balancers {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provides-load-balancers",
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

/// What a provider of routes exports.
#[doc(hidden)]
pub(crate) mod routes {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provides-routes",
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

/// What a provider of lists of load balancers exports.
#[doc(hidden)]
pub(crate) mod load_balancer_inventory {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provides-load-balancer-inventory",
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

/// What a provider of volumes' places exports.
#[doc(hidden)]
pub(crate) mod persistent_volumes {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "provides-persistent-volumes",
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
