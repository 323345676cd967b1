use std::sync::Arc;

use async_trait::async_trait;
use cloud_provider::{
    AttachMode, CloudVolume, CloudVolumes, DesiredVolume, Freshness, KnownVolume, Reply, Result, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage,
};
use egress::Seen;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;
use wasmtime::Store;

use super::batch::{Batch, answers};
use super::describe;
use super::guard::Stopped;
use super::judged;
use super::lists::OpenLists;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::bindings::host::aerostat::cloud::types::Error;
use crate::bindings::volumes::ProvidesVolumesPre;
use crate::bindings::volumes::exports::aerostat::cloud::volumes as wit;
use crate::call::{Calls, Earlier, Function, StoreState, Success};
use crate::convert;
use crate::convert::texts::Texts;

/// The volumes of a provider that exports `volumes`.
#[derive(Clone)]
pub(super) struct VolumesGuest {
    pub(super) pre: ProvidesVolumesPre<StoreState>,
    pub(super) description: Arc<VolumeDescription>,
    pub(super) loaded: Arc<Loaded>,
    pub(super) lists: Arc<OpenLists>,
}

/// The volumes' properties, of a provider that exports them.
pub(super) async fn described(
    calls: &Calls,
    pre: Option<ProvidesVolumesPre<StoreState>>,
) -> Result<Option<(ProvidesVolumesPre<StoreState>, Arc<VolumeDescription>)>, String> {
    let Some(pre) = pre else { return Ok(None) };
    let asked = pre.clone();
    let answer = describe::ask(calls, Function::DescribeDisks, |store| {
        Box::pin(async move {
            let guest = asked.instantiate_async(&mut *store).await?;
            guest.aerostat_cloud_volumes().call_describe(store).await
        })
    });
    let description = convert::volumes::description(answer.await?);
    description
        .map(|it| Some((pre, Arc::new(it))))
        .map_err(|it| format!("its description of volumes for claims is unusable: {it}"))
}

impl Success for wit::VolumeDescription {}
impl Success for wit::Creation {}
impl Success for wit::Deletion {}
impl Success for wit::Attachment {}
impl Success for wit::Detachment {}
impl Success for wit::Expansion {}
impl Success for wit::Page {}

impl VolumesGuest {
    /// One call about a volume: its answer as `read` reads it. What `settles` is believed only after requests that were answered.
    async fn step<W, T>(
        &self,
        function: Function,
        object: &Object,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<Result<W, Error>>> + Send,
        read: impl FnOnce(W) -> Result<T, String>,
        settles: impl FnOnce(&T) -> bool,
    ) -> Reply<Result<T>>
    where
        W: Success + Texts,
    {
        // It comes back to see what has become of something.
        let earlier = Earlier::resting_on(Freshness::since(Instant::now()));
        let (Reply { answer, mut events, wrote }, seen) = self.loaded.call_after(function, object, earlier, body).await;
        let answer = answer
            .and_then(|it| it.map_err(convert::error))
            .and_then(|it| read(it).map_err(|because| self.loaded.unusable(function, &because)))
            .and_then(|it| if settles(&it) { judged::settled(&seen, it) } else { Ok(it) });
        // A call is about one volume: what is about something else is left out.
        events.retain(|it| it.about.is_none());
        Reply { answer, events, wrote }
    }

    async fn gone(&self, function: Function, object: &Object, asked: Unwanted) -> Reply<Result<VolumeDeletion>> {
        let pre = self.pre.clone();
        self.step(
            function,
            object,
            |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    let volumes = guest.aerostat_cloud_volumes();
                    match asked {
                        Unwanted::Desired(it) => volumes.call_abandon(store, &it).await,
                        Unwanted::Known(it) => volumes.call_delete(store, &it).await,
                    }
                }
                .boxed()
            },
            convert::volumes::deletion,
            |it| *it == VolumeDeletion::Done,
        )
        .await
    }
}

/// A volume that is to go, as a guest is told of it.
enum Unwanted {
    Desired(Box<wit::DesiredVolume>),
    Known(wit::KnownVolume),
}

#[async_trait]
impl CloudVolumes for VolumesGuest {
    fn description(&self) -> Arc<VolumeDescription> {
        self.description.clone()
    }

