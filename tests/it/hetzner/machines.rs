//! Cloud servers behind nodes: cases 1, 2 and 9 to 12.

use cloud_provider::{Address, AddressKind, Error, State};
use tests::clouds::hetzner::{Server, Status};

use crate::setup::{self, joining, node, rig, server};

fn address(kind: AddressKind, value: &str) -> Address {
    Address { kind, value: value.to_owned() }
}

#[tokio::test]
async fn hcloud_01_a_running_server_exists_and_runs() {
    let rig = rig(&[]).await;
    let found = rig.get(node("web-1", "hcloud://1")).await.unwrap().unwrap();
    assert_eq!((found.name.as_str(), found.state), ("web-1", State::Running));
    assert_eq!(rig.requests(), ["GET /v1/servers/1 → 200"]);
}

#[tokio::test]
async fn hcloud_02_a_server_that_is_off_is_shut_down() {
    let rig = rig(&[]).await;
    for status in [Status::Starting, Status::Stopping, Status::Migrating, Status::Rebuilding, Status::Unknown] {
        rig.cloud.servers().insert(server(1).status(status));
        let found = rig.get(node("web-1", "hcloud://1")).await.unwrap().unwrap();
        assert_eq!(found.state, State::Running, "{status:?}");
    }
    rig.cloud.servers().insert(server(1).status(Status::Off));
    let found = rig.get(node("web-1", "hcloud://1")).await.unwrap().unwrap();
    assert_eq!(found.state, State::Stopped);
}

#[tokio::test]
async fn hcloud_09_addresses_come_in_order() {
    let rig = rig(&[("addressFamily", "dualstack"), ("network", "4711")]).await;
    let net = "2001:db8:1:2::".parse().unwrap();
    rig.cloud.servers().insert(server(1).ipv6(Some(net)));
    let found = rig.get(node("web-1", "hcloud://1")).await.unwrap().unwrap();
    let expected = [
        address(AddressKind::Hostname, "web-1"),
        address(AddressKind::ExternalIp, "198.18.0.1"),
        address(AddressKind::ExternalIp, "2001:db8:1:2::1"),
        address(AddressKind::InternalIp, "10.0.0.2"),
    ];
    assert_eq!(found.addresses, expected);
}

#[tokio::test]
async fn hcloud_10_a_private_server_has_no_external_address() {
    let rig = rig(&[("network", "net")]).await;
    rig.cloud.servers().insert(server(1).ipv4(None));
    let found = rig.get(node("web-1", "hcloud://1")).await.unwrap().unwrap();
    assert_eq!(
        found.addresses,
        [address(AddressKind::Hostname, "web-1"), address(AddressKind::InternalIp, "10.0.0.2")]
    );
    assert_eq!(rig.requests(), ["GET /v1/servers/1 → 200", "GET /v1/networks?name=net → 200"]);
}

#[tokio::test]
async fn hcloud_11_a_server_tells_where_it_is() {
    let rig = rig(&[]).await;
    let found = rig.get(joining("web-1")).await.unwrap().unwrap();
    let words = [&found.machine_type, &found.region, &found.zone].map(|it| it.as_deref().unwrap_or_default());
    assert_eq!(words, ["cx22", "fsn1", "fsn1-dc14"]);
    assert_eq!(found.labels, [("instance.hetzner.cloud/provided-by".to_owned(), "cloud".to_owned())]);
    let rig = setup::rig(&[("zoneLabel", "false")]).await;
    assert_eq!(rig.get(node("web-1", "hcloud://1")).await.unwrap().unwrap().zone, None);
}

#[tokio::test]
async fn hcloud_12_three_requests_list_120_servers() {
    let rig = rig(&[]).await;
    for id in 3..=120 {
        rig.cloud.servers().insert(Server::new(id, &format!("web-{id}")));
    }
    let (mut found, mut cursor) = (0, None);
    let instances = rig.abilities.instances.clone().unwrap();
    loop {
        let page = instances.list(cursor, 50).await.answer.unwrap();
        found += page.instances.len();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((found, rig.requests().len()), (120, 3));
}

#[tokio::test]
async fn the_identity_is_the_network_of_the_project() {
    let rig = rig(&[("network", "net")]).await;
    let ask = async || rig.abilities.identity.identity().await;
    assert_eq!(ask().await, Ok(Some("network 4711".to_owned())));
    rig.cloud.networks().remove(4711);
    assert!(matches!(ask().await, Err(Error::Denied(_))));
}
