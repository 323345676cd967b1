//! The judge of load balancers that Services share.

use crate::breach::Breach;
use crate::protocol::CloudObject;
use crate::transcript::{SaidAnswer, SharedStory, Transcript};

use super::thefts::harmed;
use super::{PromiseJudgement, finding};

pub(crate) fn one_end_leaves_the_others(transcript: &Transcript) -> PromiseJudgement {
    let untried = "Services share no load balancer, as the provider describes it";
    PromiseJudgement::of(transcript.shared.as_ref(), untried, |stories| stories.iter().flat_map(broken).collect())
}

/// The first thing that is wrong in a story: what comes after it says no more.
fn broken(story: &SharedStory) -> Vec<Breach> {
    let SharedStory { title, said, before, alone, both, left, again, first_stays, after } = story;
    let new = |earlier: &[_], now: &[CloudObject]| {
        let is_new = |it: &&CloudObject| !known(earlier, it);
        now.iter().find(is_new).map(|it| format!("{} {} {}", it.kind, it.id, it.name))
    };
    let [first, second] = said.each_ref().map(|it| it.as_ref().and_then(memo));
    let (Some(first), Some(second)) = (first, second) else {
        return vec![finding(
            title,
            format!("two Services with ports of their own do not get one load balancer: {said:?}"),
        )];
    };
    let sentence = if first == second {
        Some(format!("both Services have the memo {first:?}"))
    } else if balancers(both) > balancers(alone) {
        Some("the second Service has a load balancer of its own, where it names the first one's".to_owned())
    } else if *first_stays && let Some(harm) = harmed(alone, left).next() {
        Some(format!("the end of the second has {harm}, which is the first one's"))
    } else if *first_stays && let Some(rest) = new(alone, left) {
        Some(format!("the second is gone, and its {rest} is left"))
    } else if balancers(left) < balancers(alone) {
        Some("the end of one has deleted the load balancer of both".to_owned())
    } else if let Some(sent) = again.requests.iter().find(|it| it.writes) {
        Some(format!("the end of one was felt by the other, whose next ensure sends {}", sent.line))
    } else if memo(&again.said).is_none() {
        Some(format!("after the end of one the other is not ready, but {:?}", again.said))
    } else {
        new(before, after).map(|rest| format!("both are gone, and {rest} is left"))
    };
    sentence.map(|it| finding(title, it)).into_iter().collect()
}

fn known(earlier: &[CloudObject], it: &CloudObject) -> bool {
    earlier.iter().any(|other| (&other.kind, &other.id) == (&it.kind, &it.id))
}

fn balancers(objects: &[CloudObject]) -> usize {
    objects.iter().filter(|it| it.kind.contains("load balancer")).count()
}

/// The memo of one that is ready.
fn memo(said: &SaidAnswer) -> Option<&String> {
    match said {
        SaidAnswer::Ready { memo, .. } => memo.as_ref(),
        _ => None,
    }
}
