//! Judges of what a provider says of machines.

use std::collections::BTreeSet;

use cloud_provider::State;

use crate::breach::Breach;
use crate::transcript::{Listing, RecordedMachines, RecordedQuestion, Transcript, Truth, Wrong};

use super::{PromiseJudgement, finding, machines};

/// The words with which the host refuses an answer that contradicts what it has seen.
pub(super) const DISBELIEVED: &str = "that is not believed";

/// The words with which the host refuses a page that is too long, after the number that was asked for.
const TOO_LONG: &str = " were asked for";

/// With fewer machines, an account, a network and a region would cost as much.
const BESIDE: usize = 4;

pub(crate) fn account_stays(transcript: &Transcript) -> PromiseJudgement {
    machines(transcript, |played| {
        let failed = played.accounts.iter().filter_map(|it| it.as_ref().err());
        let failed = failed.map(|it| finding("identity", format!("it answers with an error: {it}")));
        let named: BTreeSet<_> = played.accounts.iter().flatten().collect();
        let moved = (named.len() > 1).then(|| finding("identity", format!("one account was called {named:?}")));
        failed.chain(moved).collect()
    })
}

pub(crate) fn machine_is_found(transcript: &Transcript) -> PromiseJudgement {
    untroubled(transcript, |question| match (question.truth, &question.said) {
        (Truth::Gone, _) | (_, Ok(Some(_))) => None,
        (_, Ok(None)) => Some("it answers that the machine does not exist".to_owned()),
        (_, Err(wrong)) => Some(format!("it answers with an error: {}", wrong.text)),
    })
}

pub(crate) fn none_only_when_certain(transcript: &Transcript) -> PromiseJudgement {
    machines(transcript, |played| {
        let troubled = played.questions.iter().filter(|it| it.trouble.is_some());
        let broken = troubled.filter_map(|question| {
            let sentence = match &question.said {
                Ok(None) if question.truth != Truth::Gone => {
                    "it answers that the machine does not exist, which it does: its node would be deleted".to_owned()
                }
                Err(wrong) if wrong.text.contains(DISBELIEVED) => {
                    format!("it answers ok(none), which only the host prevents: {}", wrong.text)
                }
                _ => return None,
            };
            Some(finding(title(question), sentence))
        });
        broken.collect()
    })
}

pub(crate) fn none_when_gone(transcript: &Transcript) -> PromiseJudgement {
    untroubled(transcript, |question| match (question.truth, &question.said) {
        (Truth::Gone, Ok(Some(found))) => Some(format!("it finds {}, which does not exist", found.name)),
        (Truth::Gone, Err(wrong)) => Some(format!("it answers with an error: {}", wrong.text)),
        (_, _) => None,
    })
}

pub(crate) fn stopped_is_told(transcript: &Transcript) -> PromiseJudgement {
    untroubled(transcript, |question| match (question.truth, question.said.as_ref().ok()?.as_ref()?.state) {
        (Truth::Stopped, State::Running) => Some("it was shut down, and is called running".to_owned()),
        (Truth::Runs, State::Stopped) => Some("it runs, and is called stopped".to_owned()),
        (_, _) => None,
    })
}

pub(crate) fn list_is_complete(transcript: &Transcript) -> PromiseJudgement {
    whole_lists(transcript, |list| {
        let mut broken = Vec::new();
        if list.is_endless {
            broken.push("it has no end: page follows page".to_owned());
        }
        broken.extend(
            list.pages.iter().filter_map(|it| it.as_ref().err()).map(|it| format!("a page is an error: {}", it.text)),
        );
        let gaps = list.pages.iter().flatten().flat_map(|it| &it.gaps);
        broken.extend(gaps.map(|it| format!("nothing failed, and it tells a gap: {it}")));
        let listed: Vec<_> = list.instances().map(|it| it.name.as_str()).collect();
        for name in &list.names {
            match listed.iter().filter(|it| *it == name).count() {
                1 => {}
                0 => broken.push(format!("{name} is on none of its {} pages", list.pages.len())),
                more => broken.push(format!("{name} is there {more} times")),
            }
        }
        broken
    })
}

pub(crate) fn list_keeps_its_limit(transcript: &Transcript) -> PromiseJudgement {
    whole_lists(transcript, |list| {
        let long = list.pages.iter().find_map(|page| match page {
            Ok(page) if page.instances.len() > list.limit as usize => {
                Some(format!("a page of at most {} holds {}", list.limit, page.instances.len()))
            }
            Err(wrong) if wrong.text.contains(TOO_LONG) => Some(format!("only the host refuses it: {}", wrong.text)),
            Ok(_) | Err(_) => None,
        });
        long.into_iter().collect()
    })
}

