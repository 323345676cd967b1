//! The list of all load balancers of this cluster: with it come the lists of their parts, so that each of them is compared without a
//! request of its own.

use aerostat_sdk::{
    Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory, Mark,
    MarkedOwner, Proof, Result, cluster,
};
use serde_json::{Value, json};

use crate::api::neutron::{self, FloatingIp};
use crate::api::octavia::{self, OctaviaBalancer};
use crate::load_balancer::tagged;
use crate::provider::OpenStack;
use crate::revision::revision;
use crate::settings::OctaviaSettings;

impl LoadBalancerInventory for OpenStack {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(crate::api::PAGE, true))
    }

    /// All of them on one page: what is compared needs the whole of each list of parts.
    fn list(_cursor: Option<&str>, _limit: u32) -> Result<InventoryPage> {
        let settings = OctaviaSettings::read()?;
        let cluster = cluster()?;
        let mut clusters = vec![cluster.name.as_str()];
        clusters.extend(settings.former_cluster.as_deref());
        let shown = octavia::all("loadbalancers")?;
        let mut balancers = octavia::read_balancers(&shown);
        balancers.retain(|it| !it.is_going());
        let ours: Vec<_> = balancers.iter().filter(|it| is_of(it, &cluster.uid, &clusters)).collect();
        if ours.is_empty() {
            return Ok(InventoryPage::new(Vec::new(), None));
        }
        let parts = ListedParts {
            balancers: shown,
            listeners: octavia::all("listeners")?,
            pools: octavia::all("pools")?,
            monitors: octavia::all("healthmonitors")?,
            floating: neutron::floating_ips()?,
        };
        // Read here so that a comparison finds them without a request.
        neutron::groups::all()?;
        let items = ours.iter().flat_map(|it| items(it, &cluster.uid, &clusters, &parts)).collect();
        Ok(InventoryPage::new(items, None))
    }
}

/// The parts of all load balancers of the project, as Octavia shows them.
struct ListedParts {
    balancers: Vec<Value>,
    listeners: Vec<Value>,
    pools: Vec<Value>,
    monitors: Vec<Value>,
    floating: Vec<FloatingIp>,
}

/// Whether a load balancer has a mark of this cluster, or, without any mark, a name or tag with one of its names.
fn is_of(live: &OctaviaBalancer, uid: &str, clusters: &[&str]) -> bool {
    let marks = marks(live);
    if marks.is_empty() { !tagged(live, clusters).is_empty() } else { marks.iter().any(|it| it.cluster == uid) }
}

fn marks(live: &OctaviaBalancer) -> Vec<Mark> {
    live.tags().iter().filter_map(|it| it.parse().ok()).collect()
}

/// The load balancer as a whole, as its owner remembers it; and, where it is shared, each part that has a mark, as the part's Service
/// remembers it. The order of tags tells nothing: with several, a mark does not say which name it goes with.
fn items(live: &OctaviaBalancer, cluster: &str, clusters: &[&str], parts: &ListedParts) -> Vec<InventoryItem> {
    let (marks, tags) = (marks(live), tagged(live, clusters));
    let revision = revision_of(live, parts);
    let floating = parts.floating.iter().find(|it| it.port_id.is_some() && it.port_id == live.vip_port_id);
    let first = floating.map(|it| it.floating_ip_address.as_str()).or(live.vip_address.as_deref());
    let others = live.additional_vips.iter().filter_map(|it| it.ip_address.as_deref());
    let ingress: Vec<_> = first.into_iter().chain(others).map(Ingress::ip).collect();
    let item = |memo: String, owner: MarkedOwner, proof: Proof| {
        let mut item = InventoryItem::new(live.title(), owner, proof);
        item.memo = Some(memo);
        item.state = if live.is_active() { InventoryState::Ready } else { InventoryState::Changing };
        item.revision = Some(revision.clone());
        item.ingress.clone_from(&ingress);
        item
    };
    let own = tags.iter().find(|it| it.is_owner);
    let single = marks.first().filter(|it| marks.len() == 1 && tags.len() < 2 && it.cluster == cluster);
    let owner = MarkedOwner {
        cluster_uid: single.map(|it| it.cluster.clone()),
        uid: single.map(|it| it.service.clone()),
        namespace: own.map(|it| it.namespace.clone()),
        name: own.map(|it| it.name.clone()),
    };
    // A person's load balancer may have one Service's mark, too: then it is not the Service's to delete.
    let proof = if single.is_some() && own.is_some() { Proof::Unique } else { Proof::ByName };
    let whole = (own.is_some() || single.is_some()).then(|| item(live.id.clone(), owner, proof));
    let is_shared = own.is_none() || tags.len() > 1;
    let part = |mark: &Mark| {
        let owner = MarkedOwner {
            cluster_uid: Some(mark.cluster.clone()),
            uid: Some(mark.service.clone()),
            ..MarkedOwner::default()
        };
        item(format!("{}/{}", live.id, mark.service), owner, Proof::Unique)
    };
    let parts = marks.iter().filter(|it| is_shared && it.cluster == cluster).map(part);
    whole.into_iter().chain(parts).collect()
}

/// A revision of all that Octavia shows, but for health. Members are told by the times at which their pools have changed.
fn revision_of(live: &OctaviaBalancer, parts: &ListedParts) -> String {
    let has = |shown: &&Value, field: &str, id: &str| {
        shown[field].as_array().is_some_and(|it| it.iter().any(|other| other["id"] == *id))
    };
    let pools: Vec<_> = parts.pools.iter().filter(|it| has(it, "loadbalancers", &live.id)).collect();
    let is_its = |it: &&Value| pools.iter().any(|pool| pool["healthmonitor_id"] == it["id"]);
    let shown = parts.balancers.iter().filter(|it| it["id"] == *live.id);
    let shown = shown.chain(parts.listeners.iter().filter(|it| has(it, "loadbalancers", &live.id)));
    let shown = shown.chain(parts.monitors.iter().filter(is_its)).chain(pools.iter().copied());
    let mut shown: Vec<Value> = shown.cloned().collect();
    for object in shown.iter_mut().filter_map(Value::as_object_mut) {
        object.remove("operating_status");
    }
    let floating = parts.floating.iter().find(|it| it.port_id.is_some() && it.port_id == live.vip_port_id);
    shown.push(floating.map_or(Value::Null, |it| json!(format!("{} {}", it.id, it.floating_ip_address))));
    revision(&Value::Array(shown))
}
