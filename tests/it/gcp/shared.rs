//! A shared VPC: firewalls and routes are in the network's project, everything else in that of the machines.

use serde_json::{Value, json};
use tests::clouds::gcp::{Collection, NETWORK_PROJECT, Simulator};
use tests::operator::Setup;

use crate::ground::{Ground, region};

const TYPE: &str = "networking.gke.io/load-balancer-type";

fn in_shared_network(setup: Setup, cloud: &Simulator) -> Setup {
    setup.edit(|config| {
        config["provider"]["settings"]["networkProject"] = json!(NETWORK_PROJECT);
        config["endpoints"][1]["baseUrl"] = json!(cloud.project_url(NETWORK_PROJECT));
    })
}

async fn start(prepare: impl FnOnce(&mut tests::clouds::gcp::World)) -> Ground {
    let ground = Ground::with(prepare, in_shared_network).await;
    ground.join(1, "b").await;
    ground.join(2, "c").await;
    ground
}

/// The names of the firewalls in a project.
fn firewalls(ground: &Ground, project: &str) -> Vec<String> {
    let beginning = format!("projects/{project}/");
    ground.cloud.with(|world| {
        let all = world.all(Collection::Firewalls).filter(|(path, _)| path.starts_with(&beginning));
        all.map(|(path, _)| path.rsplit('/').next().unwrap().to_owned()).collect()
    })
}

#[tokio::test]
async fn firewalls_of_a_shared_network_are_in_its_project() {
    let ground = start(|_| {}).await;
    let external = ground.create("external", &json!({}), &json!({})).await;
    let internal = ground.create("internal", &json!({ TYPE: "Internal" }), &json!({})).await;
    for name in ["external", "internal"] {
        ground.address(name).await;
    }
    let shared = firewalls(&ground, NETWORK_PROJECT);
    assert!([&external, &internal].iter().all(|it| shared.contains(&format!("k8s-fw-{it}"))), "{shared:?}");
    assert_eq!((shared.len(), firewalls(&ground, "p1").len()), (4, 0));
    let network = |value: &Value| {
        value["network"].as_str().unwrap_or_default().ends_with("projects/shared/global/networks/default")
    };
    let rule = ground.cloud.with(|world| world.get(&region().path(Collection::ForwardingRules, &internal)).cloned());
    assert!(network(&rule.clone().unwrap()), "{rule:?}");
    assert!(ground.cloud.account().all(Collection::Firewalls).iter().all(network));
    for name in ["external", "internal"] {
        ground.delete(name).await;
    }
    assert_eq!(ground.made(), [""; 0]);
    ground.stop().await;
}

#[tokio::test]
async fn gcp_029_firewalls_that_may_not_be_written_are_told() {
    let is_read_only = (NETWORK_PROJECT.to_owned(), Collection::Firewalls);
    let ground = start(|world| _ = world.behaviour.read_only.insert(is_read_only.clone())).await;
    let balancer = ground.create("web", &json!({}), &json!({})).await;
    let address = ground.address("web").await;
    let firewall = format!("gcloud compute firewall-rules create k8s-fw-{balancer} --project shared --network default");
    ground.told("web", &[&firewall, &address]).await;
    assert_eq!(firewalls(&ground, NETWORK_PROJECT), [""; 0]);

    // Once it may write, the next change makes up for it.
    ground.cloud.behave(|it| it.read_only.clear());
    ground.patch("web", &json!({ "spec": { "loadBalancerSourceRanges": ["192.0.2.0/24"] } })).await;
    let name = format!("projects/shared/global/firewalls/k8s-fw-{balancer}");
    ground.becomes("web", "its firewall is there", |world| world.get(&name).is_some()).await;

    // And what it may not delete stays, with a word.
    ground.cloud.behave(|it| _ = it.read_only.insert(is_read_only));
    ground.delete("web").await;
    ground.told("web", &[&format!("gcloud compute firewall-rules delete k8s-fw-{balancer} --project shared")]).await;
    let left = ground.made();
    assert!(left.iter().all(|it| it.starts_with("global/firewalls/")), "{left:?}");
    assert!(left.contains(&format!("global/firewalls/k8s-fw-{balancer}")), "{left:?}");
    ground.stop().await;
}
