//! The list of all load balancers, in the course of one's life.

use std::sync::Arc;

use cloud_provider::LoadBalancerInventory;

use crate::error::ConformanceError;
use crate::host::{CLUSTER, HostProcess, OTHER_CLUSTER};
use crate::protocol::{CloudObject, ForeignChange};
use crate::transcript::{Inventories, KeptListing, WholeInventory};
use crate::trouble::Phase;

use super::lives::settle;
use super::service::PlayedService;
use super::stage::Stage;
use super::touched::new;

/// No list here has more pages.
const MOST_PAGES: usize = 100;

pub(crate) async fn play(stage: &mut Stage) -> Result<Option<Inventories>, ConformanceError> {
    let mut process = stage.process().await?;
    if process.cloud.load_balancer_inventory.is_none() || process.cloud.load_balancers.is_none() {
        return Ok(None);
    }
    let nodes = stage.nodes(&process).await;
    let mut service = PlayedService::new("web", &nodes[..1], stage.host.setup());
    settle(stage, &mut process, &mut service, Phase::Create).await?;
    let memo = service.desired.memo.clone();
    let at_rest = [list(&process).await, list(&process).await];
    let elsewhere = list(&stage.host.process(OTHER_CLUSTER).await?).await;
    service.change(&nodes[..2.min(nodes.len())]);
    settle(stage, &mut process, &mut service, Phase::Change).await?;
    let changed = list(&process).await;
    settle(stage, &mut process, &mut service, Phase::Delete).await?;
    let gone = list(&process).await;
    let kept = kept(stage, &mut process).await?;
    let (cluster, uid) = (CLUSTER.to_owned(), service.desired.owner.uid);
    Ok(Some(Inventories { cluster, uid, memo, at_rest, changed, elsewhere, gone, kept }))
}

/// A Service goes, and the cloud protects its load balancer; then it protects it no more. What is left stays: nobody deletes it.
async fn kept(stage: &mut Stage, process: &mut HostProcess) -> Result<Option<KeptListing>, ConformanceError> {
    let nodes = stage.nodes(process).await;
    let before = stage.objects().await?;
    let mut service = PlayedService::new("kept", &nodes[..1], stage.host.setup());
    settle(stage, process, &mut service, Phase::Create).await?;
    let objects = new(&before, stage.objects().await?);
    let is_protected = protect(stage, &objects, true).await?;
    let calls = settle(stage, process, &mut service, Phase::Delete).await?;
    if !is_protected {
        return Ok(None);
    }
    let protected = list(process).await;
    protect(stage, &objects, false).await?;
    let lists = [protected, list(process).await];
    let uid = service.desired.owner.uid;
    Ok(Some(KeptListing { uid, said: calls.into_iter().last().map(|it| it.said), lists }))
}

/// Returns whether the cloud can protect one of them.
async fn protect(stage: &Stage, objects: &[CloudObject], protected: bool) -> Result<bool, ConformanceError> {
    let mut any = false;
    for object in objects.iter().filter(|it| it.kind.contains("load balancer")) {
        any |= stage.admin.change(&ForeignChange::Protect { id: object.id.clone(), protected }).await?.is_some();
    }
    Ok(any)
}

async fn list(process: &HostProcess) -> WholeInventory {
    let Some(inventory): Option<Arc<dyn LoadBalancerInventory>> = process.cloud.load_balancer_inventory.clone() else {
        return Err("the provider has no inventory".to_owned());
    };
    let limit = inventory.description().page_size;
    let (mut items, mut cursor) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let page = inventory.list(cursor, limit).await.answer.map_err(|error| error.to_string())?;
        if let Some(why) = page.incomplete {
            return Err(format!("nothing failed, and a page is incomplete: {why}"));
        }
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(items);
        }
    }
    Err(format!("it has no end after {MOST_PAGES} pages"))
}
