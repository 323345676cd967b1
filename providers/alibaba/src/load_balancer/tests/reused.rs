//! Load balancers of somebody's own, which a Service names: its parts come and go, and everything else stays.

use aerostat_sdk::testing::FakeMoment;

use super::*;
use crate::load_balancer::marks::{CLUSTER_UID, SERVICE_UID, VENDOR_CLUSTER, VENDOR_NAME};
use crate::load_balancer::reused;

/// A load balancer by hand: it listens at 80 and 443, and sends to one machine.
fn by_hand() -> Value {
    let listener = |port: u16| {
        json!({ "ListenerPort": port, "ListenerProtocol": "tcp", "Status": "running", "Description": "mine",
                "VServerGroupId": "rsp-mine", "Scheduler": "wrr" })
    };
    let server = json!({ "ServerId": "i-mine", "Port": 8080, "Weight": 100, "Type": "ecs", "Description": "mine" });
    json!({
        "Tags": [], "AddressType": "internet", "DeleteProtection": "off", "ModificationProtectionStatus": "NonProtection",
        "Listeners": [listener(80), listener(443)],
        "Groups": [{ "VServerGroupId": "rsp-mine", "VServerGroupName": "mine", "Servers": [server] }],
    })
}

/// A cloud with `lb-1`, which is somebody's own, and an operator who lets Services name it.
fn played() -> Played<FakeSlb> {
    let mut played = Played::new(FakeSlb::default());
    played.host = played.host.clone().setting("adoptById", "true");
    put(&played, by_hand());
    played
}

fn put(played: &Played<FakeSlb>, body: Value) {
    played.cloud.borrow_mut().cloud().balancers.put("lb-1", "by-hand", body, FakeMoment::default());
}

fn body(played: &Played<FakeSlb>) -> Value {
    played.cloud.borrow_mut().cloud().balancers.get("lb-1").unwrap().body.clone()
}

/// The ids of a group's machines, with their weights.
fn machines(played: &Played<FakeSlb>, group: usize) -> Vec<String> {
    let servers = body(played)["Groups"][group]["Servers"].clone();
    let servers = servers.as_array().unwrap().iter();
    servers.map(|it| format!("{} {}", it["ServerId"].as_str().unwrap(), it["Weight"])).collect()
}

fn named(name: &str, value: &str) -> LoadBalancer {
    annotated("id", "lb-1").with_annotation(format!("{PREFIX}{name}"), value)
}

/// Deletes until it is over. Answers what was written, too.
fn delete(played: &Played<FakeSlb>, service: &mut LoadBalancer) -> (Deletion, Vec<String>) {
    let before = played.host.sent().len();
    for _ in 0..20 {
        let host = played.host.clone().at(played.cloud.borrow().now());
        match host.run(|| Alibaba::delete(service)).unwrap() {
            Deletion::Pending(it) => *service = service.clone().after(it.status),
            over => {
                let sent = played.host.sent().split_off(before);
                return (over, writes(&sent).into_iter().map(str::to_owned).collect());
            }
        }
    }
    panic!("it is not gone: {:?}", played.host.requests());
}

#[test]
fn alibaba_020_a_load_balancer_of_ones_own_gets_a_group_alone() {
    let played = played();
    let mut service = annotated("id", "lb-1");
    assert_eq!(writes(&played.settle(&mut service)), ["CreateVServerGroup"]);
    assert_eq!(service.memo, Some(reused::memo("lb-1")));
    assert_eq!(service.current_ingress, [Ingress::ip("203.0.113.1").ip_mode(IpMode::Vip)]);
    let live = body(&played);
    assert_eq!((&live["Listeners"], &live["Tags"]), (&by_hand()["Listeners"], &json!([])));
    assert_eq!(live["Groups"][1]["VServerGroupName"], format!("k8s/30080/web/default/{CLUSTER_ID}"));
    assert_eq!(machines(&played, 1), ["i-bp001 100", "i-bp002 100", "i-bp003 100"]);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.nodes.pop();
    assert_eq!(writes(&played.settle(&mut service)), ["RemoveVServerGroupBackendServers"]);
    // Another node port is another group, and the first one goes.
    service.ports = vec![Port::new(Protocol::Tcp, 80, 30_081)];
    assert_eq!(writes(&played.settle(&mut service)), ["CreateVServerGroup", "DeleteVServerGroup"]);
    assert_eq!(delete(&played, &mut service), (Deletion::Done, vec!["DeleteVServerGroup".to_owned()]));
    assert_eq!(body(&played), by_hand(), "it stands as it was");
}

