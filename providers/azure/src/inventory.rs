//! Everything that carries marks of this cluster: public addresses by their tags, and frontends by their names.

use aerostat_sdk::{
    Error, Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, Mark,
    MarkedOwner, Proof, Result,
};
use serde_json::Value;

use crate::api::fields::{tag, text, word};
use crate::api::writes::{has_failed, is_changing};
use crate::api::{AzureApi, lists};
use crate::id::same;
use crate::load_balancer::{CLUSTER_TAG, MARK_TAG, SERVICE_TAG, base_in, base_of, memo_of};
use crate::provider::Azure;
use crate::settings::balancers::AzureBalancerSettings;

/// Items on a page: all of them are two lists.
const PAGE: u32 = 500;

impl LoadBalancerInventory for Azure {
    fn describe() -> Result<InventoryDescription> {
        // A Service has parts of several objects: the revision of one tells of no change of the others.
        Ok(InventoryDescription::new(PAGE, false))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage> {
        let past: usize = match cursor {
            None => 0,
            Some(it) => {
                it.parse().map_err(|_| Error::invalid(format_args!("cursor {it:?} is not one of this list")))?
            }
        };
        let settings = AzureBalancerSettings::read()?;
        let publics = settings.account.network(&settings.account.group, &["publicIPAddresses"]);
        let publics = lists::all(AzureApi::Network, &publics, &[])?;
        let mut items: Vec<InventoryItem> = Vec::new();
        for name in settings.all_balancer_names() {
            let shown: Option<Value> = AzureApi::Network.get(&settings.balancer_id(&name)).find()?;
            items.extend(shown.iter().flat_map(|it| frontends(it, &name, &publics)));
        }
        items.extend(publics.iter().filter_map(|it| public(it, &settings)));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let next = (items.len() > past.saturating_add(limit)).then(|| (past + limit).to_string());
        Ok(InventoryPage::new(items.into_iter().skip(past).take(limit).collect(), next))
    }
}

/// The owner that a public address's tags name.
fn owner(public: &Value) -> MarkedOwner {
    let mark: Option<Mark> = tag(public, MARK_TAG).and_then(|it| it.parse().ok());
    // Where several Services share it, the first has made it.
    let first = tag(public, SERVICE_TAG).unwrap_or_default().split(',').next().unwrap_or_default();
    let (namespace, name) = first.split_once('/').unzip();
    MarkedOwner {
        cluster_uid: mark.as_ref().map(|it| it.cluster.clone()),
        uid: mark.map(|it| it.service),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
    }
}

/// A public address that was made for a Service of this cluster.
fn public(shown: &Value, settings: &AzureBalancerSettings) -> Option<InventoryItem> {
    let is_named = tag(shown, CLUSTER_TAG).is_some_and(|it| same(it, &settings.cluster));
    tag(shown, SERVICE_TAG)?;
    let marked = owner(shown);
    let is_ours = marked.cluster_uid.as_ref().is_none_or(|it| *it == settings.cluster_uid);
    if !is_named || !is_ours {
        return None;
    }
    let name = text(shown, "/name");
    // The mark and the name hold the Service's UID: both have to be there.
    let uid =
        marked.uid.clone().filter(|uid| base_in(&settings.cluster, name).is_some_and(|it| same(it, &base_of(uid))));
    let proof = if uid.is_some() { Proof::Unique } else { Proof::ByName };
    let mut item = InventoryItem::new(format!("public address {name}"), marked, proof);
    item.memo = uid.map(|it| memo_of(&base_of(&it), "address"));
    item.ingress = word(shown, "/properties/ipAddress").map(Ingress::ip).into_iter().collect();
    item.state = state(shown);
    Some(item)
}

/// Frontends that are called as those of Services: a name alone is no proof.
fn frontends<'v>(balancer: &'v Value, name: &'v str, publics: &'v [Value]) -> impl Iterator<Item = InventoryItem> {
    let all = crate::api::fields::items(balancer, "/properties/frontendIPConfigurations").iter();
    all.filter_map(move |shown| {
        let frontend = text(shown, "/name");
        base_in("", frontend)?;
        let public = publics.iter().find(|it| same(text(it, "/id"), text(shown, "/properties/publicIPAddress/id")));
        let marked = public.map_or_else(MarkedOwner::default, owner);
        let mut item =
            InventoryItem::new(format!("frontend {frontend} of load balancer {name}"), marked, Proof::ByName);
        let address = word(shown, "/properties/privateIPAddress").or_else(|| word(public?, "/properties/ipAddress"));
        item.ingress = address.map(Ingress::ip).into_iter().collect();
        item.state = state(balancer);
        Some(item)
    })
}

fn state(shown: &Value) -> InventoryState {
    match (has_failed(shown), is_changing(shown)) {
        (true, _) => InventoryState::Failed(format!("{} has failed", text(shown, "/name"))),
        (false, true) => InventoryState::Changing,
        (false, false) => InventoryState::Ready,
    }
}

#[cfg(test)]
mod tests;
