use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{Freshness, Instance, Instances, Node, Page, Reply, Result};
use egress::Seen;
use futures::FutureExt as _;
use tokio::time::Instant;
use wasmtime::Store;

use super::batch::{Batch, answers};
use super::guard::Stopped;
use super::judged;
use super::lists::OpenLists;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::bindings::host::aerostat::cloud::types::Error as WitError;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::bindings::instances::exports::aerostat::cloud::instances::Page as WitPage;
use crate::call::{Earlier, Function, StoreState, Success};
use crate::convert;

/// One answer for each node.
type NodeAnswers = Vec<Result<Option<Instance>>>;

/// The machines of a provider that exports `instances`.
#[derive(Clone)]
pub(super) struct InstancesGuest {
    pub(super) pre: ProvidesInstancesPre<StoreState>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) lists: Arc<OpenLists>,
}

#[async_trait]
impl Instances for InstancesGuest {
    async fn get(&self, nodes: &[Node]) -> Reply<NodeAnswers> {
        answers(self, self.loaded.description.get_batch_size, nodes).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let description = &self.loaded.description;
        let limit = limit.clamp(1, description.list_page_size);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let list = self.lists.take(cursor.as_deref(), Instant::now());
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_page(Function::List, list.earlier(), |store| {
                async move { ask(pre, store, start.as_deref(), limit).await }.boxed()
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|page| {
            convert::instance::page(page, cursor.as_deref(), limit, description)
                .map(|page| judged::machines(&seen, page))
                .map_err(|because| self.loaded.unusable(Function::List, &because))
        });
        if let Some(next) = answer.as_ref().ok().and_then(|it| it.next.as_deref()) {
            self.lists.put(list, next);
        }
        Reply { answer, events, wrote }
    }

    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        let (pre, asked) = (self.pre.clone(), provider_ids.to_vec());
        let (Reply { answer, .. }, _) = self
            .loaded
            .call(Function::CanonicalIds, Subject::Nothing, |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_instances().call_canonical_ids(store, &asked).await
                }
                .boxed()
            })
            .await;
        let unusable = |because: &str| self.loaded.unusable(Function::CanonicalIds, because);
        match answer {
            Ok(answers) if answers.len() == provider_ids.len() => {
                let answers = answers.into_iter().map(|answer| {
                    answer
                        .map_err(convert::error)
                        .and_then(|it| convert::instance::canonical_id(it).map_err(|because| unusable(&because)))
                });
                answers.collect()
            }
            Ok(answers) => {
                let error = unusable(&format!("{} answers for {} ids", answers.len(), provider_ids.len()));
                vec![Err(error); provider_ids.len()]
            }
            Err(error) => vec![Err(error); provider_ids.len()],
        }
    }
}

impl Success for WitPage {}

#[async_trait]
impl Batch for InstancesGuest {
    type Question = Node;
    type Answer = Option<Instance>;

    const ASKED_AGAIN: usize = 8;

    fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    fn function(&self) -> Function {
        Function::Get
    }

    fn object(node: &Node) -> Object {
        Object::node(node)
    }

    async fn ask(
        &self,
        nodes: &[Node],
        subject: Subject<'_>,
        began: Instant,
    ) -> (Reply<Result<NodeAnswers, Stopped>>, Seen) {
        let description = &self.loaded.description;
        let pre = self.pre.clone();
        let asked: Vec<_> = nodes.iter().map(|it| convert::instance::node(it, &description.shown_labels)).collect();
        let (Reply { answer, mut events, wrote }, seen) = self
            .loaded
            .attempt(Function::Get, subject, Earlier::resting_on(Freshness::since(began)), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_instances().call_get(store, &asked).await
                })
            })
            .await;
        if let [node] = nodes {
            events.iter_mut().for_each(|it| _ = it.about.get_or_insert_with(|| node.name.clone()));
        }
        events.retain(|it| nodes.iter().any(|node| it.about.as_deref() == Some(&node.name)));
        let unusable = |because: String| self.loaded.unusable(Function::Get, &because);
        let answer = answer.map(|answers| {
            let answers = answers.into_iter().map(|answer| match answer {
                Ok(instance) => {
                    instance.map(|it| convert::instance::instance(it, description)).transpose().map_err(unusable)
                }
                Err(error) => Err(convert::error(error)),
            });
            answers.collect()
        });
        (Reply { answer, events, wrote }, seen)
    }

    fn judged(seen: &Seen, answer: Result<Option<Instance>>) -> Result<Option<Instance>> {
        judged::none(seen, answer)
    }
}

/// One call of `list`, as it answered.
pub(super) async fn ask(
    pre: ProvidesInstancesPre<StoreState>,
    store: &mut Store<StoreState>,
    cursor: Option<&str>,
    limit: u32,
) -> wasmtime::Result<Result<WitPage, WitError>> {
    let guest = pre.instantiate_async(&mut *store).await?;
    guest.aerostat_cloud_instances().call_list(store, cursor, limit).await
}
