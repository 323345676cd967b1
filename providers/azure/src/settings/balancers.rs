//! Settings about load balancers.

use std::time::Duration;

use aerostat_sdk::form::{AnyCase, Bool, Custom, Integer, List, OneOf, Port};
use aerostat_sdk::{Cluster, Error, Result, cluster, settings};

use super::several::BalancerConfiguration;
use super::words::{GROUP, NAME};
use super::{AccountSettings, has_subscription};
use crate::id::ResourceId;

/// A tag, as `name=value`.
pub(crate) const TAG: Custom<(String, String)> = Custom { allowed: "name=value", parse: tag };

aerostat_sdk::table! {
    /// Those about load balancers.
    pub(crate) const TABLE;
    SUBNET: Custom<String> = ("subnetName", NAME, "The subnet of addresses of internal load balancers.");
    SECURITY_GROUP: Custom<String> = ("securityGroupName", NAME, "The network security group of the nodes, which lets clients in. Without it none is written.");
    SECURITY_GROUP_GROUP: Custom<String> = ("securityGroupResourceGroup", GROUP, "The resource group of the network security group.")
        .otherwise("the value of resourceGroup");
    BALANCER: Custom<String> = ("loadBalancerName", NAME, "The name of the load balancer that all Services share.").otherwise("the cluster's name");
    BALANCER_GROUP: Custom<String> = ("loadBalancerResourceGroup", GROUP, "The resource group of load balancers.")
        .otherwise("the value of resourceGroup");
    SKU: AnyCase<()> = ("loadBalancerSku", AnyCase(OneOf(&[("standard", ())])), "The SKU of load balancers. Basic ones are retired by the vendor, and those of SKU service are not made.")
        .default("standard").hint("the vendor has retired load balancers of SKU basic, and those of SKU service are not made here");
    POOL: AnyCase<bool> = ("loadBalancerBackendPoolConfigurationType", AnyCase(OneOf(&[("nodeIPConfiguration", false), ("nodeIP", true)])),
        "Whether pools have interfaces of nodes, or their addresses: one write for all nodes.").default("nodeIPConfiguration").hint("pools of pods are not made here");
    OUTBOUND: Bool = ("disableOutboundSNAT", Bool, "Whether nodes do not reach the outside through rules.").default("false");
    MOST_RULES: Integer = ("maximumLoadBalancerRuleCount", Integer::between(1, 1_500), "The most rules of a load balancer.").default("250");
    SHARED_PROBE: AnyCase<bool> = ("clusterServiceLoadBalancerHealthProbeMode", AnyCase(OneOf(&[("servicenodeport", false), ("shared", true)])),
        "Whether Services of traffic policy Cluster share a health probe of the nodes' kube-proxy.").default("servicenodeport");
    SHARED_PROBE_PORT: Port = ("clusterServiceSharedLoadBalancerHealthProbePort", Port, "The port of the shared health probe.").default("10256");
    SHARED_PROBE_PATH: Custom<String> = ("clusterServiceSharedLoadBalancerHealthProbePath", Custom::path("a path such as /healthz"),
        "The path of the shared health probe.").default("/healthz");
    TAGS: List<Custom<(String, String)>> = ("tags", List { of: TAG, what: "tags", example: "team=web,cost=7" }, "Tags of public addresses that are made.");
    ZONES: Custom<Vec<String>> = ("zones", Custom { allowed: "zones such as 1,2,3, or none", parse: zones },
        "The zones of the region, which addresses are kept in.").otherwise("asked for when an address is made; none if that is refused");
    LINK_GROUP: Custom<String> = ("privateLinkServiceResourceGroup", GROUP, "The resource group of Private Link services.")
        .otherwise("the value of resourceGroup");
    GATHER: Integer = ("gatherMilliseconds", Integer::between(0, 10_000).of("milliseconds"),
        "How long a Service waits for others, so that what they share is written once.").default("2000");
}

/// The settings about load balancers, as the operator wrote them.
#[derive(Clone, Debug)]
pub(crate) struct AzureBalancerSettings {
    /// Where everything is.
    pub(crate) account: AccountSettings,
    /// The cluster's name: a part of many names.
    pub(crate) cluster: String,
    /// The cluster's UID.
    pub(crate) cluster_uid: String,
    pub(crate) subnet: Option<String>,
    pub(crate) security_group: Option<ResourceId>,
    /// The name of the one that all Services share.
    pub(crate) balancer: String,
    pub(crate) balancer_group: String,
    /// Whether pools have addresses.
    pub(crate) by_address: bool,
    pub(crate) no_outbound: bool,
    pub(crate) most_rules: usize,
    /// Port and path of the shared probe.
    pub(crate) shared_probe: Option<(u16, String)>,
    pub(crate) tags: Vec<(String, String)>,
    /// Without it the region is asked for its zones.
    pub(crate) zones: Option<Vec<String>>,
    pub(crate) link_group: String,
    /// Several load balancers, in the order of their names; none where all Services share one.
    pub(crate) several: Vec<BalancerConfiguration>,
}

