//! Nodes get addresses, type and place from their droplets: DO cases 9 to 11.

use std::net::{Ipv4Addr, Ipv6Addr};

use cloud_provider::AddressKind::{ExternalIp, Hostname, InternalIp};
use cloud_provider::{Address, AddressKind, Event, EventKind};
use tests::clouds::digitalocean::Droplet;

use crate::setup::{node, with};

const PRIVATE: Ipv4Addr = Ipv4Addr::new(10, 1, 2, 3);
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 5);
const PUBLIC_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The addresses of a droplet's node, and what the provider says about it; the same alone and in a list.
async fn check(droplet: Droplet, expected: &[(AddressKind, &str)], events: &[Event]) {
    let rig = with([droplet]).await;
    let reply = rig.ask(node("web-1", "digitalocean://42")).await;
    let found = reply.answer.unwrap().expect("there is a droplet");
    let address = |(kind, value): &(AddressKind, &str)| Address { kind: *kind, value: (*value).to_owned() };
    assert_eq!(found.addresses, expected.iter().map(address).collect::<Vec<_>>());
    assert_eq!(reply.events, events);

    let listed = rig.instances.list(None, 200).await;
    assert_eq!(listed.answer.unwrap().instances, [found]);
    assert_eq!(listed.events, events);
}

fn web() -> Droplet {
    Droplet::new(42, "web-1").private_v4([PRIVATE]).public_v4([])
}

#[tokio::test]
async fn do_09_addresses_come_in_order() {
    let droplet = web().public_v4([PUBLIC]).public_v6([PUBLIC_V6]);
    let expected =
        [(Hostname, "web-1"), (InternalIp, "10.1.2.3"), (ExternalIp, "203.0.113.5"), (ExternalIp, "2001:db8::1")];
    check(droplet, &expected, &[]).await;
}

#[tokio::test]
async fn do_10_a_private_droplet_has_no_external_address() {
    check(web(), &[(Hostname, "web-1"), (InternalIp, "10.1.2.3")], &[]).await;
}

#[tokio::test]
async fn do_11_a_droplet_without_private_address_is_a_warning() {
    let warning = Event {
        about: Some("web-1".to_owned()),
        kind: EventKind::Warning,
        reason: "NoPrivateAddress".to_owned(),
        message: "droplet 42 (web-1) has no private IPv4 address, so its node has no InternalIP; put it into a VPC"
            .to_owned(),
    };
    let droplet = web().private_v4([]).public_v4([PUBLIC]);
    check(droplet, &[(Hostname, "web-1"), (ExternalIp, "203.0.113.5")], &[warning]).await;
}
