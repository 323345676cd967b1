//! The judge of what belongs to others.

use crate::breach::Breach;
use crate::protocol::CloudObject;
use crate::transcript::{Forgery, Life, Theft, Transcript};

use super::{NO_BALANCERS, PromiseJudgement, finding};

/// The harm from which nothing comes back.
const DELETED: &str = "deleted";

pub(crate) fn others_are_untouched(transcript: &Transcript) -> PromiseJudgement {
    PromiseJudgement::of(transcript.thefts.as_ref(), NO_BALANCERS, |thefts| {
        let lives = transcript.lives.iter().flatten().flat_map(bystanders);
        thefts.iter().flat_map(stolen).chain(lives).collect()
    })
}

pub(crate) fn marks_are_not_forged(transcript: &Transcript) -> PromiseJudgement {
    let untried = "no annotation of this provider writes tags";
    PromiseJudgement::of(transcript.forgeries.as_ref(), untried, |forgeries| {
        let forged = forgeries.iter().flat_map(|forgery| {
            let Forgery { title, honest, victim, made } = forgery;
            // Tags that two honest load balancers have alike are no marks.
            let marks: Vec<_> =
                victim.iter().filter(|(key, value)| honest.get(*key).is_some_and(|it| it != *value)).collect();
            made.iter().filter_map(move |(object, tags)| {
                let (key, value) = marks.iter().find(|(key, value)| tags.get(*key) == Some(*value))?;
                Some(finding(title.clone(), format!("{object} has the other's mark {key}={value}")))
            })
        });
        forged.collect()
    })
}

/// The harm that a thief has done.
fn stolen(theft: &Theft) -> Vec<Breach> {
    let held = harmed(&theft.before, &theft.held).filter(|it| !theft.may_share || it.starts_with(DELETED));
    let held = held.map(|it| format!("its ensure has {it}"));
    let deleted = harmed(&theft.before, &theft.after).map(|it| format!("its delete has {it}"));
    held.chain(deleted).take(1).map(|it| finding(theft.title.clone(), it)).collect()
}

/// The harm to what was there before a life.
fn bystanders(life: &Life) -> Vec<Breach> {
    let harm = life.parts.iter().find_map(|part| {
        let harm = harmed(&life.before, &part.after).next()?;
        Some(format!("{} has {harm}", part.phase.as_str()))
    });
    harm.map(|it| finding(life.title(), it)).into_iter().collect()
}

pub(super) fn harmed<'a>(before: &'a [CloudObject], after: &'a [CloudObject]) -> impl Iterator<Item = String> + 'a {
    before.iter().filter_map(|object| {
        let CloudObject { kind, id, name, .. } = object;
        match after.iter().find(|it| (&it.kind, &it.id) == (kind, id)) {
            None => Some(format!("{DELETED} {kind} {id} {name}")),
            Some(now) if now != object => Some(format!("changed {kind} {id} {name}")),
            Some(_) => None,
        }
    })
}
