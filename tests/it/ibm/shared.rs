//! Two Services that the vendor's manager let share a load balancer, by the name that both chose: one of them has it.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tests::clouds::ibm::{Options, Simulator, World};
use tests::control_plane::{Cluster, cluster};
use tests::vendor::{IbmCloud, Left, Vendor as _, ibm};
use tests::{kubelet, operator, services, wait};

const NAME: &str = IbmCloud::NAME;

/// Writes where a Service is reached, as the manager before has.
async fn shows(cluster: &Cluster, name: &str, ingress: &Value) {
    let status = json!({ "status": { "loadBalancer": { "ingress": ingress } } });
    let services = services::services(cluster);
    services.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
}

/// Cases: theft-by-name
#[tokio::test]
async fn ibm_036_a_shared_load_balancer_is_the_older_services() {
    let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::instant()));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    cloud.with(|world| (1..=2).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let chosen = json!({ NAME: "shop" });
    let first = services::create(&cluster, "first", &chosen, &json!({})).await;
    let left = IbmCloud::leave_behind(cloud.account(), &first, Left::Named("shop"));
    // Services have ages in seconds.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    services::create(&cluster, "second", &chosen, &json!({})).await;
    for name in ["first", "second"] {
        shows(&cluster, name, &left.ingress).await;
    }
    let process = ibm::setup(&cluster, &cloud).started().await;
    for name in ["web-1", "web-2"] {
        kubelet::join(&cluster.admin, name).await.unwrap();
        operator::initialized(&cluster, name).await;
    }
    services::remembered(&cluster, "first").await;
    operator::event(&cluster, "second", &["Service default/first", "which is older"]).await;
    operator::event(&cluster, "second", &[&left.id, "not this Service's"]).await;
    let all = || -> Vec<String> { IbmCloud::built(cloud.account()).into_iter().map(|it| it.id).collect() };
    assert_eq!(all(), std::slice::from_ref(&left.id));

    // Without the name it gets one of its own, which goes with it alone.
    services::patch(&cluster, "second", &json!({ "metadata": { "annotations": { NAME: null } } })).await;
    wait::until("the second one has a load balancer", async || (all().len() == 2).then_some(())).await;
    services::delete(&cluster, "second").await;
    assert_eq!(all(), std::slice::from_ref(&left.id));

    // One more, which never gets so far as to have one.
    services::create(&cluster, "third", &chosen, &json!({})).await;
    shows(&cluster, "third", &left.ingress).await;
    operator::event(&cluster, "third", &[&left.id, "not this Service's"]).await;
    services::delete(&cluster, "third").await;
    assert_eq!(all(), std::slice::from_ref(&left.id), "the end of a Service does not delete another's");
    services::delete(&cluster, "first").await;
    assert_eq!(all(), [""; 0]);
    process.stop().await;
    cloud.assert_valid();
}
