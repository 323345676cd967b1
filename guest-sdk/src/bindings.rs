//! The contract as `wit-bindgen` generates it: one world per capability, with shared types.
//!
//! Not the API: what a vendor uses is listed in `lib.rs`, so that generated names cannot widen it by accident.

/// The imports of a provider.
pub mod host {
    wit_bindgen::generate!({
        path: "wit",
        world: "host",
        generate_all,
        additional_derives: [PartialEq, Eq],
    });
}

/// A module for the export of one world: its name, the world, the macro that exports, and the module's path.
macro_rules! exports {
    ($($(#[$doc:meta])* $module:ident: $world:literal, $macro:literal, $path:literal)+) => { $(
        $(#[$doc])*
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                world: $world,
                pub_export_macro: true,
                export_macro_name: $macro,
                default_bindings_module: $path,
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
    )+ };
}

exports! {
    /// The export of every provider, and the types that the capabilities share.
    description: "provides-description", "__export_description", "aerostat_sdk::bindings::description"
    /// The export of providers that know machines.
    instances: "provides-instances", "__export_instances", "aerostat_sdk::bindings::instances"
    /// The export of providers that build load balancers.
    load_balancers: "provides-load-balancers", "__export_load_balancers", "aerostat_sdk::bindings::load_balancers"
    /// The export of providers that list what carries a cluster's marks.
    load_balancer_inventory: "provides-load-balancer-inventory", "__export_load_balancer_inventory",
        "aerostat_sdk::bindings::load_balancer_inventory"
    /// The export of providers that make routes for pods.
    routes: "provides-routes", "__export_routes", "aerostat_sdk::bindings::routes"
    /// The export of providers that know where volumes are.
    persistent_volumes: "provides-persistent-volumes", "__export_persistent_volumes",
        "aerostat_sdk::bindings::persistent_volumes"
    /// The export of providers with disks for pods.
    volumes: "provides-volumes", "__export_volumes", "aerostat_sdk::bindings::volumes"
}

/// The export of providers that take several load balancers at a time.
///
/// By themselves, with the types of [`load_balancers`]: two modules cannot both generate what exports one interface.
pub mod load_balancer_batches {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package aerostat:sdk;
            world batches {
                include aerostat:cloud/host@0.1.0;
                export aerostat:cloud/load-balancer-batches@0.1.0;
            }
        ",
        world: "aerostat:sdk/batches",
        pub_export_macro: true,
        export_macro_name: "__export_batches_alone",
        default_bindings_module: "aerostat_sdk::bindings::load_balancer_batches",
        additional_derives: [PartialEq, Eq],
        with: {
            "aerostat:cloud/http@0.1.0": crate::bindings::host::aerostat::cloud::http,
            "aerostat:cloud/config@0.1.0": crate::bindings::host::aerostat::cloud::config,
            "aerostat:cloud/log@0.1.0": crate::bindings::host::aerostat::cloud::log,
            "aerostat:cloud/events@0.1.0": crate::bindings::host::aerostat::cloud::events,
            "aerostat:cloud/types@0.1.0": crate::bindings::host::aerostat::cloud::types,
            "aerostat:cloud/load-balancers@0.1.0":
                crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers,
        },
    });

    /// The world `provides-load-balancer-batches`, as the linker of components reads it: `make go-bindings` writes it.
    pub const WORLD: [u8; include_bytes!("bindings/load_balancer_batches.world").len()] =
        *include_bytes!("bindings/load_balancer_batches.world");
}
