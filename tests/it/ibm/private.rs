//! A cluster that reaches the cloud by its private name alone: nothing that an answer says leads a request to the public one.

use serde_json::json;
use tests::clouds::ibm::{Fault, Options, Simulator, World};
use tests::control_plane::cluster;
use tests::tinyproxy::Tinyproxy;
use tests::vendor::{IbmCloud, Vendor as _, ibm};
use tests::{kubelet, operator, services, wait};

const PRIVATE: &str = "us-south.private.iaas.cloud.ibm.com";
const PUBLIC: &str = "us-south.iaas.cloud.ibm.com";

/// Cases: ibm 12
#[tokio::test]
async fn ibm_012_a_private_cluster_never_asks_the_public_name() {
    let names = [PRIVATE, PUBLIC];
    let (cluster, cloud, proxy) =
        tokio::join!(cluster(), Simulator::start(Options::instant()), Tinyproxy::start(&names, ""));
    let cloud = cloud.unwrap();
    cloud.with(World::build_plain);
    // Pages of one: each names the next at the public host, as the cloud does.
    cloud.behave(|behaviour| behaviour.largest_page = 1);
    cloud.with(|world| [1, 2].into_iter().for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let port = cloud.base_url().rsplit(':').next().unwrap().to_owned();
    let redirect = format!("https://{PUBLIC}:{port}{}", IbmCloud::MACHINES);
    cloud.inject(Fault::status("GET", IbmCloud::MACHINES, 307).header("location", &redirect).times(1));
    let setup = ibm::setup(&cluster, &cloud).edit(|config| {
        let endpoint = &mut config["endpoints"][0];
        endpoint["baseUrl"] = json!(format!("https://{PRIVATE}:{port}/v1"));
        endpoint["proxy"] = json!({ "url": proxy.url() });
    });
    let process = setup.started().await;
    for name in ["web-1", "web-2"] {
        kubelet::join(&cluster.admin, name).await.unwrap();
        operator::initialized(&cluster, name).await;
    }
    services::create(&cluster, "web", &json!({}), &json!({})).await;
    wait::until("the load balancer serves", async || {
        IbmCloud::built(cloud.account()).into_iter().find(|it| it.serves && it.machines == [1, 2])
    })
    .await;
    services::delete(&cluster, "web").await;
    process.stop().await;
    assert!(cloud.requests().iter().any(|it| it.query_value("start").is_some()), "there was a second page");
    assert!(cloud.requests().iter().any(|it| it.status == Some(307)), "the cloud sent a request elsewhere");
    let mut targets = proxy.targets();
    targets.dedup();
    assert_eq!(targets, [format!("{PRIVATE}:{port}")]);
    cloud.assert_valid();
}
