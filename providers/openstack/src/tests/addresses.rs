//! Which addresses nodes get, and in which order: as the vendor's controller showed them, and its settings.

use aerostat_sdk::{Address, AddressKind, Instances, Node};
use serde_json::{Value, json};

use super::*;
use crate::OpenStack;

/// The addresses of a node whose server and ports were changed, as `InternalIP 10.6.0.11`.
fn addresses(settings: &[(&str, &str)], change: impl FnOnce(&mut Project)) -> Vec<String> {
    let mut project = one();
    change(&mut project);
    let host = settings.iter().fold(project.host(), |it, (name, value)| it.setting(name, value));
    let node = Node::named("node-1").with_provider_id(id(1));
    let found = host.run(|| OpenStack::get(&node)).unwrap().unwrap();
    let shown = |Address { kind, value }: Address| {
        let kind = match kind {
            AddressKind::InternalIp => "InternalIP",
            AddressKind::ExternalIp => "ExternalIP",
            AddressKind::Hostname => "Hostname",
            other => panic!("{other:?}"),
        };
        format!("{kind} {value}")
    };
    found.addresses.into_iter().map(shown).collect()
}

fn nova(address: &str, kind: &str) -> Value {
    json!({ "version": 4, "addr": address, "OS-EXT-IPS:type": kind })
}

/// The server of node-3: a floating IP.
fn floating(project: &mut Project) {
    project.servers[0]["addresses"]["k8s"] =
        json!([nova("fd00:6::11", "fixed"), nova("10.6.0.11", "fixed"), nova("172.24.4.150", "floating")]);
}

/// A server in the networks private, public and storage.
fn three(project: &mut Project) {
    project.ports = vec![port(1, 1, &["10.2.0.5"]), port(2, 1, &["203.0.113.5"]), port(3, 1, &["10.9.0.5"])];
    project.servers[0]["addresses"] = json!({
        "storage": [nova("10.9.0.5", "fixed")], "public": [nova("203.0.113.5", "fixed")], "private": [nova("10.2.0.5", "fixed")],
    });
}

#[test]
fn openstack_015_a_floating_address_is_external() {
    let external = addresses(&[], floating);
    assert_eq!(external, ["InternalIP 10.6.0.11", "InternalIP fd00:6::11", "ExternalIP 172.24.4.150"]);
}

#[test]
fn addresses_are_those_of_the_vendors_controller() {
    assert_eq!(addresses(&[], |_| ()), ["InternalIP 10.6.0.11", "InternalIP fd00:6::11"]);
    // node-2 and node-4 of the recordings.
    let named = addresses(&[], |it| it.servers[0]["metadata"] = json!({ "hostname": "node-2.example.com" }));
    assert_eq!(named, ["InternalIP 10.6.0.11", "InternalIP fd00:6::11", "Hostname node-2.example.com"]);
    let second = addresses(&[], |it| it.ports.push(port(102, 1, &["10.8.0.202"])));
    assert_eq!(second, ["InternalIP 10.6.0.11", "InternalIP fd00:6::11", "InternalIP 10.8.0.202"]);
    let access = addresses(&[], |project| {
        project.servers[0]["accessIPv4"] = json!("192.0.2.7");
        project.servers[0]["accessIPv6"] = json!("2001:db8::7");
        floating(project);
    });
    let expected = ["ExternalIP 192.0.2.7", "ExternalIP 2001:db8::7", "ExternalIP 172.24.4.150"];
    assert_eq!(access[2..], expected);
}

#[test]
fn openstack_014_addresses_of_public_networks_are_external() {
    let public = addresses(&[("networking.publicNetworkNames", "public")], three);
    assert_eq!(public, ["InternalIP 10.2.0.5", "InternalIP 10.9.0.5", "ExternalIP 203.0.113.5"]);
}

#[test]
fn openstack_016_addresses_of_other_networks_are_left_out() {
    let settings = [("networking.internalNetworkNames", "private"), ("networking.publicNetworkNames", "public,dmz")];
    assert_eq!(addresses(&settings, three), ["InternalIP 10.2.0.5", "ExternalIP 203.0.113.5"]);
    // Not public, not internal.
    assert_eq!(addresses(&settings[..1], three), ["InternalIP 10.2.0.5"]);
}

#[test]
fn openstack_017_addresses_are_in_the_order_of_the_setting() {
    let order = |order: &str| {
        addresses(&[("networking.addressSortOrder", order)], |project| {
            three(project);
            project.servers[0]["metadata"] = json!({ "hostname": "node-1" });
        })
    };
    let unsorted = ["InternalIP 10.2.0.5", "InternalIP 203.0.113.5", "InternalIP 10.9.0.5", "Hostname node-1"];
    assert_eq!(order("192.168.0.0/16"), unsorted);
    let sorted = ["InternalIP 10.9.0.5", "InternalIP 10.2.0.5", "InternalIP 203.0.113.5", "Hostname node-1"];
    assert_eq!(order("10.9.0.0/16,10.2.0.0/16"), sorted);
    assert_eq!(
        order("10.0.0.0/8"),
        ["InternalIP 10.2.0.5", "InternalIP 10.9.0.5", "InternalIP 203.0.113.5", "Hostname node-1"]
    );
}

#[test]
fn ipv6_may_be_left_out() {
    let v4 = addresses(&[("networking.ipv6SupportDisabled", "true")], |project| {
        project.servers[0]["accessIPv6"] = json!("2001:db8::7");
        floating(project);
    });
    assert_eq!(v4, ["InternalIP 10.6.0.11", "ExternalIP 172.24.4.150"]);
}

#[test]
fn openstack_018_an_address_of_a_port_that_is_down_is_missing() {
    // Nova shows it all the same.
    let without = addresses(&[], |project| {
        three(project);
        project.ports[1]["status"] = json!("DOWN");
    });
    assert_eq!(without, ["InternalIP 10.2.0.5", "InternalIP 10.9.0.5"]);
}

#[test]
fn ports_that_hang_on_a_port_add_their_addresses() {
    let trunk = |project: &mut Project| {
        project.ports[0]["trunk_details"] = json!({ "trunk_id": "t", "sub_ports": [{ "port_id": id(200) }] });
        let mut hanging = port(200, 0, &["10.20.0.5"]);
        hanging["device_id"] = json!("t");
        hanging["network_id"] = json!("n-vlan");
        project.ports.push(hanging);
        project.networks = vec![json!({ "id": "n-vlan", "name": "vlan" })];
    };
    assert_eq!(addresses(&[], trunk), ["InternalIP 10.6.0.11", "InternalIP fd00:6::11", "InternalIP 10.20.0.5"]);
    let external = addresses(&[("networking.publicNetworkNames", "vlan")], trunk);
    assert_eq!(external, ["InternalIP 10.6.0.11", "InternalIP fd00:6::11", "ExternalIP 10.20.0.5"]);
}