impl AzureBalancerSettings {
    /// The settings that the operator wrote.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        Self::of(cluster()?)
    }

    /// Refuses those that cannot work, and those about the account.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub(crate) fn check() -> Result<()> {
        Self::gather()?;
        // No cluster is known yet.
        if has_subscription()? { Self::of(Cluster::of("", "")).map(drop) } else { Ok(()) }
    }

    fn of(cluster: Cluster) -> Result<Self> {
        let account = AccountSettings::read()?;
        settings::get(&SKU)?;
        let (port, path) = (settings::get(&SHARED_PROBE_PORT)?, settings::get(&SHARED_PROBE_PATH)?);
        let group = |key| Ok::<_, Error>(settings::read(key)?.unwrap_or_else(|| account.group.clone()));
        let security_group_group = group(&SECURITY_GROUP_GROUP)?;
        let security_group = settings::read(&SECURITY_GROUP)?;
        Ok(Self {
            subnet: settings::read(&SUBNET)?,
            security_group: security_group
                .map(|it| account.network(&security_group_group, &["networkSecurityGroups", &it])),
            balancer: settings::read(&BALANCER)?.unwrap_or_else(|| cluster.name.clone()),
            balancer_group: group(&BALANCER_GROUP)?,
            by_address: settings::get(&POOL)?,
            no_outbound: settings::get(&OUTBOUND)?,
            most_rules: settings::get(&MOST_RULES)? as usize,
            shared_probe: settings::get(&SHARED_PROBE)?.then_some((port, path)),
            tags: settings::read(&TAGS)?.unwrap_or_default(),
            zones: settings::read(&ZONES)?,
            link_group: group(&LINK_GROUP)?,
            several: BalancerConfiguration::all()?,
            cluster: cluster.name,
            cluster_uid: cluster.uid,
            account,
        })
    }

    /// How long the host waits for further Services.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub(crate) fn gather() -> Result<Duration> {
        Ok(Duration::from_millis(settings::get(&GATHER)?.into()))
    }

    /// The load balancer of this name.
    pub(crate) fn balancer_id(&self, name: &str) -> ResourceId {
        self.account.network(&self.balancer_group, &["loadBalancers", name])
    }

    /// The public address of this name in a group.
    pub(crate) fn public_id(&self, group: &str, name: &str) -> ResourceId {
        self.account.network(group, &["publicIPAddresses", name])
    }

    /// A subnet of the cluster's network.
    ///
    /// # Errors
    ///
    /// `invalid`, if no network or no subnet is named.
    pub(crate) fn subnet_id(&self, name: Option<&str>) -> Result<ResourceId> {
        let network = self
            .account
            .vnet
            .as_deref()
            .ok_or_else(|| Error::invalid("setting vnetName is missing: internal load balancers need it"))?;
        let subnet = name.or(self.subnet.as_deref());
        let subnet =
            subnet.ok_or_else(|| Error::invalid("setting subnetName is missing: internal load balancers need it"))?;
        Ok(self.account.network(&self.account.vnet_group, &["virtualNetworks", network, "subnets", subnet]))
    }

    /// The names of all load balancers of the cluster.
    pub(crate) fn all_balancer_names(&self) -> Vec<String> {
        self.balancer_names(false).into_iter().chain(self.balancer_names(true)).collect()
    }

    /// Those for clients outside, or for those inside.
    pub(crate) fn balancer_names(&self, is_internal: bool) -> Vec<String> {
        let suffix = if is_internal { "-internal" } else { "" };
        match self.several.is_empty() {
            true => vec![format!("{}{suffix}", self.balancer)],
            false => self.several.iter().map(|it| format!("{}{suffix}", it.name)).collect(),
        }
    }
}

fn tag(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let is_name = !name.trim().is_empty() && name.len() <= 512 && !name.contains(['<', '>', '%', '&', '\\', '?', '/']);
    (is_name && value.len() <= 256).then(|| (name.trim().to_owned(), value.trim().to_owned()))
}

fn zones(text: &str) -> Option<Vec<String>> {
    if text == "none" {
        return Some(Vec::new());
    }
    let zones: Vec<String> = text.split(',').map(|it| it.trim().to_owned()).collect();
    zones
        .iter()
        .all(|it| !it.is_empty() && it.len() <= 8 && it.bytes().all(|it| it.is_ascii_alphanumeric()))
        .then_some(zones)
}
