//! One step of a volume towards a machine or away from it, and towards a larger size.

use super::cloud::{Attaching, SOON, VolumeBackend, is_foreign, is_shared, live, missing};
use crate::{
    AttachMode, Change, Error, ExpandedVolume, Growth, KnownVolume, PendingVolume, Result, VolumeAttachment,
    VolumeDetachment, VolumeExpansion, VolumeState, cluster,
};

/// Takes one step towards the volume being attached to the machine with this node id.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's, and for a volume that does not exist.
pub fn attach<B: VolumeBackend>(
    backend: &B,
    known: &KnownVolume,
    node_id: &str,
    mode: &AttachMode,
) -> Result<VolumeAttachment> {
    let (live, volume) = live(backend, known)?.ok_or_else(|| missing(known))?;
    let (title, poll) = (volume.title(), backend.pauses().poll);
    let pending = |after, because: String| VolumeAttachment::Pending(PendingVolume::new(None, after, because));
    let is_here = volume.attached_to.iter().any(|it| it == node_id);
    if is_here && backend.is_attached(&live, node_id) {
        return Ok(VolumeAttachment::Ready(backend.publish_context(&live, node_id)));
    }
    if is_here {
        return Ok(pending(poll, format!("the cloud attaches {title} to {node_id}, or detaches it")));
    }
    if let Some(other) = volume.attached_to.first().filter(|_| !is_shared(mode)) {
        return Ok(VolumeAttachment::Occupied(other.clone()));
    }
    if volume.state == VolumeState::Changing {
        return Ok(pending(poll, format!("the cloud is at work on {title}")));
    }
    Ok(match backend.attach(&live, node_id, mode)? {
        Attaching::Begun => pending(poll, format!("the cloud attaches {title} to {node_id}")),
        Attaching::Busy(why) => pending(SOON, why),
        Attaching::Full(why) => VolumeAttachment::Full(why),
    })
}

/// Takes one step of the volume away from the machine with this node id.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's.
pub fn detach<B: VolumeBackend>(backend: &B, known: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
    let Some((live, volume)) = live(backend, known)? else { return Ok(VolumeDetachment::Done) };
    let (title, poll) = (volume.title(), backend.pauses().poll);
    let pending = |after, because: String| VolumeDetachment::Pending(PendingVolume::new(None, after, because));
    let is_here = volume.attached_to.iter().any(|it| it == node_id);
    if volume.state == VolumeState::Changing {
        // It may be an attachment to this machine.
        return Ok(pending(poll, format!("the cloud is at work on {title}")));
    }
    if !is_here {
        return Ok(VolumeDetachment::Done);
    }
    if !backend.is_attached(&live, node_id) {
        return Ok(pending(poll, format!("the cloud attaches {title} to {node_id}, or detaches it")));
    }
    Ok(match backend.detach(&live, node_id)? {
        Change::Done(()) => pending(SOON, format!("the cloud detaches {title} from {node_id}")),
        Change::Busy(why) => pending(SOON, why),
    })
}

/// Takes one step of the volume towards so many bytes.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's, and for a volume that does not exist;
/// [`Error::Denied`] for a volume with the mark of another cluster.
pub fn expand<B: VolumeBackend>(backend: &B, known: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
    let (live, volume) = live(backend, known)?.ok_or_else(|| missing(known))?;
    if is_foreign(&volume, &cluster()?) {
        return Err(Error::denied(format_args!(
            "{} has the mark of another cluster, and is not enlarged. Next step: look at who has made PersistentVolume {}",
            volume.title(),
            known.name
        )));
    }
    let (title, poll) = (volume.title(), backend.pauses().poll);
    let pending = |after, because: String| VolumeExpansion::Pending(PendingVolume::new(None, after, because));
    if volume.state == VolumeState::Changing {
        return Ok(pending(poll, format!("the cloud is at work on {title}")));
    }
    if volume.bytes >= bytes {
        let node_must_grow = !(B::BLOCK_GROWS_ALONE && known.is_block());
        return Ok(VolumeExpansion::Ready(ExpandedVolume { bytes: volume.bytes, node_must_grow }));
    }
    if B::GROWTH == Growth::Detached && !volume.attached_to.is_empty() {
        return Ok(VolumeExpansion::InUse(volume.attached_to));
    }
    Ok(match backend.expand(&live, bytes)? {
        Change::Done(()) => pending(SOON, format!("the cloud enlarges {title}")),
        Change::Busy(why) => pending(SOON, why),
    })
}
