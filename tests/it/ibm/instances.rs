//! Machines behind nodes, through wasm, gate and token.

use cloud_provider::{AddressKind, Error, State};
use serde_json::json;
use tests::clouds::ibm::{Fault, OTHER_VPC, Options, VpcKind, machine_id};
use tests::vendor::{IbmCloud, Vendor as _};

use crate::setup::{Rig, joining, labelled, node, worker};

/// The provider id of a machine.
fn id(number: u8) -> String {
    worker(number).provider_id.unwrap()
}

/// Cases: ibm 1, ibm 10
#[tokio::test]
async fn ibm_001_all_machines_of_the_vpc_are_one_list() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| {
        (4..=230).for_each(|it| _ = world.add_machine(it, &format!("web-{it}")));
        world.add_machine_in(OTHER_VPC, 300, "of-another-vpc");
        world.add_floating_ip(2, "169.48.0.2");
    });
    let begun = rig.cloud.requests().len();
    let all = rig.list_all(100).await;
    assert_eq!(all.len(), 230);
    let asked = rig.asked_since(begun);
    let count = |path: &str| asked.iter().filter(|it| it.starts_with(&format!("GET {path}?"))).count();
    assert_eq!((count("/instances"), count("/floating_ips"), asked.len()), (3, 1, 4), "{asked:#?}");
    let of = |name: &str| all.iter().find(|it| it.name == name).unwrap();
    let external = |name: &str| of(name).addresses.iter().filter(|it| it.kind == AddressKind::ExternalIp).count();
    assert_eq!((external("web-2"), external("web-1")), (1, 0), "never a copy of the internal address");
    assert_eq!(of("web-2").zone.as_deref(), Some("us-south-2"));
}

/// Cases: ibm 2
#[tokio::test]
async fn ibm_002_labels_of_a_worker_cost_no_request() {
    let rig = Rig::instant().await;
    let begun = rig.cloud.requests().len();
    let found = rig.get(labelled()).await.unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("ibm://acc0123456789///c1clusterid/kube-c1-w2"));
    assert!(rig.asked_since(begun).is_empty(), "{:?}", rig.asked_since(begun));
    let mut four = labelled();
    four.labels.pop();
    assert_eq!(rig.get(four).await, Ok(None), "no instance of the VPC has its name");
    assert_eq!(rig.asked_since(begun).len(), 1);
}

/// Cases: ibm 3, ibm 5, ibm 6
#[tokio::test]
async fn ibm_003_a_node_is_found_by_id_and_by_name() {
    let rig = Rig::instant().await;
    let found = rig.get(joining("web-1")).await.unwrap().unwrap();
    assert_eq!(found.provider_id, Some(id(1)));
    let words = [&found.machine_type, &found.zone, &found.region].map(|it| it.as_deref().unwrap_or_default());
    assert_eq!((words, found.state), (["bx2-4x16", "us-south-1", "us-south"], State::Running));
    rig.cloud.with(|world| world.get_mut(VpcKind::Instance, &machine_id(1)).unwrap()["status"] = json!("stopped"));
    assert_eq!(rig.get(node("web-1", &id(1))).await.unwrap().unwrap().state, State::Stopped);
    for (status, state) in [("stopping", State::Running), ("failed", State::Running), ("deleting", State::Running)] {
        rig.cloud.with(|world| world.get_mut(VpcKind::Instance, &machine_id(1)).unwrap()["status"] = json!(status));
        assert_eq!(rig.get(node("web-1", &id(1))).await.unwrap().unwrap().state, state, "{status}");
    }
}

/// Cases: ibm 7, ibm 8
#[tokio::test]
async fn ibm_007_a_machine_that_is_gone_is_denied_by_its_id() {
    let rig = Rig::instant().await;
    IbmCloud::remove_machine(rig.cloud.account(), 1);
    let begun = rig.cloud.requests().len();
    assert_eq!(rig.get(node("web-1", &id(1))).await, Ok(None));
    assert_eq!(rig.asked_since(begun), [format!("GET /instances/{} → 404", machine_id(1))]);
    let begun = rig.cloud.requests().len();
    let worker = "ibm://acc0123456789///c1clusterid/kube-c1-w2";
    assert!(rig.get(node("web-1", worker)).await.unwrap().is_some(), "nobody sees whether it is there");
    assert!(rig.asked_since(begun).is_empty());
}

/// Cases: ibm 4
#[tokio::test]
async fn ibm_004_two_machines_of_one_name_are_an_error() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| world.add_machine(9, "web-1"));
    let reply = rig.ask(joining("web-1")).await;
    assert!(matches!(&reply.answer, Err(Error::Invalid(why)) if why.contains("more than one")), "{reply:?}");
    assert_eq!(reply.events.len(), 1);
}

/// Cases: ibm 9
#[tokio::test]
async fn ibm_009_a_page_that_fails_leaves_no_list() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=150).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let first = rig.instances.list(None, 100).await.answer.unwrap();
    rig.cloud.inject(Fault::status("GET", "/v1/instances", 500));
    assert!(rig.instances.list(first.next, 100).await.answer.is_err());
}

/// Cases: ibm 13
#[tokio::test]
async fn ibm_013_a_token_that_was_taken_back_is_renewed_once() {
    let rig = Rig::start(Options::instant()).await;
    assert!(rig.get(node("web-1", &id(1))).await.unwrap().is_some());
    let tokens = || rig.cloud.requests_to("POST", "/identity/token").len();
    assert_eq!(tokens(), 1);
    rig.cloud.iam().revoke_all();
    let begun = rig.cloud.requests().len();
    assert!(rig.get(node("web-1", &id(1))).await.unwrap().is_some());
    let statuses: Vec<_> = rig.cloud.requests_to("GET", "/v1/instances/*").iter().filter_map(|it| it.status).collect();
    assert_eq!((statuses, tokens()), (vec![200, 401, 200], 2), "{:?}", rig.cloud.requests_from(begun));
}

/// Cases: ibm 11
#[tokio::test]
async fn ibm_011_a_pause_that_the_cloud_asks_for_holds_everything() {
    let rig = Rig::instant().await;
    let seven = std::time::Duration::from_secs(7);
    rig.cloud.inject(IbmCloud::pause(Fault::status("GET", "/v1/instances/*", 429), seven).times(1));
    let refused = rig.get(node("web-1", &id(1))).await;
    assert!(matches!(&refused, Err(Error::RetryAfter { after, .. }) if *after >= seven), "{refused:?}");
    let begun = rig.cloud.requests().len();
    assert!(rig.get(node("web-2", &id(2))).await.is_err());
    assert!(rig.asked_since(begun).is_empty());
}
