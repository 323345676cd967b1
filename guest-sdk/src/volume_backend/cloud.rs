//! The trait that a provider implements, and the results of its steps.

use std::time::Duration;

use crate::backend::gave_up;
use crate::http::{Attempt, Request, Response};
use crate::key::shown;
use crate::{
    AccessMode, AttachMode, Change, CloudVolume, Cluster, DesiredVolume, Error, Growth, KnownVolume, Result,
    VolumeState,
};

/// When a cloud is asked again that is busy with one change.
pub(super) const SOON: Duration = Duration::from_millis(500);

/// A cloud's requests for volumes, in one call.
pub trait VolumeBackend {
    /// A volume with all that the cloud shows of it.
    type Live;

    /// Whether the cloud refuses a second volume with the same name where it makes them. Then one of this name that is another's
    /// is an error, and else a warning.
    const NAMES_ARE_UNIQUE: bool;

    /// Whether the cloud makes no second volume of a creation that is sent again: it knows the name, or a token. Where it would, each creation after
    /// the first is announced to the host first, so that one over which a process has died is looked for and not sent again at once.
    const REFUSES_SECOND: bool = Self::NAMES_ARE_UNIQUE;

    /// Whether volumes grow, as the description says it.
    const GROWTH: Growth;

    /// Whether a raw block device is as large on its node as in the cloud without a call of the node plugin.
    const BLOCK_GROWS_ALONE: bool = false;

    /// Whether `text` has the form of this driver's handles.
    fn is_handle(&self, text: &str) -> bool;

    /// How long to wait between two calls.
    fn pauses(&self) -> VolumePauses;

    /// The volume with this handle; `None` if the cloud is certain that there is none.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn find(&self, handle: &str) -> Result<Option<Self::Live>>;

    /// The same for a step about a volume that Kubernetes has. No step is taken while the cloud is at work on it: where that is known by fewer
    /// requests than [`Self::find`] needs, no others are sent.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn find_at_rest(&self, handle: &str) -> Result<Option<FoundVolume<Self::Live>>> {
        Ok(self.find(handle)?.map(FoundVolume::Whole))
    }

    /// The volumes with the name of a desired one, or with its mark, wherever they are, and whoever made them.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered, also where it did not answer for every place.
    fn named(&self, desired: &DesiredVolume) -> Result<Vec<Self::Live>>;

    /// The volume as the contract has it. `attached_to` has those machines too to which or from which it is on its way.
    fn volume(&self, live: &Self::Live) -> CloudVolume;

    /// Whether it bears the marks with which the vendor's own controller makes volumes. One with the claim's name, that no other
    /// claim and no other cluster has marked, is the claim's then.
    fn is_vendors(&self, live: &Self::Live) -> bool {
        let _ = live;
        false
    }

    /// Sends the one request that creates it, with the claim's mark.
    ///
    /// # Errors
    ///
    /// That it was certainly not created. Where it may have been, that is [`Making::Unclear`].
    fn create(&self, desired: &DesiredVolume) -> Result<Making<Self::Live>>;

    /// Deletes it. It is attached to no machine.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn delete(&self, live: &Self::Live) -> Result<Change<()>>;

    /// Whether it is attached to this machine of [`CloudVolume::attached_to`], and not only on its way.
    fn is_attached(&self, live: &Self::Live, node_id: &str) -> bool {
        let _ = node_id;
        self.volume(live).state == VolumeState::Ready
    }

    /// Why its way to this machine of [`CloudVolume::attached_to`] will come to no end: `None` while it may. It is told; and once the volume
    /// is to leave the machine, it is detached and not waited for.
    fn stalled(&self, live: &Self::Live, node_id: &str) -> Option<String> {
        let _ = (live, node_id);
        None
    }

    /// The action that the cloud could not carry out, for a person, if that is the last one on this volume. Another one is begun, and its answer
    /// is an error with these words, so that each is begun after a longer pause.
    fn failure(&self, live: &Self::Live) -> Option<String> {
        let _ = live;
        None
    }

    /// The publish context of a volume that is attached to this machine.
    fn publish_context(&self, live: &Self::Live, node_id: &str) -> Vec<(String, String)> {
        let _ = (live, node_id);
        Vec::new()
    }

    /// Attaches it to this machine.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn attach(&self, live: &Self::Live, node_id: &str, mode: &AttachMode) -> Result<Attaching>;

    /// Detaches it from this machine, to which it is attached.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn detach(&self, live: &Self::Live, node_id: &str) -> Result<Change<()>>;

    /// Lets it grow to so many bytes.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn expand(&self, live: &Self::Live, bytes: u64) -> Result<Change<()>> {
        let _ = bytes;
        Err(Error::invalid(format_args!("{} cannot grow", self.volume(live).title())))
    }
}

