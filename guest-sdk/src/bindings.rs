//! What `wit-bindgen` makes of the contract: one world per capability, with shared types.
//!
//! Not the API: what a vendor uses is listed in `lib.rs`, so that generated names cannot widen it by accident.

/// What a provider imports.
pub mod host {
    wit_bindgen::generate!({
        path: "../wit",
        world: "host",
        generate_all,
        additional_derives: [PartialEq, Eq],
    });
}

/// The export of every provider, and the types that the capabilities share.
pub mod description {
    wit_bindgen::generate!({
        path: "../wit",
        world: "provides-description",
        pub_export_macro: true,
        export_macro_name: "__export_description",
        default_bindings_module: "aerostat_sdk::bindings::description",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
        },
    });
}

/// The export of providers that know machines.
pub mod instances {
    wit_bindgen::generate!({
        path: "../wit",
        world: "provides-instances",
        pub_export_macro: true,
        export_macro_name: "__export_instances",
        default_bindings_module: "aerostat_sdk::bindings::instances",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
        },
    });
}

/// The export of providers that build load balancers.
pub mod load_balancers {
    wit_bindgen::generate!({
        path: "../wit",
        world: "provides-load-balancers",
        pub_export_macro: true,
        export_macro_name: "__export_load_balancers",
        default_bindings_module: "aerostat_sdk::bindings::load_balancers",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
        },
    });
}

/// The export of providers that make routes for pods.
pub mod routes {
    wit_bindgen::generate!({
        path: "../wit",
        world: "provides-routes",
        pub_export_macro: true,
        export_macro_name: "__export_routes",
        default_bindings_module: "aerostat_sdk::bindings::routes",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
        },
    });
}

/// The export of providers that list what carries a cluster's marks.
pub mod load_balancer_inventory {
    wit_bindgen::generate!({
        path: "../wit",
        world: "provides-load-balancer-inventory",
        pub_export_macro: true,
        export_macro_name: "__export_load_balancer_inventory",
        default_bindings_module: "aerostat_sdk::bindings::load_balancer_inventory",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
        },
    });
}

/// The export of providers that know where volumes are.
pub mod persistent_volumes {
    wit_bindgen::generate!({
        path: "../wit",
        world: "provides-persistent-volumes",
        pub_export_macro: true,
        export_macro_name: "__export_persistent_volumes",
        default_bindings_module: "aerostat_sdk::bindings::persistent_volumes",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
        },
    });
}
