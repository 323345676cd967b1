//! The table of annotations: its rows read, refuse and describe them.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::form::{AnyCase, Custom, List, OneOf};
use aerostat_sdk::{LoadBalancer, Result};

use crate::machine::is_name;

/// Those that are written on Services, where the setting asks for it.
pub(crate) const WRITTEN: [&str; 2] = ["networking.gke.io/backend-service", "networking.gke.io/target-pool"];
/// The classes that a setting lets the provider serve: of internal load balancers, and of external ones.
pub(crate) const CLASSES: [&str; 2] =
    ["networking.gke.io/l4-regional-internal-legacy", "networking.gke.io/l4-regional-external-legacy"];
/// The finalizers of the vendor's controller.
pub(crate) const FINALIZERS: [&str; 2] = ["gke.networking.io/l4-netlb-v1", "gke.networking.io/l4-ilb-v1"];
/// The finalizers of another controller, which serves the Services that have them.
pub(crate) const OTHER_FINALIZERS: [&str; 3] =
    ["gke.networking.io/l4-netlb-v2", "gke.networking.io/l4-netlb-v3", "gke.networking.io/l4-ilb-v2"];
/// The label of nodes with the name of their subnet, where it is not the cluster's.
pub(crate) const SUBNET_LABEL: &str = "cloud.google.com/gke-node-pool-subnet";

const KIND: AnyCase<bool> = AnyCase(OneOf(&[("Internal", true), ("External", false)]));
const FLAG: OneOf<bool> = OneOf(&[("true", true), ("false", false)]);
/// Whether the tier is Standard.
const TIER: AnyCase<bool> = AnyCase(OneOf(&[("Premium", false), ("Standard", true)]));

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    TYPE: AnyCase<bool> = ("networking.gke.io/load-balancer-type", KIND, "Whether it is reached from the network alone. A class wins over it.")
        .default("External");
    FORMER_TYPE: AnyCase<bool> = ("cloud.google.com/load-balancer-type", KIND, "The same. Deprecated.");
    GLOBAL_ACCESS: OneOf<bool> = ("networking.gke.io/internal-load-balancer-allow-global-access", FLAG,
        "Whether an internal one is reached from other regions.").default("false");
    SUBNET: Custom<String> = ("networking.gke.io/internal-load-balancer-subnet", Custom {
        allowed: "the name of a subnet", parse: |text| is_name(text).then(|| text.to_owned()) },
        "The subnet of an internal one's address.").otherwise("setting subnetwork");
    NETWORK_TIER: AnyCase<bool> = ("cloud.google.com/network-tier", TIER, "The tier of an external one's address.").default("Premium");
    RBS: OneOf<bool> = ("cloud.google.com/l4-rbs", OneOf(&[("enabled", true)]),
        "With it another controller serves the Service.");
    SHARE: OneOf<bool> = ("alpha.cloud.google.com/load-balancer-backend-share", FLAG,
        "Whether an internal one has a backend service together with other Services.").default("false");
    FORMER_SHARE: OneOf<bool> = ("cloud.google.com/load-balancer-backend-share", FLAG, "The same. Deprecated.");
    SOURCE_RANGES: List<Custom<String>> = ("service.beta.kubernetes.io/load-balancer-source-ranges", List {
        of: Custom::cidr("an IPv4 network"), what: "IPv4 networks", example: "192.0.2.0/24" },
        "Which clients may reach it, where spec.loadBalancerSourceRanges says nothing. Deprecated.");
}

/// Whether the Service asks for an internal load balancer.
///
/// # Errors
///
/// `invalid`, naming the key, the value, and the allowed values.
pub(crate) fn is_internal(service: &LoadBalancer) -> Result<bool> {
    if let Some(class) = &service.load_balancer_class {
        return Ok(*class == CLASSES[0]);
    }
    let annotations = Annotations::of(service);
    match annotations.read(&TYPE)? {
        Some(internal) => Ok(internal),
        None => Ok(annotations.read(&FORMER_TYPE)?.unwrap_or(false)),
    }
}

/// Whether the Service shares its backend service.
///
/// # Errors
///
/// `invalid`, naming the key, the value, and the allowed values.
pub(crate) fn shares_backend(service: &LoadBalancer) -> Result<bool> {
    let annotations = Annotations::of(service);
    match annotations.read(&SHARE)? {
        Some(shared) => Ok(shared),
        None => Ok(annotations.read(&FORMER_SHARE)?.unwrap_or(false)),
    }
}
