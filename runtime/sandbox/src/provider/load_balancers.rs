use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{Deletion, Event, Freshness, LoadBalancer, LoadBalancers, PendingStatus, Progress, Reply, Result};
use egress::ListReads;
use tokio::time::Instant;

use super::busy::Busy;
use super::created;
use super::judged;
use super::loaded::Loaded;
use super::object::Object;
use crate::bindings::load_balancers::ProvidesLoadBalancersPre;
use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers as wit;
use crate::call::{Earlier, Function, StoreState, Success};
use crate::convert;
use crate::convert::load_balancer::AnnotationKeys;

/// The key in a guest's `extra` that says that a list of all load balancers costs no request.
const LISTED: &str = "host.listed";

/// The key in a guest's `extra` that says that no `ensure` before this call has had the memo.
const NEW_MEMO: &str = "host.new-memo";

/// The key in a guest's `extra` that says that its load balancer was created for the same question, and was not ready since.
const AS_CREATED: &str = "host.as-created";

/// The load balancers of a provider that exports `load-balancers`.
pub(super) struct LoadBalancersGuest {
    pub(super) pre: ProvidesLoadBalancersPre<StoreState>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) busy: Busy,
}

#[async_trait]
impl LoadBalancers for LoadBalancersGuest {
    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        self.ensured(desired, None).await
    }

    async fn ensure_listed(&self, desired: &LoadBalancer, freshness: Freshness) -> Reply<Result<Progress>> {
        self.ensured(desired, self.loaded.load_balancer_lists.sealed(freshness, Instant::now())).await
    }

    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>> {
        let keys = self.keys();
        let pre = self.pre.clone();
        self.loaded.created.forget(&unwanted.owner.uid);
        let mut asked = convert::load_balancer::desired(unwanted, &self.loaded.description.shown_labels, &keys);
        asked.extra.extend(words(unwanted, false));
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_after(Function::Delete, &Object::deleted(unwanted), self.earlier(unwanted, None), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_load_balancers().call_delete(store, &asked).await
                })
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|deletion| {
            convert::load_balancer::deletion(deletion, &keys)
                .map_err(|because| self.loaded.unusable(Function::Delete, &because))
        });
        let answer = answer.and_then(|it| judged::deletion(&seen, it));
        self.ended(unwanted, matches!(&answer, Ok(Deletion::Pending(it)) if is_busy(it)));
        Reply { answer, events: about_the_service(events), wrote }
    }
}

/// Whether the cloud is waited for, and not only the memo.
pub(super) fn is_busy(pending: &PendingStatus) -> bool {
    !pending.after.is_zero()
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

impl LoadBalancersGuest {
    /// One step. `listed` is what a list has just read; the guest is told of it, so that it reads the list again.
    async fn ensured(&self, desired: &LoadBalancer, listed: Option<ListReads>) -> Reply<Result<Progress>> {
        let keys = self.keys();
        let pre = self.pre.clone();
        let mut asked = convert::load_balancer::desired(desired, &self.loaded.description.shown_labels, &keys);
        let uid = &desired.owner.uid;
        let is_as_created = self.loaded.created.is_as_created(uid, &mut asked, Instant::now());
        let first_with_memo = desired.memo_is_new.then(|| created::digest(&mut asked));
        asked.extra.extend(words(desired, listed.is_some()));
        asked.extra.extend(is_as_created.then(|| word(AS_CREATED)));
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_after(Function::Ensure, &Object::ensured(desired), self.earlier(desired, listed), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_load_balancers().call_ensure(store, &asked).await
                })
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error));
        self.loaded.created.ended(uid, first_with_memo, answer.as_ref().ok(), Instant::now());
        let answer = answer.and_then(|progress| {
            convert::load_balancer::progress(progress, &keys)
                .map_err(|because| self.loaded.unusable(Function::Ensure, &because))
        });
        self.ended(desired, matches!(&answer, Ok(Progress::Pending(it)) if is_busy(it)));
        let mut events = about_the_service(events);
        events.extend(judged::warnings(&seen, &events, desired.memo.as_deref(), &answer));
        Reply { answer, events, wrote }
    }

    /// The answers that may serve a call's reads: where the cloud was busy, nothing that was asked for before the last call ended.
    fn earlier(&self, of: &LoadBalancer, list: Option<ListReads>) -> Earlier {
        let freshness = self.busy.since(&of.owner.uid).map_or(Freshness::ANY, Freshness::after);
        Earlier { list, freshness }
    }

    fn ended(&self, of: &LoadBalancer, is_busy: bool) {
        self.busy.ended(&of.owner.uid, is_busy, Instant::now());
    }

    fn keys(&self) -> AnnotationKeys<'_> {
        keys(&self.loaded)
    }
}

/// Facts for a guest beside a load balancer: whether it was just listed, and whether its memo is new.
pub(super) fn words(of: &LoadBalancer, is_listed: bool) -> impl Iterator<Item = (String, String)> {
    let words = [(LISTED, is_listed), (NEW_MEMO, of.memo_is_new)];
    words.into_iter().filter(|(_, is_so)| *is_so).map(|(it, _)| word(it))
}

fn word(key: &str) -> (String, String) {
    (key.to_owned(), "true".to_owned())
}

/// Which annotation keys pass between Services and the provider.
pub(super) fn keys(loaded: &Loaded) -> AnnotationKeys<'_> {
    let Loaded { description, writes_annotations, .. } = loaded;
    AnnotationKeys {
        read: &description.annotations,
        described: &description.writes_annotations,
        allowed: writes_annotations,
    }
}
