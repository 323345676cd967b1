//! Judges of what a provider says of volumes.

use cloud_provider::Topology;

use crate::breach::Breach;
use crate::transcript::Transcript;
use crate::transcript::volumes::{RecordedVolumeQuestion, RecordedVolumes};

use super::instances::is_disbelieved;
use super::{PromiseJudgement, finding};

const NO_VOLUMES: &str = "the provider does not export persistent-volumes, or the simulator has no volumes";

pub(crate) fn volume_is_found(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        untroubled(played, |question| match &question.said {
            _ if !question.exists => None,
            Ok(Some(Topology { region: None, zones, .. })) if zones.is_empty() => {
                Some("it says neither region nor zone".to_owned())
            }
            Ok(Some(_)) => None,
            Ok(None) => Some("it answers that the volume does not exist".to_owned()),
            Err(wrong) => Some(format!("it answers with an error: {}", wrong.text)),
        })
    })
}

pub(crate) fn volume_none_only_when_certain(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let troubled = played.questions.iter().filter(|it| it.trouble.is_some());
        let broken = troubled.filter_map(|question| {
            let sentence = match &question.said {
                Ok(None) if question.exists => "it answers that the volume does not exist, which it does".to_owned(),
                Err(wrong) if is_disbelieved(wrong) => {
                    format!("it answers ok(none), which only the host prevents: {}", wrong.text)
                }
                Ok(_) | Err(_) => return None,
            };
            Some(finding(title(question), sentence))
        });
        broken.collect()
    })
}

pub(crate) fn volume_none_when_gone(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        untroubled(played, |question| match &question.said {
            Ok(None) => None,
            _ if question.exists => None,
            // A handle that says where the volume is needs no cloud.
            Ok(Some(_)) if question.requests.is_empty() => None,
            Ok(Some(found)) => Some(format!("it finds it in {:?}, where it is not", found.zones)),
            Err(wrong) => Some(format!("it answers with an error: {}", wrong.text)),
        })
    })
}

pub(crate) fn volume_speaks_as_machines(transcript: &Transcript) -> PromiseJudgement {
    let Some(played) = &transcript.volumes else { return PromiseJudgement::Untried(NO_VOLUMES) };
    let untried = "the provider tells no machine beside a volume";
    PromiseJudgement::of(played.machine.as_ref(), untried, |machine| {
        untroubled(played, |question| {
            let Topology { region, zones, .. } = question.said.as_ref().ok()?.as_ref().filter(|_| question.exists)?;
            if let (Some(volumes), Some(machines)) = (region, &machine.region)
                && volumes != machines
            {
                return Some(format!("the machine beside it is in region {machines:?}, and it is in {volumes:?}"));
            }
            let zone = machine.zone.as_ref()?;
            let is_beside = zones.is_empty() || zones.contains(zone);
            (!is_beside).then(|| format!("the machine beside it is in zone {zone:?}, and it is in {zones:?}"))
        })
    })
}

pub(crate) fn volume_answers_agree(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let alone = played.questions.iter().filter(|it| it.trouble.is_none());
        let broken = alone.filter_map(|question| {
            let (_, other) = played.together.iter().find(|(exists, _)| *exists == question.exists)?;
            let sentence = format!("alone it is {:?}, and among several {other:?}", question.said);
            (*other != question.said).then(|| finding(title(question), sentence))
        });
        broken.collect()
    })
}

fn judged(transcript: &Transcript, judge: impl FnOnce(&RecordedVolumes) -> Vec<Breach>) -> PromiseJudgement {
    PromiseJudgement::of(transcript.volumes.as_ref(), NO_VOLUMES, judge)
}

/// Judges each question with whose requests nothing went wrong.
fn untroubled(played: &RecordedVolumes, judge: impl Fn(&RecordedVolumeQuestion) -> Option<String>) -> Vec<Breach> {
    let asked = played.questions.iter().filter(|it| it.trouble.is_none());
    asked.filter_map(|it| judge(it).map(|sentence| finding(title(it), sentence))).collect()
}

fn title(question: &RecordedVolumeQuestion) -> String {
    match question.trouble {
        None => question.title.clone(),
        Some((nth, how)) => format!("{}, request {nth} {}", question.title, how.words()),
    }
}
