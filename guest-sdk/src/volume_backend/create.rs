//! One step towards a volume.

use std::time::Duration;

use super::cloud::{Making, SOON, VolumeBackend, is_claims};
use super::memo::{VolumeMemo, creation_number};
use crate::backend::remaining;
use crate::{
    Change, CloudVolume, Cluster, DesiredVolume, Error, PendingVolume, Result, VolumeCreation, VolumeState, clock,
    cluster, events,
};

/// The longest pause that the host makes.
const LONGEST: Duration = Duration::from_secs(300);

/// Takes one step towards the volume that a claim asks for.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a memo that this provider did not write, and for a volume of the same name that is
/// another's where names are unique.
pub fn create<B: VolumeBackend>(backend: &B, desired: &DesiredVolume) -> Result<VolumeCreation> {
    let memo = VolumeMemo::of(desired, |it| backend.is_handle(it))?;
    let cluster = cluster()?;
    if let Some(VolumeMemo::Made { handle, .. }) = &memo
        && let Some(live) = backend.find(handle)?
    {
        let volume = backend.volume(&live);
        // The memo lies on the claim, where its author can write it.
        if is_claims(backend, &live, &volume, desired, &cluster) {
            return settle(backend, desired, memo.as_ref(), &live, &volume);
        }
    }
    let Claimed { ours, others } = match claimed(backend, desired, &cluster) {
        Ok(it) => it,
        Err(error) => return unsent(backend, desired, memo, error),
    };
    let mut ours = ours.into_iter();
    if let Some((live, volume)) = ours.next() {
        let doubled: Vec<_> = ours.map(|(_, it)| it.title()).collect();
        if !doubled.is_empty() {
            let message = format!(
                "beside {} there is {}, with the name or mark of this claim, too: look into the cloud, where it costs money",
                volume.title(),
                doubled.join(", ")
            );
            events::warning(None, "VolumeDoubled", &message);
        }
        return settle(backend, desired, memo.as_ref(), &live, &volume);
    }
    if let Some(other) = others.first() {
        let title = other.title();
        if B::NAMES_ARE_UNIQUE {
            return Err(Error::invalid(format_args!(
                "{title} has the name of this claim's volume, and cannot be proven to be this claim's: it is not touched. Next \
                 step: rename or delete it in the cloud, or make a PersistentVolume of it by hand"
            )));
        }
        let message = format!("{title} has the name of this claim's volume, and is not this claim's: another is made");
        events::warning(None, "VolumeNameTaken", &message);
    }
    let now = clock::now();
    let since = match &memo {
        None if desired.is_first_create() => return send(backend, desired, memo),
        Some(VolumeMemo::Announced { .. }) if desired.is_memo_new() => return send(backend, desired, memo),
        // A call that has died may have sent it.
        None | Some(VolumeMemo::Announced { .. }) => now,
        Some(memo) => memo.since(),
    };
    let number = creation_number(desired)?;
    if let Some(left) = remaining(since, backend.pauses().create_again, now) {
        return Ok(lost(desired, (since, number), left.min(backend.pauses().poll)));
    }
    // Those before have failed.
    match remaining(since, again_after(number.saturating_sub(1)), now) {
        Some(left) => Ok(lost(desired, (since, number), left)),
        None if B::REFUSES_SECOND => send(backend, desired, memo),
        None => {
            let because = format_args!("volume {} is about to be created again", desired.name);
            announced(desired, number, because)
        }
    }
}

/// The volumes with a claim's name or mark.
pub(super) struct Claimed<L> {
    /// Those that are proven to be the claim's.
    pub(super) ours: Vec<(L, CloudVolume)>,
    /// The others.
    pub(super) others: Vec<CloudVolume>,
}

