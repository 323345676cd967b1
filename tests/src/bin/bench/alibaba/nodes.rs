//! Nodes whose machines are instances of ECS, with routes; and an hour in which nothing happens.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use tests::control_plane::{ControlPlane, Options};
use tests::kubelet;
use tests::simulator::Recorded;

use super::{AskedOfAlibaba, done, simulator};
use crate::comparison::seconds;
use crate::contender::{Flags, aerostat};
use crate::leadership::Leadership;
use crate::requests::{between, kinds, quiet};
use crate::routes::is_routed;
use crate::steps::{MeasuredStep, SteppedCluster};
use crate::table::{Table, beside_vendor, row};
use crate::{changes, objects, services};

const NODES: usize = 1000;
/// Load balancers of the quiet hour.
const BALANCERS: usize = 50;
const PATIENCE: Duration = Duration::from_secs(900);
const PAUSE: Duration = Duration::from_secs(10);
/// The manifest that operators install.
const MANIFEST: &str = include_str!("../../../../../deploy/install-alibaba.yaml");
/// The periods that are shipped, and a third of them.
const SHIPPED: [&str; 2] = ["--node-status-update-frequency=30m", "--load-balancer-resync-period=15m"];
const FASTER: [&str; 2] = ["--node-status-update-frequency=10m", "--load-balancer-resync-period=5m"];
/// Two periods of load balancers and a tenth: in the first one a list shows the new ones, in the second one each is compared as a whole.
const LEAD: Duration = Duration::from_secs(34 * 60 / 3);
const HOUR: Duration = Duration::from_mins(20);
/// The actions that compare a Classic Load Balancer of one port. The first is its own.
const COMPARING: [&str; 4] = [
    "/DescribeLoadBalancerAttribute",
    "/DescribeLoadBalancerListeners",
    "/DescribeVServerGroups",
    "/DescribeVServerGroupAttribute",
];

fn node(number: usize) -> Node {
    let mut node = objects::node(number);
    let spec = node.spec.get_or_insert_default();
    let pods = format!("10.{}.{}.0/24", 240 + number / 256, number % 256);
    (spec.pod_cidr, spec.pod_cidrs) = (Some(pods.clone()), Some(vec![pods]));
    node
}

/// Nodes that join all at once, and get a route each.
pub(crate) async fn join() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES).await?;
    let flags = ["--cluster-cidr=10.240.0.0/12"];
    let running = aerostat(Flags::Default).start_with(&control_plane, &cloud, &flags).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    quiet(&cloud, PAUSE, PATIENCE).await?;
    let at_start = AskedOfAlibaba::of(&between(&cloud, SystemTime::UNIX_EPOCH, SystemTime::now()));
    let (since, start) = (SystemTime::now(), Instant::now());
    let is_ready = |it: &Node| !kubelet::is_uninitialized(it) && is_routed(it);
    let create = objects::create(&control_plane, (0..NODES).map(node).collect(), Api::all);
    let all = Api::all(control_plane.admin().await?);
    let (_, last) = tokio::try_join!(create, objects::wait_for(all, NODES, PATIENCE, is_ready))?;
    let time = last.context("some nodes have no route")?.duration_since(start).as_secs_f64();
    quiet(&cloud, PAUSE, PATIENCE).await?;
    let requests = between(&cloud, since, SystemTime::now());
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;

    let mut table = beside_vendor(&format!(
        "{NODES} nodes join at Alibaba Cloud and get routes; the vendor's: 120 nodes and a restart"
    ));
    row(&mut table, "reads + writes", AskedOfAlibaba::of(&requests).text(), "81 + 128", "18 reads or less");
    row(&mut table, "  before, at the start of the process", at_start.text(), "", "");
    let of = |action: &str| done(&requests, action).to_string();
    row(&mut table, "  CreateRouteEntries", of("/CreateRouteEntries"), "8", "20");
    let interfaces = of("/ModifyNetworkInterfaceAttribute");
    let wanted = format!("{NODES}: one an interface that checks");
    row(&mut table, "  ModifyNetworkInterfaceAttribute", interfaces, "120", &wanted);
    row(&mut table, "time, first creation to last NetworkUnavailable=False", seconds(time), "", "");
    MeasuredStep { requests, time }.details(&mut table);
    table.print()
}

/// An hour in which nothing happens, three times as fast: with a third of the periods that are shipped, in a third of the time. The cost of each load
/// balancer in twelve hours is counted before it.
pub(crate) async fn steady() -> Result<()> {
    for shipped in SHIPPED {
        ensure!(MANIFEST.contains(shipped), "deploy/install-alibaba.yaml lacks {shipped}");
    }
    let ground = SteppedCluster::start_with(simulator(NODES).await?, &FASTER).await?;
    ground.join(changes::NODES..NODES, NODES).await?;
    ground.make(services::numbered(0..BALANCERS), BALANCERS).await?;
    let made = SystemTime::now();
    tokio::time::sleep(LEAD).await;
    let since = SystemTime::now();
    tokio::time::sleep(HOUR).await;
    let compared = compared(&between(&ground.cloud, made, since));
    let requests = between(&ground.cloud, since, since + HOUR);
    ground.end().await?;
    let mut table: Table =
        beside_vendor(&format!("an hour at {NODES} nodes and {BALANCERS} load balancers at Alibaba Cloud"));
    let AskedOfAlibaba { reads, writes } = AskedOfAlibaba::of(&requests);
    // Each is compared once in twelve hours, with a look at whose account it is.
    let share = (compared + BALANCERS) as f64 / 12.0;
    row(&mut table, "calls", format!("{:.0}", (reads + writes) as f64 + share), "", "80 or less");
    row(&mut table, "  of them in this hour", (reads + writes).to_string(), "", "");
    row(&mut table, "  of them a twelfth of what is asked in twelve hours", format!("{share:.0}"), "", "");
    row(&mut table, "  writes", writes.to_string(), "", "0");
    for (kind, times) in &kinds(&requests) {
        row(&mut table, &format!("    {kind}"), format!("{times:.0}"), "", "");
    }
    table.print()
}

/// The requests that compare single Classic Load Balancers once, as those of this time do, in which nothing else is asked of them.
fn compared(requests: &[Recorded]) -> usize {
    let of = |action: &str| done(requests, action);
    let all: usize = COMPARING.iter().map(|action| of(action)).sum();
    all * BALANCERS / of(COMPARING[0]).max(1)
}
