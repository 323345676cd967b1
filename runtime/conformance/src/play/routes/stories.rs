//! The life of some routes: once while nothing goes wrong, and once for each way in which each request can.

use crate::error::Result;
use crate::host::HostProcess;
use crate::play::sample::sample;
use crate::play::stage::Stage;
use crate::protocol::{AdminFailure, Orders};
use crate::transcript::routes::{RoutePart, RouteStory, route_title};
use crate::trouble::{Phase, Trouble, troubles};

use super::calls::applied;
use super::lists;
use super::targets::RouteTargets;

/// After so many stories that did not come to an end, no others are tried.
const MOST_UNENDED: usize = 3;

/// All stories, and whether they came to their ends.
pub(super) async fn play(stage: &mut Stage, targets: &RouteTargets, every: usize) -> Result<(Vec<RouteStory>, bool)> {
    let mut stories = vec![story(stage, targets, None).await?];
    let measure = &stories[0];
    if !measure.is_over() {
        return Ok((stories, false));
    }
    let requests = |phase| measure.part(phase).map(|it| it.requests().cloned().collect()).unwrap_or_default();
    let troubles = troubles(&Phase::ALL.map(requests));
    // A route that is given up at once is another change.
    let is_played = |it: &Trouble| !it.gives_up && stage.is_played(&route_title(Some(*it)));
    let troubles: Vec<_> = troubles.into_iter().filter(is_played).collect();
    let mut unended = 0;
    for trouble in sample(troubles.into_iter(), every.max(1)) {
        let story = story(stage, targets, Some(trouble)).await?;
        unended += usize::from(!story.is_over());
        stories.push(story);
        if unended == MOST_UNENDED {
            break;
        }
    }
    Ok((stories, unended < MOST_UNENDED))
}

/// One story, from nothing to nothing.
async fn story(stage: &mut Stage, targets: &RouteTargets, trouble: Option<Trouble>) -> Result<RouteStory> {
    let mut process = stage.process().await?;
    let before = stage.objects().await?;
    let mut parts = Vec::new();
    for phase in Phase::ALL {
        let part = part(stage, &mut process, targets, phase, trouble).await?;
        let is_over = part.is_over();
        parts.push(part);
        // Whatever was made has to go all the same, so that it is in nobody's way.
        if !is_over && phase != Phase::Delete {
            parts.push(self::part(stage, &mut process, targets, Phase::Delete, None).await?);
            break;
        }
    }
    Ok(RouteStory { trouble, before, parts })
}

async fn part(
    stage: &mut Stage,
    process: &mut HostProcess,
    targets: &RouteTargets,
    phase: Phase,
    trouble: Option<Trouble>,
) -> Result<RoutePart> {
    let there: Vec<_> = lists::whole(stage, process).await?.routes().cloned().collect();
    let changes = targets.changes(phase, &there);
    stage.asked().await?;
    // Where lists lag, it is about what is made.
    let trouble = trouble.filter(|it| !it.lists_lag || phase == Phase::Create);
    let lists_lag = trouble.is_some_and(|it| it.lists_lag);
    let fail = trouble.map(|it| AdminFailure { nth: it.nth, how: it.how });
    stage.admin.order(Orders { fail, lists_lag }).await?;
    let calls = applied(stage, process, &changes, lists_lag).await?;
    stage.admin.order(Orders::default()).await?;
    let (listed, after) = (lists::whole(stage, process).await?, stage.objects().await?);
    let mut part = RoutePart { phase, changes, calls, again: None, listed, after };
    if part.is_over() && phase != Phase::Delete {
        part.again = applied(stage, process, &part.changes, false).await?.into_iter().next();
    }
    Ok(part)
}
