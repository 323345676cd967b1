//! The life of a claim's volume: it is made, attached, enlarged, detached and deleted, or made and abandoned, or asked for twice; once while nothing
//! goes wrong, and once for each way in which each request can.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{
    AccessMode, AttachMode, ClaimOwner, CloudVolumes, DesiredVolume, Error, KnownVolume, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDetachment, VolumeExpansion, VolumeGrowth, VolumeState,
};

use crate::error::Result;
use crate::host::CLUSTER_NAME;
use crate::protocol::{AdminFailure, ForeignChange, How, Orders};
use crate::transcript::claims::{
    ClaimLife, ClaimPart, ClaimPhase, ClaimStory, ClaimTrouble, LARGER, RecordedClaims, RecordedVolumeCall,
    SaidOfVolume, SeenVolume,
};

use super::pace::{BegunWait, rest};
use super::stage::{Stage, wrong};

/// The nodes of the machines that volumes are attached to.
const MACHINES: [&str; 2] = ["disk-96", "disk-97"];
/// The size of each volume.
const BYTES: u64 = 10 << 30;
/// No list here has more pages.
const MOST_PAGES: usize = 50;
/// After so many stories that did not come to an end, no others are tried.
const MOST_UNENDED: usize = 3;
/// The troubles of writes. One of reads is enough: a read changes nothing, carried out or not.
const TROUBLES: [How; 5] = [How::LostBefore, How::LostAfter, How::Failed, How::FailedAfter, How::Busy];
/// The longest pause between two calls.
const PAUSE: Duration = Duration::from_millis(500);

/// Everything about volumes of claims; `None` without the capability, or where the simulator has none. `every` is one for all troubles,
/// and greater for one of so many.
pub(crate) async fn play(stage: &mut Stage, every: usize) -> Result<Option<RecordedClaims>> {
    let process = stage.process().await?;
    let Some(volumes) = process.cloud.volumes.clone() else { return Ok(None) };
    if stage.host.setup().volume_place.is_empty() {
        return Ok(None);
    }
    let mut node_ids = Vec::new();
    for name in MACHINES {
        let added = stage.admin.change(&ForeignChange::AddMachine { name: name.to_owned() }).await?;
        node_ids.extend(added.and_then(|it| it.id));
    }
    let [here, there] = &node_ids[..] else { return Ok(None) };
    let life = match volumes.description().growth {
        VolumeGrowth::Never => ClaimLife::Fixed,
        VolumeGrowth::Online => ClaimLife::GrowsAttached,
        VolumeGrowth::Detached => ClaimLife::GrowsDetached,
    };
    let mut stories = Vec::new();
    for life in [life, ClaimLife::Abandoned, ClaimLife::Repeated] {
        let measure = story(stage, &volumes, [here, there], stories.len(), life, None).await?;
        let mut troubles = if measure.is_over() { troubles(&measure) } else { Vec::new() };
        if life == ClaimLife::Repeated {
            // The others are those of a volume that is asked for once.
            troubles.retain(|(phase, ..)| *phase == ClaimPhase::Begin);
        }
        stories.push(measure);
        let is_played = |it: &ClaimTrouble| stage.is_played(&life.title(Some(*it)));
        let troubles: Vec<_> = troubles.into_iter().filter(is_played).collect();
        let mut unended = 0;
        for trouble in troubles.into_iter().step_by(every.max(1)) {
            let story = story(stage, &volumes, [here, there], stories.len(), life, Some(trouble)).await?;
            unended += usize::from(!story.is_over());
            stories.push(story);
            if unended == MOST_UNENDED {
                break;
            }
        }
    }
    Ok(Some(RecordedClaims { stories, here: here.clone() }))
}

/// The troubles that the requests of a life can meet. A volume that may still appear is looked for many times, each like the first.
fn troubles(measure: &ClaimStory) -> Vec<ClaimTrouble> {
    let mut troubles = Vec::new();
    for part in &measure.parts {
        let mut lines = HashSet::new();
        for (at, request) in part.calls.iter().flat_map(|it| &it.requests).enumerate() {
            if part.phase == ClaimPhase::Abandon && !lines.insert(&request.line) {
                continue;
            }
            let hows = if request.writes { &TROUBLES[..] } else { &TROUBLES[..1] };
            troubles.extend(hows.iter().map(|how| (part.phase, at + 1, *how)));
        }
    }
    troubles
}

/// The words of the calls about one volume.
struct ClaimWords {
    desired: DesiredVolume,
    known: KnownVolume,
    is_first: bool,
}

