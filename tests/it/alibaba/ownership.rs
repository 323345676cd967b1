//! Load balancers of this Service, of others, and of nobody, through wasm, gate and signature.

use cloud_provider::{Deletion, Error};
use serde_json::json;
use tests::clouds::alibaba::{CLUSTER, Options};
use tests::vendor::{AlibabaCloud, Service, Vendor as _, warning};

use crate::life::{Life, slow};
use crate::setup::Rig;

/// Cases: alibaba 18
#[tokio::test]
async fn alibaba_018_another_address_type_is_a_warning() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.settle().await;
    life.service.set("address-type", "intranet");
    let begun = rig.cloud.requests().len();
    let (_, events) = life.service.served_with().await;
    let (reason, message) = warning(&events);
    assert!(reason == "LoadBalancerImmutable" && message.contains("its address type stays internet"), "{message}");
    assert_eq!(rig.writes_since(begun), [""; 0]);
}

/// Cases: alibaba 19
#[tokio::test]
async fn alibaba_019_two_with_the_same_tags_are_not_touched() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.settle().await;
    let first = rig.only();
    let second = rig.cloud.with(|world| {
        let body = world.balancers.get(&first).unwrap().clone();
        let keys = ["LoadBalancerName", "AddressType", "Tags"];
        let body = keys.into_iter().map(|it| (it.to_owned(), body[it].clone())).collect();
        world.put_balancer(serde_json::Value::Object(body))
    });
    life.service.desired.memo = None;
    let begun = rig.cloud.requests().len();
    let refused = life.service.refused().await.to_string();
    assert!(refused.contains(&first) && refused.contains(&second), "{refused}");
    assert_eq!(rig.writes_since(begun), [""; 0]);
}

/// A load balancer that somebody else made, with one listener and its group.
fn by_hand(rig: &Rig, tags: &[(&str, &str)]) -> (String, String) {
    rig.cloud.with(|world| {
        let id = world.add_foreign("by-hand", tags);
        let group = world.put_group(&id, "mine", Vec::new());
        world.put_listener(json!({
            "LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "tcp", "VServerGroupId": group,
            "Description": "mine", "Status": "running",
        }));
        (id, group)
    })
}

/// All that is there of load balancers and their parts.
fn standing(rig: &Rig) -> Vec<serde_json::Value> {
    rig.cloud.with(|world| {
        let tables = [&world.balancers, &world.listeners, &world.groups];
        tables.iter().flat_map(|it| it.all()).map(|(_, it)| it.clone()).collect()
    })
}

/// A load balancer of one's own gets groups, and listeners on demand; they go with the Service, and it stays as it was.
///
/// Cases: alibaba 20
#[tokio::test]
async fn alibaba_020_a_load_balancer_of_ones_own_gets_groups_alone() {
    let rig = Rig::set(slow(), &[("adoptById", "true")]).await;
    let (id, _) = by_hand(&rig, &[]);
    let before = standing(&rig);
    let mut life = Life::new(&rig);
    life.service.set("id", &id);
    assert_eq!(life.settle().await, ["CreateVServerGroup"]);
    assert_eq!(life.settle().await, [""; 0]);
    assert!(before.iter().all(|it| standing(&rig).contains(it)), "nothing of it is changed");
    life.service.desired.nodes.pop();
    assert_eq!(life.settle().await, ["RemoveVServerGroupBackendServers"]);
    life.service.gone().await;
    assert_eq!(standing(&rig), before);
    // The listener at the Service's port is its own on demand, and goes with it.
    let mut life = Life::new(&rig);
    life.service.set("id", &id);
    life.service.set("force-override-listeners", "true");
    assert_eq!(life.settle().await, ["CreateVServerGroup", "SetLoadBalancerTCPListenerAttribute"]);
    assert_eq!(life.settle().await, [""; 0]);
    life.service.gone().await;
    assert_eq!(
        rig.cloud.with(|world| [world.balancers.count(), world.listeners.count(), world.groups.count()]),
        [1, 0, 1]
    );
    rig.cloud.assert_valid();
}

