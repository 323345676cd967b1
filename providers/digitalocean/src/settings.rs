//! The settings of the provider.

use std::time::Duration;

use aerostat_sdk::allowed::{self, Allowed};
use aerostat_sdk::backend::Pauses;
use aerostat_sdk::form::{Bool, Custom, List, OneOf, Span};
use aerostat_sdk::{Result, settings};

use crate::api::load_balancers::Kind;

const SECOND: Duration = Duration::from_secs(1);

/// The types of load balancers that serve Services.
pub(crate) const KINDS: OneOf<Kind> =
    OneOf(&[("REGIONAL", Kind::Regional), ("REGIONAL_NETWORK", Kind::RegionalNetwork)]);

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    CLUSTER: Custom<String> = ("clusterId", Custom {
        allowed: "the id of a DOKS cluster: letters, digits, colons, dashes and underscores, 251 at most",
        parse: cluster_tag,
    }, "The DOKS cluster. Only droplets with its tag (k8s: and the id) are listed and found by name, and load balancers get it.")
        .otherwise("all droplets of the account");
    VPC: Custom<String> = ("vpcId", Custom::uuid("the UUID of a VPC"),
        "The VPC in which load balancers are built. Needed where the nodes are not in the default one.")
        .otherwise("the region's default VPC");
    REGION: Custom<String> = ("region", Custom::slug("a region's slug such as nyc3"),
        "The region in which load balancers are built.")
        .otherwise("where most of the nodes are; droplets of other regions are left out");
    DEFAULT_TYPE: OneOf<Kind> = ("defaultLoadBalancerType", KINDS, "Type of load balancers whose Service has no annotation for it.")
        .default("REGIONAL_NETWORK");
    POLL_INTERVAL: Span = ("pollInterval", Span::between(SECOND, Duration::from_mins(5)),
        "How long to wait before a load balancer that is being built is read again.").default("15s");
    CREATE_AGAIN_AFTER: Span = ("createAgainAfter", Span::between(SECOND, Duration::from_hours(1)),
        "After a creation without a clear answer: how long the load balancer must be absent from the list before it is \
         created again. Must be longer than the cloud's lists lag.").default("60s");
    ADOPT_BY_ID: Bool = ("adoptById", Bool,
        "Whether a Service may take over any load balancer of the account by its id annotation. Whoever may write \
         Services can then take each load balancer that no other Service has.").default("false");
    ALLOWED_CERTIFICATES: List<Custom<String>> = ("allowedCertificates",
        allowed::names("ids or names of certificates", "892071a0-bb95-49bc-8021-3afd67a210bf,shop-*"),
        "Which certificates authors of Services may name, with annotations `certificate-id` and `certificate-name`: with one of \
         them a load balancer can speak for its domain. One that a load balancer has stays.").default("none");
    ALLOWED_RESERVED_IPS: List<Custom<String>> = ("allowedReservedIPs", allowed::names("IPv4 addresses", "203.0.113.7,203.0.113.8"),
        "Which reserved IPs of the account authors of Services may name, with annotation `ip`.").default("none");
    VOLUMES: Bool = ("volumes", Bool,
        "Whether it makes, attaches and deletes volumes of claims, in the place of the controller of the vendor's CSI driver.")
        .default("false");
}

/// The settings, parsed.
pub(crate) struct Settings {
    /// The tag of the cluster's droplets and load balancers; absent: all droplets of the account are the cluster's.
    pub(crate) cluster_tag: Option<String>,
    /// The VPC of new load balancers; absent for the region's default one.
    pub(crate) vpc: Option<String>,
    /// Where new load balancers are built; absent for where the nodes are.
    pub(crate) region: Option<String>,
    /// The type of new load balancers whose Service has no annotation for it.
    pub(crate) default_kind: Kind,
    pub(crate) pauses: Pauses,
    /// Whether an id annotation alone is proof of ownership.
    pub(crate) adopt_by_id: bool,
    pub(crate) allowed_certificates: Allowed,
    pub(crate) allowed_reserved_ips: Allowed,
    /// Whether it works on volumes.
    pub(crate) volumes: bool,
}

impl Settings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            cluster_tag: settings::read(&CLUSTER)?,
            vpc: settings::read(&VPC)?,
            region: settings::read(&REGION)?,
            default_kind: settings::get(&DEFAULT_TYPE)?,
            pauses: Pauses { poll: settings::get(&POLL_INTERVAL)?, create_again: settings::get(&CREATE_AGAIN_AFTER)? },
            adopt_by_id: settings::get(&ADOPT_BY_ID)?,
            allowed_certificates: Allowed::read(&ALLOWED_CERTIFICATES)?,
            allowed_reserved_ips: Allowed::read(&ALLOWED_RESERVED_IPS)?,
            volumes: settings::get(&VOLUMES)?,
        })
    }
}

/// The tag that all droplets of the cluster with this id have. The cloud takes tags of at most 255 characters.
fn cluster_tag(id: &str) -> Option<String> {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, ':' | '-' | '_');
    ((1..=251).contains(&id.len()) && id.chars().all(is_allowed)).then(|| format!("k8s:{id}"))
}
