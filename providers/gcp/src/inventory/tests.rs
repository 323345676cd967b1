//! The list of what was made for load balancers.

use aerostat_sdk::testing::answer;
use serde_json::json;

use super::*;

#[test]
fn labels_prove_an_owner_and_descriptions_name_one() {
    const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
    const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
    let host = crate::tests::settings().answers(|request| {
        let description = r#"{"kubernetes.io/service-name":"default/web"}"#;
        let ours = json!({ "aerostat-cluster": CLUSTER, "aerostat-service": UID });
        let other = json!({ "aerostat-cluster": "another", "aerostat-service": UID });
        let shown = |name: &str, labels| json!({ "name": name, "description": description, "labels": labels, "IPAddress": "203.0.113.9" });
        let lb = balancer_name(UID);
        let items = match request.path.last().unwrap().as_str() {
            "forwardingRules" => json!([
                shown(&lb, ours), shown(&lb, other), shown(&lb, json!(null)), shown("by-hand", json!(null)),
                { "name": lb, "description": "" },
            ]),
            "addresses" => json!([shown(&lb, json!({ "aerostat-cluster": CLUSTER, "aerostat-service": UID }))]),
            "firewalls" => json!([shown(&format!("k8s-fw-{lb}"), json!(null)), shown("k8s-x-node-hc", json!(null))]),
            other => panic!("{other}"),
        };
        answer(200, json!({ "items": items }).to_string())
    });
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page = host.run(|| Gcp::list_inventory(cursor.as_deref())).unwrap();
        all.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let lb = balancer_name(UID);
    let shown: Vec<_> = all.iter().map(|it| (it.cloud_object.clone(), it.proof, it.memo.clone())).collect();
    let expected = [
        (format!("forwarding rule {lb}"), Proof::Unique, Some(format!("{lb} 0 open:"))),
        (format!("forwarding rule {lb}"), Proof::ByName, None),
        (format!("address {lb}"), Proof::Unique, Some(format!("{lb} 1 open:"))),
        (format!("firewall k8s-fw-{lb}"), Proof::ByName, None),
    ];
    assert_eq!(shown, expected);
    assert_eq!((all[0].owner.uid.as_deref(), all[0].owner.name.as_deref()), (Some(UID), Some("web")));
}

impl Gcp {
    fn list_inventory(cursor: Option<&str>) -> Result<InventoryPage> {
        <Self as LoadBalancerInventory>::list(cursor, PAGE)
    }
}
