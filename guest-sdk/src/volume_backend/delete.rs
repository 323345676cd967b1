//! One step towards the absence of a volume: one that Kubernetes has, or one that was asked for in vain.

use std::time::Duration;

use super::cloud::{FoundVolume, SOON, VolumeBackend, at_work, is_claims, is_foreign, live};
use super::create::claimed;
use super::memo::VolumeMemo;
use crate::backend::remaining;
use crate::{
    Change, CloudVolume, DesiredVolume, Error, KnownVolume, PendingVolume, Result, VolumeDeletion, VolumeState, clock,
    cluster,
};

/// Takes one step towards the absence of a volume.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a handle that is not this driver's; [`Error::Denied`] for a volume with the mark of
/// another cluster.
pub fn delete<B: VolumeBackend>(backend: &B, unwanted: &KnownVolume) -> Result<VolumeDeletion> {
    let (live, volume) = match live(backend, unwanted)? {
        None => return Ok(VolumeDeletion::Done),
        Some(FoundVolume::AtWork) => return Ok(pending(backend.pauses().poll, at_work(unwanted))),
        Some(FoundVolume::Whole(found)) => found,
    };
    if is_foreign(&volume, &cluster()?) {
        return Err(Error::denied(format_args!(
            "{} has the mark of another cluster, and is not deleted. Next step: take PersistentVolume {} away with the policy \
             Retain, or delete the volume in the cloud if nobody needs it",
            volume.title(),
            unwanted.name
        )));
    }
    delete_one(backend, &live, &volume)
}

/// Takes one step towards the absence of the volume that a claim asked for, which is gone.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a memo that this provider did not write.
pub fn abandon<B: VolumeBackend>(backend: &B, unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
    let memo = VolumeMemo::of(unwanted, |it| backend.is_handle(it))?;
    let cluster = cluster()?;
    let mut left = Vec::new();
    if let Some(VolumeMemo::Made { handle, .. }) = &memo
        && let Some(live) = backend.find(handle)?
    {
        let volume = backend.volume(&live);
        if is_claims(backend, &live, &volume, unwanted, &cluster) {
            left.push((live, volume));
        }
    }
    if left.is_empty() {
        left = claimed(backend, unwanted, &cluster)?.ours;
    }
    let now = clock::now();
    // A volume that this call deletes was there: the time in which no other may appear begins again.
    for (live, volume) in &left {
        match delete_one(backend, live, volume)? {
            VolumeDeletion::Done => {}
            VolumeDeletion::Pending(it) => {
                // Its time decides nothing here: a memo with another one would be one more write of the host's for each call.
                let is_known = matches!(&memo, Some(VolumeMemo::Made { handle, .. }) if *handle == volume.handle);
                let memo = match is_known {
                    true => unwanted.memo.clone(),
                    false => Some(VolumeMemo::Made { handle: volume.handle.clone(), since: now, number: 1 }.text()),
                };
                return Ok(VolumeDeletion::Pending(PendingVolume { memo, ..it }));
            }
            in_use @ VolumeDeletion::InUse(_) => return Ok(in_use),
        }
    }
    // The memo of a creation does not count: another one may have been sent since, by a process that died before it could keep a memo.
    let looked = memo.as_ref().and_then(VolumeMemo::given_up_since);
    let since = looked.filter(|_| left.is_empty()).unwrap_or(now);
    let Some(rest) = remaining(since, backend.pauses().appear, now) else { return Ok(VolumeDeletion::Done) };
    let because =
        format_args!("volume {} may still appear, and is looked for {} s more", unwanted.name, rest.as_secs());
    let memo = VolumeMemo::given_up(since).text();
    Ok(VolumeDeletion::Pending(PendingVolume::new(Some(memo), rest, because)))
}

fn delete_one<B: VolumeBackend>(backend: &B, live: &B::Live, volume: &CloudVolume) -> Result<VolumeDeletion> {
    if !volume.attached_to.is_empty() {
        return Ok(VolumeDeletion::InUse(volume.attached_to.clone()));
    }
    if volume.state == VolumeState::Changing {
        return Ok(pending(backend.pauses().poll, format!("the cloud is at work on {}", volume.title())));
    }
    Ok(match backend.delete(live)? {
        Change::Done(()) => VolumeDeletion::Done,
        Change::Busy(why) => pending(SOON, why),
    })
}

fn pending(after: Duration, why: String) -> VolumeDeletion {
    VolumeDeletion::Pending(PendingVolume::new(None, after, why))
}
