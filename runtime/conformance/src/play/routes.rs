//! Routes: made, moved and taken away, in lists, and planned for something else than what is there.

mod calls;
mod lists;
mod mistakes;
mod stories;
mod targets;

use crate::error::Result;
use crate::protocol::ForeignChange;
use crate::transcript::routes::RecordedRoutes;

use self::targets::RouteTargets;
use super::stage::Stage;

/// The destination of a route that is nobody's here: outside of the cluster's pod networks.
const FOREIGN: &str = "172.20.9.0/24";

/// Everything about routes; `None` without the capability. `every` is one for all troubles, and greater for one of so many.
pub(crate) async fn play(stage: &mut Stage, every: usize) -> Result<Option<RecordedRoutes>> {
    let process = stage.process().await?;
    let Some(routes) = process.cloud.routes.clone() else { return Ok(None) };
    let nodes = stage.nodes(&process).await;
    let foreign = stage.admin.change(&ForeignChange::AddForeignRoute { destination: FOREIGN.to_owned() }).await?;
    let foreign = foreign.and_then(|it| it.id).map(|_| FOREIGN.to_owned());
    let (targets, unreached) = RouteTargets::of(&*routes, &nodes).await;
    let (stories, have_ended) = stories::play(stage, &targets, every).await?;
    let mut all = RecordedRoutes { unreached, stories, lists: Vec::new(), mistaken: Vec::new(), mixed: None, foreign };
    if have_ended {
        all.lists = lists::play(stage, &targets).await?;
        (all.mistaken, all.mixed) = mistakes::play(stage, &targets).await?;
    }
    Ok(Some(all))
}
