//! Judges of the lives of load balancers.

use std::collections::BTreeMap;

use crate::breach::Breach;
use crate::protocol::{CloudObject, How};
use crate::transcript::{Life, Part, RecordedCall, SaidAnswer, Transcript, Wrong};
use crate::trouble::Phase;

use super::instances::is_disbelieved;
use super::{NO_BALANCERS, PromiseJudgement, finding};

/// The host's warning about a write that would not be found again.
const MEMO_MISSING: &str = "MemoMissing";
/// So many equal reads in a row may be the pages of a list: more are a wait.
const MOST_EQUAL: usize = 10;

pub(crate) fn ensure_converges(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| match part.phase {
        Phase::Create | Phase::Change => unended(life, part, "ready"),
        Phase::Delete => Vec::new(),
    })
}

pub(crate) fn delete_converges(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| if part.phase == Phase::Delete { unended(life, part, "done") } else { Vec::new() })
}

pub(crate) fn nothing_twice(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |lives| {
        let Some(measure) = lives.first() else { return Vec::new() };
        let mut broken = Vec::new();
        for life in lives.iter() {
            for part in life.parts.iter().filter(|it| it.phase != Phase::Delete && it.is_over()) {
                let Some(usual) = measure.part(part.phase) else { continue };
                let (usual, found) = (counts(&measure.before, &usual.after), counts(&life.before, &part.after));
                for (kind, count) in &found {
                    let right = usual.get(kind).copied().unwrap_or_default();
                    if *count > right {
                        let sentence =
                            format!("after {}: {count} of {kind}, where {right} is right", part.phase.as_str());
                        broken.push(finding(life.title(), sentence));
                    }
                }
            }
        }
        // With what was made for one Service in the change that creates it.
        broken.extend(lives.first().into_iter().flat_map(grown));
        broken
    })
}

/// A change of a load balancer makes no second one.
fn grown(life: &Life) -> Vec<Breach> {
    let (Some(created), Some(changed)) = (life.part(Phase::Create), life.part(Phase::Change)) else {
        return Vec::new();
    };
    let gone: Vec<_> = created.after.iter().filter(|it| !life.before.contains(it)).collect();
    let lost = gone.iter().filter(|it| !changed.after.iter().any(|now| same(it, now)));
    let balancers = |it: &CloudObject| it.kind.contains("load balancer");
    let mut broken: Vec<_> = lost
        .filter(|it| balancers(it))
        .map(|it| finding(life.title(), format!("a change has replaced {} {}", it.kind, it.id)))
        .collect();
    let right = made(&life.before, &created.after).filter(|it| balancers(it)).count();
    let now = made(&life.before, &changed.after).filter(|it| balancers(it)).count();
    if now > right {
        broken.push(finding(
            life.title(),
            format!("after change there are {now} load balancers, where {right} is right"),
        ));
    }
    broken
}

pub(crate) fn creation_is_announced(transcript: &Transcript) -> PromiseJudgement {
    calls(transcript, |_, part, call| {
        if part.phase == Phase::Delete {
            return None;
        }
        let is_missing = call.events.iter().any(|it| it == MEMO_MISSING);
        is_missing.then(|| "it has written, keeps no memo of it, and would not find it again".to_owned())
    })
}

pub(crate) fn ready_writes_nothing(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| {
        let Some(again) = part.again.as_ref().filter(|_| part.phase != Phase::Delete) else { return Vec::new() };
        let written = again.requests.iter().filter(|it| it.writes);
        let after = part.phase.as_str();
        written
            .map(|sent| {
                finding(life.title(), format!("it was ready after {after}, and the next ensure sends {}", sent.line))
            })
            .collect()
    })
}

pub(crate) fn memo_is_kept(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| {
        let (Some(again), Some(last)) = (&part.again, part.calls.last()) else { return Vec::new() };
        match (&last.said, &again.said) {
            (SaidAnswer::Ready { memo: one, .. }, SaidAnswer::Ready { memo: two, .. }) if one == two => Vec::new(),
            (SaidAnswer::Ready { memo, .. }, other) => {
                vec![finding(
                    life.title(),
                    format!("ready with the memo {memo:?}, and the next ensure answers {}", told(other)),
                )]
            }
            (_, _) => Vec::new(),
        }
    })
}

