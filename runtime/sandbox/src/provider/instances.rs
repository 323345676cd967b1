use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{Instance, Instances, Machine, NoticeList, Page, Reply, Result};
use tokio::task::JoinSet;

use super::Loaded;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::call::{Function, State};
use crate::convert;

/// The machines of a provider that exports `instances`.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) pre: ProvidesInstancesPre<State>,
    pub(super) loaded: Arc<Loaded>,
}

#[async_trait]
impl Instances for Guest {
    async fn get(&self, nodes: &[Machine]) -> Reply<Vec<Result<Option<Instance>>>> {
        let batch = self.loaded.description.get_batch as usize;
        // A task for each call: they run on all threads, and a busy one holds up no other for longer than a tick.
        let mut calls = JoinSet::new();
        for (position, nodes) in nodes.chunks(batch).enumerate() {
            let (guest, nodes) = (self.clone(), nodes.to_vec());
            calls.spawn(async move { (position, guest.get_batch(&nodes).await) });
        }
        let mut replies = calls.join_all().await;
        replies.sort_unstable_by_key(|(position, _)| *position);
        let (mut answer, mut notices) = (Vec::with_capacity(nodes.len()), NoticeList::default());
        for (_, reply) in replies {
            answer.extend(reply.answer);
            notices.add(reply.notices);
        }
        if notices.dropped() > 0 {
            tracing::warn!(
                provider = &*self.loaded.calls.provider,
                dropped = notices.dropped(),
                "events of the provider are left out: one question about many nodes may bring {} of them",
                NoticeList::MOST
            );
        }
        Reply { answer, notices: notices.into_vec() }
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let description = &self.loaded.description;
        let limit = limit.clamp(1, description.list_page);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let Reply { answer, notices } = self
            .loaded
            .call(Function::List, |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_instances().call_list(store, start.as_deref(), limit).await
                })
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|page| {
            convert::instance::page(page, cursor.as_deref(), limit, description)
                .map_err(|because| self.loaded.unusable(Function::List, &because))
        });
        Reply { answer, notices }
    }
}

impl Guest {
    /// One call of `get`: one answer for each node, whatever happened.
    async fn get_batch(&self, nodes: &[Machine]) -> Reply<Vec<Result<Option<Instance>>>> {
        let Loaded { description, node_labels, .. } = &*self.loaded;
        let pre = self.pre.clone();
        let asked: Vec<_> = nodes.iter().map(|it| convert::instance::node(it, node_labels)).collect();
        let Reply { answer, notices } = self
            .loaded
            .call(Function::Get, |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_instances().call_get(store, &asked).await
                })
            })
            .await;
        let unusable = |because: &str| self.loaded.unusable(Function::Get, because);
        let answer = match answer {
            Ok(answers) if answers.len() == nodes.len() => answers
                .into_iter()
                .map(|it| match it {
                    Ok(instance) => instance
                        .map(|it| convert::instance::instance(it, description))
                        .transpose()
                        .map_err(|because| unusable(&because)),
                    Err(error) => Err(convert::error(error)),
                })
                .collect(),
            Ok(answers) => {
                vec![Err(unusable(&format!("{} answers for {} nodes", answers.len(), nodes.len()))); nodes.len()]
            }
            Err(error) => vec![Err(error); nodes.len()],
        };
        Reply { answer, notices }
    }
}
