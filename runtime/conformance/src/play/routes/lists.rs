//! Lists of routes: in pages of several lengths, and with requests that go wrong.

use crate::error::Result;
use crate::host::HostProcess;
use crate::play::reads::{ReadPages, TroubledRead, lists_in_each_way, pages, read};
use crate::play::stage::{Stage, wrong};
use crate::transcript::routes::{RouteListing, RoutePageRead};
use crate::trouble::Phase;

use super::calls::applied;
use super::targets::RouteTargets;

/// The whole list in pages as long as the provider likes them, while nothing goes wrong.
pub(super) async fn whole(stage: &mut Stage, process: &HostProcess) -> Result<RouteListing> {
    let limit = page_size(process);
    Ok(listing(limit, read(stage, None, async || list(process, limit).await).await?))
}

/// Lists of some routes, which are made before and go afterwards.
pub(super) async fn play(stage: &mut Stage, targets: &RouteTargets) -> Result<Vec<RouteListing>> {
    let mut process = stage.process().await?;
    applied(stage, &mut process, &targets.changes(Phase::Create, &[]), false).await?;
    let own = page_size(&process);
    let lists = lists_in_each_way(stage, own, async |limit| list(&process, limit).await).await?;
    let lists = lists.into_iter().map(|(limit, read)| listing(limit, read)).collect();
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

async fn list(process: &HostProcess, limit: u32) -> ReadPages<RoutePageRead> {
    pages(async |cursor| {
        // Plays of routes have asked before whether the provider has any.
        let Some(routes) = &process.cloud.routes else { return Ok(((Vec::new(), None), None)) };
        let page = routes.list(cursor, limit).await.answer.map_err(|error| wrong(&error))?;
        Ok(((page.routes, page.incomplete), page.next))
    })
    .await
}

fn listing(limit: u32, read: TroubledRead<ReadPages<RoutePageRead>>) -> RouteListing {
    let TroubledRead { trouble, said: ReadPages { pages, is_endless }, .. } = read;
    RouteListing { limit, trouble, pages, is_endless }
}
