//! Nodes that come and go behind load balancers. Only requests count, so all contenders work side by side, each for a cluster of its own.

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, DeleteParams};
use tests::clouds::digitalocean::{self, Behaviour};
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::{Cloud, Recorded, Simulator};
use tests::wait;

use crate::account::Account;
use crate::cloud::{name, with_load_balancers};
use crate::comparison::{Comparison, count};
use crate::contender::{AEROSTAT, BASELINE, Contender, Running};
use crate::leadership::Leadership;
use crate::requests::{between, kinds, quiet, sum};
use crate::{objects, services};

pub(crate) const SERVICES: usize = 50;

/// How many nodes there are at the beginning and at the end.
pub(crate) const NODES: usize = 10;

/// So many join, one after the other, and then leave.
pub(crate) const JOINING: usize = 10;

/// How long one change may keep a contender at work, and how long the cluster may take to come to rest before the first.
const PATIENCE: Duration = Duration::from_secs(900);

/// After so long without a request, a change is over. More than any contender waits to see whether more nodes change.
const PAUSE: Duration = Duration::from_secs(8);

pub(crate) struct Round {
    cloud: Vec<Recorded>,
    /// How many times a load balancer did not have the right targets when a change was over.
    wrong: usize,
}

/// Measures and prints.
pub(crate) async fn measure() -> Result<()> {
    let contenders: Vec<_> = AEROSTAT.into_iter().chain(BASELINE).collect();
    let one = async |contender: &Contender| {
        let cloud = with_load_balancers(NODES + JOINING, Behaviour::default()).await?;
        let services = services::numbered(0..SERVICES);
        round(*contender, cloud, services, wrong).await.with_context(|| contender.name())
    };
    let rounds = try_join_all(contenders.iter().map(one)).await?;
    print(&contenders, &rounds)
}

/// Load balancers that have another number of targets than this.
fn wrong(cloud: &digitalocean::Simulator, targets: usize) -> usize {
    cloud.load_balancers().all().iter().filter(|it| it.attributes.droplet_ids.len() != targets).count()
}

pub(crate) fn print(contenders: &[Contender], rounds: &[Round]) -> Result<()> {
    let title = format!("{} changes of nodes, {SERVICES} load balancers", 2 * JOINING);
    let mut table = Comparison::new(&title, contenders);
    let kinds: Vec<_> = rounds.iter().map(|it| kinds(&it.cloud)).collect();
    table.row("cloud calls", &kinds.iter().map(|it| Some(sum(it))).collect::<Vec<_>>(), count, "");
    table.details(&kinds);
    let wrong: Vec<_> = rounds.iter().map(|it| Some(it.wrong as f64)).collect();
    table.row("load balancers left with wrong targets", &wrong, count, "0");
    table.print()
}

/// A cluster at rest: [`NODES`] nodes, and these Services with their load balancers.
pub(crate) async fn at_rest<C: Cloud>(
    contender: Contender,
    control_plane: &ControlPlane,
    cloud: &Simulator<C>,
    services: Vec<Service>,
    flags: &[&str],
) -> Result<Running>
where
    Simulator<C>: Account,
{
    let running = contender.start_with(control_plane, cloud, flags).await?;
    Leadership::of(control_plane).await?.wait_for_another(None).await?;
    objects::create(control_plane, (0..NODES).map(objects::node).collect(), Api::all).await?;
    objects::wait_for_nodes(control_plane, NODES, PATIENCE).await?;
    let count = services.len();
    objects::create(control_plane, services, services::api).await?;
    let all = services::api(control_plane.admin().await?);
    let built = objects::wait_for(all, count, PATIENCE, services::has_address).await?;
    built.context("Services have no address")?;
    quiet(cloud, PAUSE, PATIENCE).await?;
    Ok(running)
}

/// Lets nodes come and go behind these Services. `wrong_targets` counts the load balancers that have
/// another number of targets than this.
pub(crate) async fn round<C: Cloud>(
    contender: Contender,
    cloud: Simulator<C>,
    services: Vec<Service>,
    wrong_targets: fn(&Simulator<C>, usize) -> usize,
) -> Result<Round>
where
    Simulator<C>: Account,
{
    let control_plane = ControlPlane::start(Options::default()).await?;
    let running = at_rest(contender, &control_plane, &cloud, services, &[]).await?;

    let nodes: Api<Node> = Api::all(control_plane.admin().await?);
    let (since, mut wrong) = (SystemTime::now(), 0);
    for number in NODES..NODES + JOINING {
        objects::create(&control_plane, vec![objects::node(number)], Api::all).await?;
        wrong += settled(&cloud, number + 1, wrong_targets).await.with_context(|| format!("{} joins", name(number)))?;
    }
    for number in (NODES..NODES + JOINING).rev() {
        // The droplet stays, so that a target that was not removed can be seen.
        nodes.delete(&name(number), &DeleteParams::default()).await?;
        wrong += settled(&cloud, number, wrong_targets).await.with_context(|| format!("{} leaves", name(number)))?;
    }
    let cloud_calls = between(&cloud, since, SystemTime::now());
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    Ok(Round { cloud: cloud_calls, wrong })
}

/// Waits until no more requests come, and counts load balancers that have another number of targets than this.
async fn settled<C: Cloud>(
    cloud: &Simulator<C>,
    targets: usize,
    wrong: fn(&Simulator<C>, usize) -> usize,
) -> Result<usize> {
    // Some contenders have more to do, and some are done without having done it.
    let _: Option<()> = wait::within(PAUSE, async || (wrong(cloud, targets) == 0).then_some(())).await;
    quiet(cloud, PAUSE, PATIENCE).await?;
    Ok(wrong(cloud, targets))
}
