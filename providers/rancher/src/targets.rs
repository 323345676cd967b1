//! External services: Rancher's word for addresses outside of it. A Service of the cluster has one, with all of its nodes.

use aerostat_sdk::{AddressKind, Change, IpFamily, LoadBalancer, Node, Result, SortedSet, cluster};
use serde_json::json;

use crate::api::{API, CattleResource, act, all, busy};
use crate::balancers::Call;

const COLLECTION: &str = "externalservices";

impl Call<'_> {
    /// The id of the external service with the addresses of all nodes, once it is there and active. Takes one step.
    pub(crate) fn target(&self, balancer: &CattleResource) -> Result<Change<String>> {
        let nodes: SortedSet<_> = self.service.nodes.iter().filter_map(address).collect();
        if nodes.is_empty() {
            return Err(LoadBalancer::without_nodes(""));
        }
        let Some(live) = self.find_target()? else {
            let (name, mark, stack) = (self.target_name()?, &self.mark, &balancer.stack_id);
            let body = json!({ "name": name, "stackId": stack, "externalId": mark, "externalIpAddresses": nodes });
            let made = API.post([COLLECTION]).json(&body).change()?;
            return Ok(Change::Busy(busy(made, format_args!("Rancher makes external service {name}"))));
        };
        live.refuse_others(&self.mark)?;
        if let Some(why) = live.changes()? {
            return Ok(Change::Busy(why));
        }
        let path = [COLLECTION, &live.id];
        if live.external_ip_addresses.iter().flatten().cloned().collect::<SortedSet<_>>() != nodes {
            let written = API.put(path).json(&json!({ "externalIpAddresses": nodes })).change()?;
            return Ok(Change::Busy(busy(written, format_args!("Rancher writes the nodes of {}", live.id))));
        }
        if live.offers("activate") {
            return act(path, "activate", None).map(Change::Busy);
        }
        Ok(Change::Done(live.id))
    }

    /// Takes one step towards its absence: it is known by its id where the load balancer leads to it, and else by its name.
    pub(crate) fn delete_target(&self, balancer: Option<&CattleResource>) -> Result<Change<()>> {
        let found = match balancer.and_then(|it| it.lb_config["portRules"][0]["serviceId"].as_str()) {
            Some(id) => API.get([COLLECTION, id]).find()?.filter(|it: &CattleResource| !it.is_removed()),
            None => self.find_target()?,
        };
        let own = found.filter(|it| it.has_mark(&self.mark));
        own.map_or(Ok(Change::Done(())), |live| live.delete(COLLECTION).map(Change::Busy))
    }

    /// The cluster's own: two clusters in one environment have different ones.
    fn target_name(&self) -> Result<String> {
        Ok(format!("{}-{}", cluster()?.uid.chars().take(8).collect::<String>(), self.service.name))
    }

    pub(crate) fn find_target(&self) -> Result<Option<CattleResource>> {
        let name = self.target_name()?;
        let found: Vec<CattleResource> = all(&API.get([COLLECTION]).query("name", &name))?;
        let found = found.into_iter().filter(|it| it.name.as_ref() == Some(&name) && !it.is_removed());
        // One of another stack may have the same name.
        Ok(found.max_by_key(|it| it.has_mark(&self.mark)))
    }
}

/// The address to which traffic for a node is sent.
fn address(node: &Node) -> Option<String> {
    let of = |family| node.address(AddressKind::InternalIp, family);
    of(IpFamily::Ipv4).or_else(|| of(IpFamily::Ipv6)).map(str::to_owned)
}
