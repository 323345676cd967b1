//! A conversation with the services, request by request: RECORD=1 writes it.

use std::path::Path;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use tests::kubelet;
use tests::real_openstack::Asked;

use crate::setup::{Site, annotated, merge, play, port};

/// The file, where the replay in `tests/it/openstack` has it from.
const FILE: &str = "recordings/openstack.json";

#[test]
fn a_conversation_is_recorded() {
    play(async |cloud| {
        let flags =
            ["--cluster-cidr=10.244.0.0/16", "--configure-cloud-routes=true", "--route-reconciliation-period=30s"];
        let site = Site::new(cloud, "recorded").await.flags(&flags);
        let site = site.setting("routerID", &cloud.ground.router).setting("loadBalancers.manageSecurityGroups", "true");
        let mut ids = Vec::new();
        for number in 1..=3 {
            ids.push(cloud.ground.node(&cloud.cloud, &format!("node-{number}"), 10 + number).await);
        }
        let _ = site.asked();
        let process = site.setup.start();
        let join = async |number: u8| {
            let name = format!("node-{number}");
            let mut node: Node = kubelet::node(&name);
            let spec = node.spec.as_mut().unwrap();
            spec.pod_cidr = Some(format!("10.244.{number}.0/24"));
            spec.pod_cidrs = Some(vec![format!("10.244.{number}.0/24")]);
            kubelet::join_as(&site.cluster.admin, node).await.unwrap();
            site.initialized(&name).await;
        };
        join(1).await;
        join(2).await;
        let mut more = annotated(&[("enable-health-monitor", "true"), ("timeout-client-data", "60000")]);
        merge(
            &mut more,
            &json!({ "spec": { "loadBalancerSourceRanges": ["192.0.2.0/24"], "sessionAffinity": "ClientIP" } }),
        );
        site.create("web", json!([port(80), port(443)]), &more).await;
        site.address("web", "").await;
        let balancer = site.active("web").await;
        join(3).await;
        site.eventually("third members", async || {
            site.members(&balancer).await.iter().all(|it| it.len() == 3).then_some(())
        })
        .await;
        site.active("web").await;
        site.change(
            "web",
            &json!({ "spec": { "ports": [port(443), port(81)], "loadBalancerSourceRanges": ["198.51.100.0/24"] } }),
        )
        .await;
        site.eventually("other ports", async || {
            let mut listeners: Vec<_> =
                site.parts(&balancer, "listeners").await.iter().map(|it| it["protocol_port"].clone()).collect();
            listeners.sort_by_key(|it| it.as_u64());
            (listeners == [json!(81), json!(443)]).then_some(())
        })
        .await;
        site.eventually("their members", async || {
            let all = site.members(&balancer).await;
            (all.len() == 2 && all.iter().all(|it| it.len() == 3)).then_some(())
        })
        .await;
        site.active("web").await;
        let inside = json!({ "metadata": { "annotations": {
            "service.beta.kubernetes.io/openstack-internal-load-balancer": "true"
        } } });
        let outside = site.address("web", "").await;
        site.change("web", &inside).await;
        site.address("web", &outside).await;
        site.delete("web").await;
        process.stop().await;
        write(
            site.asked().0,
            &json!({
                "project": cloud.ground.project, "network": cloud.ground.network, "subnet": cloud.ground.subnet,
                "external": cloud.ground.external, "floating": cloud.ground.floating, "router": cloud.ground.router,
                "nodes": ids,
            }),
        );
    });
}

/// Writes the conversation, if it is asked for. Of equal reads between two writes the last one is kept: those before waited for it.
#[expect(clippy::disallowed_methods, reason = "RECORD=1 is how a person asks for another recording")]
fn write(asked: Vec<Asked>, ground: &Value) {
    if std::env::var("RECORD").is_err() {
        return;
    }
    let mut exchanges: Vec<Value> = Vec::new();
    for it in asked {
        let exchange = json!({
            "service": it.service, "method": it.method.as_str(), "target": it.target, "body": it.body,
            "status": it.status, "answer": it.answer,
        });
        let key = |exchange: &Value| ["service", "method", "target"].map(|it| exchange[it].to_string());
        let since = exchanges.iter().rposition(|it| it["method"] != "GET").map_or(0, |it| it + 1);
        if !it.writes()
            && let Some(before) = exchanges[since..].iter().position(|before| key(before) == key(&exchange))
        {
            exchanges.remove(since + before);
        }
        exchanges.push(exchange);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let whole = json!({
        "about": "aerostat and the real Keystone 30, Nova 34, Neutron 29 and Octavia 19: RECORD=1 make test-openstack ONLY=recorded",
        "ground": ground, "exchanges": exchanges,
    });
    std::fs::write(file, serde_json::to_string_pretty(&whole).unwrap() + "\n").unwrap();
}
