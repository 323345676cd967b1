use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{Deletion, Event, LoadBalancer, LoadBalancers, Progress, Reply, Result};
use egress::ListReads;
use tokio::time::Instant;

use super::guard::Subject;
use super::judged;
use super::loaded::Loaded;
use super::object::Object;
use crate::bindings::load_balancers::ProvidesLoadBalancersPre;
use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers as wit;
use crate::call::{Function, State, Success};
use crate::convert;
use crate::convert::load_balancer::Keys;

/// What a guest is told in `extra` if a list of all load balancers costs no request.
const LISTED: &str = "host.listed";

/// What a guest is told in `extra` if no call before this one has had the memo.
const NEW_MEMO: &str = "host.new-memo";

/// The load balancers of a provider that exports `load-balancers`.
pub(super) struct Guest {
    pub(super) pre: ProvidesLoadBalancersPre<State>,
    pub(super) loaded: Arc<Loaded>,
}

#[async_trait]
impl LoadBalancers for Guest {
    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        self.ensured(desired, None).await
    }

    async fn ensure_listed(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        self.ensured(desired, self.loaded.newest.sealed(Instant::now())).await
    }

    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>> {
        let keys = self.keys();
        let pre = self.pre.clone();
        let asked = convert::load_balancer::desired(unwanted, &self.loaded.node_labels, &keys);
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call(Function::Delete, Subject::One(&Object::deleted(unwanted)), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_load_balancers().call_delete(store, &asked).await
                })
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|it| {
            convert::load_balancer::deletion(it, &keys)
                .map_err(|because| self.loaded.unusable(Function::Delete, &because))
        });
        let answer = answer.and_then(|it| judged::deletion(&seen, it));
        Reply { answer, events: about_the_service(events), wrote }
    }
}

/// A call is about one Service: what is about something else is left out.
fn about_the_service(mut events: Vec<Event>) -> Vec<Event> {
    events.retain(|it| it.about.is_none());
    events
}

impl Success for wit::Progress {
    fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Success for wit::Deletion {}

impl Guest {
    /// One step. `listed` is what a list has just read; the guest is told of it, so that it reads the list again.
    async fn ensured(&self, desired: &LoadBalancer, listed: Option<ListReads>) -> Reply<Result<Progress>> {
        let keys = self.keys();
        let pre = self.pre.clone();
        let mut asked = convert::load_balancer::desired(desired, &self.loaded.node_labels, &keys);
        if listed.is_some() {
            asked.extra.push((LISTED.to_owned(), "true".to_owned()));
        }
        if desired.memo_is_new {
            asked.extra.push((NEW_MEMO.to_owned(), "true".to_owned()));
        }
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_after(Function::Ensure, &Object::ensured(desired), listed, |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_load_balancers().call_ensure(store, &asked).await
                })
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|it| {
            convert::load_balancer::progress(it, &keys)
                .map_err(|because| self.loaded.unusable(Function::Ensure, &because))
        });
        let mut events = about_the_service(events);
        events.extend(judged::warnings(&seen, &events, desired.memo.as_deref(), &answer));
        Reply { answer, events, wrote }
    }

    fn keys(&self) -> Keys<'_> {
        let Loaded { description, writes_annotations, .. } = &*self.loaded;
        Keys { read: &description.annotations, described: &description.writes_annotations, allowed: writes_annotations }
    }
}
