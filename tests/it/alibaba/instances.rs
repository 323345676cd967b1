//! Machines behind nodes, through wasm, gate and signature.

use std::time::Duration;

use cloud_provider::{Error, Node, State};
use serde_json::json;
use tests::clouds::alibaba::{Fault, Options, machine_address, machine_id};
use tests::vendor::{AlibabaCloud, Vendor as _, joining, node};

use crate::setup::Rig;

/// The provider id of a machine.
fn id(number: u8) -> String {
    AlibabaCloud::worker(number).provider_id.unwrap()
}

/// Cases: alibaba 1
#[tokio::test]
async fn alibaba_001_machines_come_in_pages_of_a_hundred() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=250).for_each(|it| world.add_machine(it, &format!("web-{it}"))));
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.list_all(100).await.len(), 250);
    assert_eq!(rig.asked_since(begun), ["ecs/DescribeInstances → 200"; 3]);
}

/// Cases: alibaba 2, alibaba 3, alibaba 6, alibaba 12
#[tokio::test]
async fn alibaba_002_a_machine_is_found_by_both_forms_of_its_id() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| {
        let it = world.instances.get_mut(&machine_id(1)).unwrap();
        it["PublicIpAddress"] = json!({ "IpAddress": ["198.51.100.1"] });
        it["EipAddress"] = json!({ "IpAddress": "198.51.100.2", "AllocationId": "eip-1" });
    });
    for provider_id in [id(1), format!("alicloud://{}", id(1))] {
        let found = rig.get(node("web-1", &provider_id)).await.unwrap().unwrap();
        let words = [&found.machine_type, &found.zone, &found.region].map(|it| it.as_deref().unwrap_or_default());
        assert_eq!((words, found.state), (["ecs.g7.large", "cn-hangzhou-b", "cn-hangzhou"], State::Running));
        let addresses: Vec<&str> = found.addresses.iter().map(|it| it.value.as_str()).collect();
        assert_eq!(addresses, ["198.51.100.1", "198.51.100.2", &machine_address(1)]);
    }
    rig.cloud.with(|world| world.instances.get_mut(&machine_id(1)).unwrap()["Status"] = json!("Stopped"));
    assert_eq!(rig.get(node("web-1", &id(1))).await.unwrap().unwrap().state, State::Stopped);
}

/// Cases: alibaba 4, alibaba 5
#[tokio::test]
async fn alibaba_004_other_ids_are_not_asked_about() {
    let rig = Rig::instant().await;
    let begun = rig.cloud.requests().len();
    let reply = rig.ask(node("web-1", "aws:///z/i-1")).await;
    assert!(matches!(reply.answer, Err(Error::Invalid(_))), "{reply:?}");
    assert!(rig.get(node("web-1", "ack-hybrid://x")).await.unwrap().is_some());
    assert_eq!(rig.asked_since(begun), [""; 0]);
}

/// Cases: alibaba 7, alibaba 8
#[tokio::test]
async fn alibaba_007_a_machine_is_gone_if_the_account_may_see_it() {
    let rig = Rig::instant().await;
    AlibabaCloud::remove_machine(rig.cloud.account(), 1);
    assert_eq!(rig.get(node("web-1", &id(1))).await, Ok(None));
    rig.cloud.ram().deny("ecs:DescribeInstances");
    let reply = rig.ask(node("web-2", &id(2))).await;
    assert!(matches!(&reply.answer, Err(Error::Denied(why)) if why.contains("Forbidden.RAM")), "{reply:?}");
}

/// Cases: alibaba 10
#[tokio::test]
async fn alibaba_010_a_node_without_id_is_found_by_its_address() {
    let rig = Rig::instant().await;
    let at = |name: &str, number: u8| Node { provider_id: None, name: name.to_owned(), ..AlibabaCloud::worker(number) };
    let found = rig.get(at("of-another-name", 2)).await.unwrap().unwrap();
    assert_eq!(found.provider_id, Some(id(2)));
    assert_eq!(rig.get(joining("web-3")).await.unwrap().unwrap().provider_id, Some(id(3)));
    rig.cloud.with(|world| {
        let attributes = world.instances.get(&machine_id(2)).unwrap()["VpcAttributes"].clone();
        world.instances.get_mut(&machine_id(3)).unwrap()["VpcAttributes"] = attributes;
    });
    let reply = rig.ask(at("of-another-name", 2)).await;
    assert!(matches!(reply.answer, Err(Error::Invalid(_))), "{reply:?}");
}

/// Cases: alibaba 9
#[tokio::test]
async fn alibaba_009_a_throttled_endpoint_rests() {
    let rig = Rig::instant().await;
    rig.cloud.inject(Fault::status("POST", "/ecs/DescribeInstances", 429).times(1));
    let reply = rig.ask(node("web-1", &id(1))).await;
    let pause = match &reply.answer {
        Err(Error::RetryAfter { after, reason }) if reason.contains("Throttling.User") => *after,
        other => panic!("another answer: {other:?}"),
    };
    assert!(pause > Duration::ZERO && pause <= Duration::from_secs(5), "the cloud names no pause: {pause:?}");
    let begun = rig.cloud.requests().len();
    let reply = rig.ask(node("web-2", &id(2))).await;
    assert!(matches!(reply.answer, Err(Error::RetryAfter { .. })), "{reply:?}");
    assert_eq!(rig.asked_since(begun), [""; 0], "nothing leaves for an endpoint that rests");
}

/// Cases: alibaba 11
#[tokio::test]
async fn alibaba_011_ipv6_addresses_are_the_primary_interfaces() {
    for (is_dual, expected) in [("false", &[][..]), ("true", &["2001:db8::1"])] {
        let rig = Rig::set(Options::instant(), &[("dualStack", is_dual)]).await;
        rig.cloud.with(|world| {
            let machine = world.instances.get_mut(&machine_id(1)).unwrap();
            let all = machine["NetworkInterfaces"]["NetworkInterface"].as_array_mut().unwrap();
            all[0]["Ipv6Sets"] = json!({ "Ipv6Set": [{ "Ipv6Address": "2001:db8::1" }] });
            let other = json!({
                "NetworkInterfaceId": "eni-99", "Type": "Secondary", "Ipv6Sets": { "Ipv6Set": [{ "Ipv6Address": "2001:db8::99" }] },
            });
            all.push(other);
        });
        let found = rig.get(node("web-1", &id(1))).await.unwrap().unwrap();
        let all = found.addresses.iter().map(|it| it.value.as_str());
        assert_eq!(all.filter(|it| it.contains(':')).collect::<Vec<_>>(), expected, "{is_dual}");
        rig.cloud.assert_valid();
    }
}