pub(crate) fn pending_moves_on(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| {
        let is_stuck = !part.is_over()
            && !part.is_given_up
            && matches!(part.calls.last(), Some(RecordedCall { said: SaidAnswer::Pending { .. }, .. }));
        let why = part.calls.last().map(|it| told(&it.said)).unwrap_or_default();
        let story = || {
            finding(
                life.title(),
                format!("{}: after {} calls it is still {why}", part.phase.as_str(), part.calls.len()),
            )
        };
        is_stuck.then(story).into_iter().collect()
    })
}

pub(crate) fn waits_are_pending(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| {
        let polled = part.calls.iter().find_map(polled);
        let hurried = || part.calls.windows(2).find_map(|it| hurried(&it[0], &it[1]));
        let told = polled.or_else(hurried).map(|it| finding(life.title(), format!("{}: {it}", part.phase.as_str())));
        told.into_iter().collect()
    })
}

/// The read that one call makes again and again.
fn polled(call: &RecordedCall) -> Option<String> {
    let same = call.requests.chunk_by(|one, next| !next.writes && one.line == next.line);
    let longest = same.max_by_key(|it| it.len()).filter(|it| it.len() > MOST_EQUAL)?;
    Some(format!("one call of {} sends {} {} times in a row", call.function, longest[0].line, longest.len()))
}

/// The answer that asks for another call at once, although there is nothing new: only a new memo is worth that.
fn hurried(before: &RecordedCall, call: &RecordedCall) -> Option<String> {
    let SaidAnswer::Pending { memo, after, reason } = &call.said else { return None };
    let is_new = memo_of(&before.said) != memo.as_ref() || call.requests.iter().any(|it| it.writes);
    let is_heard = before.said != SaidAnswer::Unheard;
    (after.is_zero() && is_heard && !is_new)
        .then(|| format!("{} has nothing new, and asks to be called at once: pending ({reason})", call.function))
}

pub(crate) fn memos_differ(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |lives| {
        let mut known: BTreeMap<(usize, &String), &str> = BTreeMap::new();
        let mut broken = Vec::new();
        for life in lives.iter() {
            let last = life.part(Phase::Create).and_then(|it| it.calls.last());
            let Some(memo) = last.and_then(|it| memo_of(&it.said)) else { continue };
            if known.insert((life.cloud, memo), &life.uid).is_some_and(|it| it != life.uid) {
                broken.push(finding(life.title(), format!("two Services have the memo {memo:?}")));
            }
        }
        broken
    })
}

/// An error in whose story something passed, told as one that does not pass.
pub(super) fn final_errors(transcript: &Transcript) -> PromiseJudgement {
    calls(transcript, |life, _, call| match (error_of(&call.said), life.trouble) {
        (Some(wrong), Some(trouble)) if wrong.is_final && trouble.how != How::Refused => {
            Some(format!("it passes, and is told as one that does not: {}", wrong.text))
        }
        (_, _) => None,
    })
}

pub(crate) fn refusals_are_final(transcript: &Transcript) -> PromiseJudgement {
    calls(transcript, |life, part, call| {
        let is_refused =
            call.requests.iter().any(|it| it.writes && it.status.is_some_and(|it| (400..500).contains(&it)));
        let is_played = life.trouble.is_some_and(|it| it.how == How::Refused) && part.phase == Phase::Create;
        let wrong = error_of(&call.said).filter(|it| is_played && is_refused && !it.is_final)?;
        Some(format!("the cloud cannot do it, and it is told as what passes: {}", wrong.text))
    })
}

pub(crate) fn nothing_left(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| {
        if part.phase != Phase::Delete || !part.is_over() {
            return Vec::new();
        }
        let left = made(&life.before, &part.after);
        left.map(|it| finding(life.title(), format!("done, and {} {} {} is left", it.kind, it.id, it.name))).collect()
    })
}

pub(crate) fn done_only_when_gone(transcript: &Transcript) -> PromiseJudgement {
    calls(transcript, |_, part, call| match (&call.said, part.phase) {
        (SaidAnswer::Error(wrong), Phase::Delete) if is_disbelieved(wrong) => {
            Some(format!("it answers done, which only the host prevents: {}", wrong.text))
        }
        (_, _) => None,
    })
}

