use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{
    Freshness, PodNetwork, Reply, Result, RouteChange, RouteDescription, RouteOutcome, RoutePage, Routes,
};
use egress::Seen;
use futures::FutureExt as _;
use tokio::time::Instant;

use super::batch::{Batch, answers};
use super::describe;
use super::guard::Stopped;
use super::judged;
use super::lists::OpenLists;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::bindings::routes::ProvidesRoutesPre;
use crate::bindings::routes::exports::aerostat::cloud::routes as wit;
use crate::call::{Calls, Earlier, Function, StoreState, Success};
use crate::convert;

/// The routes of a provider that exports `routes`.
#[derive(Clone)]
pub(super) struct RoutesGuest {
    pub(super) pre: ProvidesRoutesPre<StoreState>,
    pub(super) description: Arc<RouteDescription>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) lists: Arc<OpenLists>,
}

/// The routes' properties, of a provider that exports them.
pub(super) async fn described(
    calls: &Calls,
    pre: Option<ProvidesRoutesPre<StoreState>>,
) -> Result<Option<(ProvidesRoutesPre<StoreState>, Arc<RouteDescription>)>, String> {
    let Some(pre) = pre else { return Ok(None) };
    let asked = pre.clone();
    let answer = describe::ask(calls, Function::DescribeRoutes, |store| {
        Box::pin(async move {
            let guest = asked.instantiate_async(&mut *store).await?;
            guest.aerostat_cloud_routes().call_describe(store).await
        })
    });
    let description = convert::routes::description(answer.await?);
    description.map(|it| Some((pre, Arc::new(it)))).map_err(|it| format!("its description of routes is unusable: {it}"))
}

#[async_trait]
impl Routes for RoutesGuest {
    fn description(&self) -> Arc<RouteDescription> {
        self.description.clone()
    }

    async fn next_hops(&self, networks: &[PodNetwork]) -> Reply<Vec<Result<String>>> {
        answers(&NextHops(self.clone()), self.description.batch_size, networks).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<RoutePage>> {
        let limit = limit.clamp(1, self.description.page_size);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let list = self.lists.take(cursor.as_deref(), Instant::now());
        // Reads of a list of machines from a moment ago serve, too: a change of a route says what must still be there.
        let earlier = Earlier { list: Some(list.reads.clone()), freshness: Freshness::ANY };
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_page(Function::ListRoutes, earlier, |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_routes().call_list(store, start.as_deref(), limit).await
                }
                .boxed()
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|page| {
            convert::routes::page(page, cursor.as_deref(), limit)
                .map(|page| judged::routes(&seen, page))
                .map_err(|because| self.loaded.unusable(Function::ListRoutes, &because))
        });
        if let Some(next) = answer.as_ref().ok().and_then(|it| it.next.as_deref()) {
            self.lists.put(list, next);
        }
        Reply { answer, events, wrote }
    }

    async fn apply(&self, changes: &[RouteChange]) -> Reply<Vec<Result<RouteOutcome>>> {
        answers(&Apply(self.clone()), self.description.batch_size, changes).await
    }
}

impl Success for wit::RouteDescription {}
impl Success for wit::Page {}

/// Questions for next hops.
#[derive(Clone)]
struct NextHops(RoutesGuest);

#[async_trait]
impl Batch for NextHops {
    type Question = PodNetwork;
    type Answer = String;

    fn loaded(&self) -> &Loaded {
        &self.0.loaded
    }

    fn function(&self) -> Function {
        Function::NextHops
    }

    fn object(network: &PodNetwork) -> Object {
        Object::pod_network(network)
    }

    async fn ask(
        &self,
        networks: &[PodNetwork],
        subject: Subject<'_>,
        _began: Instant,
    ) -> (Reply<Result<Vec<Result<String>>, Stopped>>, Seen) {
        let (pre, loaded) = (self.0.pre.clone(), self.loaded());
        let asked: Vec<_> =
            networks.iter().map(|it| convert::routes::pod_network(it, &loaded.description.shown_labels)).collect();
        let (Reply { answer, mut events, wrote }, seen) = loaded
            .attempt(Function::NextHops, subject, Earlier::default(), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_routes().call_next_hops(store, &asked).await
                })
            })
            .await;
        events.retain(|it| it.about.as_ref().is_none_or(|name| networks.iter().any(|it| it.node.name == *name)));
        let unusable = |because: String| loaded.unusable(Function::NextHops, &because);
        let answer = answer.map(|answers| {
            let hops = answers
                .into_iter()
                .map(|it| it.map_err(convert::error).and_then(|it| convert::routes::next_hop(it).map_err(unusable)));
            hops.collect()
        });
        (Reply { answer, events, wrote }, seen)
    }
}

/// Changes of routes.
#[derive(Clone)]
struct Apply(RoutesGuest);

impl Apply {
    /// So many deletions may leave as the changes have entries in the cloud.
    fn deletes(&self, changes: &[RouteChange]) -> u32 {
        let changes = u32::try_from(changes.len()).unwrap_or(u32::MAX);
        changes.saturating_mul(self.0.description.entries_per_route)
    }
}

#[async_trait]
impl Batch for Apply {
    type Question = RouteChange;
    type Answer = RouteOutcome;

    fn loaded(&self) -> &Loaded {
        &self.0.loaded
    }

    fn function(&self) -> Function {
        Function::Apply { deletes: 0 }
    }

    fn object(change: &RouteChange) -> Object {
        Object::route(change)
    }

    async fn ask(
        &self,
        changes: &[RouteChange],
        subject: Subject<'_>,
        began: Instant,
    ) -> (Reply<Result<Vec<Result<RouteOutcome>>, Stopped>>, Seen) {
        let (pre, loaded) = (self.0.pre.clone(), self.loaded());
        let asked: Vec<_> =
            changes.iter().map(|it| convert::routes::change(it, &loaded.description.shown_labels)).collect();
        let function = Function::Apply { deletes: self.deletes(changes) };
        // It comes back within a moment, to see what has become of something.
        let (Reply { answer, mut events, wrote }, seen) = loaded
            .attempt(function, subject, Earlier::resting_on(Freshness::since(began)), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_routes().call_apply(store, &asked).await
                })
            })
            .await;
        let is_target =
            |name: &String| changes.iter().any(|it| it.after.as_ref().is_some_and(|it| it.node.name == *name));
        events.retain(|it| it.about.as_ref().is_none_or(is_target));
        let answer = answer.map(|outcomes| {
            let outcomes = outcomes.into_iter().map(|it| it.map(convert::routes::outcome).map_err(convert::error));
            judged::changes(&seen, self.0.description.entries_per_route, outcomes.collect())
        });
        (Reply { answer, events, wrote }, seen)
    }
}
