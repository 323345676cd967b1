use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{EventList, Instance, Instances, Node, Page, Reply, Result};
use egress::Seen;
use futures::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::Instant;
use wasmtime::Store;

use super::guard::Stopped;
use super::judged;
use super::lists::Lists;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::bindings::host::aerostat::cloud::types::Error as WitError;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::bindings::instances::exports::aerostat::cloud::instances::Page as WitPage;
use crate::call::{Earlier, Function, StoreState, Success};
use crate::convert;

/// The most nodes that are asked about alone because a request failed in a call about several.
const ASKED_ALONE: usize = 8;

/// One answer for each node.
type Answers = Vec<Result<Option<Instance>>>;

/// The machines of a provider that exports `instances`.
#[derive(Clone)]
pub(super) struct InstancesGuest {
    pub(super) pre: ProvidesInstancesPre<StoreState>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) lists: Arc<Lists>,
}

#[async_trait]
impl Instances for InstancesGuest {
    async fn get(&self, nodes: &[Node]) -> Reply<Answers> {
        let batch = self.loaded.description.get_batch_size as usize;
        let calls = nodes.chunks(batch).map(|nodes| {
            let (guest, nodes) = (self.clone(), nodes.to_vec());
            async move { guest.get_chunk(&nodes).await }
        });
        side_by_side(&self.loaded.calls.provider, calls).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let description = &self.loaded.description;
        let limit = limit.clamp(1, description.list_page_size);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let list = self.lists.take(cursor.as_deref(), Instant::now());
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_page(Function::List, list.reads.clone(), |store| {
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
                let answers = answers.into_iter().map(|it| {
                    it.map_err(convert::error)
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

impl InstancesGuest {
    /// One call of `get`, or more: one answer for each node, whatever happened.
    ///
    /// Nodes that are set aside are left out. If the call crashes, each node is asked about alone: one node over which the
    /// provider crashes must not stand for the others.
    async fn get_chunk(&self, nodes: &[Node]) -> Reply<Answers> {
        if let [node] = nodes {
            return self.get_one(node).await;
        }
        let errors: Vec<_> = nodes.iter().map(|it| self.loaded.guard.is_set_aside(&Object::node(it))).collect();
        let asked: Vec<_> =
            nodes.iter().zip(&errors).filter(|(_, error)| error.is_none()).map(|(node, _)| node.clone()).collect();
        let Reply { answer, events, wrote } = match &asked[..] {
            [] => Reply::from(Vec::new()),
            [node] => self.get_one(node).await,
            several => self.get_several(several).await,
        };
        let mut answers = answer.into_iter();
        let missing = || Err(self.loaded.unusable(Function::Get, "a node is missing"));
        let answer = errors.into_iter().map(|it| it.map_or_else(|| answers.next().unwrap_or_else(missing), Err));
        Reply { answer: answer.collect(), events, wrote }
    }

    async fn get_one(&self, node: &Node) -> Reply<Answers> {
        let object = Object::node(node);
        let (Reply { answer, events, wrote }, seen) =
            self.ask_about(std::slice::from_ref(node), Subject::One(&object)).await;
        let answer = answer.unwrap_or_else(|it| vec![Err(it.error)]);
        Reply { answer: answer.into_iter().map(|it| judged::none(&seen, it)).collect(), events, wrote }
    }

    async fn get_several(&self, nodes: &[Node]) -> Reply<Answers> {
        let (Reply { answer, mut events, wrote }, seen) = self.ask_about(nodes, Subject::Several).await;
        match answer {
            Ok(mut answer) => {
                // What failed may have been about another node: those that are said not to exist are asked about alone.
                let doubtful = nodes.iter().zip(&mut answer).filter(|(_, it)| judged::doubts(&seen, it));
                for (nth, (node, answer)) in doubtful.enumerate() {
                    *answer = if nth < ASKED_ALONE {
                        let alone = self.get_one(node).await;
                        events.extend(alone.events);
                        let missing = || Err(self.loaded.unusable(Function::Get, "a node is missing"));
                        alone.answer.into_iter().next().unwrap_or_else(missing)
                    } else {
                        judged::none(&seen, Ok(None))
                    };
                }
                Reply { answer, events, wrote }
            }
            Err(Stopped { crashed: true, .. }) => {
                let each = nodes.iter().cloned().map(|node| {
                    let guest = self.clone();
                    async move { guest.get_one(&node).await }
                });
                let each = side_by_side(&self.loaded.calls.provider, each).await;
                events.extend(each.events);
                Reply { answer: each.answer, events, wrote }
            }
            Err(Stopped { error, .. }) => Reply { answer: vec![Err(error); nodes.len()], events, wrote },
        }
    }

    /// One call of `get`, and what the gate saw of it.
    async fn ask_about(&self, nodes: &[Node], subject: Subject<'_>) -> (Reply<Result<Answers, Stopped>>, Seen) {
        let Loaded { description, node_labels, .. } = &*self.loaded;
        let pre = self.pre.clone();
        let asked: Vec<_> = nodes.iter().map(|it| convert::instance::node(it, node_labels)).collect();
        let (Reply { answer, mut events, wrote }, seen) = self
            .loaded
            .attempt(Function::Get, subject, Earlier::default(), |store| {
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
        let unusable = |because: &str| self.loaded.unusable(Function::Get, because);
        let answer = answer.map(|answers| {
            if answers.len() != nodes.len() {
                let error = unusable(&format!("{} answers for {} nodes", answers.len(), nodes.len()));
                return vec![Err(error); nodes.len()];
            }
            let answers = answers.into_iter().map(|it| match it {
                Ok(instance) => instance
                    .map(|it| convert::instance::instance(it, description))
                    .transpose()
                    .map_err(|because| unusable(&because)),
                Err(error) => Err(convert::error(error)),
            });
            answers.collect()
        });
        (Reply { answer, events, wrote }, seen)
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

/// All answers, in order. A task for each call: they run on all threads, and a busy one holds up no other for longer than
/// a tick.
async fn side_by_side<F>(provider: &str, calls: impl Iterator<Item = F>) -> Reply<Answers>
where
    F: Future<Output = Reply<Answers>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (position, call) in calls.enumerate() {
        tasks.spawn(async move { (position, call.await) });
    }
    let mut replies = tasks.join_all().await;
    replies.sort_unstable_by_key(|(position, _)| *position);
    let (mut answer, mut events) = (Vec::new(), EventList::default());
    for (_, reply) in replies {
        answer.extend(reply.answer);
        events.add(reply.events);
    }
    if events.dropped() > 0 {
        tracing::warn!(
            provider,
            dropped = events.dropped(),
            "events of the provider are left out: one question about many nodes may bring {} of them",
            EventList::MOST
        );
    }
    // Questions about machines write nothing.
    Reply { answer, events: events.into_vec(), wrote: false }
}
