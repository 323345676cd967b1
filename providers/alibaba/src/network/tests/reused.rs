//! Network Load Balancers of somebody's own, which a Service names: its parts come and go, and everything else stays.

use aerostat_sdk::testing::FakeMoment;

use super::*;
use crate::load_balancer::marks::{CLUSTER_UID, VENDOR_CLUSTER};
use crate::load_balancer::reused;

/// The id of the one that is somebody's own.
const OWN: &str = "nlb-mine";

/// A cloud with it, which listens at port 80, and an operator who lets Services name it.
fn by_hand(tags: &Value) -> Played<FakeNlb> {
    let mut played = alone(tags);
    played.host = played.host.clone().setting("adoptById", "true");
    played
}

/// The same without the operator's word.
fn alone(tags: &Value) -> Played<FakeNlb> {
    let played = Played::new(FakeNlb::default());
    let balancer = json!({
        "Tags": tags, "ZoneMappings": [{ "ZoneId": "cn-hangzhou-b", "VSwitchId": "vsw-b" }, { "ZoneId": "cn-hangzhou-g", "VSwitchId": "vsw-g" }],
        "SecurityGroupIds": [], "IsNew": false, "AddressType": "Internet", "AddressIpVersion": "Ipv4",
        "CrossZoneEnabled": true, "DeletionProtectionConfig": { "Enabled": false }, "ModificationProtectionConfig": {},
    });
    let server =
        json!({ "ServerId": "i-mine", "ServerType": "Ecs", "Port": 8080, "Weight": 100, "Description": "mine" });
    let group = json!({ "Tags": [], "Servers": [server], "Scheduler": "Wrr", "Protocol": "TCP", "HealthCheck": {} });
    let other = json!({ "Tags": [], "Servers": [], "Scheduler": "Wrr", "Protocol": "TCP", "HealthCheck": {} });
    let listener = json!({
        "LoadBalancerId": OWN, "ListenerStatus": "Running", "ListenerPort": 80, "ListenerProtocol": "TCP",
        "ListenerDescription": "mine", "ServerGroupId": "sgp-mine",
    });
    {
        let mut shared = played.cloud.borrow_mut();
        let cloud = shared.cloud();
        cloud.balancers.put(OWN, "by-hand", balancer, FakeMoment::default());
        cloud.groups.put("sgp-mine", "mine", group, FakeMoment::default());
        cloud.groups.put("sgp-elsewhere", "elsewhere", other, FakeMoment::default());
        cloud.listeners.put("lsn-mine", "", listener, FakeMoment::default());
    }
    played
}

/// A Service that names it, and no zones.
fn named(annotations: &[(&str, &str)]) -> LoadBalancer {
    let service = LoadBalancer { load_balancer_class: Some(CLASS.to_owned()), ..played::service() };
    let service = service.with_annotation(format!("{PREFIX}id"), OWN);
    annotations.iter().fold(service, |it, (name, value)| it.with_annotation(format!("{PREFIX}{name}"), *value))
}

fn standing(played: &Played<FakeNlb>) -> Vec<Value> {
    played.cloud.borrow_mut().cloud().objects().into_iter().map(|it| it.body).collect()
}

/// The weights of the machines in the group of somebody's own.
fn weights(played: &Played<FakeNlb>) -> Vec<u64> {
    let servers = played.cloud.borrow_mut().cloud().groups.get("sgp-mine").unwrap().body["Servers"].clone();
    servers.as_array().unwrap().iter().map(|it| it["Weight"].as_u64().unwrap()).collect()
}

#[test]
fn a_network_load_balancer_of_ones_own_gets_groups_alone() {
    let played = by_hand(&json!([]));
    let before = standing(&played);
    let mut service = named(&[]);
    assert_eq!(writes(&played.settle(&mut service)), ["CreateServerGroup", "AddServersToServerGroup"]);
    assert_eq!(service.memo, Some(reused::memo(OWN)));
    assert_eq!(service.current_ingress, [Ingress::hostname("nlb-mine.cn-hangzhou.nlb.aliyuncs.example")]);
    assert!(before.iter().all(|it| standing(&played).contains(it)), "nothing of it is changed");
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.nodes.pop();
    assert_eq!(writes(&played.settle(&mut service)), ["RemoveServersFromServerGroup"]);
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(standing(&played), before);
}

#[test]
fn a_network_load_balancer_of_ones_own_keeps_its_zones() {
    let played = by_hand(&json!([]));
    let before = standing(&played);
    let zones = "cn-hangzhou-g:vsw-g2,cn-hangzhou-h:vsw-h";
    let mut service = named(&[("force-override-listeners", "true"), ("zone-maps", zones)]);
    let sent = played.settle(&mut service);
    assert!(!writes(&sent).contains(&"UpdateLoadBalancerZones"), "{:?}", writes(&sent));
    assert!(standing(&played).contains(&before[0]), "it is as it was");
    assert_eq!(played.reasons(), ["ServiceFieldsIgnored"]);
}

#[test]
fn network_listeners_of_ones_own_are_overridden_on_demand() {
    let played = by_hand(&json!([]));
    let mut service = named(&[("force-override-listeners", "true")]);
    let expected = ["CreateServerGroup", "AddServersToServerGroup", "UpdateListenerAttribute"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    let kinds = ["load balancer", "server group", "listener"];
    let objects = played.cloud.borrow_mut().cloud().objects();
    assert_eq!(kinds.map(|kind| objects.iter().filter(|it| it.kind == kind).count()), [1, 2, 0]);
    assert_eq!(weights(&played), [100]);
}

#[test]
fn network_groups_of_ones_own_take_machines_by_a_weight() {
    let played = by_hand(&json!([]));
    let before = standing(&played);
    let mut service = named(&[("vgroup-port", "sgp-mine:80"), ("weight", "60")]);
    assert_eq!(writes(&played.settle(&mut service)), ["AddServersToServerGroup"]);
    assert_eq!(weights(&played), [100, 20, 20, 20]);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(standing(&played), before);
    for group in ["sgp-elsewhere:80", "sgp-none:80"] {
        let mut service = named(&[("vgroup-port", group)]);
        played.call(&mut service).unwrap();
        let refused = played.call(&mut service);
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("vgroup-port")), "{group}: {refused:?}");
    }
    assert_eq!(standing(&played), before);
}

#[test]
fn a_network_load_balancer_with_a_mark_is_refused() {
    for key in [VENDOR_CLUSTER, CLUSTER_UID] {
        let played = by_hand(&json!([{ "Key": key, "Value": CLUSTER_ID }]));
        let before = standing(&played);
        let mut service = named(&[("force-override-listeners", "true")]);
        let refused = played.call(&mut service);
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(key)), "{refused:?}");
        service.memo = Some(reused::memo(OWN));
        assert!(matches!(played.call(&mut service), Err(Error::Invalid(why)) if why.contains("is not touched")));
        assert!(matches!(delete(&played, &mut service), Deletion::Kept(_)), "{key}");
        assert_eq!(standing(&played), before, "{key}");
    }
}

#[test]
fn an_id_alone_adopts_no_network_load_balancer() {
    let played = alone(&json!([]));
    let mut service = named(&[]);
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("adoptById")), "{refused:?}");
    service.current_ingress = vec![Ingress::hostname("nlb-mine.cn-hangzhou.nlb.aliyuncs.example")];
    assert_eq!(writes(&played.settle(&mut service)), ["CreateServerGroup", "AddServersToServerGroup"]);
    played.cloud.borrow_mut().cloud().balancers.remove(OWN);
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(OWN)), "{refused:?}");
    assert_eq!(delete(&played, &mut service), Deletion::Done);
}
