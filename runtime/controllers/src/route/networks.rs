//! Which node has which pod network. No client, no clock, no log.
//!
//! A kubelet may create its own Node with any `podCIDRs`: a network that is not the cluster's, or that holds a part of
//! another node's, gets no route. Nor does an old node keep younger ones from theirs with a network that is wider than those
//! of most.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::node_object::KubeNode;
use kube::ResourceExt;

use crate::cidr::Cidr;

/// The pod networks of a cluster's nodes.
#[derive(Debug, Default)]
pub(super) struct RoutedNetworks {
    /// In the order in which routes are made: the oldest node's first, and those that are wider than most last.
    pub(super) held: Vec<HeldNetwork>,
    /// Those that get no route.
    pub(super) refused: Vec<RefusedNetwork>,
}

/// A pod network, and the node whose pods are in it.
#[derive(Clone, Debug)]
pub(super) struct HeldNetwork {
    pub(super) node: Arc<KubeNode>,
    pub(super) cidr: Cidr,
}

/// A pod network that gets no route.
#[derive(Clone, Debug)]
pub(super) struct RefusedNetwork {
    pub(super) node: Arc<KubeNode>,
    pub(super) cidr: Cidr,
    pub(super) why: WhyNoRoute,
}

/// Why a pod network gets no route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum WhyNoRoute {
    /// It is not wholly inside a network of `--cluster-cidr`.
    Outside,
    /// It is, or overlaps, the network of this node, which is older or has no wider a network than most.
    Taken(String, Cidr),
}

/// The networks in `spec.podCIDRs`, and `spec.podCIDR` where that is all there is. What is no network is left out.
pub(super) fn pod_cidrs(node: &KubeNode) -> Vec<Cidr> {
    let Some(spec) = &node.spec else { return Vec::new() };
    let listed = spec.pod_cidrs.as_deref().filter(|it| !it.is_empty());
    let written: Vec<&str> = match listed {
        Some(listed) => listed.iter().map(String::as_str).collect(),
        None => spec.pod_cidr.as_deref().into_iter().collect(),
    };
    let mut cidrs = Vec::new();
    for cidr in written.into_iter().filter_map(Cidr::parse) {
        if !cidrs.contains(&cidr) {
            cidrs.push(cidr);
        }
    }
    cidrs
}

/// Whether a network lies wholly inside one of the cluster's.
pub(super) fn is_inside(cluster: &[Cidr], cidr: &Cidr) -> bool {
    cluster.iter().any(|it| it.contains(cidr))
}

/// The node that has each network. Of two nodes with networks that overlap the older keeps its own, unless that is
/// wider than those of most nodes and the other is not.
pub(super) fn networks(cluster: &[Cidr], mut nodes: Vec<Arc<KubeNode>>) -> RoutedNetworks {
    nodes.sort_by_cached_key(|node| {
        let created = node.metadata.creation_timestamp.as_ref().map(|it| it.0);
        (created.is_none(), created, node.metadata.uid.clone(), node.name_any())
    });
    let mut networks = RoutedNetworks::default();
    let mut inside = Vec::new();
    for node in nodes {
        for cidr in pod_cidrs(&node) {
            match is_inside(cluster, &cidr) {
                true => inside.push(HeldNetwork { node: node.clone(), cidr }),
                false => networks.refused.push(RefusedNetwork { node: node.clone(), cidr, why: WhyNoRoute::Outside }),
            }
        }
    }
    let usual =
        [false, true].map(|is_v6| usual_prefix(inside.iter().map(|it| it.cidr).filter(|it| it.is_v6() == is_v6)));
    inside.sort_by_key(|it| it.cidr.prefix() < usual[usize::from(it.cidr.is_v6())]);
    let mut taken: BTreeMap<Cidr, Arc<KubeNode>> = BTreeMap::new();
    for HeldNetwork { node, cidr } in inside {
        let other = overlapping(&taken, &cidr).filter(|(_, holder)| holder.metadata.uid != node.metadata.uid);
        match other {
            Some((held, holder)) => {
                let why = WhyNoRoute::Taken(holder.name_any(), held);
                networks.refused.push(RefusedNetwork { node, cidr, why });
            }
            None => {
                taken.insert(cidr, node.clone());
                networks.held.push(HeldNetwork { node, cidr });
            }
        }
    }
    networks
}

