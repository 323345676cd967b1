//! Memory beside nodes that are initialised, and what one of them takes.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, NodeAddress};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::control_plane::{ControlPlane, Options};
use tests::wait;

use crate::cloud::{name, simulator};
use crate::comparison::megabytes;
use crate::contender::{Flags, aerostat};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::quiet;
use crate::table::Table;
use crate::usage::Usage;

/// Numbers of nodes: those of a cluster, of the largest that Kubernetes is made for, and of three times as many.
const NODES: [usize; 3] = [1000, 5000, 15_000];

/// How long no request must come until a process counts as being at rest.
const PAUSE: Duration = Duration::from_secs(5);
/// How long it may take until then.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts aerostat beside each number of nodes, and prints its memory and the difference that a node makes.
pub(crate) async fn measure() -> Result<()> {
    let contender = aerostat(Flags::Default);
    let control_plane = ControlPlane::start(Options::default()).await?;
    let cloud = simulator(NODES[2]).await?;
    let (mut all, mut created): (Vec<Usage>, usize) = (Vec::new(), 0);
    for nodes in NODES {
        let more = (created..nodes).map(initialised).collect();
        objects::create(&control_plane, more, Api::all).await?;
        created = nodes;
        Leadership::of(&control_plane).await?.clear().await?;
        let asked = cloud.requests().len();
        let running = contender.start(&control_plane, &cloud).await?;
        let asks = wait::within(PATIENCE, async || (cloud.requests().len() > asked).then_some(()));
        asks.await.context("the cloud is not asked")?;
        quiet(&cloud, PAUSE, PATIENCE).await?;
        // A change that has been served, so that the process is one at work.
        let api: Api<Node> = Api::all(control_plane.admin().await?);
        let label = json!({ "metadata": { "labels": { "example.com/nodes": nodes.to_string() } } });
        api.patch(&name(0), &PatchParams::default(), &Patch::Merge(label)).await?;
        tokio::time::sleep(PAUSE).await;
        all.push(running.usage()?.context("a contender with a process")?);
        running.stop().await?;
    }
    cloud.stop().await;
    control_plane.stop().await?;
    let mut table = Table::new("memory beside initialised nodes", &["1,000", "5,000", "15,000", "a node"]);
    let (few, many) = (NODES[0], NODES[2]);
    for (title, of) in [("RSS at rest", resident as fn(&Usage) -> f64), ("peak RSS", peak)] {
        let each = (of(&all[2]) - of(&all[0])) / (many - few) as f64;
        let cells = all.iter().map(|it| megabytes(of(it))).chain([format!("{:.1} KB", each / 1e3)]);
        table.row(title, &cells.collect::<Vec<_>>());
    }
    table.print()
}

fn resident(it: &Usage) -> f64 {
    it.resident as f64
}

fn peak(it: &Usage) -> f64 {
    it.peak as f64
}

/// A node as an earlier leader left it: there is nothing to write.
fn initialised(number: usize) -> Node {
    let mut node = objects::node(number);
    let labels = node.metadata.labels.get_or_insert_default();
    for (key, value) in [
        ("beta.kubernetes.io/instance-type", "s-2vcpu-4gb"),
        ("failure-domain.beta.kubernetes.io/region", "fra1"),
        ("node.kubernetes.io/instance-type", "s-2vcpu-4gb"),
        ("topology.kubernetes.io/region", "fra1"),
    ] {
        labels.insert(key.to_owned(), value.to_owned());
    }
    if let Some(spec) = &mut node.spec {
        (spec.taints, spec.provider_id) = (None, Some(format!("digitalocean://{}", 1_000_000 + number)));
    }
    let [.., high, low] = number.to_be_bytes();
    let addresses = [
        ("Hostname", name(number)),
        ("InternalIP", format!("10.114.{high}.{low}")),
        ("ExternalIP", format!("203.0.{high}.{low}")),
    ];
    let address = |(kind, address): (&str, String)| NodeAddress { type_: kind.to_owned(), address };
    node.status.get_or_insert_default().addresses = Some(addresses.map(address).into());
    node
}