pub(crate) fn gone_is_done(transcript: &Transcript) -> PromiseJudgement {
    parts(transcript, |life, part| match (part.phase, &part.again) {
        (Phase::Delete, Some(again)) if again.said != SaidAnswer::Done => {
            vec![finding(life.title(), format!("it was gone, and the next delete answers {}", told(&again.said)))]
        }
        (_, _) => Vec::new(),
    })
}

/// Judges all lives.
fn judged(transcript: &Transcript, judge: impl FnOnce(&Vec<Life>) -> Vec<Breach>) -> PromiseJudgement {
    PromiseJudgement::of(transcript.lives.as_ref(), NO_BALANCERS, judge)
}

/// Judges each part of each life.
fn parts(transcript: &Transcript, judge: impl Fn(&Life, &Part) -> Vec<Breach>) -> PromiseJudgement {
    judged(transcript, |lives| {
        lives.iter().flat_map(|life| life.parts.iter().flat_map(|it| judge(life, it)).collect::<Vec<_>>()).collect()
    })
}

/// Judges each call of each part: the first that is wrong stands for those after it.
fn calls(transcript: &Transcript, judge: impl Fn(&Life, &Part, &RecordedCall) -> Option<String>) -> PromiseJudgement {
    parts(transcript, |life, part| {
        let first = part.calls.iter().find_map(|it| judge(life, part, it));
        first.map(|it| finding(life.title(), format!("{}: {it}", part.phase.as_str()))).into_iter().collect()
    })
}

fn unended(life: &Life, part: &Part, end: &str) -> Vec<Breach> {
    if part.is_over() || part.is_given_up {
        return Vec::new();
    }
    let said = part.calls.last().map(|it| told(&it.said)).unwrap_or_else(|| "nothing".to_owned());
    let (phase, count) = (part.phase.as_str(), part.calls.len());
    // A process that dies at each call would be another story.
    let lost = life.trouble.is_some_and(|it| matches!(it.how, How::DiesBefore | How::DiesAfter));
    let after = if lost { " and a new process" } else { "" };
    vec![finding(life.title(), format!("{phase}: after {count} calls{after} it is not {end}, but {said}"))]
}

/// An answer, for people.
pub(super) fn told(said: &SaidAnswer) -> String {
    match said {
        SaidAnswer::Ready { memo, ingress } => format!("ready at {ingress:?} with the memo {memo:?}"),
        SaidAnswer::Pending { reason, .. } => format!("pending ({reason})"),
        SaidAnswer::Failed { wrong, .. } => format!("failed ({})", wrong.text),
        SaidAnswer::NotManaged => "not managed".to_owned(),
        SaidAnswer::Done => "done".to_owned(),
        SaidAnswer::Kept(why) => format!("kept ({why})"),
        SaidAnswer::Error(wrong) => format!("an error ({})", wrong.text),
        SaidAnswer::Unheard => "unheard".to_owned(),
    }
}

/// The error of an answer, whether it has a status beside or not.
fn error_of(said: &SaidAnswer) -> Option<&Wrong> {
    match said {
        SaidAnswer::Error(wrong) | SaidAnswer::Failed { wrong, .. } => Some(wrong),
        SaidAnswer::Ready { .. }
        | SaidAnswer::Pending { .. }
        | SaidAnswer::NotManaged
        | SaidAnswer::Done
        | SaidAnswer::Kept(_)
        | SaidAnswer::Unheard => None,
    }
}

fn memo_of(said: &SaidAnswer) -> Option<&String> {
    match said {
        SaidAnswer::Ready { memo, .. } | SaidAnswer::Pending { memo, .. } | SaidAnswer::Failed { memo, .. } => {
            memo.as_ref()
        }
        SaidAnswer::NotManaged
        | SaidAnswer::Done
        | SaidAnswer::Kept(_)
        | SaidAnswer::Error(_)
        | SaidAnswer::Unheard => None,
    }
}

fn same(one: &CloudObject, other: &CloudObject) -> bool {
    (&one.kind, &one.id) == (&other.kind, &other.id)
}

pub(super) fn made<'a>(before: &'a [CloudObject], after: &'a [CloudObject]) -> impl Iterator<Item = &'a CloudObject> {
    after.iter().filter(|it| !before.iter().any(|other| same(it, other)))
}

/// How many objects of each kind were made.
pub(super) fn counts<'a>(before: &'a [CloudObject], after: &'a [CloudObject]) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for object in made(before, after) {
        *counts.entry(object.kind.as_str()).or_default() += 1;
    }
    counts
}
