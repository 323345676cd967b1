//! Dedicated servers behind nodes: cases 5 to 8, 13 and 14.

use cloud_provider::{Address, AddressKind, Error, State};
use tests::clouds::hetzner::Server;
use tests::clouds::hetzner::robot::{Authorization, Dedicated, Fault};

use crate::setup::{self, RobotRig, joining, node, warning, with_robot};

const ENABLED: (&str, &str) = ("robot.enabled", "true");

/// A project, and a dedicated server.
async fn rig() -> RobotRig {
    let rig = with_robot(&[ENABLED, ("addressFamily", "dualstack")]).await;
    rig.robot.servers().insert(Dedicated::new(7, "metal"));
    rig
}

#[tokio::test]
async fn hcloud_05_the_old_form_of_an_id_is_asked_of_robot() {
    let rig = rig().await;
    let found = rig.get(node("metal", "hcloud://bm-7")).await.unwrap().unwrap();
    assert_eq!((found.provider_id.as_deref(), found.state), (Some("hrobot://7"), State::Running));
    assert_eq!(rig.requests(), [""; 0], "the cloud is not asked");
    let requests = rig.robot.requests();
    assert!(requests.iter().all(|it| it.authorization == Authorization::Accepted));
    let ids = ["hcloud://bm-7", "hrobot://7", "hcloud://7"].map(str::to_owned);
    let canonical = rig.abilities.instances.as_ref().unwrap().canonical_ids(&ids).await;
    assert_eq!(canonical[0], canonical[1]);
    assert_ne!(canonical[0], canonical[2]);
}

#[tokio::test]
async fn hcloud_06_another_name_in_robot_is_another_node() {
    let rig = rig().await;
    let reply = rig.ask(node("other", "hrobot://7")).await;
    assert_eq!(reply.answer, Ok(None));
    assert_eq!(warning(&reply.events).0, "PossibleNodeDeletion");
}

#[tokio::test]
async fn hcloud_07_without_robot_a_dedicated_server_is_not_absent() {
    let rig = setup::rig(&[]).await;
    let answer = rig.get(node("metal", "hrobot://7")).await;
    assert!(matches!(answer, Err(Error::Invalid(_))), "{answer:?}");
}

#[tokio::test]
async fn hcloud_08_one_name_in_both_is_an_error() {
    let rig = rig().await;
    rig.cloud.servers().insert(Server::new(9, "metal"));
    let reply = rig.ask(joining("metal")).await;
    assert!(matches!(reply.answer, Err(Error::Invalid(_))), "{:?}", reply.answer);
    assert_eq!(warning(&reply.events).0, "InstanceLookupFailed");
    rig.cloud.servers().remove(9);
    let found = rig.get(joining("metal")).await.unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("hrobot://7"));
}

#[tokio::test]
async fn hcloud_13_a_product_becomes_a_type() {
    let rig = rig().await;
    rig.robot.servers().update(7, |server| {
        server.product = "AX41 NVMe (x)".to_owned();
        server.power = "shut off";
    });
    let found = rig.get(node("metal", "hrobot://7")).await.unwrap().unwrap();
    let words = [&found.machine_type, &found.region, &found.zone].map(|it| it.as_deref().unwrap_or_default());
    assert_eq!(words, ["AX41-NVMe-x", "fsn1", "fsn1-dc14"]);
    assert_eq!(found.state, State::Stopped);
    assert_eq!(found.labels, [("instance.hetzner.cloud/provided-by".to_owned(), "robot".to_owned())]);
}

#[tokio::test]
async fn hcloud_14_an_internal_address_that_is_public_is_dropped() {
    let rig = rig().await;
    let internal = |ip: &str| Address { kind: AddressKind::InternalIp, value: ip.to_owned() };
    let mut metal = node("metal", "hrobot://7");
    metal.addresses = vec![internal("10.1.0.7"), internal("198.19.128.7")];
    let reply = rig.ask(metal).await;
    let addresses: Vec<_> = reply.answer.unwrap().unwrap().addresses.into_iter().map(|it| it.value).collect();
    assert_eq!(addresses, ["metal", "2001:db8:d000:7::1", "198.19.128.7", "10.1.0.7"]);
    assert_eq!(warning(&reply.events).0, "MisconfiguredInternalIP");
}

#[tokio::test]
async fn a_list_without_robot_has_a_gap_and_all_cloud_servers() {
    let rig = rig().await;
    let instances = rig.abilities.instances.clone().unwrap();
    let first = instances.list(None, 50).await.answer.unwrap();
    assert_eq!((first.instances.len(), first.gaps.len()), (2, 0));
    let second = instances.list(first.next.clone(), 50).await.answer.unwrap();
    assert_eq!(second.instances[0].provider_id.as_deref(), Some("hrobot://7"));
    rig.robot.inject(Fault::status("GET", "/server", 500));
    let failed = instances.list(first.next, 50).await.answer.unwrap();
    assert_eq!((failed.instances.len(), failed.gaps.len(), failed.next), (0, 1, None));
}
