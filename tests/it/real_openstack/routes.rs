//! Routes for pods in the router.

use http::Method;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use tests::kubelet;

use crate::setup::{Site, play};

/// Cases: openstack 56, openstack 58, openstack 59
#[test]
fn openstack_056_nodes_get_routes_and_address_pairs() {
    play(async |cloud| {
        let flags = [
            "--cluster-cidr=10.244.0.0/16",
            "--configure-cloud-routes=true",
            "--route-reconciliation-period=2s",
            "--route-deletion-warm-up=0s",
        ];
        let site = Site::new(cloud, "routes").await.flags(&flags).setting("routerID", &cloud.ground.router);
        let router = format!("/v2.0/routers/{}", cloud.ground.router);
        // One of a person outside of the cluster's networks stays, one that leads to no node goes.
        let foreign = json!({ "router": { "routes": [
            { "destination": "10.9.0.0/24", "nexthop": "10.6.0.11" },
            { "destination": "10.244.9.0/24", "nexthop": "10.6.0.99" },
        ] } });
        cloud.cloud.done(Method::PUT, "network", &format!("{router}/add_extraroutes"), foreign.clone()).await;
        let process = site.setup.start();
        let mut ids = Vec::new();
        let _ = site.asked();
        for number in 1..=3_u8 {
            let name = format!("node-{number}");
            ids.push(cloud.ground.node(&cloud.cloud, &name, 10 + number).await);
            let mut node: Node = kubelet::node(&name);
            let spec = node.spec.as_mut().unwrap();
            spec.pod_cidr = Some(format!("10.244.{number}.0/24"));
            spec.pod_cidrs = Some(vec![format!("10.244.{number}.0/24")]);
            kubelet::join_as(&site.cluster.admin, node).await.unwrap();
        }
        let routes = async || {
            let found = cloud.cloud.done(Method::GET, "network", &router, Value::Null).await;
            let routes = found["router"]["routes"].as_array().unwrap().clone();
            let mut routes: Vec<_> = routes.iter().map(|it| it["destination"].as_str().unwrap().to_owned()).collect();
            routes.sort();
            routes
        };
        let pairs = async |id: &String| {
            let path = format!("/v2.0/ports?device_id={id}");
            let ports = cloud.cloud.list("network", &path, "ports").await;
            ports[0]["allowed_address_pairs"].as_array().unwrap().clone()
        };
        site.eventually("three routes beside the foreign one", async || {
            (routes().await == ["10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24", "10.9.0.0/24"]).then_some(())
        })
        .await;
        site.eventually("address pairs", async || {
            for (number, id) in ids.iter().enumerate() {
                let wanted = format!("10.244.{}.0/24", number + 1);
                if !pairs(id).await.iter().any(|it| it["ip_address"] == wanted) {
                    return None;
                }
            }
            Some(())
        })
        .await;
        site.asked().show("routes of three nodes");
        let nodes = kube::Api::<Node>::all(site.cluster.admin.clone());
        nodes.delete("node-3", &kube::api::DeleteParams::default()).await.unwrap();
        site.eventually("the route of a node that left goes", async || {
            (routes().await == ["10.244.1.0/24", "10.244.2.0/24", "10.9.0.0/24"]).then_some(())
        })
        .await;
        site.eventually("and its address pair", async || pairs(&ids[2]).await.is_empty().then_some(())).await;
        process.stop().await;
    });
}
