//! Judges of routes.

use std::collections::{BTreeMap, BTreeSet};

use cloud_provider::{Route, RouteOwnership, RouteState};

use crate::breach::Breach;
use crate::protocol::How;
use crate::transcript::Transcript;
use crate::transcript::routes::{
    ApplyCall, MistakenChange, MixedChanges, RecordedRoutes, RouteListing, RoutePart, RouteStory, SaidOfRoute,
};
use crate::trouble::Phase;

use super::lives::{counts, made};
use super::thefts::harmed;
use super::{NO_ROUTES, PromiseJudgement, finding};

pub(crate) fn changes_converge(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let unreached = played.unreached.iter().map(|it| finding("next-hops", it.clone()));
        let unended = played.stories.iter().flat_map(|story| {
            let open = story.parts.iter().flat_map(|part| {
                let open = (0..part.changes.len()).filter(|it| part.last(*it) != Some(&SaidOfRoute::Done));
                open.map(|it| unended(part, it)).collect::<Vec<_>>()
            });
            open.take(1).map(|it| finding(story.title(), it)).collect::<Vec<_>>()
        });
        unreached.chain(unended).collect()
    })
}

pub(crate) fn route_is_made_once(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let Some(measure) = played.stories.first() else { return Vec::new() };
        let mut broken = each_part(played, |story, part| {
            let usual = measure.part(part.phase).filter(|_| part.is_over())?;
            more(&counts(&measure.before, &usual.after), &counts(&story.before, &part.after), part.phase)
        });
        // The same changes once more, and a move, make no further one.
        if let (Some(made), Some(moved)) = (measure.part(Phase::Create), measure.part(Phase::Change)) {
            let before = &measure.before;
            let grown = more(&counts(before, &made.after), &counts(before, &moved.after), Phase::Change);
            broken.extend(grown.map(|it| finding(measure.title(), it)));
        }
        broken
    })
}

/// A kind of which there are more than is right.
fn more(right: &BTreeMap<&str, usize>, found: &BTreeMap<&str, usize>, phase: Phase) -> Option<String> {
    let usual = |kind: &str| right.get(kind).copied().unwrap_or_default();
    let (kind, count) = found.iter().find(|(kind, count)| **count > usual(kind))?;
    Some(format!("after {}: {count} of {kind}, where {} is right", phase.as_str(), usual(kind)))
}

pub(crate) fn routes_are_listed(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let mut broken = each_part(played, |_, part| part.is_over().then(|| unlisted(part)).flatten());
        broken.extend(played.lists.iter().filter(|it| it.trouble.is_none()).flat_map(|list| {
            let wrong = wrong_pages(list).into_iter().chain(differs(played, list));
            wrong.map(|it| finding(format!("routes listed in pages of {}", list.limit), it)).collect::<Vec<_>>()
        }));
        broken
    })
}

pub(crate) fn done_route_is_not_written(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_part(played, |_, part| {
            let ApplyCall { said, requests } = part.again.as_ref()?;
            let phase = part.phase.as_str();
            if let Some(sent) = requests.iter().find(|it| it.writes) {
                return Some(format!("all was done after {phase}, and the same change again sends {}", sent.line));
            }
            let (_, other) = said.iter().find(|(_, it)| *it != SaidOfRoute::Done)?;
            Some(format!("all was done after {phase}, and the same change again is {}", told(other)))
        })
    })
}

pub(crate) fn deleted_route_is_gone(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        each_part(played, |story, part| {
            let is_gone = part.phase == Phase::Delete && part.is_over();
            let left = is_gone.then(|| made(&story.before, &part.after).next()).flatten()?;
            Some(format!("done, and {} {} {} is left", left.kind, left.id, left.name))
        })
    })
}

pub(crate) fn other_routes_stay(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let mut broken = each_part(played, |story, part| {
            let harm = harmed(&story.before, &part.after).next()?;
            Some(format!("{} has {harm}", part.phase.as_str()))
        });
        let listed = played.stories.iter().flat_map(|it| &it.parts).flat_map(|it| it.listed.routes());
        let ours =
            |it: &&Route| Some(&it.destination) == played.foreign.as_ref() && it.ownership == RouteOwnership::Ours;
        let ours = listed.filter(ours).take(1);
        broken.extend(ours.map(|it| finding("the list", format!("{} is nobody's here, and is called ours", it.id))));
        broken
    })
}

