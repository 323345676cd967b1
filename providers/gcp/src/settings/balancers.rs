//! Settings about load balancers.

use aerostat_sdk::form::{Bool, Custom, List};
use aerostat_sdk::{Result, settings};

use super::ProjectSettings;
use crate::machine::is_name;

/// A name of Compute Engine.
const NAME: Custom<String> = Custom {
    allowed: "a name of lower-case letters, digits and dashes",
    parse: |text| is_name(text).then(|| text.to_owned()),
};

aerostat_sdk::table! {
    /// Those about load balancers.
    pub(crate) const TABLE;
    SUBNET: Custom<String> = ("subnetwork", NAME, "The subnet of addresses of internal load balancers.")
        .otherwise("the network's own in the region");
    NODE_TAGS: List<Custom<String>> = ("nodeTags", List { of: NAME, what: "network tags", example: "k8s-node" },
        "The network tags by which firewalls choose nodes.").otherwise("of each node the longest tag that its name begins with");
    CLUSTER_ID: Custom<String> = ("clusterID", Custom { allowed: "lower-case letters and digits, at most 16",
        parse: |text| crate::machine::is_id(text).then(|| text.to_owned()) },
        "The id in names of what Services share: instance groups and health checks.")
        .otherwise("that of ConfigMap kube-system/ingress-uid, or the beginning of the cluster's UID");
    LEGACY_CLASSES: Bool = ("legacyClasses", Bool,
        "Whether Services of the classes networking.gke.io/l4-regional-external-legacy and networking.gke.io/l4-regional-internal-legacy are served.")
        .default("false");
    DENY_FIREWALL: Bool = ("denyFirewall", Bool,
        "Whether a second firewall keeps out whatever else comes to the address of an external load balancer.").default("false");
    WRITE_ANNOTATIONS: Bool = ("writeAnnotations", Bool,
        "Whether Services get annotations with the names of their target pool or backend service.").default("false");
    CHECK_SOURCES: List<Custom<String>> = ("healthCheckSources", List {
        of: Custom::cidr("an IPv4 network"), what: "IPv4 networks", example: "35.191.0.0/16" },
        "The networks from which health checks come.").default("130.211.0.0/22,209.85.152.0/22,209.85.204.0/22,35.191.0.0/16");
}

/// The settings about load balancers, as the operator wrote them.
#[derive(Clone, Debug)]
pub(crate) struct GceBalancerSettings {
    /// Where everything is.
    pub(crate) project: ProjectSettings,
    /// The name of the subnet of internal load balancers.
    pub(crate) subnet: Option<String>,
    /// Empty where nodes have tags of their own.
    pub(crate) node_tags: Vec<String>,
    pub(crate) legacy_classes: bool,
    pub(crate) deny_firewall: bool,
    pub(crate) write_annotations: bool,
    pub(crate) check_sources: Vec<String>,
}

impl GceBalancerSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Self::of(ProjectSettings::read()?)
    }

    /// Refuses those that cannot work.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub(crate) fn check() -> Result<()> {
        settings::read(&CLUSTER_ID)?;
        let project = ProjectSettings {
            project: String::new(),
            region: String::new(),
            network_project: String::new(),
            network: String::new(),
            ipv6_first: false,
        };
        Self::of(project).map(drop)
    }

    fn of(project: ProjectSettings) -> Result<Self> {
        Ok(Self {
            project,
            subnet: settings::read(&SUBNET)?,
            node_tags: settings::read(&NODE_TAGS)?.unwrap_or_default(),
            legacy_classes: settings::get(&LEGACY_CLASSES)?,
            deny_firewall: settings::get(&DENY_FIREWALL)?,
            write_annotations: settings::get(&WRITE_ANNOTATIONS)?,
            check_sources: settings::get(&CHECK_SOURCES)?,
        })
    }

    /// The reference of a subnet, from `projects/` on. It is of the network's project.
    pub(crate) fn subnet_reference(&self, name: &str) -> String {
        let ProjectSettings { network_project, region, .. } = &self.project;
        format!("projects/{network_project}/regions/{region}/subnetworks/{name}")
    }

    /// The reference of the network, from `projects/` on.
    pub(crate) fn network_reference(&self) -> String {
        let ProjectSettings { network_project, network, .. } = &self.project;
        format!("projects/{network_project}/global/networks/{network}")
    }
}