/// The prefix length in the middle of all: a few kubelets cannot move it. Of two middles, the shorter.
fn usual_prefix(cidrs: impl Iterator<Item = Cidr>) -> u8 {
    let mut prefixes: Vec<_> = cidrs.map(|it| it.prefix()).collect();
    prefixes.sort_unstable();
    prefixes.get(prefixes.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// A network that is `cidr`, lies in it, or holds it.
fn overlapping(taken: &BTreeMap<Cidr, Arc<KubeNode>>, cidr: &Cidr) -> Option<(Cidr, Arc<KubeNode>)> {
    let (low, high) = cidr.bounds();
    let inside = taken.range(low..=high).find(|(it, _)| cidr.contains(it));
    let around = || std::iter::successors(Some(*cidr), Cidr::supernet).find_map(|it| taken.get_key_value(&it));
    inside.or_else(around).map(|(held, holder)| (*held, holder.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cidr(text: &str) -> Cidr {
        Cidr::parse(text).unwrap()
    }

    fn node(name: &str, created: &str, cidrs: &[&str]) -> Arc<KubeNode> {
        let node = json!({
            "metadata": { "name": name, "uid": name, "creationTimestamp": format!("2026-01-01T00:00:{created}Z") },
            "spec": { "podCIDRs": cidrs, "podCIDR": cidrs.first() },
        });
        Arc::new(serde_json::from_value(node).unwrap())
    }

    fn held(networks: &RoutedNetworks) -> Vec<String> {
        networks.held.iter().map(|it| format!("{} {}", it.node.name_any(), it.cidr)).collect()
    }

    #[test]
    fn case_177_the_cluster_is_responsible_for_what_lies_in_it() {
        let owns = |cluster: &str, network: &str| is_inside(&[cidr(cluster)], &cidr(network));
        for (cluster, network) in [
            ("10.244.0.0/16", "10.244.0.0/24"),
            ("10.244.0.0/16", "10.244.10.0/24"),
            ("10.244.0.0/16", "10.244.255.0/24"),
            ("10.244.0.0/14", "10.244.0.0/24"),
            ("10.244.0.0/14", "10.247.255.0/24"),
            ("a00:100::/10", "a00:100::/24"),
        ] {
            assert!(owns(cluster, network), "{cluster} owns {network}");
        }
        for (cluster, network) in [
            ("10.244.0.0/16", "10.224.0.0/24"),
            ("10.244.0.0/16", "10.0.10.0/24"),
            ("10.244.0.0/16", "10.255.255.0/24"),
            ("10.244.0.0/14", "10.248.0.0/24"),
            ("10.244.0.0/14", "10.243.255.0/24"),
            ("a00:100::/10", "b00:100::/24"),
            ("10.244.0.0/16", "0.0.0.0/0"),
            // It begins with the cluster's first address, and upstream would take it.
            ("10.244.0.0/16", "10.244.0.0/15"),
        ] {
            assert!(!owns(cluster, network), "{cluster} does not own {network}");
        }
        assert!(Cidr::parse("not-a-cidr").is_none(), "what cannot be read is nobody's");
    }

    #[test]
    fn a_node_has_each_of_its_networks_once() {
        let node = node("n1", "01", &["10.244.1.0/24", "::ffff:10.244.1.0/120", "fd00:244:0:1::/64"]);
        let networks = networks(&[cidr("10.244.0.0/16"), cidr("fd00:244::/56")], vec![node]);
        assert_eq!(held(&networks), ["n1 10.244.1.0/24", "n1 fd00:244:0:1::/64"]);
        assert!(networks.refused.is_empty());
    }

    #[test]
    fn the_older_node_keeps_a_network_that_two_have() {
        let nodes = vec![
            node("young", "09", &["10.244.1.0/24"]),
            node("old", "01", &["10.244.1.0/24"]),
            node("inside", "08", &["10.244.1.128/25"]),
            node("around", "07", &["10.244.0.0/16"]),
        ];
        let networks = networks(&[cidr("10.244.0.0/16")], nodes);
        assert_eq!(held(&networks), ["old 10.244.1.0/24"]);
        let taken = WhyNoRoute::Taken("old".to_owned(), cidr("10.244.1.0/24"));
        let refused: Vec<_> = networks.refused.iter().map(|it| (it.node.name_any(), it.why.clone())).collect();
        let expected = ["inside", "young", "around"].map(|it| (it.to_owned(), taken.clone()));
        assert_eq!(refused, expected);
    }

    #[test]
    fn adv_154_an_old_node_with_a_wide_network_starves_no_other() {
        let evil = || node("evil", "01", &["10.244.0.0/16"]);
        let nodes = vec![
            evil(),
            node("a", "02", &["10.244.1.0/24"]),
            node("wide", "03", &["10.244.4.0/22"]),
            node("b", "04", &["10.244.2.0/24"]),
            node("inside", "05", &["10.244.2.7/32"]),
        ];
        let it = networks(&[cidr("10.244.0.0/16")], nodes);
        assert_eq!(held(&it), ["a 10.244.1.0/24", "b 10.244.2.0/24", "wide 10.244.4.0/22"], "wide is in nobody's way");
        let refused: Vec<_> = it.refused.iter().map(|it| it.node.name_any()).collect();
        assert_eq!(refused, ["inside", "evil"]);
        // Of two nobody knows which is the usual one: the older keeps its own.
        let it = networks(
            &[cidr("10.244.0.0/16")],
            vec![node("good", "01", &["10.244.1.0/24"]), node("x", "02", &["10.244.1.7/32"])],
        );
        assert_eq!(held(&it), ["good 10.244.1.0/24"]);
        assert_eq!(held(&networks(&[cidr("10.244.0.0/16")], vec![evil()])), ["evil 10.244.0.0/16"]);
    }

    #[test]
    fn a_kubelet_that_claims_the_world_gets_no_route() {
        let nodes = vec![node("thief", "01", &["0.0.0.0/0"]), node("good", "02", &["10.244.1.0/24"])];
        let networks = networks(&[cidr("10.244.0.0/16")], nodes);
        assert_eq!(held(&networks), ["good 10.244.1.0/24"]);
        assert_eq!(networks.refused[0].why, WhyNoRoute::Outside);
    }

    #[test]
    fn a_single_pod_cidr_counts_where_there_is_no_list() {
        let mut node = KubeNode::clone(&node("n1", "01", &["10.244.1.0/24"]));
        node.spec.as_mut().unwrap().pod_cidrs = None;
        assert_eq!(pod_cidrs(&node), [cidr("10.244.1.0/24")]);
        assert_eq!(pod_cidrs(&KubeNode::default()), []);
    }
}