/// A volume as far as it was read for a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FoundVolume<L> {
    /// All of it.
    Whole(L),
    /// The cloud is at work on it, and nothing else was asked.
    AtWork,
}

/// How long to wait between two calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct VolumePauses {
    /// Until a volume is read again on which the cloud is at work.
    pub poll: Duration,
    /// How long a volume must have been absent, once its creation was sent without a clear answer, before it is created again.
    /// Longer than the cloud's lists may lag; zero where the cloud refuses a second one, by its name or by a token.
    pub create_again: Duration,
    /// How long after its request a volume may still appear. Longer than a request may be under way, and than lists may lag.
    pub appear: Duration,
}

/// The result of a creation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Making<L> {
    /// The cloud has answered with it, in whatever state.
    Made(L),
    /// The cloud has taken the request, and named the handle alone.
    Begun(String),
    /// It was certainly not created: there is no room for it in its places just now. Holds what the cloud says.
    NoRoom(String),
    /// It was certainly not created: the cloud is still carrying out an earlier change. Holds what it says.
    Busy(String),
    /// It may have been created or not: the cloud did not answer, said that it failed, or has one of this name already. Why, for
    /// a person.
    Unclear(String),
    /// It was certainly not created by this request: the cloud knows its token from another one, or from a volume that is gone. The next
    /// creation has another [number](super::creation_number), and is sent as after one that is unclear. Holds what the cloud says.
    Spent(String),
}

impl<L> Making<L> {
    /// Sends a creation whose answer `read` reads. What may have been carried out is [`Self::Unclear`]: an answer that was lost, a
    /// status of 500 or more, 408 or 499, and a success that cannot be read.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success: nothing was created.
    pub fn sent(request: Request, read: impl FnOnce(&Response) -> Result<L>) -> Result<Self> {
        Self::sent_unless(request, |_| None, read)
    }

    /// As [`Self::sent`], where `otherwise` says what further answers mean: that there is no room, or that the name is taken.
    ///
    /// # Errors
    ///
    /// As [`Self::sent`].
    pub fn sent_unless(
        request: Request,
        otherwise: impl FnOnce(&Response) -> Option<Self>,
        read: impl FnOnce(&Response) -> Result<L>,
    ) -> Result<Self> {
        let response = match request.attempt()? {
            Attempt::Answered(response) => response,
            Attempt::Lost(why) => return Ok(Self::Unclear(why)),
        };
        if let Some(making) = otherwise(&response) {
            return Ok(making);
        }
        if gave_up(response.status()) {
            return Ok(Self::Unclear(response.complaint()));
        }
        let response = response.accepted()?;
        // The status says that it was accepted, also if the body cannot be read.
        let unread = |_| Self::Unclear(format!("{}, with an answer that cannot be read", response.complaint()));
        Ok(read(&response).map_or_else(unread, Self::Made))
    }
}

impl<L> Making<L> {
    /// The same with what `change` makes of the volume that the cloud has answered with.
    pub fn map<M>(self, change: impl FnOnce(L) -> M) -> Making<M> {
        match self {
            Self::Made(live) => Making::Made(change(live)),
            Self::Begun(handle) => Making::Begun(handle),
            Self::NoRoom(why) => Making::NoRoom(why),
            Self::Busy(why) => Making::Busy(why),
            Self::Unclear(why) => Making::Unclear(why),
            Self::Spent(why) => Making::Spent(why),
        }
    }
}

