//! An object that the provider has made is changed by a person, and then the Service changes.

use crate::error::Result;
use crate::protocol::{CloudObject, ForeignChange};
use crate::transcript::Touched;
use crate::trouble::Phase;

use super::lives::settle;
use super::service::PlayedService;
use super::stage::Stage;

/// Each object of one load balancer that can be changed so; `None` if none can.
pub(crate) async fn play(stage: &mut Stage) -> Result<Option<Vec<Touched>>> {
    let mut process = stage.process().await?;
    let nodes = stage.nodes(&process).await;
    let earlier = stage.objects().await?;
    let mut service = PlayedService::new("web", &nodes[..1], stage.host.setup());
    settle(stage, &mut process, &mut service, Phase::Create).await?;
    let originals = new(&earlier, stage.objects().await?);
    let mut any = false;
    for object in &originals {
        any |= stage.admin.change(&ForeignChange::Touch { id: object.id.clone() }).await?.is_some();
    }
    let changed = stage.objects().await?;
    service.change(&nodes[..2.min(nodes.len())]);
    settle(stage, &mut process, &mut service, Phase::Change).await?;
    let after = stage.objects().await?;
    settle(stage, &mut process, &mut service, Phase::Delete).await?;
    let find = |all: &[CloudObject], it: &CloudObject| {
        all.iter().find(|other| (&other.kind, &other.id) == (&it.kind, &it.id)).cloned()
    };
    let touched = originals.into_iter().filter_map(|original| {
        let before = find(&changed, &original).filter(|it| *it != original)?;
        Some(Touched { after: find(&after, &original), before, original })
    });
    Ok(any.then(|| touched.collect()))
}

/// The objects that were not there before.
pub(crate) fn new(before: &[CloudObject], now: Vec<CloudObject>) -> Vec<CloudObject> {
    now.into_iter().filter(|it| !before.iter().any(|other| (&other.kind, &other.id) == (&it.kind, &it.id))).collect()
}