    async fn create(&self, desired: &DesiredVolume, is_first: bool) -> Reply<Result<VolumeCreation>> {
        let asked = convert::volumes::desired(desired, is_first, &self.description);
        let pre = self.pre.clone();
        let cluster_uid = self.loaded.calls.cluster_uid();
        self.step(
            Function::CreateVolume,
            &Object::desired_volume(Function::CreateVolume, desired),
            |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_volumes().call_create(store, &asked).await
                }
                .boxed()
            },
            |it| convert::volumes::creation(it, desired, cluster_uid.as_deref(), &self.description),
            |it| matches!(it, VolumeCreation::Ready(_)),
        )
        .await
    }

    async fn abandon(&self, unwanted: &DesiredVolume) -> Reply<Result<VolumeDeletion>> {
        let asked = Unwanted::Desired(Box::new(convert::volumes::desired(unwanted, false, &self.description)));
        let object = Object::desired_volume(Function::AbandonVolume, unwanted);
        self.gone(Function::AbandonVolume, &object, asked).await
    }

    async fn delete(&self, unwanted: &KnownVolume) -> Reply<Result<VolumeDeletion>> {
        let asked = Unwanted::Known(convert::volumes::known(unwanted));
        let object = Object::known_volume(Function::DeleteVolume, unwanted);
        self.gone(Function::DeleteVolume, &object, asked).await
    }

    async fn attach(&self, volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Reply<Result<VolumeAttachment>> {
        let (pre, node_id) = (self.pre.clone(), node_id.to_owned());
        let (asked, mode) = (convert::volumes::known(volume), convert::volumes::mode(mode));
        self.step(
            Function::AttachVolume,
            &Object::known_volume(Function::AttachVolume, volume),
            |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_volumes().call_attach(store, &asked, &node_id, &mode).await
                }
                .boxed()
            },
            |it| convert::volumes::attachment(it, &self.description),
            |it| matches!(it, VolumeAttachment::Ready(_)),
        )
        .await
    }

    async fn detach(&self, volume: &KnownVolume, node_id: &str) -> Reply<Result<VolumeDetachment>> {
        let (pre, node_id) = (self.pre.clone(), node_id.to_owned());
        let asked = convert::volumes::known(volume);
        self.step(
            Function::DetachVolume,
            &Object::known_volume(Function::DetachVolume, volume),
            |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_volumes().call_detach(store, &asked, &node_id).await
                }
                .boxed()
            },
            convert::volumes::detachment,
            |it| *it == VolumeDetachment::Done,
        )
        .await
    }

    async fn expand(&self, volume: &KnownVolume, bytes: u64) -> Reply<Result<VolumeExpansion>> {
        let (pre, asked) = (self.pre.clone(), convert::volumes::known(volume));
        self.step(
            Function::ExpandVolume,
            &Object::known_volume(Function::ExpandVolume, volume),
            |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_volumes().call_expand(store, &asked, bytes).await
                }
                .boxed()
            },
            |it| convert::volumes::expansion(it, bytes),
            |it| matches!(it, VolumeExpansion::Ready { .. }),
        )
        .await
    }

    async fn get(&self, handles: &[String]) -> Reply<Vec<Result<Option<CloudVolume>>>> {
        answers(self, self.description.get_batch_size, handles).await
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<VolumePage>> {
        if self.description.list_page_size == 0 {
            return Reply::from(Err(self.loaded.failed("its volumes have no list")));
        }
        let limit = limit.clamp(1, self.description.list_page_size);
        let (pre, start) = (self.pre.clone(), cursor.clone());
        let list = self.lists.take(cursor.as_deref(), Instant::now());
        let (Reply { answer, events, wrote }, seen) = self
            .loaded
            .call_page(Function::ListVolumes, list.earlier(), |store| {
                async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_volumes().call_list(store, start.as_deref(), limit).await
                }
                .boxed()
            })
            .await;
        let answer = answer.and_then(|it| it.map_err(convert::error)).and_then(|page| {
            convert::volumes::page(page, cursor.as_deref(), limit, &self.description)
                .map(|page| judged::volumes(&seen, page))
                .map_err(|because| self.loaded.unusable(Function::ListVolumes, &because))
        });
        if let Some(next) = answer.as_ref().ok().and_then(|it| it.next.as_deref()) {
            self.lists.put(list, next);
        }
        Reply { answer, events, wrote }
    }
}

#[async_trait]
impl Batch for VolumesGuest {
    type Question = String;
    type Answer = Option<CloudVolume>;

    fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    fn function(&self) -> Function {
        Function::GetVolumes
    }

    fn object(handle: &String) -> Object {
        let known = KnownVolume { handle: handle.clone(), ..KnownVolume::default() };
        Object::known_volume(Function::GetVolumes, &known)
    }

    async fn ask(
        &self,
        handles: &[String],
        subject: Subject<'_>,
        began: Instant,
    ) -> (Reply<Result<Vec<Result<Option<CloudVolume>>>, Stopped>>, Seen) {
        let (pre, asked) = (self.pre.clone(), handles.to_vec());
        let (Reply { answer, mut events, wrote }, seen) = self
            .loaded
            .attempt(Function::GetVolumes, subject, Earlier::resting_on(Freshness::since(began)), |store| {
                Box::pin(async move {
                    let guest = pre.instantiate_async(&mut *store).await?;
                    guest.aerostat_cloud_volumes().call_get(store, &asked).await
                })
            })
            .await;
        events.retain(|it| it.about.as_ref().is_none_or(|handle| handles.contains(handle)));
        let unusable = |because: String| self.loaded.unusable(Function::GetVolumes, &because);
        let answer = answer.map(|answers| {
            let volumes = answers.into_iter().enumerate().map(|(at, answer)| match answer {
                // Where there are more answers than questions, none of them is taken.
                Ok(volume) => {
                    let handle = handles.get(at).map_or("", String::as_str);
                    let found = |it| convert::volumes::found(it, handle, &self.description);
                    volume.map(found).transpose().map_err(unusable)
                }
                Err(error) => Err(convert::error(error)),
            });
            volumes.collect()
        });
        (Reply { answer, events, wrote }, seen)
    }

    fn judged(seen: &Seen, answer: Result<Option<CloudVolume>>) -> Result<Option<CloudVolume>> {
        judged::none(seen, answer)
    }
}