impl ClaimWords {
    /// Those of the story with this number.
    fn new(stage: &Stage, number: usize) -> Self {
        let uid = format!("0e2f6f1c-9a5e-4a8e-8f0b-{number:012}");
        let place = stage.host.setup().volume_place.iter().map(|(key, value)| (key.clone(), value.clone()));
        let name = format!("pvc-{uid}");
        let (cluster, namespace) = (CLUSTER_NAME.to_owned(), "default".to_owned());
        let desired = DesiredVolume {
            name: name.clone(),
            owner: ClaimOwner { cluster, namespace, name: format!("data-{number}"), uid },
            bytes: BYTES,
            access_modes: vec![AccessMode::OneNode],
            filesystem: Some("ext4".to_owned()),
            places: vec![place.collect()],
            ..DesiredVolume::default()
        };
        Self { desired, known: KnownVolume { name, ..KnownVolume::default() }, is_first: true }
    }
}

/// One story, from nothing to nothing.
async fn story(
    stage: &mut Stage,
    volumes: &Arc<dyn CloudVolumes>,
    [here, there]: [&String; 2],
    number: usize,
    life: ClaimLife,
    trouble: Option<ClaimTrouble>,
) -> Result<ClaimStory> {
    let mut words = ClaimWords::new(stage, number);
    let mut story = ClaimStory { life, trouble, parts: Vec::new(), elsewhere: None, used: None, smaller: None };
    for phase in life.phases().iter().copied() {
        if life == ClaimLife::Repeated && phase == ClaimPhase::Create {
            (words.desired.memo, words.desired.memo_is_new) = (None, false);
        }
        let part = part(stage, volumes, &mut words, here, phase, trouble).await?;
        let is_over = part.is_over();
        story.parts.push(part);
        if !is_over {
            break;
        }
        if phase == ClaimPhase::Attach {
            story.elsewhere = Some(call(stage, volumes, &mut words, there, ClaimPhase::Attach).await?);
            story.used = Some(call(stage, volumes, &mut words, here, ClaimPhase::Delete).await?);
        }
        if phase == ClaimPhase::Expand {
            let said = expanded(volumes, &mut words, BYTES).await;
            let (requests, _) = stage.asked().await?;
            story.smaller = Some(RecordedVolumeCall { said, requests });
        }
    }
    Ok(story)
}

async fn part(
    stage: &mut Stage,
    volumes: &Arc<dyn CloudVolumes>,
    words: &mut ClaimWords,
    node_id: &str,
    phase: ClaimPhase,
    trouble: Option<ClaimTrouble>,
) -> Result<ClaimPart> {
    words.known.memo = None;
    stage.asked().await?;
    let fail = trouble.filter(|(of, ..)| *of == phase).map(|(_, nth, how)| AdminFailure { nth, how });
    stage.admin.order(Orders { fail, lists_lag: false }).await?;
    let (wait, mut calls) = (BegunWait::new(stage.patience), Vec::new());
    let mut is_over = false;
    let is_one_call = phase == ClaimPhase::Begin;
    while !is_over && wait.goes_on(calls.len()) && !(is_one_call && calls.len() == 1) {
        let call = call(stage, volumes, words, node_id, phase).await?;
        is_over = matches!(call.said, SaidOfVolume::Over(_));
        calls.push(call);
        if !is_over {
            rest(PAUSE, calls.len()).await;
        }
    }
    stage.admin.order(Orders::default()).await?;
    let again = if is_over && !is_one_call { Some(call(stage, volumes, words, node_id, phase).await?) } else { None };
    let (seen, named) = (seen(volumes, &words.known.handle).await, named(volumes, &words.desired.name).await);
    stage.asked().await?;
    Ok(ClaimPart { phase, calls, again, seen, named })
}

/// One call, and its requests.
async fn call(
    stage: &mut Stage,
    volumes: &Arc<dyn CloudVolumes>,
    words: &mut ClaimWords,
    node_id: &str,
    phase: ClaimPhase,
) -> Result<RecordedVolumeCall> {
    let said = match phase {
        ClaimPhase::Create | ClaimPhase::Begin => created(volumes, words).await,
        ClaimPhase::Attach => attached(volumes, words, node_id).await,
        ClaimPhase::Expand => expanded(volumes, words, LARGER).await,
        ClaimPhase::Detach => match volumes.detach(&words.known, node_id).await.answer {
            Ok(VolumeDetachment::Done) => SaidOfVolume::Over(Vec::new()),
            Ok(VolumeDetachment::Pending(it)) => {
                words.known.memo = it.memo;
                SaidOfVolume::Pending(it.reason)
            }
            Err(error) => failed(&error),
        },
        ClaimPhase::Delete => gone(volumes.delete(&words.known).await.answer, &mut words.known.memo),
        ClaimPhase::Abandon => gone(volumes.abandon(&words.desired).await.answer, &mut words.desired.memo),
    };
    let (requests, _) = stage.asked().await?;
    Ok(RecordedVolumeCall { said, requests })
}

