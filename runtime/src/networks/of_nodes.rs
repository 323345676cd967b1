//! The nodes' networks, and how far a Node is believed. No I/O.
//!
//! A kubelet creates its own Node with the pod network and the addresses that it likes. Its word is taken for private
//! ranges only, where it explains a denial. A public address counts once the cloud has confirmed it for that node.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use controllers::{Confirmed, KubeNode, believed_pod_network, is_private};
use egress::{NodeNetwork, NodeNetworkKind};
use ipnet::IpNet;
use kube::ResourceExt;

/// The most addresses of one Node, and of one machine, that are read. Machines have a handful.
const ADDRESSES: usize = 64;
/// The most pod networks of one Node: one of each family, says the API server.
const POD_NETWORKS: usize = 2;
/// The networks and addresses that the nodes publish.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Published {
    pub(super) networks: Vec<NodeNetwork>,
    /// A sentence about each pod network that is not believed.
    pub(super) refused: BTreeSet<String>,
}

/// Gathers the networks of nodes, each with what the cloud has confirmed of its machine.
pub(super) fn of_nodes<'a>(nodes: impl IntoIterator<Item = (&'a KubeNode, Option<&'a Confirmed>)>) -> Published {
    // Of several nodes that say the same, the first by name is kept, so that a denial does not change its words.
    let mut networks: BTreeMap<(NodeNetworkKind, IpNet), String> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    for (node, confirmed) in nodes {
        let name = node.name_any();
        let mut add = |kind, network| {
            let first = networks.entry((kind, network)).or_insert_with(|| name.clone());
            if name < *first {
                first.clone_from(&name);
            }
        };
        let confirmed = confirmed.map(|it| it.addresses.as_slice()).unwrap_or_default();
        for address in confirmed.iter().take(ADDRESSES).filter_map(|it| parse(&it.value)) {
            add(NodeNetworkKind::ConfirmedAddress, address);
        }
        let addresses = node.status.as_ref().and_then(|it| it.addresses.as_deref()).unwrap_or_default();
        for address in addresses.iter().take(ADDRESSES).filter_map(|it| parse(&it.address)) {
            if is_private(&address) {
                add(NodeNetworkKind::Address, address);
            }
        }
        for text in pod_networks(node) {
            match believed_pod_network(text) {
                Ok(network) => add(NodeNetworkKind::Pods, network),
                Err(because) => {
                    refused.insert(format!(
                        "node {name} says that its pods are in {text}, {because}; that is not believed: if it is \
                         right, add it to clusterNetworks.pods in --cloud-config"
                    ));
                }
            }
        }
    }
    let networks = networks.into_iter().map(|((kind, network), node)| NodeNetwork { network, kind, node }).collect();
    Published { networks, refused }
}

/// `spec.podCIDRs`, or `spec.podCIDR` where there is no such list.
fn pod_networks(node: &KubeNode) -> impl Iterator<Item = &str> {
    let spec = node.spec.as_ref();
    let listed = spec.and_then(|it| it.pod_cidrs.as_deref()).unwrap_or_default();
    let single = spec.and_then(|it| it.pod_cidr.as_deref());
    listed.iter().take(POD_NETWORKS).map(String::as_str).chain(single.filter(|it| !listed.iter().any(|own| own == it)))
}

