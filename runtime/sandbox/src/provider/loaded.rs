//! One call of a provider: whether it may run, and whether its answer may be shown.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    Description, Error, Event, InventoryDescription, Reply, Result, RouteDescription, TopologyDescription,
    VolumeDescription,
};
use egress::Seen;
use futures::future::BoxFuture;
use wasmtime::Store;

use super::created::CreatedBalancers;
use super::guard::{CallGuard, Crashed, Stopped};
use super::lists::OpenLists;
use super::object::{Object, Subject};
use crate::bindings::description::ProvidesDescriptionPre;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::bindings::load_balancer_batches::ProvidesLoadBalancerBatchesPre;
use crate::bindings::load_balancer_inventory::ProvidesLoadBalancerInventoryPre;
use crate::bindings::load_balancers::ProvidesLoadBalancersPre;
use crate::bindings::persistent_volumes::ProvidesPersistentVolumesPre;
use crate::bindings::routes::ProvidesRoutesPre;
use crate::bindings::volumes::ProvidesVolumesPre;
use crate::call::{CallAnswer, Calls, Crash, Earlier, Function, StoreState};
use crate::convert::load_balancer_batches::BatchLimits;
use crate::convert::texts::{self, Texts};

/// A provider that was checked, and how it is called.
pub(super) struct Loaded {
    pub(super) description: Arc<Description>,
    pub(super) provider: ProvidesDescriptionPre<StoreState>,
    pub(super) instances: Option<ProvidesInstancesPre<StoreState>>,
    pub(super) load_balancers: Option<ProvidesLoadBalancersPre<StoreState>>,
    pub(super) batches: Option<(ProvidesLoadBalancerBatchesPre<StoreState>, BatchLimits)>,
    pub(super) inventory: Option<(ProvidesLoadBalancerInventoryPre<StoreState>, InventoryDescription)>,
    pub(super) routes: Option<(ProvidesRoutesPre<StoreState>, Arc<RouteDescription>)>,
    pub(super) topologies: Option<(ProvidesPersistentVolumesPre<StoreState>, Arc<TopologyDescription>)>,
    pub(super) volumes: Option<(ProvidesVolumesPre<StoreState>, Arc<VolumeDescription>)>,
    /// The reads of lists of load balancers: they answer other calls about load balancers too.
    pub(super) load_balancer_lists: OpenLists,
    /// The load balancers that it has made, and that are not ready yet.
    pub(super) created: CreatedBalancers,
    pub(super) calls: Calls,
    pub(super) guard: CallGuard,
    pub(super) writes_annotations: Vec<String>,
    pub(super) compile_time: Duration,
}

impl Loaded {
    /// The interfaces that it exports beside `provider`.
    pub(super) fn capabilities(&self) -> Vec<&'static str> {
        let Self { instances, load_balancers, batches, inventory, routes, topologies, volumes, .. } = self;
        let all = [
            (instances.is_some(), "instances"),
            (load_balancers.is_some(), "load-balancers"),
            (batches.is_some(), "load-balancer-batches"),
            (inventory.is_some(), "load-balancer-inventory"),
            (routes.is_some(), "routes"),
            (topologies.is_some(), "persistent-volumes"),
            (volumes.is_some(), "volumes"),
        ];
        all.into_iter().filter_map(|(is_there, it)| is_there.then_some(it)).collect()
    }

    /// One call of the guest, and what the egress saw of its requests. A call that did not return is a fault of the provider, which
    /// may be gone with the next.
    pub(super) async fn call<T: CallAnswer + Texts>(
        &self,
        function: Function,
        subject: Subject<'_>,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> (Reply<Result<T>>, Seen) {
        let (Reply { answer, events, wrote }, seen) = self.attempt(function, subject, Earlier::default(), body).await;
        (Reply { answer: answer.map_err(|it| it.error), events, wrote }, seen)
    }

    /// As [`Loaded::call`], for one page of a list: equal reads may be answered by what its earlier pages have read.
    pub(super) async fn call_page<T: CallAnswer + Texts>(
        &self,
        function: Function,
        earlier: Earlier,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> (Reply<Result<T>>, Seen) {
        let (Reply { answer, events, wrote }, seen) = self.attempt(function, Subject::Nothing, earlier, body).await;
        (Reply { answer: answer.map_err(|it| it.error), events, wrote }, seen)
    }

    /// As [`Loaded::call`], about an object, where it matters which answers from before serve.
    pub(super) async fn call_after<T: CallAnswer + Texts>(
        &self,
        function: Function,
        object: &Object,
        earlier: Earlier,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> (Reply<Result<T>>, Seen) {
        let (Reply { answer, events, wrote }, seen) = self.attempt(function, Subject::One(object), earlier, body).await;
        (Reply { answer: answer.map_err(|it| it.error), events, wrote }, seen)
    }

    /// As [`Loaded::call`], and says whether it crashed.
    pub(super) async fn attempt<T: CallAnswer + Texts>(
        &self,
        function: Function,
        subject: Subject<'_>,
        earlier: Earlier,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> (Reply<Result<T, Stopped>>, Seen) {
        let marks = match subject {
            Subject::One(object) => &object.marks[..],
            Subject::Nothing | Subject::Several => &[],
        };
        self.attempt_marked(function, subject, earlier, marks, body).await
    }

    /// As [`Loaded::attempt`], with the texts by which requests show which objects they are about.
    pub(super) async fn attempt_marked<T: CallAnswer + Texts>(
        &self,
        function: Function,
        subject: Subject<'_>,
        earlier: Earlier,
        marks: &[String],
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<T>> + Send,
    ) -> (Reply<Result<T, Stopped>>, Seen) {
        let permit = self.calls.permit(function).await;
        if let Err(error) = self.guard.admit(subject, self.probe(&permit)).await {
            return (Err(Stopped { error, crashed: false, is_late: false }).into(), Seen::default());
        }
        let (Reply { answer, events, wrote }, seen) = self.calls.run(&permit, function, earlier, marks, body).await;
        // Whatever of it is shown is shown to everybody who may read Services, nodes or events.
        let holds_secret = self.calls.egress.holds_secret(&texts::joined(&answer));
        let events = self.without_secrets(events);
        let answer = match answer {
            Ok(answer) => {
                self.guard.returned(subject);
                Ok(answer)
            }
            Err(crash) => {
                let crashed = self.crashed(function, crash);
                Err(self.guard.stopped(subject, &crashed, self.probe(&permit)).await)
            }
        };
        let answer = if holds_secret {
            let error = self.unusable(function, "it holds a credential, and is withheld");
            let is_late = answer.as_ref().is_err_and(|it| it.is_late);
            Err(Stopped { error, crashed: answer.is_err_and(|it| it.crashed), is_late })
        } else {
            answer
        };
        (Reply { answer, events, wrote }, seen)
    }

    pub(super) fn crashed(&self, function: Function, crash: Crash) -> Crashed {
        Crashed { text: self.calls.explain(function, &crash), crash }
    }

    /// The error for an answer that was not believed.
    pub(super) fn unusable(&self, function: Function, because: &str) -> Error {
        self.failed(&format!("{function} gave an unusable answer: {because}"))
    }

    pub(super) fn failed(&self, because: &str) -> Error {
        Error::Unavailable(format!("provider {}: {because}", self.calls.provider))
    }

    fn without_secrets(&self, mut events: Vec<Event>) -> Vec<Event> {
        events.retain(|it| !self.calls.egress.holds_secret(&texts::joined(it)));
        events
    }
}
