//! The machines of nodes: Rancher's hosts.

use aerostat_sdk::{Address, Error, Instance, Instances, Node, Page, Result};
use aerostat_sdk::{SortedMap, SortedSet, events, provider_id};
use serde::Deserialize;

use crate::api::{API, CattleResource, all, page};
use crate::provider::{PREFIX, Rancher};

/// In a node's `extra`: the id of its host, by which its absence is confirmed.
const HOST: &str = "host";

impl Instances for Rancher {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let host = match &node.provider_id {
            Some(id) => with_uuid(node, provider_id::split(PREFIX, id)?)?,
            None => named(node)?,
        };
        let Some(host) = host else { return Ok(None) };
        let addresses: Vec<IpAddress> = all(&API.get(["hosts", &host.resource.id, "ipaddresses"]))?;
        Ok(Some(host.instance(addresses.into_iter().filter_map(|it| it.address))))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let (hosts, next) = page::<RancherHost>(API.get(["hosts"]).query("removed_null", 1), cursor, limit)?;
        let mut of_hosts: SortedMap<String, Vec<String>> = SortedMap::new();
        for IpAddress { address, hosts } in all(&API.get(["ipaddresses"]).query("include", "hosts"))? {
            for host in hosts {
                of_hosts.get_or_default(host.id).extend(address.clone());
            }
        }
        let hosts = hosts.into_iter().filter(|it| !it.resource.is_removed() && !it.name().is_empty());
        let addresses = |it: &RancherHost| of_hosts.get(&*it.resource.id).cloned().unwrap_or_default();
        Ok(Page::new(hosts.map(|it| (addresses(&it), it)).map(|(own, it)| it.instance(own)).collect(), next))
    }
}

/// The host with this UUID. Where the filter shows none, it is gone only if its id, or else the whole list, does not show it either.
fn with_uuid(node: &Node, uuid: &str) -> Result<Option<RancherHost>> {
    let is_it = |it: &RancherHost| it.uuid == uuid && !it.resource.is_removed();
    let filtered = all(&API.get(["hosts"]).query("uuid", uuid))?.into_iter().find(is_it);
    match node.extra.iter().find(|(key, _)| key == HOST) {
        _ if filtered.is_some() => Ok(filtered),
        Some((_, id)) => Ok(API.get(["hosts", id]).find()?.filter(is_it)),
        None => Ok(all(&API.get(["hosts"]))?.into_iter().find(is_it)),
    }
}

/// The one host that has the name of the node: in any case, and without its domain where one of the two has none.
fn named(node: &Node) -> Result<Option<RancherHost>> {
    let hosts: Vec<RancherHost> = all(&API.get(["hosts"]))?;
    let mut found = hosts.into_iter().filter(|it| !it.resource.is_removed() && is_called(it.name(), &node.name));
    match (found.next(), found.next()) {
        (Some(one), Some(other)) => {
            let (one, other) = (one.resource.id, other.resource.id);
            let why = format!("hosts {one} and {other} of Rancher are both called {}: rename one of them", node.name);
            events::warning(Some(&node.name), "InstanceLookupFailed", &why);
            Err(Error::Invalid(why))
        }
        (host, _) => Ok(host),
    }
}

fn is_called(host: &str, node: &str) -> bool {
    let short = |name: &'_ str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let both_have_domains = host.contains('.') && node.contains('.');
    host.eq_ignore_ascii_case(node) || (!both_have_domains && short(host) == short(node))
}

/// A host. It has no zone, no region and no type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RancherHost {
    #[serde(flatten)]
    resource: CattleResource,
    uuid: String,
    /// Absent while its agent has not registered it.
    hostname: Option<String>,
    agent_ip_address: Option<String>,
}

impl RancherHost {
    fn name(&self) -> &str {
        self.hostname.as_deref().unwrap_or_default()
    }

    /// Each address once, and none that is empty.
    fn instance(self, addresses: impl IntoIterator<Item = String>) -> Instance {
        let name = self.name().to_ascii_lowercase();
        let mut seen = SortedSet::from([String::new()]);
        let known = self.agent_ip_address.into_iter().chain(addresses).filter(|it| seen.insert(it.clone()));
        let addresses = [Address::hostname(&name)].into_iter().chain(known.map(Address::internal_ip));
        Instance::new(name, provider_id::join(PREFIX, self.uuid)).extra(HOST, self.resource.id).addresses(addresses)
    }
}

/// An address, in a list of all with the hosts that its link `hosts` leads to.
#[derive(Deserialize)]
struct IpAddress {
    address: Option<String>,
    #[serde(default)]
    hosts: Vec<CattleResource>,
}