#[test]
fn alibaba_021_a_load_balancer_with_a_mark_is_refused() {
    for key in [VENDOR_CLUSTER, VENDOR_NAME, CLUSTER_UID, SERVICE_UID] {
        let played = played();
        let mut marked = by_hand();
        marked["Tags"] = json!([{ "TagKey": key, "TagValue": CLUSTER_ID }]);
        put(&played, marked.clone());
        let mut service = named("force-override-listeners", "true");
        let refused = played.call(&mut service);
        let is_told = |why: &str| why.contains("lb-1") && why.contains(key) && why.contains("is not touched");
        assert!(matches!(&refused, Err(Error::Invalid(why)) if is_told(why)), "{refused:?}");
        // Neither if the tag comes later.
        service.memo = Some(reused::memo("lb-1"));
        let refused = played.call(&mut service);
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("is not touched")), "{refused:?}");
        let (deletion, written) = delete(&played, &mut service);
        assert!(matches!(deletion, Deletion::Kept(_)), "{key}: {deletion:?}");
        assert_eq!((written, body(&played)), (Vec::new(), marked), "{key}");
    }
}

#[test]
fn an_id_alone_adopts_no_load_balancer() {
    let played = Played::new(FakeSlb::default());
    put(&played, by_hand());
    let mut service = annotated("id", "lb-1");
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("adoptById")), "{refused:?}");
    assert_eq!(delete(&played, &mut service), (Deletion::Done, Vec::new()));
    // A controller has written its address into the status.
    service.current_ingress = vec![Ingress::ip("203.0.113.1")];
    assert_eq!(writes(&played.settle(&mut service)), ["CreateVServerGroup"]);
    assert_eq!(body(&played)["Listeners"], by_hand()["Listeners"]);
}

#[test]
fn listeners_of_ones_own_are_overridden_on_demand() {
    let played = played();
    let mut service =
        named("force-override-listeners", "true").with_annotation(format!("{PREFIX}spec"), "slb.s1.small");
    let set = "SetLoadBalancerTCPListenerAttribute";
    assert_eq!(writes(&played.settle(&mut service)), ["CreateVServerGroup", set]);
    assert!(played.host.events().iter().any(|it| it.message.contains(&format!("{PREFIX}spec"))));
    let live = body(&played);
    let listeners =
        |at: usize| (live["Listeners"][at]["Description"].clone(), live["Listeners"][at]["VServerGroupId"].clone());
    assert_eq!(
        listeners(0),
        (json!(format!("k8s/80/web/default/{CLUSTER_ID}")), live["Groups"][1]["VServerGroupId"].clone())
    );
    assert_eq!(live["Listeners"][1], by_hand()["Listeners"][1], "at another port");
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    let (deletion, written) = delete(&played, &mut service);
    assert_eq!(
        (deletion, written.join(" ")),
        (Deletion::Done, "DeleteLoadBalancerListener DeleteVServerGroup".to_owned())
    );
    let live = body(&played);
    assert_eq!(live["Listeners"], json!([by_hand()["Listeners"][1]]));
    assert_eq!(live["Groups"], by_hand()["Groups"]);
}

