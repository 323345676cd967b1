//! Nodes whose machines are instances of ECS, with routes; and an hour in which nothing happens.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use tests::control_plane::{ControlPlane, Options};
use tests::kubelet;

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
/// The part of an hour that is measured: two periods of five minutes, and the time that they take.
const WINDOW: Duration = Duration::from_secs(11 * 60);

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

/// An hour in which nothing happens, from eleven minutes of it.
pub(crate) async fn steady() -> Result<()> {
    let ground = SteppedCluster::start(simulator(NODES).await?).await?;
    ground.join(changes::NODES..NODES, NODES).await?;
    ground.make(services::numbered(0..BALANCERS), BALANCERS).await?;
    let since = SystemTime::now();
    tokio::time::sleep(WINDOW).await;
    let requests = between(&ground.cloud, since, since + WINDOW);
    ground.end().await?;
    let hour = 3600.0 / WINDOW.as_secs_f64();
    let mut table: Table =
        beside_vendor(&format!("an hour at {NODES} nodes and {BALANCERS} load balancers at Alibaba Cloud"));
    let AskedOfAlibaba { reads, writes } = AskedOfAlibaba::of(&requests);
    row(&mut table, "calls", format!("{:.0}", (reads + writes) as f64 * hour), "", "80 or less");
    row(&mut table, "  reads", format!("{:.0}", reads as f64 * hour), "", "");
    row(&mut table, "  writes", format!("{:.0}", writes as f64 * hour), "", "0");
    for (kind, times) in &kinds(&requests) {
        row(&mut table, &format!("    {kind}"), format!("{:.0}", times * hour), "", "");
    }
    table.print()
}
