//! Network Load Balancers.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::Service;
use tests::clouds::aws::Simulator;
use tests::control_plane::{ControlPlane, Options};
use tests::simulator::Recorded;
use tests::vendor::{Aws, Vendor as _};
use tests::wait;

use super::{CONTENDERS, simulator, writes};
use crate::changes::{self, JOINING};
use crate::comparison::{Comparison, count, hundredths};
use crate::contender::{Contender, Program};
use crate::requests::{between, kinds, sum};
use crate::services;

/// How many are built at once, and on how many ports each listens.
const MANY: usize = 200;
const PORTS: usize = 3;

/// The fewest writes with which AWS makes one of so many ports, if no attribute differs from AWS's defaults: `CreateLoadBalancer`; for
/// each port `CreateTargetGroup`, `RegisterTargets` and `CreateListener`, which takes one target group; and one
/// `AuthorizeSecurityGroupIngress`, which takes all rules of a group.
const fn least(ports: usize) -> usize {
    2 + 3 * ports
}

/// How often all are compared with the cloud where this is measured, and how often that is. A resync asks nothing that depends on how
/// long the last one is ago.
const RESYNC: [(usize, Duration); 2] = [(1, Duration::from_secs(20)), (20, Duration::from_secs(60))];
const RESYNCS: usize = 3;

/// How long all of them may take together. Periods are up to a tenth longer than they are said to be, and a resync takes its time.
const PATIENCE: Duration = Duration::from_secs(900);

/// Asked once in each resync, and by nothing else where all Services have Network Load Balancers: the list of the others.
const ONCE: &str = "/elb/DescribeLoadBalancers";

/// A Service with a Network Load Balancer of so many ports.
fn service(number: usize, ports: usize) -> Service {
    let mut service = services::with_ports(number, ports);
    let annotations = Aws::ANNOTATIONS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    service.metadata.annotations = Some(BTreeMap::from_iter(annotations));
    service
}

/// Many are built at once.
pub(crate) async fn build() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let mut rounds = Vec::new();
    for contender in CONTENDERS {
        let services = (0..MANY).map(|it| service(it, PORTS)).collect();
        let round = services::round(contender, &control_plane, simulator(services::NODES).await?, services).await;
        rounds.push(round.with_context(|| contender.name())?);
    }
    control_plane.stop().await?;

    let all = MANY as f64;
    let mut table = Comparison::new(&format!("{MANY} Network Load Balancers of {PORTS} ports"), &CONTENDERS);
    let calls: Vec<_> = rounds.iter().map(|it| Some(it.cloud.len() as f64 / all)).collect();
    table.row("cloud calls a Service", &calls, hundredths, "");
    let written: Vec<_> = rounds.iter().map(|it| Some(written(&it.cloud) / all)).collect();
    table.row("writes of them", &written, hundredths, &format!("{}: AWS needs no fewer", least(PORTS)));
    table.details(&rounds.iter().map(|it| kinds(&it.cloud)).collect::<Vec<_>>());
    let refused: Vec<_> = rounds.iter().map(|it| Some(refused(&it.cloud))).collect();
    table.row("answered with an error, such as that a name is free", &refused, count, "");
    let api: Vec<_> = rounds.iter().map(|it| Some(sum(&it.api) / all)).collect();
    table.row("API requests a Service", &api, hundredths, "");
    table.print()
}

/// The requests of each resync where nothing has changed.
pub(crate) async fn resync() -> Result<()> {
    for (balancers, period) in RESYNC {
        let rounds = try_join_all(CONTENDERS.map(|it| resyncs(it, balancers, period))).await?;
        let title = format!("a resync, Network Load Balancers of {PORTS} ports: {balancers}; the vendor makes none");
        let mut table = Comparison::new(&title, &CONTENDERS);
        let calls: Vec<_> = rounds.iter().map(|it| Some(it.len() as f64 / RESYNCS as f64)).collect();
        table.row("cloud calls", &calls, hundredths, "");
        let of_one = |(kind, count): (String, f64)| (kind, count / RESYNCS as f64);
        table.details(&rounds.iter().map(|it| kinds(it).into_iter().map(of_one).collect()).collect::<Vec<_>>());
        let written: Vec<_> = rounds.iter().map(|it| Some(written(it))).collect();
        table.row(&format!("writes in {RESYNCS} of them"), &written, count, "0");
        table.print()?;
    }
    Ok(())
}

/// All requests of some resyncs, from a moment in one to the same moment in another. The vendor's manager has no resync: its requests are
/// those of as much time.
async fn resyncs(contender: Contender, balancers: usize, period: Duration) -> Result<Vec<Recorded>> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(changes::NODES).await?;
    let services = (0..balancers).map(|it| service(it, PORTS)).collect();
    let flag = format!("--load-balancer-resync-period={}s", period.as_secs());
    let is_ours = contender.program == Program::Aerostat;
    let flags: &[&str] = if is_ours { &[&flag] } else { &[] };
    let running = changes::at_rest(contender, &control_plane, &cloud, services, flags).await?;
    let since = SystemTime::now();
    let (from, until) = if is_ours {
        // The first may find what has just been written.
        let moments = || -> Vec<SystemTime> {
            let requests = cloud.requests_to("POST", ONCE).into_iter();
            requests.map(|it| it.at).filter(|it| *it >= since).skip(1).collect()
        };
        let seen = wait::within(PATIENCE, async || Some(moments()).filter(|it| it.len() > RESYNCS)).await;
        let seen = seen.context("there are no resyncs")?;
        (seen[0], seen[RESYNCS])
    } else {
        tokio::time::sleep(period * RESYNCS as u32).await;
        (since, SystemTime::now())
    };
    let requests = between(&cloud, from, until);
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;
    Ok(requests)
}

/// Nodes come and go.
pub(crate) async fn changes() -> Result<()> {
    let one = async |contender: &Contender| {
        let cloud = simulator(changes::NODES + JOINING).await?;
        let services = (0..changes::SERVICES).map(|it| service(it, 1)).collect();
        changes::round(*contender, cloud, services, wrong).await.with_context(|| contender.name())
    };
    let rounds = try_join_all(CONTENDERS.iter().map(one)).await?;
    changes::print(&CONTENDERS, &rounds)
}

/// Target groups that have another number of instances than this.
fn wrong(cloud: &Simulator, targets: usize) -> usize {
    cloud.state().targets.iter().filter(|it| it.machines.len() != targets).count()
}

fn written(requests: &[Recorded]) -> f64 {
    requests.iter().filter(|it| writes(it)).count() as f64
}

fn refused(requests: &[Recorded]) -> f64 {
    requests.iter().filter(|it| it.status.is_some_and(|it| it >= 400)).count() as f64
}