/// The address alone, in the family that it belongs to. Names are no addresses.
fn parse(text: &str) -> Option<IpNet> {
    Some(text.parse::<IpAddr>().ok()?.to_canonical().into())
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Address, AddressKind};
    use serde_json::{from_value, json};

    use super::*;

    fn node(name: &str, pods: &[&str], addresses: &[&str]) -> KubeNode {
        let addresses: Vec<_> = addresses.iter().map(|it| json!({ "type": "InternalIP", "address": it })).collect();
        from_value(json!({
            "metadata": { "name": name },
            "spec": { "podCIDR": pods.first(), "podCIDRs": pods },
            "status": { "addresses": addresses },
        }))
        .unwrap()
    }

    fn confirmed(addresses: &[&str]) -> Confirmed {
        let address = |it: &&str| Address { kind: AddressKind::ExternalIp, value: (*it).to_owned() };
        Confirmed { addresses: addresses.iter().map(address).collect(), ..Confirmed::default() }
    }

    fn published(node: &KubeNode, confirmed: Option<&Confirmed>) -> Vec<(NodeNetworkKind, String)> {
        let published = of_nodes([(node, confirmed)]).networks.into_iter();
        published.map(|it| (it.kind, it.network.to_string())).collect()
    }

    #[test]
    fn a_node_names_its_pods_and_its_own_network() {
        let node = node("worker-1", &["10.244.1.0/24", "fd00:1::/64"], &["worker-1", "10.0.0.7", "fd00::7"]);
        let published = of_nodes([(&node, None), (&node, None)]);
        let expected = [
            (NodeNetworkKind::Address, "10.0.0.7/32"),
            (NodeNetworkKind::Address, "fd00::7/128"),
            (NodeNetworkKind::Pods, "10.244.1.0/24"),
            (NodeNetworkKind::Pods, "fd00:1::/64"),
        ]
        .map(|(kind, it)| NodeNetwork { network: it.parse().unwrap(), kind, node: "worker-1".to_owned() });
        assert_eq!(published, Published { networks: expected.into(), refused: BTreeSet::new() });
    }

    #[test]
    fn adv_101_only_private_pod_networks_of_one_node_are_believed() {
        for (text, is_believed) in [
            ("10.244.1.0/24", true),
            ("10.244.0.0/16", true),
            ("172.31.0.0/20", true),
            ("192.168.7.0/28", true),
            ("100.127.0.0/16", true),
            ("169.254.7.0/24", true),
            ("fd00:1::/64", true),
            ("fe80:1::/64", true),
            ("fd00:1::/48", true),
            ("0.0.0.0/0", false),
            ("0.0.0.0/1", false),
            ("10.0.0.0/8", false),
            ("10.0.0.0/7", false),
            ("100.64.0.0/10", false),
            ("104.16.0.0/16", false),
            ("104.16.1.1/32", false),
            ("172.32.0.0/16", false),
            ("198.18.0.0/16", false),
            ("127.0.0.0/16", false),
            ("::/0", false),
            ("fc00::/7", false),
            ("fd00::/32", false),
            ("2606:4700::/64", false),
            ("2606:4700::1/128", false),
            ("::ffff:0:0/96", false),
            ("::ffff:104.16.1.1/128", false),
            ("64:ff9b::/96", false),
            ("2002:6810:101::/48", false),
            ("10.244.1.0", false),
            ("10.244.1.0/33", false),
            ("everything", false),
            ("", false),
        ] {
            let node = node("evil", &[text], &[]);
            let published = of_nodes([(&node, None)]);
            assert_eq!(
                (published.networks.len(), published.refused.len()),
                if is_believed { (1, 0) } else { (0, 1) },
                "{text}"
            );
            let single: KubeNode = from_value(json!({ "spec": { "podCIDR": text } })).unwrap();
            assert_eq!(of_nodes([(&single, None)]).networks.len(), usize::from(is_believed), "podCIDR {text}");
        }
        let published = of_nodes([(&node("evil", &["0.0.0.0/0"], &[]), None)]);
        expect_test::expect![[r#"
            {
                "node evil says that its pods are in 0.0.0.0/0, which is too wide for the pods of one node; that is not believed: if it is right, add it to clusterNetworks.pods in --cloud-config",
            }
        "#]]
        .assert_debug_eq(&published.refused);
    }

    #[test]
    fn adv_101_public_addresses_need_the_clouds_word() {
        let cloud = ["104.16.1.1", "2606:4700::1", "::ffff:104.16.1.2", "64:ff9b::6810:101", "10.0.0.7"];
        let node = node("worker-1", &[], &cloud);
        assert_eq!(published(&node, None), [(NodeNetworkKind::Address, "10.0.0.7/32".to_owned())]);
        // Whether the Node lists it or not: the cloud says so.
        let confirmed = confirmed(&["104.16.1.1", "104.16.9.9", "::ffff:104.16.1.2", "worker-1.internal"]);
        let networks = published(&node, Some(&confirmed));
        let confirmed = |it: &str| (NodeNetworkKind::ConfirmedAddress, it.to_owned());
        let expected = [
            confirmed("104.16.1.1/32"),
            confirmed("104.16.1.2/32"),
            confirmed("104.16.9.9/32"),
            (NodeNetworkKind::Address, "10.0.0.7/32".to_owned()),
        ];
        assert_eq!(networks, expected);
    }

    #[test]
    fn adv_101_a_node_with_thousands_of_addresses_costs_little() {
        let addresses: Vec<_> = (0..20_000).map(|it| format!("10.0.{}.{}", it / 256, it % 256)).collect();
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        let networks: Vec<_> = (0..1_000).map(|it| format!("10.{}.{}.0/24", it / 256, it % 256)).collect();
        let networks: Vec<_> = networks.iter().map(String::as_str).collect();
        let node = node("evil", &networks, &addresses);
        assert_eq!(of_nodes([(&node, None)]).networks.len(), ADDRESSES + POD_NETWORKS);
        let many = confirmed(&addresses);
        assert_eq!(of_nodes([(&node, Some(&many))]).networks.len(), 2 * ADDRESSES + POD_NETWORKS);
        let wrong = self::node("evil", &vec!["0.0.0.0/0"; 1_000], &[]);
        assert_eq!(of_nodes([(&wrong, None)]).refused.len(), 1);
    }

    #[test]
    fn the_first_of_two_nodes_with_one_network_is_named() {
        let (one, two) = (node("a", &["10.244.1.0/24"], &[]), node("b", &["10.244.1.0/24"], &[]));
        let names = |nodes: [&KubeNode; 2]| of_nodes(nodes.map(|it| (it, None))).networks.remove(0).node;
        assert_eq!([names([&one, &two]), names([&two, &one])], ["a", "a"]);
    }
}
