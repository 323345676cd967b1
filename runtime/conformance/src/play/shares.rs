//! Two Services with one load balancer: each goes while the other stays.

use crate::error::Result;
use crate::transcript::{RecordedCall, SharedStory};
use crate::trouble::Phase;

use super::lives::settle;
use super::service::PlayedService;
use super::stage::Stage;
use super::touched::new;

/// The port of the second Service.
const SECOND: u16 = 8080;

/// Both stories; `None` if Services share nothing.
pub(crate) async fn play(stage: &mut Stage) -> Result<Option<Vec<SharedStory>>> {
    let annotation = stage.host.setup().shares.clone();
    let Some(annotation) = annotation.filter(|_| stage.host.description().ingress.shared) else { return Ok(None) };
    let mut stories = Vec::new();
    for first_stays in [true, false] {
        stories.push(story(stage, &annotation, first_stays).await?);
    }
    Ok(Some(stories))
}

async fn story(stage: &mut Stage, annotation: &str, first_stays: bool) -> Result<SharedStory> {
    let mut process = stage.process().await?;
    let nodes = stage.nodes(&process).await;
    let before = stage.objects().await?;
    let mut first = PlayedService::new("web", &nodes[..1], stage.host.setup());
    let first_said = said(settle(stage, &mut process, &mut first, Phase::Create).await?);
    let alone = stage.objects().await?;
    let mut second = PlayedService::new("guest", &nodes[..1], stage.host.setup());
    second.listen(SECOND);
    let made = new(&before, alone.clone());
    let balancer = made.iter().find(|it| it.kind.contains("load balancer"));
    second.annotate(annotation, balancer.map(|it| it.id.as_str()).unwrap_or_default());
    let second_said = said(settle(stage, &mut process, &mut second, Phase::Create).await?);
    let both = stage.objects().await?;
    let (mut stays, mut goes) = if first_stays { (first, second) } else { (second, first) };
    settle(stage, &mut process, &mut goes, Phase::Delete).await?;
    let left = stage.objects().await?;
    let again = settle(stage, &mut process, &mut stays, Phase::Create).await?;
    settle(stage, &mut process, &mut stays, Phase::Delete).await?;
    let after = stage.objects().await?;
    let which = if first_stays { "second" } else { "first" };
    Ok(SharedStory {
        title: format!("of two Services with one load balancer, the {which} goes"),
        said: [first_said, second_said],
        before,
        alone,
        both,
        left,
        again: whole(again),
        first_stays,
        after,
    })
}

/// The last answer.
fn said(calls: Vec<RecordedCall>) -> Option<crate::transcript::SaidAnswer> {
    calls.into_iter().next_back().map(|it| it.said)
}

/// Calls as one: the last answer, after the requests of all.
fn whole(calls: Vec<RecordedCall>) -> RecordedCall {
    let requests = calls.iter().flat_map(|it| it.requests.clone()).collect();
    let last = calls.into_iter().next_back().expect("whoever settles calls once at least");
    RecordedCall { requests, ..last }
}
