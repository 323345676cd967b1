//! The inventory before a resource manager in memory.

use aerostat_sdk::{LoadBalancerInventory, Proof};
use serde_json::json;

use crate::Azure;
use crate::tests::{FakeArm, host, rg};

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const BASE: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

#[test]
fn addresses_are_proven_by_mark_and_name() {
    let mut cloud = FakeArm::default();
    let mut add = |name: &str, cluster: &str, mark: Option<&str>| {
        let mut tags = json!({ "k8s-azure-service": "default/web", "k8s-azure-cluster-name": cluster });
        if let Some(uid) = mark {
            tags["aerostat-owner"] = json!(format!("aerostat:{uid}:{UID}"));
        }
        cloud.put(
            &rg(&format!("Microsoft.Network/publicIPAddresses/{name}")),
            json!({ "tags": tags, "properties": { "ipAddress": "20.50.0.1" } }),
        );
    };
    let own = "c1a5e000-1111-2222-3333-444455556666";
    add(&format!("kubernetes-{BASE}"), "kubernetes", Some(own));
    add("kubernetes-mine", "kubernetes", Some(own));
    add("kubernetes-vendor", "kubernetes", None);
    add("other", "another", Some("another-uid"));
    let frontend = json!({ "name": BASE, "properties": { "privateIPAddress": "10.240.0.9" } });
    let by_hand = json!({ "name": "by-hand", "properties": {} });
    cloud.put(
        &rg("Microsoft.Network/loadBalancers/kubernetes-internal"),
        json!({ "properties": { "frontendIPConfigurations": [frontend, by_hand] } }),
    );
    let (host, _) = host(cloud);
    let page = host.run(|| Azure::list(None, 500)).unwrap();
    let shown: Vec<_> = page.items.iter().map(|it| (it.cloud_object.as_str(), it.proof, it.memo.is_some())).collect();
    let frontend = format!("frontend {BASE} of load balancer kubernetes-internal");
    let address = format!("public address kubernetes-{BASE}");
    let expected = [
        (&*frontend, Proof::ByName, false),
        (&*address, Proof::Unique, true),
        ("public address kubernetes-mine", Proof::ByName, false),
        ("public address kubernetes-vendor", Proof::ByName, false),
    ];
    assert_eq!(shown, expected);
    assert_eq!(host.requests().len(), 3);
    let first = host.run(|| Azure::list(None, 3)).unwrap();
    let second = host.run(|| Azure::list(first.next.as_deref(), 3)).unwrap();
    assert_eq!((first.items.len(), second.items.len(), second.next), (3, 1, None));
}
