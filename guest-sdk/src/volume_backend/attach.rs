//! One step of a volume towards a machine or away from it, and towards a larger size.

use super::cloud::{Attaching, FoundVolume, SOON, VolumeBackend, at_work, is_foreign, is_shared, live, missing};
use super::failure::begun;
use crate::{
    AttachMode, Change, Error, ExpandedVolume, Growth, KnownVolume, PendingVolume, Result, VolumeAttachment,
    VolumeDetachment, VolumeExpansion, VolumeState, cluster, events,
};

/// Takes one step towards the volume being attached to the machine with this node id.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's, and for a volume that does not exist;
/// [`Error::Unavailable`] after an action that has failed.
pub fn attach<B: VolumeBackend>(
    backend: &B,
    known: &KnownVolume,
    node_id: &str,
    mode: &AttachMode,
) -> Result<VolumeAttachment> {
    let poll = backend.pauses().poll;
    let pending = |after, because: String| VolumeAttachment::Pending(PendingVolume::new(None, after, because));
    let FoundVolume::Whole((live, volume)) = live(backend, known)?.ok_or_else(|| missing(known))? else {
        return Ok(pending(poll, at_work(known)));
    };
    let title = volume.title();
    let is_here = volume.attached_to.iter().any(|it| it == node_id);
    if is_here && backend.is_attached(&live, node_id) {
        return Ok(VolumeAttachment::Ready(backend.publish_context(&live, node_id)));
    }
    if is_here {
        let because = match backend.stalled(&live, node_id) {
            Some(why) => {
                let message = format!(
                    "{title} does not come to {node_id}: {why}. Next step: delete the pod that needs it, by which the volume is detached \
                     and attached again"
                );
                events::warning(None, "VolumeAttachmentStalled", &message);
                message
            }
            None => format!("the cloud attaches {title} to {node_id}, or detaches it"),
        };
        return Ok(pending(poll, because));
    }
    if let Some(other) = volume.attached_to.first().filter(|_| !is_shared(mode)) {
        return Ok(VolumeAttachment::Occupied(other.clone()));
    }
    if volume.state == VolumeState::Changing {
        return Ok(pending(poll, format!("the cloud is at work on {title}")));
    }
    let attaching = backend.attach(&live, node_id, mode);
    Ok(match begun(backend, &live, attaching, |it| *it == Attaching::Begun)? {
        Attaching::Begun => pending(poll, format!("the cloud attaches {title} to {node_id}")),
        Attaching::Busy(why) => pending(SOON, why),
        Attaching::Full(why) => VolumeAttachment::Full(why),
    })
}

/// Takes one step of the volume away from the machine with this node id.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's; [`Error::Unavailable`] after an action that has failed.
pub fn detach<B: VolumeBackend>(backend: &B, known: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
    let poll = backend.pauses().poll;
    let pending = |after, because: String| VolumeDetachment::Pending(PendingVolume::new(None, after, because));
    let (live, volume) = match live(backend, known)? {
        None => return Ok(VolumeDetachment::Done),
        Some(FoundVolume::AtWork) => return Ok(pending(poll, at_work(known))),
        Some(FoundVolume::Whole(found)) => found,
    };
    let title = volume.title();
    let is_here = volume.attached_to.iter().any(|it| it == node_id);
    if volume.state == VolumeState::Changing {
        // It may be an attachment to this machine.
        return Ok(pending(poll, format!("the cloud is at work on {title}")));
    }
    if !is_here {
        return Ok(VolumeDetachment::Done);
    }
    if !backend.is_attached(&live, node_id) && backend.stalled(&live, node_id).is_none() {
        return Ok(pending(poll, format!("the cloud attaches {title} to {node_id}, or detaches it")));
    }
    let change = backend.detach(&live, node_id);
    Ok(match begun(backend, &live, change, |it| *it == Change::Done(()))? {
        Change::Done(()) => pending(poll, format!("the cloud detaches {title} from {node_id}")),
        Change::Busy(why) => pending(SOON, why),
    })
}

/// Takes one step of the volume towards so many bytes.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's, and for a volume that does not exist;
/// [`Error::Denied`] for a volume with the mark of another cluster; [`Error::Unavailable`] after an action that has failed.
pub fn expand<B: VolumeBackend>(backend: &B, known: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
    let poll = backend.pauses().poll;
    let pending = |after, because: String| VolumeExpansion::Pending(PendingVolume::new(None, after, because));
    let FoundVolume::Whole((live, volume)) = live(backend, known)?.ok_or_else(|| missing(known))? else {
        return Ok(pending(poll, at_work(known)));
    };
    if is_foreign(&volume, &cluster()?) {
        return Err(Error::denied(format_args!(
            "{} has the mark of another cluster, and is not enlarged. Next step: look at who has made PersistentVolume {}",
            volume.title(),
            known.name
        )));
    }
    let title = volume.title();
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
    let change = backend.expand(&live, bytes);
    Ok(match begun(backend, &live, change, |it| *it == Change::Done(()))? {
        Change::Done(()) => pending(poll, format!("the cloud enlarges {title}")),
        Change::Busy(why) => pending(SOON, why),
    })
}