/// Groups of one's own take machines by a weight, and lose these alone.
///
/// Cases: alibaba 20
#[tokio::test]
async fn alibaba_020_a_group_of_ones_own_takes_machines_by_a_weight() {
    let rig = Rig::set(slow(), &[("adoptById", "true")]).await;
    let (id, group) = by_hand(&rig, &[]);
    let before = standing(&rig);
    let mut life = Life::new(&rig);
    life.service.set("id", &id);
    life.service.set("vgroup-port", &format!("{group}:80"));
    life.service.set("weight", "60");
    assert_eq!(life.settle().await, ["AddVServerGroupBackendServers"]);
    let weights = rig.cloud.with(|world| {
        let servers = world.groups.get(&group).unwrap()["Servers"].clone();
        servers.as_array().unwrap().iter().map(|it| it["Weight"].clone()).collect::<Vec<_>>()
    });
    assert_eq!(weights, [json!(30), json!(30)]);
    assert_eq!(AlibabaCloud::built(rig.cloud.account())[0].machines, [1, 2]);
    assert_eq!(life.settle().await, [""; 0]);
    life.service.gone().await;
    assert_eq!(standing(&rig), before);
    rig.cloud.assert_valid();
}

/// A Network Load Balancer of one's own, in which the Service has its groups, or its machines in a group that is there.
///
/// Cases: alibaba 20
#[tokio::test]
async fn alibaba_020_a_network_one_of_ones_own_stays_as_it_is() {
    let rig = Rig::set(slow(), &[("adoptById", "true")]).await;
    let (id, group) = rig.cloud.with(|world| {
        let id = world.put_network_balancer(json!({
            "LoadBalancerName": "by-hand",
            "ZoneMappings": [{ "ZoneId": "cn-hangzhou-b", "VSwitchId": "vsw-b" }, { "ZoneId": "cn-hangzhou-g", "VSwitchId": "vsw-g" }],
        }));
        let group = world.put_network_group(json!({ "ServerGroupName": "mine", "Protocol": "TCP" }));
        world.put_network_listener(json!({
            "LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "TCP", "ServerGroupId": group,
            "ListenerDescription": "mine", "ListenerStatus": "Running",
        }));
        (id, group)
    });
    let standing = || -> Vec<serde_json::Value> {
        rig.cloud.with(|world| {
            let tables = [&world.network_balancers, &world.network_listeners, &world.network_groups];
            tables.iter().flat_map(|it| it.all()).map(|(_, it)| it.clone()).collect()
        })
    };
    let before = standing();
    for (annotation, value, expected) in [
        ("vgroup-port", format!("{group}:80"), &["AddServersToServerGroup"][..]),
        ("vgroup-port", String::new(), &["CreateServerGroup", "AddServersToServerGroup"]),
        (
            "zone-maps",
            "cn-hangzhou-b:vsw-g,cn-hangzhou-h:vsw-h".to_owned(),
            &["CreateServerGroup", "AddServersToServerGroup"],
        ),
    ] {
        let mut life = Life::network(&rig);
        life.service.remove("zone-maps");
        life.service.set("id", &id);
        life.service.set(annotation, &value);
        assert_eq!(life.settle().await, expected, "{value}");
        assert_eq!(life.settle().await, [""; 0], "{value}");
        life.service.gone().await;
        assert_eq!(standing(), before, "{value}");
    }
    rig.cloud.assert_valid();
}

/// An annotation proves nothing: without the operator's word a load balancer stays as it is, unless the Service's status shows its address.
///
/// Cases: alibaba 20
#[tokio::test]
async fn alibaba_020_an_id_alone_adopts_no_load_balancer() {
    let rig = Rig::start(slow()).await;
    let (id, _) = by_hand(&rig, &[]);
    let (before, begun) = (standing(&rig), rig.cloud.requests().len());
    let mut thief = Service::new(&rig).named("thief", "33333333-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    for overrides in ["", "true"] {
        thief.set("id", &id);
        thief.set("force-override-listeners", overrides);
        let refused = thief.invalid().await;
        assert!(refused.contains(&id) && refused.contains("adoptById"), "{refused}");
    }
    let deleted = thief.ask_to_delete().await;
    assert_eq!(deleted.answer, Ok(Deletion::Done));
    assert_eq!((standing(&rig), rig.writes_since(begun)), (before, Vec::<String>::new()));
    let mut life = Life::new(&rig);
    life.service.set("id", &id);
    let address = rig.cloud.with(|world| world.balancers.get(&id).unwrap()["Address"].as_str().unwrap().to_owned());
    life.service.desired.current_ingress = vec![cloud_provider::Ingress { ip: Some(address), ..Default::default() }];
    assert_eq!(life.settle().await, ["CreateVServerGroup"]);
    life.service.gone().await;
}

