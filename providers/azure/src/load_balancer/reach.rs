//! The addresses and ports of a Service that the security group is about, as load balancers show them.

use aerostat_sdk::{LoadBalancer, SortedSet};
use serde_json::Value;

use super::cloud::BalancerCloud;
use super::names::{SERVICE_TAG, is_of, is_public_of};
use super::placement::Placement;
use super::tree::parts;
use crate::api::fields::{tag, text};
use crate::id::{last_of, same};
use crate::settings::balancers::AzureBalancerSettings;

/// Addresses and ports that a Service has, or had.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceReach {
    /// Addresses that stand in no security rule but its own.
    pub(crate) former: SortedSet<String>,
    /// Node ports at which nodes are reached.
    pub(crate) node_ports: SortedSet<String>,
    /// Ports of other Services at its frontends, as "Tcp/80".
    pub(crate) others: SortedSet<String>,
}

impl ServiceReach {
    /// That of a Service, which has `owner` as its tag in addresses, and is at this place, if it has one already.
    pub(crate) fn of(
        service: &LoadBalancer,
        owner: &str,
        place: Option<&Placement>,
        settings: &AzureBalancerSettings,
        cloud: &BalancerCloud,
    ) -> Self {
        let base = &service.name;
        let mut reach = Self::default();
        let shown = service.current_ingress.iter().filter_map(|it| it.ip.clone());
        shown.filter(|it| !is_anothers(it, base, owner, settings, cloud)).for_each(|it| _ = reach.former.insert(it));
        for (name, balancer) in cloud.balancers.iter().filter_map(|(name, it)| Some((name, it.as_ref()?))) {
            let rules = parts(balancer, "loadBalancingRules");
            let is_own = |it: &&Value| is_of(base, text(it, "/name"));
            let mut frontends: Vec<&str> = rules
                .iter()
                .filter(is_own)
                .map(|it| last_of(text(it, "/properties/frontendIPConfiguration/id")))
                .collect();
            let named = parts(balancer, "frontendIPConfigurations").iter().map(|it| text(it, "/name"));
            frontends.extend(named.filter(|it| is_of(base, it)));
            let placed = place.filter(|it| same(&it.balancer, name)).into_iter().flat_map(|it| &it.frontends);
            frontends.extend(placed.map(|it| it.name.as_str()));
            for frontend in &frontends {
                cloud.address(name, frontend).into_iter().for_each(|it| _ = reach.former.insert(it));
            }
            for rule in rules {
                let is_here =
                    frontends.iter().any(|it| same(it, last_of(text(rule, "/properties/frontendIPConfiguration/id"))));
                let number = |field: &str| rule["properties"][field].as_u64().unwrap_or_default();
                if is_of(base, text(rule, "/name")) {
                    let at_nodes = rule["properties"]["enableFloatingIP"] == false && number("backendPort") > 0;
                    at_nodes.then(|| reach.node_ports.insert(number("backendPort").to_string()));
                } else if is_here {
                    reach.others.insert(format!("{}/{}", text(rule, "/properties/protocol"), number("frontendPort")));
                }
            }
        }
        reach
    }
}

/// Whether an address is another Service's: its author may have written it into an annotation.
fn is_anothers(ip: &str, base: &str, owner: &str, settings: &AzureBalancerSettings, cloud: &BalancerCloud) -> bool {
    let is_anothers_public = |entry: &&Value| {
        let services = tag(entry, SERVICE_TAG).unwrap_or_default();
        let is_own = is_public_of(&settings.cluster, base, text(entry, "/name"))
            || services.split(',').any(|entry| entry.trim() == owner);
        text(entry, "/properties/ipAddress") == ip && !services.is_empty() && !is_own
    };
    let frontends = cloud.balancers.values().flatten().flat_map(|it| parts(it, "frontendIPConfigurations"));
    let mut privates = frontends.filter(|it| !is_of(base, text(it, "/name")));
    cloud.publics.iter().any(|it| is_anothers_public(&it))
        || privates.any(|it| text(it, "/properties/privateIPAddress") == ip)
}