pub(crate) fn changed_route_is_refused(transcript: &Transcript) -> PromiseJudgement {
    let Some(played) = &transcript.routes else { return PromiseJudgement::Untried(NO_ROUTES) };
    if played.mistaken.is_empty() {
        return PromiseJudgement::Untried("changes do not come to an end");
    }
    let broken = played.mistaken.iter().filter_map(|MistakenChange { title, said, before, after }| {
        let sentence = match (harmed(before, after).next(), made(before, after).next(), said) {
            (Some(harm), ..) => format!("it has {harm}"),
            (None, Some(new), _) => format!("it has made {} {} beside it", new.kind, new.id),
            (None, None, Some(SaidOfRoute::Error(wrong))) if wrong.is_final => return None,
            (None, None, other) => {
                format!("it is not invalid, but {}", other.as_ref().map_or_else(|| "nothing".to_owned(), told))
            }
        };
        Some(finding(title.clone(), sentence))
    });
    PromiseJudgement::Tried(broken.collect())
}

pub(crate) fn bad_change_stands_alone(transcript: &Transcript) -> PromiseJudgement {
    let Some(played) = &transcript.routes else { return PromiseJudgement::Untried(NO_ROUTES) };
    let untried = "a call takes one change, or the cloud has no routes of others";
    PromiseJudgement::of(played.mixed.as_ref(), untried, |MixedChanges { destinations, bad, said }| {
        let mut broken = Vec::new();
        for (at, (destination, said)) in destinations.iter().zip(said).enumerate() {
            let sentence = match (at == *bad, said) {
                (true, SaidOfRoute::Error(_)) | (false, SaidOfRoute::Done) => continue,
                (true, other) => format!("the route to {destination} cannot be made, and is {}", told(other)),
                (false, other) => format!("the route to {destination} can be made, and is {}", told(other)),
            };
            broken.push(finding("three changes in one call, of which one cannot be made", sentence));
        }
        broken.extend(played.stories.iter().filter(|it| is_refused(it)).flat_map(held_up));
        broken
    })
}

pub(crate) fn route_list_tells_its_gaps(transcript: &Transcript) -> PromiseJudgement {
    judged(transcript, |played| {
        let troubled = played.lists.iter().filter_map(|list| Some((list, list.trouble?)));
        let broken = troubled.filter_map(|(list, (nth, how))| {
            let silent = list.gaps().find(|it| it.contains("the provider does not say what is missing"));
            let is_told = list.gaps().next().is_some() || list.pages.iter().any(Result::is_err);
            let missing = played.lists.first().filter(|_| !is_told).and_then(|all| missing(all, list));
            let sentence = match (silent, missing) {
                (Some(silent), _) => format!("only the host sees that routes may be missing: {silent}"),
                (None, Some(missing)) => format!("{missing} is missing, and no page says so"),
                (None, None) => return None,
            };
            Some(finding(format!("the list of routes, request {nth} {}", how.words()), sentence))
        });
        broken.collect()
    })
}

/// An error of a change in whose story something passed, told as one that does not pass.
pub(super) fn final_errors(played: &RecordedRoutes) -> Vec<Breach> {
    let passing = |it: &&RouteStory| it.trouble.is_some_and(|it| it.how != How::Refused);
    let broken = played.stories.iter().filter(passing).flat_map(|story| {
        let said = story.parts.iter().flat_map(|it| &it.calls).flat_map(|it| &it.said);
        let wrong = said.filter_map(|(_, it)| match it {
            SaidOfRoute::Error(wrong) if wrong.is_final => Some(&wrong.text),
            _ => None,
        });
        let sentence = |text| format!("it passes, and is told as one that does not: {text}");
        wrong.take(1).map(|it| finding(story.title(), sentence(it))).collect::<Vec<_>>()
    });
    broken.collect()
}

fn judged(transcript: &Transcript, judge: impl FnOnce(&RecordedRoutes) -> Vec<Breach>) -> PromiseJudgement {
    PromiseJudgement::of(transcript.routes.as_ref(), NO_ROUTES, judge)
}

/// Judges each part of each story: the first that is wrong stands for those after it.
fn each_part(played: &RecordedRoutes, judge: impl Fn(&RouteStory, &RoutePart) -> Option<String>) -> Vec<Breach> {
    let first = |story: &RouteStory| {
        let sentence = story.parts.iter().find_map(|it| judge(story, it))?;
        Some(finding(story.title(), sentence))
    };
    played.stories.iter().filter_map(first).collect()
}