async fn created(volumes: &Arc<dyn CloudVolumes>, words: &mut ClaimWords) -> SaidOfVolume {
    let is_first = std::mem::take(&mut words.is_first);
    let answer = volumes.create(&words.desired, is_first).await.answer;
    words.desired.memo_is_new = false;
    match answer {
        Ok(VolumeCreation::Ready(volume)) => {
            words.known.handle.clone_from(&volume.handle);
            words.known.attributes = volume.attributes;
            SaidOfVolume::Over(vec![("handle".to_owned(), volume.handle)])
        }
        Ok(VolumeCreation::Pending(it)) => {
            words.desired.memo_is_new = it.memo.is_some() && it.memo != words.desired.memo;
            words.desired.memo = it.memo;
            SaidOfVolume::Pending(it.reason)
        }
        Ok(VolumeCreation::NoRoom(why)) => SaidOfVolume::Full(why),
        Err(error) => failed(&error),
    }
}

async fn attached(volumes: &Arc<dyn CloudVolumes>, words: &mut ClaimWords, node_id: &str) -> SaidOfVolume {
    let mode = AttachMode { access_modes: words.desired.access_modes.clone(), ..AttachMode::default() };
    match volumes.attach(&words.known, node_id, &mode).await.answer {
        Ok(VolumeAttachment::Ready(context)) => SaidOfVolume::Over(context),
        Ok(VolumeAttachment::Pending(it)) => {
            words.known.memo = it.memo;
            SaidOfVolume::Pending(it.reason)
        }
        Ok(VolumeAttachment::Occupied(other)) => SaidOfVolume::Taken(vec![other]),
        Ok(VolumeAttachment::Full(why)) => SaidOfVolume::Full(why),
        Err(error) => failed(&error),
    }
}

async fn expanded(volumes: &Arc<dyn CloudVolumes>, words: &mut ClaimWords, bytes: u64) -> SaidOfVolume {
    match volumes.expand(&words.known, bytes).await.answer {
        Ok(VolumeExpansion::Ready { bytes, .. }) => SaidOfVolume::Over(vec![("bytes".to_owned(), bytes.to_string())]),
        Ok(VolumeExpansion::Pending(it)) => {
            words.known.memo = it.memo;
            SaidOfVolume::Pending(it.reason)
        }
        Ok(VolumeExpansion::InUse(node_ids)) => SaidOfVolume::Taken(node_ids),
        Err(error) => failed(&error),
    }
}

fn gone(answer: cloud_provider::Result<VolumeDeletion>, memo: &mut Option<String>) -> SaidOfVolume {
    match answer {
        Ok(VolumeDeletion::Done) => SaidOfVolume::Over(Vec::new()),
        Ok(VolumeDeletion::Pending(it)) => {
            *memo = it.memo;
            SaidOfVolume::Pending(it.reason)
        }
        Ok(VolumeDeletion::InUse(node_ids)) => SaidOfVolume::Taken(node_ids),
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> SaidOfVolume {
    SaidOfVolume::Error(wrong(error))
}

/// A volume as the provider says it is now; `None` also where its handle was never told.
async fn seen(
    volumes: &Arc<dyn CloudVolumes>,
    handle: &str,
) -> std::result::Result<Option<SeenVolume>, crate::transcript::Wrong> {
    if handle.is_empty() {
        return Ok(None);
    }
    let answer = volumes.get(&[handle.to_owned()]).await.answer.pop();
    let found = answer.unwrap_or(Ok(None)).map_err(|error| wrong(&error))?;
    Ok(found.map(|volume| SeenVolume {
        bytes: volume.bytes,
        attached_to: volume.attached_to,
        is_changing: volume.state == VolumeState::Changing,
    }))
}

/// How many volumes have this name in the list.
async fn named(volumes: &Arc<dyn CloudVolumes>, name: &str) -> Option<usize> {
    let limit = volumes.description().list_page_size;
    if limit == 0 {
        return None;
    }
    let (mut count, mut cursor) = (0, None);
    for _ in 0..MOST_PAGES {
        let page = volumes.list(cursor, limit).await.answer.ok()?;
        count += page.volumes.iter().filter(|it| it.name == name).count();
        cursor = page.next;
        if cursor.is_none() {
            return Some(count);
        }
    }
    None
}
