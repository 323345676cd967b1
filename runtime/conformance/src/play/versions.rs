//! One load balancer in the hands of two versions of a provider: one begins it, and the other goes on.

use crate::error::Result;
use crate::host::{CLUSTER, HostProcess, NativeHost};
use crate::transcript::{RecordedCall, SaidAnswer, VersionStory};
use crate::trouble::Phase;

use super::lives::{settle, step};
use super::service::PlayedService;
use super::stage::Stage;

/// After so many calls a load balancer is handed over for the last time.
const MOST_CALLS: usize = 12;

/// Both ways: handed over after the first call, after the second, and so on until the one that begins has made it alone.
pub(crate) async fn play(stage: &mut Stage, older: &NativeHost) -> Result<Vec<VersionStory>> {
    let mut stories = Vec::new();
    for older_begins in [false, true] {
        for calls in 1..=MOST_CALLS {
            let mut newer = stage.process().await?;
            let mut older = older.process(CLUSTER).await?;
            let (begins, goes_on) = if older_begins { (&mut older, &mut newer) } else { (&mut newer, &mut older) };
            let (story, is_ready) = story(stage, begins, goes_on, calls, older_begins).await?;
            stories.push(story);
            if is_ready {
                break;
            }
        }
    }
    Ok(stories)
}

/// One story, and whether the load balancer was ready when it was handed over.
async fn story(
    stage: &mut Stage,
    begins: &mut HostProcess,
    goes_on: &mut HostProcess,
    calls: usize,
    older_begins: bool,
) -> Result<(VersionStory, bool)> {
    let nodes = stage.nodes(begins).await;
    let before = stage.objects().await?;
    let mut service = PlayedService::new("web", &nodes[..1], stage.host.setup());
    let mut begun = Vec::new();
    while begun.len() < calls && !ends_ready(&begun) {
        begun.push(step(stage, begins, &mut service, Phase::Create, false).await?.0);
    }
    let is_ready = ends_ready(&begun);
    let created = last(settle(stage, goes_on, &mut service, Phase::Create).await?);
    let made = stage.objects().await?;
    service.change(&nodes[..2.min(nodes.len())]);
    let changed = last(settle(stage, begins, &mut service, Phase::Change).await?);
    let grown = stage.objects().await?;
    let deleted = last(settle(stage, goes_on, &mut service, Phase::Delete).await?);
    let after = stage.objects().await?;
    // Should that not be able to: so that nothing is in the way of other stories.
    settle(stage, begins, &mut service, Phase::Delete).await?;
    let [first, second] = if older_begins { ["older", "newer"] } else { ["newer", "older"] };
    let title = format!("the {first} version makes {} calls, and the {second} one goes on", begun.len());
    Ok((VersionStory { title, before, created, made, changed, grown, deleted, after }, is_ready))
}

fn ends_ready(calls: &[RecordedCall]) -> bool {
    calls.last().is_some_and(|it| matches!(it.said, SaidAnswer::Ready { .. }))
}

fn last(calls: Vec<RecordedCall>) -> Option<SaidAnswer> {
    calls.into_iter().next_back().map(|it| it.said)
}
