use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{InventoryDescription, InventoryPage, LoadBalancerInventory, Reply, Result};
use futures::FutureExt as _;
use tokio::time::Instant;

use super::describe;
use super::judged;
use super::loaded::Loaded;
use crate::bindings::load_balancer_inventory::ProvidesLoadBalancerInventoryPre;
use crate::bindings::load_balancer_inventory::exports::aerostat::cloud::load_balancer_inventory as wit;
use crate::call::{Calls, Function, StoreState, Success};
use crate::convert;

/// The list of a provider that exports `load-balancer-inventory`.
pub(super) struct InventoryGuest {
    pub(super) pre: ProvidesLoadBalancerInventoryPre<StoreState>,
    pub(super) description: InventoryDescription,
    pub(super) loaded: Arc<Loaded>,
}

/// The list's properties, of a provider that exports it.
pub(super) async fn described(
    calls: &Calls,
    pre: Option<ProvidesLoadBalancerInventoryPre<StoreState>>,
) -> Result<Option<(ProvidesLoadBalancerInventoryPre<StoreState>, InventoryDescription)>, String> {
    let Some(pre) = pre else { return Ok(None) };
    let asked = pre.clone();
    let answer = describe::ask(calls, Function::DescribeInventory, |store| {
        Box::pin(async move {
            let guest = asked.instantiate_async(&mut *store).await?;
            guest.aerostat_cloud_load_balancer_inventory().call_describe(store).await
        })
    });
    Ok(Some((pre, convert::load_balancer_inventory::description(answer.await?))))
}

#[async_trait]
impl LoadBalancerInventory for InventoryGuest {
    fn description(&self) -> InventoryDescription {
        self.description
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<InventoryPage>> {
        let limit = limit.clamp(1, self.description.page_size);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let lists = &self.loaded.load_balancer_lists;
        let list = lists.take(cursor.as_deref(), Instant::now());
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_page(Function::ListInventory, list.earlier(), |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_load_balancer_inventory().call_list(store, start.as_deref(), limit).await
                }
                .boxed()
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|page| {
            convert::load_balancer_inventory::page(page, cursor.as_deref(), limit)
                .map(|page| judged::load_balancers(&seen, page))
                .map_err(|because| self.loaded.unusable(Function::ListInventory, &because))
        });
        match answer.as_ref().map(|it| it.next.as_deref()) {
            Ok(Some(next)) => lists.put(list, next),
            Ok(None) => lists.end(list),
            Err(_) => {}
        }
        Reply { answer, events, wrote }
    }
}

impl Success for wit::InventoryDescription {}
impl Success for wit::Page {}
