use aerostat_sdk::testing::{Host, answer};
use aerostat_sdk::{Error, InventoryState, LoadBalancer, LoadBalancers, Port, Progress, Protocol};
use serde_json::json;

use super::*;

const ID: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
const NAME: &str = "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1";

/// A load balancer as the cloud shows it.
fn shown(name: &str) -> Value {
    json!({
        "id": ID, "name": name, "status": "active", "ip": "203.0.113.5", "ipv6": "", "size_unit": 1,
        "type": "REGIONAL_NETWORK", "network": "EXTERNAL", "network_stack": "IPV4", "region": { "slug": "nyc3" },
        "forwarding_rules": [{
            "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 80,
        }],
        "health_check": { "protocol": "http", "port": 10_256, "path": "/healthz" },
        "sticky_sessions": { "type": "none" }, "droplet_ids": [1],
    })
}

/// The items of a list of these load balancers, and why it is incomplete.
fn listed(shown: &[Value]) -> (Vec<InventoryItem>, Option<String>) {
    let body = json!({ "load_balancers": shown }).to_string();
    let host = Host::new().answers(move |_| answer(200, body.clone()));
    let page = host.run(|| DigitalOcean::list(None, 200)).unwrap();
    assert_eq!(host.requests(), ["GET api /v2/load_balancers?page=1&per_page=200"]);
    assert_eq!(page.next, None);
    (page.items, page.incomplete)
}

fn one(shown: Value) -> InventoryItem {
    let (mut items, incomplete) = listed(&[shown]);
    assert_eq!((items.len(), incomplete), (1, None));
    items.remove(0)
}

#[test]
fn a_load_balancer_of_ours_is_known_by_its_name_alone() {
    let item = one(shown(NAME));
    assert_eq!((item.proof, &item.owner), (Proof::ByName, &MarkedOwner::default()));
    assert_eq!(item.cloud_object, format!("load balancer {ID} ({NAME})"));
    assert_eq!((item.memo.as_deref(), item.state), (Some(ID), InventoryState::Ready));
    assert_eq!(item.ingress, [Ingress::ip("203.0.113.5")]);
    assert!(item.revision.is_some_and(|it| it.len() <= 64));
}

#[test]
fn a_load_balancer_with_another_name_is_not_ours() {
    let long = format!("{NAME}0");
    for name in [
        "web",
        "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a",
        &long,
        "a0E2F6F1C9A5E4A8E8F0B1F6D3F6F2A1",
        "b0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1",
    ] {
        assert_eq!(listed(&[shown(name)]), (Vec::new(), None), "{name}");
    }
    let mut unknown = shown("web");
    unknown["status"] = json!(7);
    assert_eq!(listed(&[unknown]), (Vec::new(), None), "whatever it is");
}

#[test]
fn its_state_is_the_clouds() {
    let of = |changes: Value| {
        let mut it = shown(NAME);
        changes.as_object().unwrap().iter().for_each(|(name, value)| it[name] = value.clone());
        one(it).state
    };
    assert_eq!(of(json!({ "status": "new", "ip": "" })), InventoryState::Changing);
    assert_eq!(of(json!({ "status": "active", "ip": "" })), InventoryState::Changing, "it has no address yet");
    assert_eq!(of(json!({ "status": "odd" })), InventoryState::Changing);
    assert!(matches!(of(json!({ "status": "errored" })), InventoryState::Failed(_)));
}

#[test]
fn an_unreadable_load_balancer_makes_the_list_incomplete() {
    let mut unread = shown(NAME);
    unread["forwarding_rules"] = json!("many");
    let (items, incomplete) = listed(&[shown(NAME), unread]);
    assert_eq!(items.len(), 1);
    assert!(incomplete.is_some_and(|it| it.starts_with(&format!("load balancer {ID}: "))));
}

#[test]
fn one_with_a_certificate_has_no_revision() {
    let mut secure = shown(NAME);
    secure["forwarding_rules"][0]["certificate_id"] = json!("892071a0-bb95-49bc-8021-3afd67a210bf");
    assert_eq!(one(secure).revision, None);
}

#[test]
fn a_revision_is_of_the_load_balancer_alone() {
    let of = |change: fn(&mut Value)| {
        let mut it = shown(NAME);
        change(&mut it);
        one(it).revision.unwrap()
    };
    let first = of(|_| {});
    assert_eq!(of(|it| it["region"]["sizes"] = json!(["s-1vcpu-1gb"])), first);
    assert_ne!(of(|it| it["region"]["slug"] = json!("fra1")), first);
    assert_ne!(of(|it| it["droplet_ids"] = json!([1, 2])), first);
    assert_ne!(of(|it| it["of_another_release"] = json!(true)), first);
}

#[test]
fn a_list_goes_on_with_its_cursor() {
    let host = Host::new().answers(|request| {
        let next =
            if request.query.contains(&("page".to_owned(), "1".to_owned())) { json!("more") } else { json!(null) };
        answer(200, json!({ "load_balancers": [], "links": { "pages": { "next": next } } }).to_string())
    });
    let first = host.run(|| DigitalOcean::list(None, 500)).unwrap();
    let next = first.next.unwrap();
    assert_eq!(host.run(|| DigitalOcean::list(Some(&next), 500)).unwrap().next, None);
    let refused = host.run(|| DigitalOcean::list(Some(&next), 20));
    assert!(matches!(refused, Err(Error::Invalid(_))), "a cursor is only good for its page size");
    assert_eq!(host.requests().len(), 2);
}

#[test]
fn a_load_balancer_listed_a_moment_ago_is_not_read_again() {
    let service = |listed: bool| {
        let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let service = LoadBalancer::of("default", "web", uid).with_port(Port::new(Protocol::Tcp, 80, 30_080));
        let extra = if listed { vec![("host.listed".to_owned(), "true".to_owned())] } else { Vec::new() };
        LoadBalancer { memo: Some(ID.to_owned()), extra, ..service }
    };
    let asked = |listed: bool, shown: &[Value]| {
        let body = json!({ "load_balancers": shown }).to_string();
        let building = json!({ "load_balancer": { "id": ID, "name": NAME, "status": "new" } }).to_string();
        let host = Host::new().answers(move |request| match &*request.path {
            [_, _] => answer(200, body.clone()),
            _ => answer(200, building.clone()),
        });
        let progress = host.run(|| DigitalOcean::ensure(&service(listed)));
        assert!(matches!(progress, Ok(Progress::Pending(_))), "{progress:?}");
        host.requests().iter().map(|it| it.replace(ID, "id")).collect::<Vec<_>>()
    };
    let (list, id) = ("GET api /v2/load_balancers?page=1&per_page=200", "GET api /v2/load_balancers/id");
    let building = json!({ "id": ID, "name": NAME, "status": "new" });
    assert_eq!(asked(false, std::slice::from_ref(&building)), [id]);
    assert_eq!(asked(true, &[building]), [list]);
    assert_eq!(asked(true, &[]), [list, id], "the list may lag");
}