#[test]
fn groups_of_ones_own_take_machines_by_a_weight() {
    let played = played();
    let mut service = named("vgroup-port", "rsp-mine:80").with_annotation(format!("{PREFIX}weight"), "60");
    assert_eq!(writes(&played.settle(&mut service)), ["AddVServerGroupBackendServers"]);
    let all = |weight: u32| {
        let mut all = vec!["i-mine 100".to_owned()];
        all.extend((1..=3).map(|it| format!("i-bp00{it} {weight}")));
        all
    };
    assert_eq!(machines(&played, 0), all(20));
    for (weight, part) in [("2", 1), ("0", 0)] {
        service.annotations.pop();
        service = service.with_annotation(format!("{PREFIX}weight"), weight);
        assert_eq!(writes(&played.settle(&mut service)), ["SetVServerGroupAttribute"], "{weight}");
        assert_eq!(machines(&played, 0), all(part), "{weight}");
    }
    // Where an annotation is refused, machines follow with the same weights.
    service = service.with_annotation(format!("{PREFIX}network-type"), "classic");
    service.nodes.pop();
    assert!(played.call(&mut service).is_err());
    assert_eq!(machines(&played, 0), all(0)[..3]);
    let removed = vec!["RemoveVServerGroupBackendServers".to_owned()];
    assert_eq!(delete(&played, &mut service), (Deletion::Done, removed));
    assert_eq!(body(&played), by_hand());
}

#[test]
fn groups_that_are_no_ones_own_are_refused() {
    let played = played();
    let mut live = by_hand();
    live["Groups"].as_array_mut().unwrap().push(
        json!({ "VServerGroupId": "rsp-other", "VServerGroupName": "k8s/30080/other/default/c2", "Servers": [] }),
    );
    put(&played, live.clone());
    for (groups, words) in [
        ("rsp-other:80", "was made for a Service"),
        ("rsp-elsewhere:80", "is not there"),
        ("rsp-mine:81", "none of the Service"),
        ("rsp-mine:80,rsp-mine:90", "two node ports"),
        ("mine:80", "is not"),
    ] {
        let mut service = named("vgroup-port", groups).with_port(Port::new(Protocol::Tcp, 90, 30_090));
        played.call(&mut service).unwrap();
        let refused = played.call(&mut service);
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(words)), "{groups}: {refused:?}");
    }
    let mut own = annotated("vgroup-port", "rsp-mine:80");
    assert!(matches!(played.call(&mut own), Err(Error::Invalid(why)) if why.contains("alone: take it away")));
    assert_eq!(body(&played), live);
}

#[test]
fn a_group_that_a_listener_needs_stays_without_machines() {
    let played = played();
    let mut service = annotated("id", "lb-1");
    played.settle(&mut service);
    {
        let mut cloud = played.cloud.borrow_mut();
        let live = &mut cloud.cloud().balancers.get_mut("lb-1").unwrap().body;
        let group = live["Groups"][1]["VServerGroupId"].clone();
        live["Listeners"][0]["VServerGroupId"] = group;
    }
    let removed = vec!["RemoveVServerGroupBackendServers".to_owned()];
    assert_eq!(delete(&played, &mut service), (Deletion::Done, removed));
    assert_eq!(machines(&played, 1), [""; 0]);
    assert_eq!(body(&played)["Listeners"].as_array().unwrap().len(), 2);
}

#[test]
fn a_load_balancer_of_ones_own_is_never_made_again() {
    let played = played();
    let mut service = annotated("id", "lb-9");
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("lb-9")), "{refused:?}");
    service = annotated("id", "lb-1");
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().balancers.remove("lb-1");
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("lb-1")), "{refused:?}");
    assert!(!writes(&played.host.sent()).contains(&"CreateLoadBalancer"));
    assert_eq!(delete(&played, &mut service), (Deletion::Done, Vec::new()));
}

#[test]
fn a_preserved_load_balancer_of_ones_own_keeps_its_parts() {
    let played = played();
    let mut service = named("preserve-lb-on-delete", "true");
    played.settle(&mut service);
    let before = body(&played);
    let (deletion, written) = delete(&played, &mut service);
    assert!(matches!(&deletion, Deletion::Kept(why) if why.contains("preserve-lb-on-delete")), "{deletion:?}");
    assert_eq!((written, body(&played)), (Vec::new(), before));
}
