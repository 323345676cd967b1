//! Which node has which address, and whose pods are in which network, by the Nodes' own words. No client, no clock, no log.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;

use crate::node_object::KubeNode;
use ipnet::IpNet;
use kube::ResourceExt;

use crate::cidr::Cidr;
use crate::cluster_facts::believed_pod_network;

/// The most addresses of one Node that are read. Machines have a handful.
const ADDRESSES: usize = 64;
/// The most pod networks of one Node: one of each family, says the API server.
const POD_NETWORKS: usize = 2;

/// The addresses and pod networks of all nodes.
#[derive(Debug, Default)]
pub(super) struct NodeAddresses {
    addresses: HashMap<IpAddr, Vec<String>>,
    pods: BTreeMap<Cidr, Vec<String>>,
}

impl NodeAddresses {
    /// Those of these nodes.
    pub(super) fn of<'a>(nodes: impl IntoIterator<Item = &'a KubeNode>) -> Self {
        let mut all = Self::default();
        nodes.into_iter().for_each(|it| all.apply(None, Some(it)));
        all
    }

    /// Takes note of a node as it was, if it was known, and as it is, if it still is.
    pub(super) fn apply(&mut self, before: Option<&KubeNode>, after: Option<&KubeNode>) {
        let Some(name) = after.or(before).map(ResourceExt::name_any) else { return };
        if before.map(texts) == after.map(texts) {
            return;
        }
        for address in before.into_iter().flat_map(addresses) {
            remove(&mut self.addresses, &address, &name);
        }
        for cidr in before.into_iter().flat_map(pod_networks) {
            if let Some(names) = self.pods.get_mut(&cidr) {
                names.retain(|it| *it != name);
                if names.is_empty() {
                    self.pods.remove(&cidr);
                }
            }
        }
        for address in after.into_iter().flat_map(addresses) {
            self.addresses.entry(address).or_insert_with(one).push(name.clone());
        }
        for cidr in after.into_iter().flat_map(pod_networks) {
            self.pods.entry(cidr).or_insert_with(one).push(name.clone());
        }
    }

    /// The nodes with this address.
    pub(super) fn at(&self, ip: IpAddr) -> &[String] {
        self.addresses.get(&ip).map(Vec::as_slice).unwrap_or_default()
    }

    /// The node whose pods are in a network with this address, and the network.
    pub(super) fn pods_at(&self, ip: IpAddr) -> Option<(String, Cidr)> {
        let around = std::iter::successors(Some(Cidr::of(IpNet::from(ip))), Cidr::supernet);
        around.into_iter().find_map(|it| Some((self.pods.get(&it)?.first()?.clone(), it)))
    }
}

/// Room for one name: few keys have more.
pub(super) fn one() -> Vec<String> {
    Vec::with_capacity(1)
}

/// Takes a node off a key, and the key with its last node.
pub(super) fn remove<K: Eq + Hash>(all: &mut HashMap<K, Vec<String>>, key: &K, name: &str) {
    if let Some(names) = all.get_mut(key) {
        names.retain(|it| it != name);
        if names.is_empty() {
            all.remove(key);
        }
    }
}

/// The fields of a node that are read here, as they are written.
fn texts(node: &KubeNode) -> (impl PartialEq, impl PartialEq) {
    let spec = node.spec.as_ref();
    let pods = spec.map(|it| (it.pod_cidr.as_deref(), it.pod_cidrs.as_deref()));
    (node.status.as_ref().and_then(|it| it.addresses.as_deref()), pods)
}

fn addresses(node: &KubeNode) -> impl Iterator<Item = IpAddr> {
    let addresses = node.status.as_ref().and_then(|it| it.addresses.as_deref()).unwrap_or_default();
    let mut seen = Vec::new();
    let parsed = addresses.iter().take(ADDRESSES).filter_map(|it| it.address.parse::<IpAddr>().ok());
    parsed.map(|it| it.to_canonical()).filter(move |ip| {
        let is_new = !seen.contains(ip);
        seen.push(*ip);
        is_new
    })
}

/// Networks that one node's pods can have: what is wider, or public, is nobody's word but the kubelet's.
fn pod_networks(node: &KubeNode) -> impl Iterator<Item = Cidr> {
    let spec = node.spec.as_ref();
    let listed = spec.and_then(|it| it.pod_cidrs.as_deref()).unwrap_or_default();
    let single = spec.and_then(|it| it.pod_cidr.as_deref()).filter(|_| listed.is_empty());
    let written = listed.iter().map(String::as_str).chain(single).take(POD_NETWORKS);
    written.filter_map(|it| believed_pod_network(it).ok()).map(Cidr::of)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    fn node(name: &str, addresses: &[&str], pods: &[&str]) -> KubeNode {
        let addresses: Vec<_> = addresses.iter().map(|it| json!({ "type": "InternalIP", "address": it })).collect();
        from_value(json!({
            "metadata": { "name": name },
            "spec": { "podCIDRs": pods, "podCIDR": pods.first() },
            "status": { "addresses": addresses },
        }))
        .unwrap()
    }

    fn at(all: &NodeAddresses, ip: &str) -> Vec<String> {
        all.at(ip.parse().unwrap()).to_vec()
    }

    fn pods_at(all: &NodeAddresses, ip: &str) -> Option<String> {
        all.pods_at(ip.parse().unwrap()).map(|(node, cidr)| format!("{node} {cidr}"))
    }

    #[test]
    fn adv_150_an_address_leads_to_its_nodes_while_they_have_it() {
        let (one, two) = (node("n1", &["10.1.0.1", "10.1.0.1", "n1"], &[]), node("n2", &["10.1.0.1", "fd00::2"], &[]));
        let mut all = NodeAddresses::of([&one, &two]);
        assert_eq!(at(&all, "10.1.0.1"), ["n1", "n2"]);
        assert_eq!(at(&all, "fd00::2"), ["n2"]);
        let moved = node("n2", &["10.1.0.2"], &[]);
        all.apply(Some(&two), Some(&moved));
        assert_eq!((at(&all, "10.1.0.1"), at(&all, "10.1.0.2")), (vec!["n1".to_owned()], vec!["n2".to_owned()]));
        assert!(at(&all, "fd00::2").is_empty());
        all.apply(Some(&one), None);
        assert!(at(&all, "10.1.0.1").is_empty());
        assert_eq!((all.addresses.len(), all.pods.len()), (1, 0), "nothing is left of what is gone");
    }

    #[test]
    fn adv_150_an_address_leads_to_the_node_whose_pods_are_there() {
        let node = node("n1", &[], &["10.244.1.0/24", "fd00:244:0:1::/64"]);
        let mut all = NodeAddresses::of([&node]);
        assert_eq!(pods_at(&all, "10.244.1.77").as_deref(), Some("n1 10.244.1.0/24"));
        assert_eq!(pods_at(&all, "fd00:244:0:1::9").as_deref(), Some("n1 fd00:244:0:1::/64"));
        assert_eq!(pods_at(&all, "10.244.2.1"), None);
        all.apply(Some(&node), None);
        assert_eq!((pods_at(&all, "10.244.1.77"), all.pods.len()), (None, 0));
    }

    #[test]
    fn adv_150_a_kubelet_claims_neither_the_world_nor_thousands() {
        let many: Vec<_> = (0..5_000).map(|it| format!("10.1.{}.{}", it / 256, it % 256)).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let all = NodeAddresses::of([&node("n1", &many, &["0.0.0.0/0", "203.0.113.0/24"])]);
        assert_eq!((all.addresses.len(), all.pods.len()), (ADDRESSES, 0));
    }
}
