//! The list of all load balancers that are marked for Services of this cluster.

mod revision;

use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::json;
use aerostat_sdk::{
    Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, MarkedOwner,
    Position, Proof, Result, cluster, time,
};
use serde_json::Value;

use crate::api::load_balancers::{self as api, CLUSTER, KEPT, LoadBalancer, OWN_SERVICE, SERVICE};
use crate::api::{PAGES, actions};
use crate::provider::Hetzner;

impl LoadBalancerInventory for Hetzner {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGES.largest, true))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let size = limit.clamp(1, PAGES.largest);
        let at = Position::parse(cursor, &["load-balancers"], size)?;
        let found = api::page_of_marked(at.page, size)?;
        let busy = if found.items.is_empty() { Default::default() } else { actions::busy_load_balancers()? };
        let cluster = cluster()?.uid;
        let mut unread = None;
        let mut items = Vec::new();
        for shown in found.items {
            match json::read::<LoadBalancer>(&shown) {
                Ok(live) => items.extend(item(&live, shown, &cluster, busy.contains(&live.id))),
                Err(why) => unread = Some(format!("load balancer {} cannot be read: {why}", shown["id"])),
            }
        }
        let page = InventoryPage::new(items, at.next(found.is_last));
        Ok(match unread {
            Some(why) => page.incomplete(why),
            None => page,
        })
    }
}

/// `None`, if it is marked for another cluster.
fn item(live: &LoadBalancer, shown: Value, cluster: &str, is_busy: bool) -> Option<InventoryItem> {
    let of_cluster = live.label(CLUSTER);
    if of_cluster.is_some_and(|it| it != cluster) {
        return None;
    }
    let (vendor, own) = (live.label(SERVICE), live.label(OWN_SERVICE));
    // The vendor's mark does not say which cluster it is of.
    let proof = if of_cluster.is_some() && own.is_some() && own == vendor { Proof::Unique } else { Proof::ByName };
    let owner = MarkedOwner {
        cluster_uid: of_cluster.map(str::to_owned),
        // Anybody may write labels: what is no UID is no Service's.
        uid: own.or(vendor).and_then(|it| Custom::uuid("").parse(it)),
        ..MarkedOwner::default()
    };
    let public = Some(&live.public_net).filter(|it| it.enabled);
    let public: Vec<_> = public.into_iter().flat_map(|it| [&it.ipv4.ip, &it.ipv6.ip]).flatten().collect();
    let private = live.private_net.iter().filter_map(|it| it.ip.as_ref());
    let is_being_built = is_busy || (live.public_net.enabled && public.is_empty());
    let mut item = InventoryItem::new(live.title(), owner, proof);
    item.memo = Some(live.id.to_string());
    item.state = if is_being_built { InventoryState::Changing } else { InventoryState::Ready };
    item.revision = revision::of(live, shown);
    item.ingress = public.iter().copied().chain(private).map(Ingress::ip).collect();
    item.created = time::seconds(&live.created);
    Some(match kept(live) {
        Some(why) => item.kept(why),
        None => item,
    })
}

/// Why it is no orphan, whether its Service is there or not.
fn kept(live: &LoadBalancer) -> Option<String> {
    if live.protection.delete {
        return Some("it is protected from deletion in the cloud".to_owned());
    }
    let is_marked = live.labels.contains_key(KEPT);
    is_marked.then(|| format!("it was protected when its Service went, as its label {KEPT} says"))
}

#[cfg(test)]
mod tests;
