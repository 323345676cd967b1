//! Nodes join as they did in the recordings of OpenStack's own manager: labels, addresses and requests are compared.

use k8s_openapi::api::core::v1::Node;
use kube::api::Api;
use serde_json::Value;
use tests::clouds::openstack::Kind;
use tests::kubelet::addresses;
use tests::openstack_vendor::Stage;
use tests::openstack_vendor::story::{part, stories};
use tests::wait;

#[tokio::test]
async fn nodes_become_what_openstacks_own_manager_makes_of_them() {
    let mut story = stories().remove(0);
    story.nodes.clear();
    let stage = Stage::new(&story).await;
    let nodes: Api<Node> = Api::all(stage.cluster.admin.clone());
    let of_cloud = |it: &&tests::clouds::openstack::Recorded| !it.path.starts_with("/identity/");
    for step in part("nodes") {
        let Some(name) = step.name.strip_prefix("join ").filter(|it| it.starts_with("node-")) else { continue };
        let begun = stage.cloud.requests().len();
        stage.join(name).await;
        let asked = stage.cloud.requests_from(begun).iter().filter(of_cloud).count();
        assert!(asked <= step.state.asked.reads(), "{name}: {asked} requests, theirs {:?}", step.state.asked);

        let (node, recorded) = (nodes.get(name).await.unwrap(), &step.state.seen["node"]);
        let server = stage.cloud.with(|world| world.named(Kind::Server, name));
        assert_eq!(node.spec.as_ref().unwrap().provider_id, Some(format!("openstack:///{server}")));
        let labels = node.metadata.labels.clone().unwrap();
        for (key, value) in recorded["labels"].as_object().unwrap() {
            assert_eq!(labels.get(key).map(String::as_str), value.as_str(), "{name}: {key}");
        }
        let expected: Vec<_> = recorded["addresses"].as_object().into_iter().flatten().map(|it| it.1).collect();
        let expected: Vec<&Value> = if expected.is_empty() {
            recorded["addresses"].as_array().into_iter().flatten().collect()
        } else {
            expected
        };
        let mut expected: Vec<_> =
            expected.iter().map(|it| (it["type"].as_str().unwrap(), it["address"].as_str().unwrap())).collect();
        expected.sort_unstable();
        // They come into the status by a write of their own.
        wait::until(&format!("{name} has the addresses {expected:?}"), async || {
            let node = nodes.get(name).await.unwrap();
            let mut found = addresses(&node);
            found.sort_unstable();
            (found == expected).then_some(())
        })
        .await;
    }
    stage.end().await;
}
