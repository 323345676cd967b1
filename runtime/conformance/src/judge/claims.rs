//! Judges of volumes of claims.

use crate::breach::Breach;
use crate::transcript::Transcript;
use crate::transcript::claims::{
    ClaimPart, ClaimPhase, ClaimStory, LARGER, RecordedClaims, RecordedVolumeCall, SaidOfVolume,
};

use super::{PromiseJudgement, finding};

const NO_CLAIMS: &str = "the provider does not export volumes, or the simulator has none for claims";

pub(crate) fn volume_steps_converge(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let unended = played.stories.iter().filter_map(|story| {
            let part = story.parts.iter().find(|it| !it.is_over())?;
            let last = part.last().map_or_else(|| "nothing".to_owned(), told);
            Some(finding(story.title(), format!("{} does not come to an end, but to {last}", part.phase.as_str())))
        });
        unended.collect()
    })
}

pub(crate) fn volume_is_made_once(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_part(played, |part| {
            if let Some(count) = part.named.filter(|it| *it > 1) {
                return Some(format!("after {} the list has {count} volumes of its name", part.phase.as_str()));
            }
            let again = part.again.as_ref().filter(|_| part.phase == ClaimPhase::Create)?;
            let (SaidOfVolume::Over(first), SaidOfVolume::Over(second)) = (part.last()?, &again.said) else {
                return None;
            };
            (first != second).then(|| format!("it is {first:?}, and asked for once more {second:?}"))
        })
    })
}

pub(crate) fn settled_volume_is_not_written(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_part(played, |part| {
            let (again, phase) = (part.again.as_ref()?, part.phase.as_str());
            if let Some(sent) = written(again) {
                return Some(format!("it was over after {phase}, and the same call again sends {sent}"));
            }
            let is_same = Some(&again.said) == part.last();
            (!is_same)
                .then(|| format!("it was over after {phase}, and the same call again answers {}", told(&again.said)))
        })
    })
}

pub(crate) fn attached_volume_is_not_moved(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_story(played, |story| {
            let call = story.elsewhere.as_ref()?;
            unless_taken(call, &played.here).map(|it| format!("attached to another machine, too, {it}"))
        })
    })
}

pub(crate) fn used_volume_is_not_deleted(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_story(played, |story| {
            let call = story.used.as_ref()?;
            unless_taken(call, &played.here).map(|it| format!("deleted while it is attached, {it}"))
        })
    })
}

pub(crate) fn volume_is_where_it_says(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_part(played, |part| {
            if !part.is_over() {
                return None;
            }
            let phase = part.phase.as_str();
            let seen = match &part.seen {
                Ok(seen) => seen,
                Err(wrong) => return Some(format!("after {phase}, get is an error: {}", wrong.text)),
            };
            let is_here = seen.as_ref().is_some_and(|it| it.attached_to.contains(&played.here));
            let is_right = match part.phase {
                ClaimPhase::Begin => true,
                ClaimPhase::Create => seen.is_some() && !is_here,
                ClaimPhase::Attach => is_here,
                ClaimPhase::Expand => seen.as_ref().is_some_and(|it| !it.is_changing),
                ClaimPhase::Detach => seen.as_ref().is_some_and(|it| !it.is_changing) && !is_here,
                ClaimPhase::Delete | ClaimPhase::Abandon => seen.is_none(),
            };
            if !is_right {
                return Some(format!("after {phase}, get answers {seen:?}"));
            }
            let is_gone = matches!(part.phase, ClaimPhase::Delete | ClaimPhase::Abandon);
            let left = part.named.filter(|it| is_gone && *it > 0)?;
            Some(format!("after {phase} the list still has {left} of its name"))
        })
    })
}

pub(crate) fn volume_grows_and_never_shrinks(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_story(played, |story| {
            let at = story.parts.iter().position(|it| it.phase == ClaimPhase::Expand && it.is_over())?;
            for part in story.parts[at..].iter().filter(|it| it.is_over()) {
                if let Ok(Some(seen)) = &part.seen
                    && seen.bytes < LARGER
                {
                    let phase = part.phase.as_str();
                    return Some(format!("after {phase} it has {} bytes, and not {LARGER}", seen.bytes));
                }
            }
            let smaller = story.smaller.as_ref()?;
            if let Some(sent) = written(smaller) {
                return Some(format!("asked for fewer bytes than it has, it sends {sent}"));
            }
            let is_same = Some(&smaller.said) == story.parts[at].last();
            (!is_same).then(|| format!("asked for fewer bytes than it has, it answers {}", told(&smaller.said)))
        })
    })
}

fn judged(transcript: &Transcript, judge: impl FnOnce(&RecordedClaims) -> Vec<Breach>) -> PromiseJudgement {
    PromiseJudgement::of(transcript.claims.as_ref(), NO_CLAIMS, judge)
}

fn each_story(played: &RecordedClaims, judge: impl Fn(&ClaimStory) -> Option<String>) -> Vec<Breach> {
    played.stories.iter().filter_map(|it| Some(finding(it.title(), judge(it)?))).collect()
}

/// The first part of each story in which something is wrong.
fn each_part(played: &RecordedClaims, judge: impl Fn(&ClaimPart) -> Option<String>) -> Vec<Breach> {
    each_story(played, |story| story.parts.iter().find_map(&judge))
}

/// The fault of a call that has to answer that the volume is at this machine, and to write nothing.
fn unless_taken(call: &RecordedVolumeCall, here: &str) -> Option<String> {
    if let Some(sent) = written(call) {
        return Some(format!("it sends {sent}"));
    }
    let is_taken = matches!(&call.said, SaidOfVolume::Taken(node_ids) if node_ids.iter().any(|it| it == here));
    (!is_taken).then(|| format!("it answers {}, and not that it is at {here}", told(&call.said)))
}

/// A request that writes.
fn written(call: &RecordedVolumeCall) -> Option<&str> {
    call.requests.iter().find(|it| it.writes).map(|it| it.line.as_str())
}

fn told(said: &SaidOfVolume) -> String {
    match said {
        SaidOfVolume::Over(_) => "that it is over".to_owned(),
        SaidOfVolume::Pending(reason) => format!("pending: {reason}"),
        SaidOfVolume::Taken(node_ids) => format!("that it is attached to {}", node_ids.join(", ")),
        SaidOfVolume::Full(why) => format!("that there is no room: {why}"),
        SaidOfVolume::Error(wrong) => format!("an error: {}", wrong.text),
    }
}
