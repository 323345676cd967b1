//! Nodes whose machines are Nova's.

use http::Method;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use tests::kubelet;
use tests::operator;

use crate::setup::{Site, label, play, provider_id};

/// Cases: openstack 1, openstack 12, openstack 19
#[test]
fn openstack_001_a_node_is_what_nova_and_neutron_say() {
    play(async |cloud| {
        let site = Site::new(cloud, "nodes").await;
        let process = site.start().await;
        let _ = site.asked();
        let ids = site.joined(&[("web-1", 21)]).await;
        let node = operator::node(&site.cluster, "web-1").await;
        assert_eq!(provider_id(&node), Some(format!("openstack:///{}", ids[0])));
        assert_eq!(label(&node, "node.kubernetes.io/instance-type").as_deref(), Some("m1.tiny"));
        assert_eq!(label(&node, "topology.kubernetes.io/zone").as_deref(), Some("nova"));
        assert_eq!(label(&node, "topology.kubernetes.io/region").as_deref(), Some("RegionOne"));
        let addresses = site.eventually("addresses", async || addresses(&operator::node(&site.cluster, "web-1").await));
        assert!(addresses.await.contains(&"InternalIP 10.6.0.21".to_owned()));
        let asked = site.asked();
        asked.show("a node joins");
        assert_eq!(asked.writes(), Vec::<String>::new());
        process.stop().await;
    });
}

/// Cases: openstack 13
#[test]
fn openstack_013_two_servers_with_one_name_keep_the_taint() {
    play(async |cloud| {
        let site = Site::new(cloud, "twins").await;
        let process = site.start().await;
        cloud.ground.node(&cloud.cloud, "twin", 31).await;
        cloud.ground.node(&cloud.cloud, "twin", 32).await;
        kubelet::join(&site.cluster.admin, "twin").await.unwrap();
        site.told("twin", &["twin"]).await;
        operator::assert_waits(&site.cluster, "twin").await;
        process.stop().await;
    });
}

/// Cases: openstack 2, openstack 5
#[test]
fn openstack_005_a_stopped_server_taints_and_a_deleted_one_goes() {
    play(async |cloud| {
        let flags = ["--node-monitor-period=1s", "--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s"];
        let site = Site::new(cloud, "ends").await.flags(&flags);
        let process = site.start().await;
        let ids = site.joined(&[("web-1", 21), ("web-2", 22), ("web-3", 23)]).await;
        let path = format!("/v2.1/servers/{}/action", ids[0]);
        cloud.cloud.done(Method::POST, "compute", &path, json!({ "os-stop": null })).await;
        cloud.cloud.server_is(&ids[0], "SHUTOFF").await;
        kubelet::post_ready(&site.cluster.admin, "web-1", false).await.unwrap();
        site.eventually("the taint of a stopped machine", async || {
            let node = operator::node(&site.cluster, "web-1").await;
            let taints = node.spec?.taints?;
            taints.iter().any(|it| it.key == "node.cloudprovider.kubernetes.io/shutdown").then_some(())
        })
        .await;
        assert!(provider_id(&operator::node(&site.cluster, "web-1").await).is_some());
        cloud.ground.remove(&cloud.cloud, &ids[0]).await;
        site.eventually("the node of a deleted machine goes", async || {
            let nodes = kube::Api::<Node>::all(site.cluster.admin.clone());
            nodes.get_opt("web-1").await.unwrap().is_none().then_some(())
        })
        .await;
        process.stop().await;
    });
}

/// Cases: openstack 15
#[test]
fn openstack_015_a_floating_ip_is_external() {
    play(async |cloud| {
        let site = Site::new(cloud, "floating").await;
        let process = site.start().await;
        let id = cloud.ground.node(&cloud.cloud, "web-1", 21).await;
        let ports = cloud.cloud.list("network", &format!("/v2.0/ports?device_id={id}"), "ports").await;
        let wanted = json!({ "floatingip": {
            "floating_network_id": cloud.ground.external, "port_id": ports[0]["id"],
            "floating_ip_address": "172.24.4.150", "project_id": cloud.ground.project,
        } });
        let made = cloud.cloud.done(Method::POST, "network", "/v2.0/floatingips", wanted).await;
        site.eventually("Nova knows the floating IP", async || {
            let path = format!("/v2.1/servers/{id}");
            let server = cloud.cloud.done(Method::GET, "compute", &path, Value::Null).await;
            server["server"]["addresses"].to_string().contains("floating").then_some(())
        })
        .await;
        kubelet::join(&site.cluster.admin, "web-1").await.unwrap();
        site.initialized("web-1").await;
        let found =
            site.eventually("addresses", async || addresses(&operator::node(&site.cluster, "web-1").await)).await;
        eprintln!("    {found:?}");
        assert!(found.contains(&"ExternalIP 172.24.4.150".to_owned()), "{found:?}");
        process.stop().await;
        let path = format!("/v2.0/floatingips/{}", made["floatingip"]["id"].as_str().unwrap());
        cloud.cloud.done(Method::DELETE, "network", &path, Value::Null).await;
    });
}

/// The addresses of a node, once it has some: `InternalIP 10.6.0.21`.
fn addresses(node: &Node) -> Option<Vec<String>> {
    let all: Vec<_> = kubelet::addresses(node).iter().map(|(kind, value)| format!("{kind} {value}")).collect();
    (!all.is_empty()).then_some(all)
}
