//! Lists of routes: in pages of several lengths, and with requests that go wrong.

use crate::error::Result;
use crate::host::HostProcess;
use crate::play::stage::{Stage, wrong};
use crate::protocol::{AdminFailure, How, Orders};
use crate::transcript::routes::RouteListing;
use crate::trouble::Phase;

use super::calls::applied;
use super::targets::RouteTargets;

/// No list here has more pages.
const MOST_PAGES: usize = 50;
/// The troubles of reads.
const TROUBLES: [How; 2] = [How::LostBefore, How::Failed];

/// The whole list in pages as long as the provider likes them, while nothing goes wrong.
pub(super) async fn whole(stage: &mut Stage, process: &HostProcess) -> Result<RouteListing> {
    list(stage, process, page_size(process), None).await
}

/// Lists of some routes, which are made before and go afterwards.
pub(super) async fn play(stage: &mut Stage, targets: &RouteTargets) -> Result<Vec<RouteListing>> {
    let mut process = stage.process().await?;
    applied(stage, &mut process, &targets.changes(Phase::Create, &[]), false).await?;
    let own = page_size(&process);
    let mut lists = Vec::new();
    for limit in [1, 2, own] {
        lists.push(list(stage, &process, limit.min(own), None).await?);
    }
    let count = lists.last().map_or(0, |it| it.requests.len());
    for nth in 1..=count {
        for how in TROUBLES {
            lists.push(list(stage, &process, own, Some((nth, how))).await?);
        }
    }
    clear(stage, &mut process, targets).await?;
    Ok(lists)
}

/// Takes the cluster's routes away.
pub(super) async fn clear(stage: &mut Stage, process: &mut HostProcess, targets: &RouteTargets) -> Result<()> {
    let there: Vec<_> = whole(stage, process).await?.routes().cloned().collect();
    applied(stage, process, &targets.changes(Phase::Delete, &there), false).await.map(drop)
}

fn page_size(process: &HostProcess) -> u32 {
    process.cloud.routes.as_ref().map_or(1, |it| it.description().page_size)
}

async fn list(
    stage: &mut Stage,
    process: &HostProcess,
    limit: u32,
    trouble: Option<(usize, How)>,
) -> Result<RouteListing> {
    stage.asked().await?;
    stage.admin.order(Orders { fail: trouble.map(|(nth, how)| AdminFailure { nth, how }), lists_lag: false }).await?;
    let (mut pages, mut cursor, mut is_endless) = (Vec::new(), None, true);
    let routes = process.cloud.routes.clone();
    while let Some(routes) = routes.as_ref().filter(|_| pages.len() < MOST_PAGES) {
        match routes.list(cursor, limit).await.answer {
            Err(error) => {
                pages.push(Err(wrong(&error)));
                cursor = None;
            }
            Ok(page) => {
                pages.push(Ok((page.routes, page.incomplete)));
                cursor = page.next;
            }
        }
        if cursor.is_none() {
            is_endless = false;
            break;
        }
    }
    stage.admin.order(Orders::default()).await?;
    let (requests, _) = stage.asked().await?;
    Ok(RouteListing { limit, trouble, pages, is_endless, requests })
}
