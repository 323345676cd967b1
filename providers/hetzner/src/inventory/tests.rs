use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Cluster, Ingress, InventoryPage, InventoryState, LoadBalancerInventory, Proof};
use serde_json::{Value, json};

use crate::Hetzner;
use crate::load_balancer::tests::{CLUSTER, UID, shown};

/// The page of these load balancers, of which those with the ids `busy` are being changed.
fn listed(load_balancers: Vec<Value>, busy: &'static [u64]) -> (InventoryPage, Vec<String>) {
    let host =
        Host::new().cluster(Cluster::of("kubernetes", CLUSTER)).answers(move |request| match request.path.len() {
            1 => answer(200, json!({ "load_balancers": load_balancers, "meta": {} }).to_string()),
            _ => {
                let action = |id: &u64| {
                    json!({
                        "id": 1, "command": "add_target", "status": "running", "error": null,
                        "resources": [{ "id": id, "type": "load_balancer" }, { "id": 1, "type": "server" }],
                    })
                };
                let actions: Vec<_> = busy.iter().map(action).collect();
                answer(200, json!({ "actions": actions, "meta": {} }).to_string())
            }
        });
    (host.run(|| Hetzner::list(None, 50)).unwrap(), host.requests())
}

#[test]
fn our_marks_prove_and_the_vendors_do_not() {
    let mut vendors = shown(2);
    vendors["labels"] = json!({ "hcloud-ccm/service-uid": UID });
    let mut others = shown(3);
    others["labels"]["aerostat.dev/cluster-uid"] = json!("another");
    let (page, requests) = listed(vec![shown(1), vendors, others], &[]);
    let proofs: Vec<_> = page.items.iter().map(|it| (it.memo.clone().unwrap(), it.proof)).collect();
    assert_eq!(proofs, [("1".to_owned(), Proof::Unique), ("2".to_owned(), Proof::ByName)]);
    let owner = &page.items[0].owner;
    assert_eq!((owner.cluster_uid.as_deref(), owner.uid.as_deref()), (Some(CLUSTER), Some(UID)));
    assert_eq!(page.items[0].created, Some(1_787_218_212));
    assert_eq!(page.items[0].ingress, [Ingress::ip("203.0.113.9"), Ingress::ip("2001:db8::9")]);
    assert_eq!(
        requests,
        [
            "GET hcloud /load_balancers?label_selector=hcloud-ccm/service-uid&sort=id:asc&page=1&per_page=50",
            "GET hcloud /load_balancers/actions?status=running&page=1&per_page=50",
        ]
    );
}

#[test]
fn one_that_is_built_or_changed_is_changing() {
    let mut new = shown(2);
    new["public_net"]["ipv4"]["ip"] = Value::Null;
    new["public_net"]["ipv6"]["ip"] = Value::Null;
    let (page, _) = listed(vec![shown(1), new, shown(3)], &[3]);
    let states: Vec<_> = page.items.into_iter().map(|it| it.state).collect();
    assert_eq!(states, [InventoryState::Ready, InventoryState::Changing, InventoryState::Changing]);
}

#[test]
fn adv_171_a_marked_or_protected_load_balancer_is_kept() {
    let (mut marked, mut protected) = (shown(1), shown(2));
    marked["labels"]["aerostat.dev/kept"] = json!("");
    protected["protection"]["delete"] = json!(true);
    let (page, _) = listed(vec![marked, protected, shown(3)], &[]);
    let kept: Vec<Vec<_>> = page.items.iter().map(|it| it.extra.iter().map(|(key, _)| &**key).collect()).collect();
    assert_eq!(kept, [vec!["kept"], vec!["kept"], vec![]]);
    assert!(page.items[0].extra[0].1.contains("its label aerostat.dev/kept"));
}

#[test]
fn a_revision_changes_with_what_was_set_and_not_with_health() {
    let revision = |change: &dyn Fn(&mut Value)| {
        let mut it = shown(1);
        change(&mut it);
        listed(vec![it], &[]).0.items.remove(0).revision
    };
    let before = revision(&|_| ());
    assert!(before.as_ref().is_some_and(|it| it.len() <= 64));
    assert_eq!(
        revision(&|it| it["targets"][0]["health_status"] = json!([{ "listen_port": 80, "status": "unhealthy" }])),
        before
    );
    assert_eq!(revision(&|it| it["outgoing_traffic"] = json!(7)), before);
    assert_eq!(revision(&|it| it["load_balancer_type"]["prices"] = json!([{ "location": "fsn1" }])), before);
    assert_eq!(revision(&|it| it["targets"][0]["targets"] = json!([{ "server": { "id": 3 } }])), before);
    assert_ne!(revision(&|it| it["labels"]["team"] = json!("blue")), before);
    assert_ne!(revision(&|it| it["public_net"]["ipv4"]["dns_ptr"] = json!("lb.example.com")), before);
    assert_ne!(revision(&|it| it["services"][0]["health_check"]["retries"] = json!(9)), before);
    assert_ne!(revision(&|it| it["targets"][0]["server"]["id"] = json!(9)), before);
    let address = |ip: &str| revision(&|it| it["targets"][0] = json!({ "type": "ip", "ip": { "ip": ip } }));
    assert_ne!(address("203.0.113.1"), address("203.0.113.7"));
    assert_ne!(revision(&|it| it["services"][0]["destination_port"] = json!(9)), before);
    assert_ne!(revision(&|it| it["protection"]["delete"] = json!(true)), before);
    let secure = revision(&|balancer| {
        balancer["services"][0]["protocol"] = json!("https");
        balancer["services"][0]["http"] = json!({ "certificates": [1] });
    });
    assert_eq!(secure, None);
}

#[test]
fn an_unreadable_load_balancer_makes_the_list_incomplete() {
    let (page, _) = listed(vec![json!({ "id": 5, "labels": { "hcloud-ccm/service-uid": UID } }), shown(1)], &[]);
    assert_eq!(page.items.len(), 1);
    assert!(page.incomplete.unwrap().starts_with("load balancer 5 cannot be read"));
}
