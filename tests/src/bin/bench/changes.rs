//! Nodes that come and go behind load balancers. Only requests count, so all contenders work side by side, each for a cluster of its own.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use tests::control_plane::{ControlPlane, Options};
use tests::digitalocean::{Behaviour, Recorded, Simulator};
use tests::wait;

use crate::cloud::{name, with_load_balancers};
use crate::comparison::{Comparison, count};
use crate::contender::{AEROSTAT, BASELINE, Contender};
use crate::leadership::Leadership;
use crate::requests::{between, kinds, quiet, sum};
use crate::{crowd, services};

const SERVICES: usize = 50;

/// How many nodes there are at the beginning and at the end.
const NODES: usize = 10;

/// So many join, one after the other, and then leave.
const JOINING: usize = 10;

/// How long one change may take to reach all load balancers.
const PATIENCE: Duration = Duration::from_secs(300);

/// After so long without a request, a change is over. More than any contender waits to see whether more nodes change.
const PAUSE: Duration = Duration::from_secs(8);

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let contenders: Vec<_> = AEROSTAT.into_iter().chain(BASELINE).collect();
    let rounds = try_join_all(contenders.iter().map(|it| round(*it))).await?;

    let title = format!("{} changes of nodes, {SERVICES} load balancers", 2 * JOINING);
    let mut table = Comparison::new(&title, &contenders);
    let kinds: Vec<_> = rounds.iter().map(|it| kinds(it)).collect();
    table.row("cloud calls", &kinds.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&kinds);
    table.print()
}

async fn round(contender: Contender) -> Result<Vec<Recorded>> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = with_load_balancers(NODES + JOINING, Behaviour::default()).await?;
    let running = contender.start(&control_plane, &cloud).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    crowd::create(&control_plane, (0..NODES).map(crowd::node).collect(), Api::all).await?;
    crowd::wait_for_nodes(&control_plane, NODES, PATIENCE).await?;
    crowd::create(&control_plane, (0..SERVICES).map(services::service).collect(), services::api).await?;
    let all = services::api(control_plane.admin().await?);
    let built = crowd::wait_for(all, SERVICES, PATIENCE, services::has_address).await?;
    built.context("Services have no address")?;
    settled(&cloud, NODES).await.context("before the first change")?;

    let nodes: Api<Node> = Api::all(control_plane.admin().await?);
    let since = SystemTime::now();
    for number in NODES..NODES + JOINING {
        crowd::create(&control_plane, vec![crowd::node(number)], Api::all).await?;
        settled(&cloud, number + 1).await.with_context(|| format!("{} joins", name(number)))?;
    }
    for number in (NODES..NODES + JOINING).rev() {
        // The droplet stays: whoever forgets the target is found out.
        nodes.delete(&name(number), &DeleteParams::default()).await?;
        settled(&cloud, number).await.with_context(|| format!("{} leaves", name(number)))?;
    }
    let requests = between(&cloud, since, SystemTime::now());
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    Ok(requests)
}

/// Waits until every load balancer has so many targets, and nobody asks for anything more.
async fn settled(cloud: &Simulator, targets: usize) -> Result<()> {
    let reached = wait::within(PATIENCE, async || {
        cloud.load_balancers().all().iter().all(|it| it.attributes.droplet_ids.len() == targets).then_some(())
    });
    reached.await.context("not all load balancers have the targets")?;
    quiet(cloud, PAUSE, PATIENCE).await
}