fn unended(part: &RoutePart, change: usize) -> String {
    let said = part.last(change).map_or_else(|| "nothing".to_owned(), told);
    let (phase, destination) = (part.phase.as_str(), &part.changes[change].destination);
    format!("{phase}: after {} calls the route to {destination} is not done, but {said}", part.calls.len())
}

/// The list after a part that came to its end, where it does not show what was done.
fn unlisted(part: &RoutePart) -> Option<String> {
    let phase = part.phase.as_str();
    if let Some(wrong) = wrong_pages(&part.listed).into_iter().next() {
        return Some(format!("after {phase}: {wrong}"));
    }
    part.changes.iter().find_map(|change| {
        let destination = &change.destination;
        let own = |it: &&Route| it.destination == *destination && it.ownership != RouteOwnership::Foreign;
        let found: Vec<_> = part.listed.routes().filter(own).collect();
        let wrong = match (&change.after, &found[..]) {
            (None, []) => return None,
            (None, [rest, ..]) => format!("the list has {} to {destination}, which is gone", rest.id),
            (Some(_), []) => format!("the list has no route to {destination}"),
            (Some(after), [one]) if one.next_hop.as_ref() != Some(&after.next_hop) => {
                format!(
                    "the list has the route to {destination} lead to {:?}, and not to {}",
                    one.next_hop, after.next_hop
                )
            }
            (Some(_), [one]) if one.state != RouteState::Active => {
                format!("the route to {destination} is done, and is listed as {:?}", one.state)
            }
            (Some(_), [_]) => return None,
            (Some(_), more) => format!("the list has {} routes to {destination}", more.len()),
        };
        Some(format!("after {phase}: {wrong}"))
    })
}

/// Everything that is wrong with the pages themselves, while nothing goes wrong.
fn wrong_pages(list: &RouteListing) -> Vec<String> {
    let mut broken = Vec::new();
    if list.is_endless {
        broken.push("the list has no end: page follows page".to_owned());
    }
    broken.extend(
        list.pages.iter().filter_map(|it| it.as_ref().err()).map(|it| format!("a page is an error: {}", it.text)),
    );
    broken.extend(list.gaps().map(|it| format!("nothing failed, and a page is incomplete: {it}")));
    let long = list.pages.iter().flatten().find(|(routes, _)| routes.len() > list.limit as usize);
    broken.extend(long.map(|(routes, _)| format!("a page of at most {} holds {}", list.limit, routes.len())));
    broken
}

/// A list in pages of another length that shows other routes.
fn differs(played: &RecordedRoutes, list: &RouteListing) -> Option<String> {
    let whole = played.lists.iter().rfind(|it| it.trouble.is_none())?;
    match (missing(whole, list), missing(list, whole)) {
        (Some(it), _) => Some(format!("{it} is on none of its pages")),
        (None, Some(it)) => Some(format!("{it} is on one of its pages, and not in a longer one")),
        (None, None) => None,
    }
}

/// A destination of one list that another one lacks.
fn missing<'a>(list: &'a RouteListing, of: &RouteListing) -> Option<&'a String> {
    let known: BTreeSet<_> = of.routes().map(|it| &it.destination).collect();
    list.routes().map(|it| &it.destination).find(|it| !known.contains(it))
}

fn is_refused(story: &RouteStory) -> bool {
    story.trouble.is_some_and(|it| it.how == How::Refused)
}

/// A call in which the cloud refused one write, and more than one change was held up.
fn held_up(story: &RouteStory) -> Vec<Breach> {
    let calls = story.parts.iter().filter(|it| it.phase == Phase::Create).flat_map(|it| &it.calls);
    let failed = |call: &ApplyCall| call.said.iter().filter(|(_, it)| matches!(it, SaidOfRoute::Error(_))).count();
    let most = calls.map(failed).max().unwrap_or_default();
    let sentence = || finding(story.title(), format!("one request was refused, and {most} changes are errors"));
    (most > 1).then(sentence).into_iter().collect()
}

/// An answer, for people.
fn told(said: &SaidOfRoute) -> String {
    match said {
        SaidOfRoute::Done => "done".to_owned(),
        SaidOfRoute::Pending(reason) => format!("pending ({reason})"),
        SaidOfRoute::Error(wrong) => format!("an error ({})", wrong.text),
        SaidOfRoute::Unheard => "unheard".to_owned(),
    }
}