pub(crate) fn list_tells_its_gaps(transcript: &Transcript) -> PromiseJudgement {
    machines(transcript, |played| {
        let troubled = played.lists.iter().filter(|it| it.trouble.is_some());
        let broken = troubled.flat_map(|list| {
            let gaps: Vec<_> = list.pages.iter().flatten().flat_map(|it| &it.gaps).collect();
            let silent = gaps.iter().find(|it| it.contains("the provider does not say what is missing"));
            let silent = silent.map(|it| format!("only the host sees that machines may be missing: {it}"));
            let is_told = list.pages.iter().any(|it| it.as_ref().map_or(true, |page| !page.gaps.is_empty()));
            let listed: BTreeSet<_> = list.instances().map(|it| it.name.as_str()).collect();
            let missing = list.names.iter().find(|it| !is_told && !listed.contains(it.as_str()));
            let missing = missing.map(|it| format!("{it} is missing, and no page tells a gap"));
            silent.into_iter().chain(missing).map(|it| finding(list_title(list), it)).collect::<Vec<_>>()
        });
        broken.collect()
    })
}

pub(crate) fn list_is_cheap(transcript: &Transcript) -> PromiseJudgement {
    whole_lists(transcript, |list| {
        // Pages of one machine cost a request each in any case.
        let is_each = list.requests.len() >= list.pages.len() + list.names.len();
        let is_dear = list.names.len() > BESIDE && list.limit > 1 && is_each;
        let (asked, pages, all) = (list.requests.len(), list.pages.len(), list.names.len());
        is_dear.then(|| format!("{asked} requests for {pages} pages of {all} machines")).into_iter().collect()
    })
}

pub(crate) fn list_and_get_agree(transcript: &Transcript) -> PromiseJudgement {
    machines(transcript, |played| {
        let asked = played.questions.iter().filter(|it| it.trouble.is_none());
        let listed = played.lists.iter().filter(|it| it.trouble.is_none()).flat_map(Listing::instances);
        let listed: Vec<_> = listed.collect();
        let broken = asked.filter_map(|question| {
            let got = question.said.as_ref().ok()?.as_ref()?;
            let other = listed.iter().find(|it| it.name == got.name && **it != got)?;
            Some(finding(title(question), format!("get answers {got:?}, and the list has {other:?}")))
        });
        broken.collect()
    })
}

pub(crate) fn ids_are_stable(transcript: &Transcript) -> PromiseJudgement {
    machines(transcript, |played| {
        let asked = played.questions.iter().filter_map(|it| it.said.as_ref().ok()?.as_ref());
        let all: Vec<_> = asked.chain(played.lists.iter().flat_map(Listing::instances)).collect();
        let names: BTreeSet<_> = all.iter().map(|it| it.name.as_str()).collect();
        let ids = |name: &str| -> BTreeSet<_> {
            all.iter().filter(|it| it.name == name).map(|it| it.provider_id.clone()).collect()
        };
        let moved = names.iter().map(|name| (name, ids(name))).filter(|(_, ids)| ids.len() > 1);
        moved
            .map(|(name, ids)| finding(format!("answers about {name}"), format!("its id is spelled {ids:?}")))
            .collect()
    })
}

pub(crate) fn canonical_ids_tell_apart(transcript: &Transcript) -> PromiseJudgement {
    machines(transcript, |played| {
        let mut broken = Vec::new();
        for (id, [first, second]) in &played.words {
            match (first, second) {
                (Ok(one), Ok(two)) if one == two => {}
                other => broken.push(finding("canonical-ids", format!("{id} is once and again {other:?}"))),
            }
        }
        let words: BTreeSet<_> = played.words.iter().filter_map(|(_, [first, _])| first.as_ref().ok()).collect();
        let ids: BTreeSet<_> = played.words.iter().map(|(id, _)| id).collect();
        if broken.is_empty() && words.len() < ids.len() {
            broken.push(finding("canonical-ids", format!("{} machines have {} words", ids.len(), words.len())));
        }
        broken
    })
}

/// Judges each question with whose requests nothing went wrong.
fn untroubled(transcript: &Transcript, judge: impl Fn(&RecordedQuestion) -> Option<String>) -> PromiseJudgement {
    machines(transcript, |played| {
        let asked = played.questions.iter().filter(|it| it.trouble.is_none());
        asked.filter_map(|it| judge(it).map(|sentence| finding(title(it), sentence))).collect::<Vec<Breach>>()
    })
}

/// Judges each list with whose requests nothing went wrong.
fn whole_lists(transcript: &Transcript, judge: impl Fn(&Listing) -> Vec<String>) -> PromiseJudgement {
    machines(transcript, |RecordedMachines { lists, .. }| {
        let whole = lists.iter().filter(|it| it.trouble.is_none());
        whole.flat_map(|list| judge(list).into_iter().map(|it| finding(list_title(list), it))).collect()
    })
}

fn title(question: &RecordedQuestion) -> String {
    match question.trouble {
        None => question.title.clone(),
        Some((nth, how)) => format!("{}, request {nth} {}", question.title, how.words()),
    }
}

fn list_title(list: &Listing) -> String {
    let pages = format!("list in pages of {}", list.limit);
    match list.trouble {
        None => pages,
        Some((nth, how)) => format!("{pages}, request {nth} {}", how.words()),
    }
}

/// Whether an error says that the host does not believe the answer.
pub(super) fn is_disbelieved(wrong: &Wrong) -> bool {
    wrong.text.contains(DISBELIEVED)
}
