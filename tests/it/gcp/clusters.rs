//! Two clusters with one name in one project: neither touches the other's.

use std::collections::BTreeMap;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, Options, Simulator, World};
use tests::control_plane::{Cluster, cluster};
use tests::operator::Process;
use tests::services::{self, address};
use tests::vendor::gcp;
use tests::wait;

use crate::ground::{create, join, made};

const TYPE: &str = "networking.gke.io/load-balancer-type";

/// A cluster with one node, and a Service of each kind.
struct Neighbour {
    cluster: Cluster,
    process: Process,
}

impl Neighbour {
    async fn start(cloud: &Simulator, number: u32, zone: &str) -> Self {
        let cluster = cluster().await;
        let networks = format!("--cluster-cidr=10.24{number}.0.0/16");
        let flags = [&*networks, "--route-reconciliation-period=1s", "--route-deletion-warm-up=0s"];
        let process = gcp::setup(&cluster, cloud).flags(&flags).started().await;
        join(&cluster, cloud, number, zone).await;
        let nodes: Api<Node> = Api::all(cluster.admin.clone());
        let network = format!("10.24{number}.1.0/24");
        let patch = Patch::Merge(json!({ "spec": { "podCIDR": network, "podCIDRs": [network] } }));
        nodes.patch(&format!("node-{number}"), &PatchParams::default(), &patch).await.unwrap();
        join_all([("external", "External"), ("internal", "Internal")].map(|(name, kind)| {
            let cluster = &cluster;
            async move {
                create(cluster, name, &json!({ TYPE: kind }), &json!({})).await;
                address(cluster, name).await
            }
        }))
        .await;
        wait::until("the node has its route", async || {
            let is_there = |world: &World| world.all(Collection::Routes).any(|(_, it)| it["destRange"] == *network);
            cloud.with(|world| is_there(world) && world.is_at_rest("/routes/")).then_some(())
        })
        .await;
        Self { cluster, process }
    }
}

/// The whole of these objects.
fn bodies(cloud: &Simulator, of: &[String]) -> BTreeMap<String, Value> {
    cloud.with(|world| {
        of.iter().filter_map(|it| Some((it.clone(), world.get(&format!("projects/p1/{it}"))?.clone()))).collect()
    })
}

#[tokio::test]
async fn clusters_of_one_name_share_a_project_in_peace() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    cloud.with(World::build_plain);
    let one = Neighbour::start(&cloud, 1, "b").await;
    let first = made(&cloud);
    let before = bodies(&cloud, &first);
    let two = Neighbour::start(&cloud, 2, "c").await;
    let second: Vec<_> = made(&cloud).into_iter().filter(|it| !first.contains(it)).collect();
    assert_eq!((first.len(), second.len()), (12, 12), "{first:?} {second:?}");
    assert_eq!(bodies(&cloud, &first), before, "the second cluster changes nothing of the first one");

    let before = bodies(&cloud, &second);
    join_all(["external", "internal"].map(|it| services::delete(&one.cluster, it))).await;
    Api::<Node>::all(one.cluster.admin.clone()).delete("node-1", &DeleteParams::default()).await.unwrap();
    wait::within(wait::DEADLINE, async || (made(&cloud) == second).then_some(())).await;
    assert_eq!(made(&cloud), second, "all of the first cluster is gone");
    assert_eq!(bodies(&cloud, &second), before, "the first cluster touches nothing of the second one");
    one.process.stop().await;
    two.process.stop().await;
    cloud.assert_valid();
}
