//! A provider, loaded and checked.

mod load;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cloud_provider::{Cloud, Description, Error, Instance, Instances, Machine, Notice, Page, Reply, Result};
use tokio::task::JoinSet;

pub use self::load::LoadError;
use crate::bindings::instances::ProvidesInstancesPre;
use crate::call::{CallLimits, Calls, Function, State};
use crate::convert;
use crate::engine::Sandbox;
use crate::gate::Gate;
use crate::metrics::Metrics;
use crate::source::Module;

/// What the operator says of a provider.
#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    /// Names and values; checked against the provider's description.
    pub settings: Vec<(String, String)>,
    /// The node labels that the provider may see.
    pub node_labels: Vec<String>,
    /// What one call may use up.
    pub limits: CallLimits,
}

/// A provider that can be called. Cloning shares it.
#[derive(Clone)]
pub struct Provider(Arc<Loaded>);

struct Loaded {
    description: Arc<Description>,
    instances: Option<ProvidesInstancesPre<State>>,
    calls: Calls,
    node_labels: Vec<String>,
    compile_time: Duration,
}

impl Provider {
    /// Compiles `module`, checks what it imports and exports before any of it runs, asks it to describe itself, and
    /// checks `settings` and the gate's endpoints against that.
    ///
    /// # Errors
    ///
    /// If any of that fails. The text names the module or provider, the cause and the next step.
    pub async fn load(
        sandbox: &Sandbox,
        module: Module,
        settings: ProviderSettings,
        gate: Gate,
        metrics: Metrics,
    ) -> Result<Self, LoadError> {
        load::load(sandbox, module, settings, gate, metrics).await.map(|it| Self(Arc::new(it)))
    }

    /// What the provider can do, read off its exports.
    #[must_use]
    pub fn cloud(&self) -> Cloud {
        let instances = self
            .0
            .instances
            .clone()
            .map(|pre| -> Arc<dyn Instances> { Arc::new(Guest { pre, loaded: self.0.clone() }) });
        Cloud { description: self.0.description.clone(), instances }
    }

    /// What the provider says of itself.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.0.description
    }

    /// How long the compilation took.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        self.0.compile_time
    }
}

/// The machines of a provider that exports `instances`.
#[derive(Clone)]
struct Guest {
    pre: ProvidesInstancesPre<State>,
    loaded: Arc<Loaded>,
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
        let mut all = Reply::from(Vec::with_capacity(nodes.len()));
        for (_, reply) in replies {
            all.answer.extend(reply.answer);
            all.notices.extend(reply.notices);
        }
        all
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        let Loaded { calls, description, .. } = &*self.loaded;
        let limit = limit.clamp(1, description.list_page);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let Reply { answer, notices } = calls
            .run(Function::List, |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_instances().call_list(store, start.as_deref(), limit).await
                })
            })
            .await;
        let answer = match answer {
            Ok(Ok(page)) => convert::instance::page(page, cursor.as_deref(), limit, description)
                .map_err(|because| self.unusable(Function::List, &because)),
            Ok(Err(error)) => Err(convert::error(error)),
            Err(crash) => Err(self.failed(&calls.explain(Function::List, &crash))),
        };
        Reply { answer, notices: self.about_ours(notices) }
    }
}

impl Guest {
    /// One call of `get`: one answer for each node, whatever happened.
    async fn get_batch(&self, nodes: &[Machine]) -> Reply<Vec<Result<Option<Instance>>>> {
        let Loaded { calls, description, node_labels, .. } = &*self.loaded;
        let pre = self.pre.clone();
        let asked: Vec<_> = nodes.iter().map(|it| convert::instance::node(it, node_labels)).collect();
        let Reply { answer, notices } = calls
            .run(Function::Get, |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_instances().call_get(store, &asked).await
                })
            })
            .await;
        let answer = match answer {
            Ok(answers) if answers.len() == nodes.len() => answers
                .into_iter()
                .map(|it| match it {
                    Ok(instance) => instance
                        .map(|it| convert::instance::instance(it, description))
                        .transpose()
                        .map_err(|because| self.unusable(Function::Get, &because)),
                    Err(error) => Err(convert::error(error)),
                })
                .collect(),
            Ok(answers) => {
                let because = format!("{} answers for {} nodes", answers.len(), nodes.len());
                vec![Err(self.unusable(Function::Get, &because)); nodes.len()]
            }
            Err(crash) => vec![Err(self.failed(&calls.explain(Function::Get, &crash))); nodes.len()],
        };
        Reply { answer, notices: self.about_ours(notices) }
    }

    fn unusable(&self, function: Function, because: &str) -> Error {
        self.failed(&format!("{function} gave an unusable answer: {because}"))
    }

    /// A fault of the provider, which may be gone with the next call.
    fn failed(&self, because: &str) -> Error {
        Error::Unavailable(format!("provider {}: {because}", self.loaded.calls.provider))
    }

    /// Leaves out what is about an object that cannot be the provider's.
    fn about_ours(&self, mut notices: Vec<Notice>) -> Vec<Notice> {
        notices.retain(|it| it.about.as_ref().is_none_or(|id| self.loaded.description.owns(id)));
        notices
    }
}
