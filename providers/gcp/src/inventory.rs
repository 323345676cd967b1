//! The list of all that was made for load balancers and costs money or opens the network: forwarding rules, addresses, firewalls.

use aerostat_sdk::{
    Ingress, InventoryDescription, InventoryItem, InventoryPage, LoadBalancerInventory, MarkedOwner, Proof, Result,
    cluster,
};
use serde_json::Value;

use crate::api::PAGE;
use crate::api::fields::{text, word};
use crate::api::objects::{self, GceKind};
use crate::load_balancer::{CLUSTER_LABEL, SERVICE_LABEL, memo_of, owner_in};
use crate::provider::Gcp;
use crate::settings::ProjectSettings;

/// The lists, one after the other.
const LISTS: [(GceKind, &str); 3] =
    [(GceKind::ForwardingRules, "rules"), (GceKind::Addresses, "addresses"), (GceKind::Firewalls, "firewalls")];

impl LoadBalancerInventory for Gcp {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGE, false))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let settings = ProjectSettings::read()?;
        let uid = cluster()?.uid;
        let (list, token) = cursor.and_then(|it| it.split_once(':')).unwrap_or((LISTS[0].1, ""));
        let at = LISTS.iter().position(|(_, word)| *word == list).unwrap_or(LISTS.len());
        let Some((kind, word)) = LISTS.get(at) else {
            return Err(aerostat_sdk::Error::invalid(format_args!("cursor {list:?} is not one of this list")));
        };
        let token = Some(token).filter(|it| !it.is_empty());
        let (shown, next) = objects::listed(&settings, *kind, token, limit)?;
        let items = shown.iter().filter_map(|it| item(*kind, it, &uid)).collect();
        let following = LISTS.get(at + 1).map(|(_, word)| format!("{word}:"));
        Ok(InventoryPage::new(items, next.map(|it| format!("{word}:{it}")).or(following)))
    }
}

/// An object that was made for a Service of this cluster, as labels say; without labels, for a Service with this name of some cluster.
fn item(kind: GceKind, shown: &Value, cluster: &str) -> Option<InventoryItem> {
    let label = |key: &str| word(&shown["labels"], key);
    let owner = owner_in(shown)?;
    let (namespace, service) = owner.split_once('/')?;
    let name = text(shown, "name");
    let (cluster_uid, uid) = (label(CLUSTER_LABEL), label(SERVICE_LABEL));
    if cluster_uid.as_ref().is_some_and(|it| *it != cluster) || !has_balancer_name(kind, &name) {
        return None;
    }
    let is_unique = cluster_uid.is_some() && uid.as_ref().is_some_and(|it| name == balancer_name(it));
    let memo = is_unique.then(|| memo_of(&name, u64::from(kind == GceKind::Addresses)));
    let marked =
        MarkedOwner { cluster_uid, uid, namespace: Some(namespace.to_owned()), name: Some(service.to_owned()) };
    let proof = if is_unique { Proof::Unique } else { Proof::ByName };
    let mut item = InventoryItem::new(format!("{} {name}", kind.title()), marked, proof);
    item.memo = memo;
    item.ingress = word(shown, "IPAddress").map(Ingress::ip).into_iter().collect();
    Some(item)
}

/// Upstream's name of a Service's load balancer.
fn balancer_name(uid: &str) -> String {
    format!("a{}", uid.replace('-', "")).chars().take(32).collect()
}

/// Whether it is called as what is made for one Service.
fn has_balancer_name(kind: GceKind, name: &str) -> bool {
    let name = if kind == GceKind::Firewalls { name.strip_prefix("k8s-fw-").unwrap_or(name) } else { name };
    name.strip_prefix('a').is_some_and(|it| it.len() >= 31 && it[..31].bytes().all(|it| it.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests;
