//! Answers that lead elsewhere, Services that name what is another's, and settings that are somebody else's, through wasm, gate and token.

use std::collections::BTreeMap;

use cloud_provider::Error;
use serde_json::json;
use tests::clouds::ibm::{Fault, OTHER_ACCOUNT, OTHER_VPC, Options, Owner, VPC, VpcKind};
use tests::vendor::{IbmCloud, Vendor as _};

use crate::setup::{Rig, Service};

const INSTANCES: &str = "/v1/instances";

/// Cases: adv 114
#[tokio::test]
async fn adv_114_a_next_page_elsewhere_is_asked_for_at_the_same_place() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=150).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let start = rig.instances.list(None, 100).await.answer.unwrap().next.unwrap();
    for elsewhere in [
        "http://169.254.169.254/instance_identity/v1/token?version=2019-01-01&generation=1&start=",
        "http://127.0.0.1:1/v1/instances?version=2019-01-01&version=2019-01-02&start=",
        "https://us-south.iaas.cloud.ibm.com/v1/vpcs?limit=1&start=",
        "//thief.example/?start=",
    ] {
        let page = json!({
            "instances": [], "first": { "href": elsewhere }, "limit": 100, "total_count": 150, "next": { "href": format!("{elsewhere}{start}") },
        });
        let fault = Fault::status("GET", INSTANCES, 200).header("content-type", "application/json");
        rig.cloud.inject(fault.body(page.to_string()).times(1));
        let next = rig.instances.list(None, 100).await.answer.unwrap().next;
        assert_eq!(next.as_ref(), Some(&start), "{elsewhere}");
        let begun = rig.cloud.requests().len();
        assert_eq!(rig.instances.list(next, 100).await.answer.unwrap().instances.len(), 50);
        let asked = rig.cloud.requests_from(begun);
        let sent = asked.iter().find(|it| it.path == INSTANCES).unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        sent.query.iter().for_each(|(name, _)| *counts.entry(name).or_default() += 1);
        assert!(counts.values().all(|it| *it == 1), "{sent}");
        assert_eq!((sent.query_value("version"), sent.query_value("generation")), (Some("2026-06-23"), Some("2")));
    }
}

/// Cases: adv 114
#[tokio::test]
async fn adv_114_a_token_of_a_page_brings_no_parameter_with_it() {
    let rig = Rig::instant().await;
    let href = "https://us-south.iaas.cloud.ibm.com/v1/instances?start=a%26version%3D2019-01-01%26generation%3D1";
    let page =
        json!({ "instances": [], "first": { "href": href }, "limit": 100, "total_count": 1, "next": { "href": href } });
    let fault = Fault::status("GET", INSTANCES, 200).header("content-type", "application/json");
    rig.cloud.inject(fault.body(page.to_string()).times(1));
    let next = rig.instances.list(None, 100).await.answer.unwrap().next;
    assert_eq!(next.as_deref(), Some("a&version=2019-01-01&generation=1"));
    assert!(rig.instances.list(next, 100).await.answer.is_err(), "the cloud gave no such token");
    let asked = rig.cloud.requests_to("GET", INSTANCES);
    let sent = asked.last().unwrap();
    assert_eq!(sent.query_value("start"), Some("a&version=2019-01-01&generation=1"));
    assert_eq!(sent.query.iter().filter(|(name, _)| ["version", "generation"].contains(&name.as_str())).count(), 2);
}

/// Cases: ibm 36, theft-by-name
#[tokio::test]
async fn ibm_036_load_balancers_of_others_stay() {
    let rig = Rig::instant().await;
    let mut first = Service::new(&rig).with("vpc-lb-name", "shop");
    first.served().await;
    rig.cloud.with(|world| [world.add_foreign(VPC, "api-server"), world.add_foreign(OTHER_VPC, "elsewhere")]);
    let all = || {
        [VpcKind::LoadBalancer, VpcKind::Listener, VpcKind::Pool, VpcKind::Member].map(|it| rig.cloud.account().all(it))
    };
    let before = all();
    for (number, name) in ["shop", "api-server"].into_iter().enumerate() {
        let uid = format!("9c2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a0{number}");
        let mut thief = Service::new(&rig).named("thief", &uid).with("vpc-lb-name", name);
        let why = thief.invalid().await;
        assert!(why.contains("not this Service's"), "{name}: {why}");
        thief.gone().await;
        assert_eq!(all(), before, "{name}");
    }
    let begun = rig.cloud.requests().len();
    first.served().await;
    assert!(rig.writes_since(begun).is_empty());
    // A chosen name of the kind that Services have by themselves is refused before anybody is asked.
    let uid = "9c2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a09";
    let own = IbmCloud::default_name(uid);
    let why = Service::new(&rig).with("vpc-lb-name", &own).invalid().await;
    assert!(why.contains("does not begin with kube-"), "{why}");
}

#[tokio::test]
async fn settings_of_another_account_or_region_are_refused() {
    for (setting, value, part) in [
        ("accountID", "acc0000000000", "is of account acc0123456789, and setting accountID says acc0000000000"),
        ("region", "eu-de", "is in region us-south, and setting region says eu-de"),
        ("region", "us-suoth", "is in region us-south, and setting region says us-suoth"),
        ("vpcID", "r006-nobody", "there is no VPC r006-nobody in region us-south"),
    ] {
        let rig = Rig::with_settings(Options::instant(), &[(setting, value)]).await;
        let refused = rig.abilities.identity.identity().await;
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(part)), "{setting}: {refused:?}");
    }
    let rig = Rig::instant().await;
    let here = rig.abilities.identity.identity().await.unwrap().unwrap();
    assert!(here.contains("acc0123456789") && here.contains(VPC), "{here}");
    rig.cloud.set_owner(Owner::Other);
    let refused = rig.abilities.identity.identity().await;
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(OTHER_ACCOUNT)), "{refused:?}");
}