/// Cases: alibaba 21
#[tokio::test]
async fn alibaba_021_the_load_balancer_of_the_api_server_stands() {
    let rig = Rig::set(Options::instant(), &[("adoptById", "true")]).await;
    let id = rig.cloud.with(|world| world.add_foreign("ManagedK8SSlbIntranet", &[("ack.aliyun.com", CLUSTER)]));
    let before = AlibabaCloud::built(rig.cloud.account());
    let begun = rig.cloud.requests().len();
    let mut thief = Service::new(&rig);
    thief.set("id", &id);
    let refused = thief.invalid().await;
    assert!(
        refused.contains(&id) && refused.contains("ack.aliyun.com") && refused.contains("is not touched"),
        "{refused}"
    );
    assert_eq!(thief.ask_to_delete().await.answer, Ok(Deletion::Done));
    assert_eq!(rig.writes_since(begun), [""; 0]);
    // By its name, neither.
    let begun = rig.cloud.requests().len();
    let mut by_name = Service::new(&rig).named("by-name", "22222222-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    by_name.set("name", "ManagedK8SSlbIntranet");
    by_name.served_with().await;
    assert_eq!(AlibabaCloud::built(rig.cloud.account()).len(), 2);
    by_name.gone().await;
    assert_eq!(AlibabaCloud::built(rig.cloud.account()), before);
    let touched = rig.cloud.requests_from(begun).into_iter();
    let touched = touched.filter(|it| it.query.iter().any(|(_, value)| value.contains(&id))).count();
    assert_eq!(touched, 0, "nobody asks about it, either");
    let page = rig.inventory().list(None, 100).await.answer.unwrap();
    assert!(page.items.is_empty(), "no orphan: {page:?}");
}

/// Cases: alibaba 31
#[tokio::test]
async fn alibaba_031_a_load_balancer_that_is_kept_loses_no_listener() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    life.service.set("preserve-lb-on-delete", "true");
    life.settle().await;
    let id = rig.only();
    let why = life.kept().await;
    assert!(why.contains("preserve-lb-on-delete"), "{why}");
    rig.cloud.with(|world| {
        let live = world.balancers.get(&id).unwrap();
        assert_eq!(
            (&live["DeleteProtection"], &live["ModificationProtectionStatus"]),
            (&json!("off"), &json!("NonProtection"))
        );
        let keys: Vec<&str> =
            live["Tags"].as_array().unwrap().iter().map(|it| it["TagKey"].as_str().unwrap()).collect();
        assert!(!keys.iter().any(|it| ["kubernetes.do.not.delete", "ack.aliyun.com"].contains(it)), "{keys:?}");
        assert!(keys.contains(&"aerostat.dev/kept"), "{keys:?}");
    });
    let built = AlibabaCloud::built(rig.cloud.account());
    assert_eq!(
        (built[0].ports.as_slice(), built[0].machines.as_slice(), built[0].serves),
        (&[80][..], &[1, 2][..], true)
    );
    rig.cloud.assert_valid();
}

/// Cases: alibaba 32
#[tokio::test]
async fn alibaba_032_a_load_balancer_that_is_gone_is_deleted() {
    let rig = Rig::start(slow()).await;
    for mut life in [Life::new(&rig), Life::network(&rig)] {
        life.settle().await;
        AlibabaCloud::remove_built(rig.cloud.account(), &rig.only());
        life.service.gone().await;
        assert_eq!(AlibabaCloud::leftovers(rig.cloud.account()), [""; 0]);
    }
}

/// Cases: alibaba 33
#[tokio::test]
async fn alibaba_033_an_address_of_the_internet_may_be_forbidden() {
    let rig = Rig::set(Options::instant(), &[("disablePublicSLB", "true")]).await;
    for mut life in [Life::new(&rig), Life::network(&rig)] {
        let begun = rig.cloud.requests().len();
        let refused = life.service.ask().await.answer;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("disablePublicSLB")), "{refused:?}");
        assert_eq!(rig.writes_since(begun), [""; 0]);
    }
    let mut life = Life::new(&rig);
    life.service.set("address-type", "intranet");
    life.service.served_with().await;
    assert_eq!(AlibabaCloud::built(rig.cloud.account()).len(), 1);
}
