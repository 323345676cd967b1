//! The kinds of resources, as the API's collections have them.

/// A collection of resources.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Collection {
    /// VPC networks.
    Networks,
    /// Their subnets.
    Subnetworks,
    /// Firewall rules of a network.
    Firewalls,
    /// Static routes of a network.
    Routes,
    /// Health checks of target pools.
    HttpHealthChecks,
    /// Health checks of backend services.
    HealthChecks,
    /// Static addresses, external and internal.
    Addresses,
    /// Forwarding rules: the front of a load balancer.
    ForwardingRules,
    /// Target pools: the back of an external load balancer.
    TargetPools,
    /// Backend services: the back of an internal one.
    BackendServices,
    /// Machines.
    Instances,
    /// Unmanaged groups of machines.
    InstanceGroups,
    /// Persistent disks.
    Disks,
}

/// The scope of a collection's resources.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    Global,
    Regional,
    Zonal,
}

impl Collection {
    /// All of them.
    pub const ALL: [Collection; 13] = [
        Collection::Networks,
        Collection::Subnetworks,
        Collection::Firewalls,
        Collection::Routes,
        Collection::HttpHealthChecks,
        Collection::HealthChecks,
        Collection::Addresses,
        Collection::ForwardingRules,
        Collection::TargetPools,
        Collection::BackendServices,
        Collection::Instances,
        Collection::InstanceGroups,
        Collection::Disks,
    ];

    /// Name in paths, name of one in messages and kinds, and the quota of it.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Collection::Networks => ("networks", "network", "NETWORKS"),
            Collection::Subnetworks => ("subnetworks", "subnetwork", "SUBNETWORKS"),
            Collection::Firewalls => ("firewalls", "firewall", "FIREWALLS"),
            Collection::Routes => ("routes", "route", "ROUTES"),
            Collection::HttpHealthChecks => ("httpHealthChecks", "httpHealthCheck", "HEALTH_CHECKS"),
            Collection::HealthChecks => ("healthChecks", "healthCheck", "HEALTH_CHECKS"),
            Collection::Addresses => ("addresses", "address", "STATIC_ADDRESSES"),
            Collection::ForwardingRules => ("forwardingRules", "forwardingRule", "FORWARDING_RULES"),
            Collection::TargetPools => ("targetPools", "targetPool", "TARGET_POOLS"),
            Collection::BackendServices => ("backendServices", "backendService", "BACKEND_SERVICES"),
            Collection::Instances => ("instances", "instance", "INSTANCES"),
            Collection::InstanceGroups => ("instanceGroups", "instanceGroup", "INSTANCE_GROUPS"),
            Collection::Disks => ("disks", "disk", "DISKS_TOTAL_GB"),
        }
    }

    /// Name in paths: `forwardingRules`.
    #[must_use]
    pub fn many(self) -> &'static str {
        self.names().0
    }

    /// Name of one of them: `forwardingRule`.
    #[must_use]
    pub fn one(self) -> &'static str {
        self.names().1
    }

    /// The quota on how many there are: `FORWARDING_RULES`.
    #[must_use]
    pub fn quota(self) -> &'static str {
        self.names().2
    }

    pub(super) fn reach(self) -> Reach {
        match self {
            Collection::Networks
            | Collection::Firewalls
            | Collection::Routes
            | Collection::HttpHealthChecks
            | Collection::HealthChecks => Reach::Global,
            Collection::Subnetworks
            | Collection::Addresses
            | Collection::ForwardingRules
            | Collection::TargetPools
            | Collection::BackendServices => Reach::Regional,
            Collection::Instances | Collection::InstanceGroups | Collection::Disks => Reach::Zonal,
        }
    }

    /// Whether its resources have labels, and a fingerprint of them.
    pub(super) fn has_labels(self) -> bool {
        matches!(self, Collection::Addresses | Collection::ForwardingRules | Collection::Instances | Collection::Disks)
    }

    /// Whether its resources have a fingerprint, which a change must name.
    pub(super) fn has_fingerprint(self) -> bool {
        matches!(self, Collection::BackendServices | Collection::ForwardingRules | Collection::Subnetworks)
    }

    /// The collection with this name in paths.
    pub(super) fn named(many: &str) -> Option<Collection> {
        Collection::ALL.into_iter().find(|it| it.many() == many)
    }

    /// The collection of a path's resource.
    #[must_use]
    pub fn of(path: &str) -> Option<Collection> {
        Collection::named(path.rsplit('/').nth(1)?)
    }
}
