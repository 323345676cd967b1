//! Nodes that come and go behind load balancers. Only requests count, so all contenders work side by side, each for a cluster of its own.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use tests::clouds::digitalocean::{Behaviour, Recorded, Simulator};
use tests::control_plane::{ControlPlane, Options};
use tests::wait;

use crate::cloud::{name, with_load_balancers};
use crate::comparison::{Comparison, count};
use crate::contender::{AEROSTAT, BASELINE, Contender};
use crate::leadership::Leadership;
use crate::requests::{between, kinds, quiet, sum};
use crate::{objects, services};

const SERVICES: usize = 50;

/// How many nodes there are at the beginning and at the end.
const NODES: usize = 10;

/// So many join, one after the other, and then leave.
const JOINING: usize = 10;

/// How long one change may keep a contender at work.
const PATIENCE: Duration = Duration::from_secs(300);

/// After so long without a request, a change is over. More than any contender waits to see whether more nodes change.
const PAUSE: Duration = Duration::from_secs(8);

struct Round {
    cloud: Vec<Recorded>,
    /// How many times a load balancer did not have the right targets when a change was over.
    wrong: usize,
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let contenders: Vec<_> = AEROSTAT.into_iter().chain(BASELINE).collect();
    let rounds = try_join_all(contenders.iter().map(async |it| round(*it).await.with_context(|| it.name()))).await?;

    let title = format!("{} changes of nodes, {SERVICES} load balancers", 2 * JOINING);
    let mut table = Comparison::new(&title, &contenders);
    let kinds: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &kinds.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&kinds);
    let wrong: Vec<_> = rounds.iter().map(|it| Some(it.wrong as f64)).collect();
    table.row("load balancers left with wrong targets", &wrong, count, "0");
    table.print()
}

async fn round(contender: Contender) -> Result<Round> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = with_load_balancers(NODES + JOINING, Behaviour::default()).await?;
    let running = contender.start(&control_plane, &cloud).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    objects::create(&control_plane, (0..NODES).map(objects::node).collect(), Api::all).await?;
    objects::wait_for_nodes(&control_plane, NODES, PATIENCE).await?;
    objects::create(&control_plane, (0..SERVICES).map(services::service).collect(), services::api).await?;
    let all = services::api(control_plane.admin().await?);
    let built = objects::wait_for(all, SERVICES, PATIENCE, services::has_address).await?;
    built.context("Services have no address")?;
    quiet(&cloud, PAUSE, PATIENCE).await?;

    let nodes: Api<Node> = Api::all(control_plane.admin().await?);
    let (since, mut wrong) = (SystemTime::now(), 0);
    for number in NODES..NODES + JOINING {
        objects::create(&control_plane, vec![objects::node(number)], Api::all).await?;
        wrong += settled(&cloud, number + 1).await.with_context(|| format!("{} joins", name(number)))?;
    }
    for number in (NODES..NODES + JOINING).rev() {
        // The droplet stays, so that a target that was not removed can be seen.
        nodes.delete(&name(number), &DeleteParams::default()).await?;
        wrong += settled(&cloud, number).await.with_context(|| format!("{} leaves", name(number)))?;
    }
    let cloud_calls = between(&cloud, since, SystemTime::now());
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    Ok(Round { cloud: cloud_calls, wrong })
}

/// Waits until no more requests come, and counts load balancers that have another number of targets than this.
async fn settled(cloud: &Simulator, targets: usize) -> Result<usize> {
    let wrong = || cloud.load_balancers().all().iter().filter(|it| it.attributes.droplet_ids.len() != targets).count();
    // Some contenders have more to do, and some are done without having done it.
    let _: Option<()> = wait::within(PAUSE, async || (wrong() == 0).then_some(())).await;
    quiet(cloud, PAUSE, PATIENCE).await?;
    Ok(wrong())
}
