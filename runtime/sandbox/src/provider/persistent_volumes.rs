use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{PersistentVolumes, Reply, Result, Topology, TopologyDescription, Volume};
use egress::Seen;
use tokio::time::Instant;

use super::batch::{Batch, answers};
use super::describe;
use super::guard::Stopped;
use super::judged;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::bindings::persistent_volumes::ProvidesPersistentVolumesPre;
use crate::bindings::persistent_volumes::exports::aerostat::cloud::persistent_volumes as wit;
use crate::call::{Calls, Earlier, Function, StoreState, Success};
use crate::convert;

/// The volumes of a provider that exports `persistent-volumes`.
#[derive(Clone)]
pub(super) struct PersistentVolumesGuest {
    pub(super) pre: ProvidesPersistentVolumesPre<StoreState>,
    pub(super) description: Arc<TopologyDescription>,
    pub(super) loaded: Arc<Loaded>,
}

/// About which volumes it can be asked, of a provider that exports them.
pub(super) async fn described(
    calls: &Calls,
    pre: Option<ProvidesPersistentVolumesPre<StoreState>>,
) -> Result<Option<(ProvidesPersistentVolumesPre<StoreState>, Arc<TopologyDescription>)>, String> {
    let Some(pre) = pre else { return Ok(None) };
    let asked = pre.clone();
    let answer = describe::ask(calls, Function::DescribeVolumes, |store| {
        Box::pin(async move {
            let guest = asked.instantiate_async(&mut *store).await?;
            guest.aerostat_cloud_persistent_volumes().call_describe(store).await
        })
    });
    let description = convert::persistent_volume::description(answer.await?);
    description
        .map(|it| Some((pre, Arc::new(it))))
        .map_err(|it| format!("its description of volumes is unusable: {it}"))
}

#[async_trait]
impl PersistentVolumes for PersistentVolumesGuest {
    fn description(&self) -> Arc<TopologyDescription> {
        self.description.clone()
    }

    async fn get_topology(&self, volumes: &[Volume]) -> Reply<Vec<Result<Option<Topology>>>> {
        answers(self, self.description.batch_size, volumes).await
    }
}

impl Success for wit::TopologyDescription {}

#[async_trait]
impl Batch for PersistentVolumesGuest {
    type Question = Volume;
    type Answer = Option<Topology>;

    fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    fn function(&self) -> Function {
        Function::GetTopology
    }

    fn object(volume: &Volume) -> Object {
        Object::volume(volume)
    }

    async fn ask(
        &self,
        volumes: &[Volume],
        subject: Subject<'_>,
        _began: Instant,
    ) -> (Reply<Result<Vec<Result<Option<Topology>>>, Stopped>>, Seen) {
        let pre = self.pre.clone();
        let asked: Vec<_> = volumes.iter().map(convert::persistent_volume::volume).collect();
        let (Reply { answer, mut events, wrote }, seen) = self
            .loaded
            .attempt(Function::GetTopology, subject, Earlier::default(), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_persistent_volumes().call_get_topology(store, &asked).await
                })
            })
            .await;
        events.retain(|it| it.about.as_ref().is_none_or(|name| volumes.iter().any(|it| it.name == *name)));
        let unusable = |because: String| self.loaded.unusable(Function::GetTopology, &because);
        let answer = answer.map(|answers| {
            let topologies = answers.into_iter().map(|answer| match answer {
                Ok(topology) => topology.map(convert::persistent_volume::topology).transpose().map_err(unusable),
                Err(error) => Err(convert::error(error)),
            });
            topologies.collect()
        });
        (Reply { answer, events, wrote }, seen)
    }

    fn judged(seen: &Seen, answer: Result<Option<Topology>>) -> Result<Option<Topology>> {
        judged::none(seen, answer)
    }
}