/// The result of an attachment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Attaching {
    /// The cloud has taken the request: the volume shows when it is done.
    Begun,
    /// The cloud is still carrying out an earlier change of the volume or the machine. Holds what it says.
    Busy(String),
    /// The machine takes no further volume. Holds what the cloud says.
    Full(String),
}

impl<T> From<Change<T>> for Attaching {
    fn from(change: Change<T>) -> Self {
        match change {
            Change::Done(_) => Self::Begun,
            Change::Busy(why) => Self::Busy(why),
        }
    }
}

/// The volume with this handle, for [`Volumes::get`](crate::Volumes::get); `None` if the cloud is certain that there is none.
///
/// # Errors
///
/// [`Error::Invalid`] for a handle that is not this driver's; whatever the cloud answered.
pub fn get<B: VolumeBackend>(backend: &B, handle: &str) -> Result<Option<CloudVolume>> {
    if !backend.is_handle(handle) {
        return Err(Error::invalid(format_args!("the volume handle {} is none of this driver", shown(handle))));
    }
    Ok(backend.find(handle)?.map(|it| backend.volume(&it)))
}

/// The answer about a volume that no read by its handle has found: one late server may have said so each time. It is gone only if the list of
/// all volumes lacks it, too.
///
/// # Errors
///
/// [`Error::Unavailable`] where the list has it.
pub fn gone<L>(handle: &str, is_listed: bool) -> Result<Option<L>> {
    if is_listed {
        return Err(Error::unavailable(format_args!(
            "the cloud lists volume {handle}, and does not find it: it is asked again"
        )));
    }
    Ok(None)
}

/// A volume as its backend knows it, and as the contract does.
type ReadVolume<L> = FoundVolume<(L, CloudVolume)>;

/// The volume behind a handle that Kubernetes has; `None` if there is none.
///
/// # Errors
///
/// [`Error::Invalid`] for a handle that is not this driver's; whatever the cloud answered.
pub(super) fn live<B: VolumeBackend>(backend: &B, known: &KnownVolume) -> Result<Option<ReadVolume<B::Live>>> {
    if !backend.is_handle(&known.handle) {
        return Err(Error::invalid(format_args!(
            "the volume handle {} of PersistentVolume {} is none of this driver: nothing is done with it. Next step: look at \
             who has made the PersistentVolume",
            shown(&known.handle),
            known.name
        )));
    }
    Ok(backend.find_at_rest(&known.handle)?.map(|found| match found {
        FoundVolume::Whole(live) => {
            let volume = backend.volume(&live);
            FoundVolume::Whole((live, volume))
        }
        FoundVolume::AtWork => FoundVolume::AtWork,
    }))
}

/// The reason to wait for a volume of which nothing was read but that the cloud is at work on it.
pub(super) fn at_work(known: &KnownVolume) -> String {
    format!("the cloud is at work on volume {} ({})", known.handle, known.name)
}

/// The error about a volume that is to be used, and does not exist.
pub(super) fn missing(known: &KnownVolume) -> Error {
    Error::invalid(format_args!("volume {} does not exist in the cloud", known.handle))
}

/// Whether a mark names another cluster than this one.
pub(super) fn is_foreign(volume: &CloudVolume, cluster: &Cluster) -> bool {
    volume.owner.cluster_uid.as_ref().is_some_and(|it| *it != cluster.uid)
}

/// Whether a volume is proven to be a claim's: by its mark, or by its name and the vendor's own mark.
pub(super) fn is_claims<B: VolumeBackend>(
    backend: &B,
    live: &B::Live,
    volume: &CloudVolume,
    desired: &DesiredVolume,
    cluster: &Cluster,
) -> bool {
    match (&volume.owner.uid, &volume.owner.cluster_uid) {
        (None, None) => volume.name == desired.name && backend.is_vendors(live),
        (uid, cluster_uid) => uid.as_ref() == Some(&desired.owner.uid) && cluster_uid.as_ref() == Some(&cluster.uid),
    }
}

/// Whether several machines may have it at a time.
pub(super) fn is_shared(mode: &AttachMode) -> bool {
    mode.access_modes.iter().any(|it| matches!(it, AccessMode::ManyNodesRead | AccessMode::ManyNodesWrite))
}