/// Looks for the claim's volumes, those with its own mark first.
pub(super) fn claimed<B: VolumeBackend>(
    backend: &B,
    desired: &DesiredVolume,
    cluster: &Cluster,
) -> Result<Claimed<B::Live>> {
    let (mut marked, mut named, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for live in backend.named(desired)? {
        let volume = backend.volume(&live);
        if !is_claims(backend, &live, &volume, desired, cluster) {
            others.push(volume);
        } else if volume.owner.uid.is_some() {
            marked.push((live, volume));
        } else {
            named.push((live, volume));
        }
    }
    marked.append(&mut named);
    Ok(Claimed { ours: marked, others })
}

/// It is there, and is the claim's.
fn settle<B: VolumeBackend>(
    backend: &B,
    desired: &DesiredVolume,
    memo: Option<&VolumeMemo>,
    live: &B::Live,
    volume: &CloudVolume,
) -> Result<VolumeCreation> {
    let (title, number) = (volume.title(), memo.map_or(1, VolumeMemo::number));
    let unusable = match &volume.state {
        VolumeState::Changing => {
            let since = memo.map_or_else(clock::now, VolumeMemo::since);
            return Ok(made(
                &volume.handle,
                (since, number),
                backend.pauses().poll,
                format_args!("the cloud is at work on {title}"),
            ));
        }
        VolumeState::Failed(why) => format!("{title} has failed ({why})"),
        VolumeState::Ready if volume.bytes < desired.bytes => {
            format!("{title} has {} bytes, fewer than the {} that were asked for", volume.bytes, desired.bytes)
        }
        VolumeState::Ready => return Ok(VolumeCreation::Ready(volume.clone())),
    };
    if !volume.attached_to.is_empty() {
        return Err(Error::invalid(format_args!(
            "{unusable}, and is attached to {}: it is neither used nor deleted. Next step: look at it in the cloud",
            volume.attached_to.join(", ")
        )));
    }
    let message = format!("{unusable}: it is deleted, and another is made");
    events::warning(None, "ProvisioningFailed", &message);
    let (after, because) = match backend.delete(live)? {
        Change::Done(()) => (again_after(number), message),
        Change::Busy(why) => (SOON, why),
    };
    Ok(made(&volume.handle, (clock::now(), number), after, because))
}

/// The pause after which another one is made, where so many have failed: from a second to five minutes.
fn again_after(failed: u32) -> Duration {
    Duration::from_secs((1 << failed.min(10)) / 2).min(LONGEST)
}

fn send<B: VolumeBackend>(backend: &B, desired: &DesiredVolume, memo: Option<VolumeMemo>) -> Result<VolumeCreation> {
    let (name, poll, number) = (&desired.name, backend.pauses().poll, creation_number(desired)?);
    let making = match backend.create(desired) {
        Ok(it) => it,
        Err(error) => return unsent(backend, desired, memo, error),
    };
    Ok(match making {
        Making::Made(live) => {
            let volume = backend.volume(&live);
            let memo = VolumeMemo::Made { handle: volume.handle.clone(), since: clock::now(), number };
            return settle(backend, desired, Some(&memo), &live, &volume);
        }
        Making::Begun(handle) => {
            made(&handle, (clock::now(), number), poll, format_args!("the cloud makes volume {name}"))
        }
        Making::NoRoom(why) => VolumeCreation::NoRoom(why),
        // The memo is as true as before: the cloud has taken no request.
        Making::Busy(why) if B::REFUSES_SECOND => {
            VolumeCreation::Pending(PendingVolume::new(desired.memo.clone(), SOON, why))
        }
        Making::Busy(why) => announced(desired, number, why)?,
        Making::Unclear(why) => {
            let message = format!("volume {name} may have been created or not: {why}");
            events::warning(None, "VolumeCreationUnclear", &message);
            lost(desired, (clock::now(), number), SOON)
        }
        Making::Spent(why) => {
            let message = format!("volume {name} is asked for with another token, if it does not appear: {why}");
            events::warning(None, "VolumeTokenSpent", &message);
            lost(desired, (clock::now(), number.saturating_add(1)), SOON)
        }
    })
}

/// It was created at this time, by the creation with this number.
fn made(handle: &str, (since, number): (u64, u32), after: Duration, because: impl std::fmt::Display) -> VolumeCreation {
    let memo = VolumeMemo::Made { handle: handle.to_owned(), since, number };
    VolumeCreation::Pending(PendingVolume::new(Some(memo.text()), after, because))
}

/// The next call sends the creation with this number, where none before it has had this memo: it has other words than all before it.
fn announced(desired: &DesiredVolume, number: u32, because: impl std::fmt::Display) -> Result<VolumeCreation> {
    let earlier = match VolumeMemo::of(desired, |_| true)? {
        Some(VolumeMemo::Announced { since, .. }) => since.saturating_add(1),
        _ => 0,
    };
    let memo = VolumeMemo::Announced { since: clock::now().max(earlier), number };
    Ok(VolumeCreation::Pending(PendingVolume::new(Some(memo.text()), SOON, because)))
}

/// The answer to an error after which nothing was created. An announcement would be spent by it, and the claim would wait as long as after a creation
/// that was lost: where the error may pass by itself, it is announced again, after a pause that grows with the time since the first.
fn unsent<B: VolumeBackend>(
    backend: &B,
    desired: &DesiredVolume,
    memo: Option<VolumeMemo>,
    error: Error,
) -> Result<VolumeCreation> {
    let may_pass = !B::REFUSES_SECOND && desired.is_memo_new() && !error.is_refusal();
    let Some(VolumeMemo::Announced { since, number }) = memo.filter(|_| may_pass) else { return Err(error) };
    let asked = match &error {
        Error::RetryAfter(pause) => Duration::from_millis(pause.milliseconds.into()),
        _ => backend.pauses().poll,
    };
    let after = asked.max(Duration::from_secs(clock::now().saturating_sub(since))).min(LONGEST);
    events::warning(None, "ProvisioningFailed", error.why());
    // Other words, and nearly the time of the first.
    let memo = VolumeMemo::Announced { since: since.saturating_add(1), number };
    Ok(VolumeCreation::Pending(PendingVolume::new(Some(memo.text()), after, error.why())))
}

fn lost(desired: &DesiredVolume, (since, number): (u64, u32), after: Duration) -> VolumeCreation {
    let because = format_args!("volume {} may have been created, and is looked for", desired.name);
    VolumeCreation::Pending(PendingVolume::new(Some(VolumeMemo::Lost { since, number }.text()), after, because))
}
