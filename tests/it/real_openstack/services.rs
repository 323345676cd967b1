//! Services of type LoadBalancer.

use serde_json::json;

use crate::setup::{PREFIX, Site, play, port};

/// Cases: openstack 23, openstack 41, openstack 42, openstack 45, openstack 38, openstack 53
#[test]
fn openstack_023_a_service_lives_from_its_creation_to_its_end() {
    play(async |cloud| {
        let site = Site::new(cloud, "prod").await;
        let process = site.start().await;
        let mut ids = site.joined(&[("node-1", 11), ("node-2", 12)]).await;
        let _ = site.asked();
        site.create("web", json!([port(80)]), &json!({})).await;
        let address = site.address("web", "").await;
        let asked = site.asked();
        asked.show("creation");
        assert_eq!(asked.writes(), ["POST /v2.0/floatingips", "POST /v2.0/lbaas/loadbalancers"]);
        assert!(address.starts_with("172.24.4."), "{address}");
        let balancer = site.active("web").await;
        let service = site.services().get("web").await.unwrap();
        let annotations = service.metadata.annotations.clone().unwrap();
        assert_eq!(annotations[&format!("{PREFIX}load-balancer-id")], balancer["id"].as_str().unwrap());
        let node_port = service.spec.unwrap().ports.unwrap()[0].node_port.unwrap();
        assert_eq!(
            site.members(&balancer).await,
            [[format!("10.6.0.11:{node_port}"), format!("10.6.0.12:{node_port}")]]
        );
        process.stop().await;

        let _ = site.asked();
        let process = site.start().await;
        site.change("web", &json!({ "metadata": { "labels": { "looked": "at" } } })).await;
        ids.extend(site.joined(&[("node-3", 13)]).await);
        site.eventually("a third member", async || (site.members(&balancer).await[0].len() == 3).then_some(())).await;
        site.active("web").await;
        let asked = site.asked();
        asked.show("a new process, and a node that joins");
        assert_eq!(asked.writes(), ["PUT /v2.0/lbaas/pools/*/members"]);

        site.change("web", &json!({ "spec": { "loadBalancerSourceRanges": ["192.0.2.0/24"] } })).await;
        site.eventually("source ranges", async || {
            let listeners = site.parts(&balancer, "listeners").await;
            (listeners[0]["allowed_cidrs"] == json!(["192.0.2.0/24"])).then_some(())
        })
        .await;
        site.active("web").await;
        let asked = site.asked();
        asked.show("source ranges");
        assert_eq!(asked.writes(), ["PUT /v2.0/lbaas/listeners/*"]);

        site.change("web", &json!({ "spec": { "ports": [port(81)] } })).await;
        site.eventually("another port", async || {
            let listeners = site.parts(&balancer, "listeners").await;
            let pools = site.parts(&balancer, "pools").await;
            (listeners.len() == 1 && listeners[0]["protocol_port"] == 81 && pools.len() == 1).then_some(())
        })
        .await;
        site.eventually("its members", async || (site.members(&balancer).await[0].len() == 3).then_some(())).await;
        site.active("web").await;
        site.asked().show("another port");
        assert_eq!(site.address("web", "").await, address);

        site.delete("web").await;
        let asked = site.asked();
        asked.show("deletion");
        assert_eq!(asked.writes(), ["DELETE /v2.0/floatingips/*", "DELETE /v2.0/lbaas/loadbalancers/*?cascade=true"]);
        assert!(site.floating("web").await.is_empty());
        site.eventually("the load balancer goes", async || site.balancers("web").await.is_empty().then_some(())).await;
        process.stop().await;
    });
}
