//! Routes of 300 nodes.

use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use tests::clouds::gcp::Collection;
use tests::control_plane::{ControlPlane, Options};
use tests::kubelet;

use super::{Asked, simulator};
use crate::comparison::seconds;
use crate::contender::{Flags, aerostat};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{between, quiet};
use crate::routes::is_routed;
use crate::table::{beside_vendor, row};

const NODES: usize = 300;
/// How long each operation takes.
const OPERATION: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(900);
const PAUSE: Duration = Duration::from_secs(10);

/// The pod network of a node.
fn pods(number: usize) -> String {
    format!("10.{}.{}.0/24", 240 + number / 256, number % 256)
}

fn node(number: usize) -> Node {
    let mut node = objects::node(number);
    let spec = node.spec.get_or_insert_default();
    (spec.pod_cidr, spec.pod_cidrs) = (Some(pods(number)), Some(vec![pods(number)]));
    node
}

/// Nodes that join all at once, and get a route each.
pub(crate) async fn measure() -> Result<()> {
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES, OPERATION).await?;
    let flags = ["--cluster-cidr=10.240.0.0/12"];
    let running = aerostat(Flags::Default).start_with(&control_plane, &cloud, &flags).await?;
    Leadership::of(&control_plane).await?.wait_for_another(None).await?;
    let (since, start) = (SystemTime::now(), Instant::now());
    let is_ready = |it: &Node| !kubelet::is_uninitialized(it) && is_routed(it);
    let create = objects::create(&control_plane, (0..NODES).map(node).collect(), Api::all);
    let all = Api::all(control_plane.admin().await?);
    let (_, last) = tokio::try_join!(create, objects::wait_for(all, NODES, PATIENCE, is_ready))?;
    let time = last.context("some nodes have no route")?.duration_since(start).as_secs_f64();
    quiet(&cloud, PAUSE, PATIENCE).await?;
    let requests = between(&cloud, since, SystemTime::now());
    let routes = cloud.with(|world| world.all(Collection::Routes).count());
    let refused = requests.iter().filter(|it| it.status.is_some_and(|it| it >= 400)).count();
    running.stop().await?;
    cloud.stop().await;
    control_plane.stop().await?;

    let title = format!("{NODES} nodes join at Google Cloud and get routes, operations of {} s", OPERATION.as_secs());
    let mut table = beside_vendor(&title);
    let asked = Asked::of(&requests);
    row(&mut table, "reads + writes", asked.text(), "", "a write for each route");
    row(&mut table, "  questions about operations", asked.operations.to_string(), "", "");
    row(&mut table, "  refused", refused.to_string(), "", "0");
    row(&mut table, "routes", routes.to_string(), "", &NODES.to_string());
    row(&mut table, "time, first creation to last NetworkUnavailable=False", seconds(time), "", "");
    table.print()
}
