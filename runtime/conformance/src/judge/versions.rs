//! The judge of load balancers in the hands of two versions.

use std::collections::{BTreeMap, BTreeSet};

use crate::breach::Breach;
use crate::protocol::CloudObject;
use crate::transcript::{Life, SaidAnswer, Transcript, VersionStory};
use crate::trouble::Phase;

use super::lives::{counts, made, told};
use super::{PromiseJudgement, finding};

pub(crate) fn versions_go_on(transcript: &Transcript) -> PromiseJudgement {
    let measure = transcript.lives.as_ref().and_then(|it| it.first());
    PromiseJudgement::of(transcript.versions.as_ref(), "no older version is given, as with --older", |stories| {
        stories.iter().flat_map(|it| broken(it, measure)).collect()
    })
}

/// The first thing that is wrong in a story: what comes after it says no more.
fn broken(story: &VersionStory, measure: Option<&Life>) -> Vec<Breach> {
    let VersionStory { title, before, created, made: one, changed, grown, deleted, after } = story;
    let sentence = unready(created)
        .or_else(|| miscounted(before, one, measure, Phase::Create))
        .or_else(|| unready(changed).map(|it| format!("the one that began changes it: {it}")))
        .or_else(|| miscounted(before, grown, measure, Phase::Change))
        .or_else(|| match deleted {
            Some(SaidAnswer::Done) => None,
            other => Some(format!("its deletion is not done, but {}", said(other))),
        })
        .or_else(|| {
            let left = made(before, after).next();
            left.map(|it| format!("done, and {} {} {} is left", it.kind, it.id, it.name))
        });
    sentence.map(|it| finding(title, it)).into_iter().collect()
}

fn unready(answer: &Option<SaidAnswer>) -> Option<String> {
    match answer {
        Some(SaidAnswer::Ready { .. }) => None,
        other => Some(format!("it is not ready, but {}", said(other))),
    }
}

/// A kind of which there are more or fewer than where one version does it all.
fn miscounted(before: &[CloudObject], now: &[CloudObject], measure: Option<&Life>, phase: Phase) -> Option<String> {
    let measure = measure?;
    let (usual, found) = (counts(&measure.before, &measure.part(phase)?.after), counts(before, now));
    let number = |counts: &BTreeMap<&str, usize>, kind: &str| counts.get(kind).copied().unwrap_or_default();
    let kinds: BTreeSet<_> = usual.keys().chain(found.keys()).copied().collect();
    let wrong = kinds.into_iter().find(|kind| number(&usual, kind) != number(&found, kind))?;
    let (count, right) = (number(&found, wrong), number(&usual, wrong));
    Some(format!("after {}: {count} of {wrong}, where {right} is right", phase.as_str()))
}

fn said(answer: &Option<SaidAnswer>) -> String {
    answer.as_ref().map_or_else(|| "nothing".to_owned(), told)
}
