//! Networks on Nodes that this cluster has not given out. No client, no clock, no log.
//!
//! A kubelet may create its own Node with any `podCIDRs`. So such a Node gets an event and no block, and everything else
//! goes on: one Node proves nothing about the flags. Where most say the same, it is the flag that is wrong, and every
//! network that it gives out would have to be taken back by hand.

use std::fmt;

use ipnet::IpNet;

use crate::node_ipam::allocations::WhyNoBlock;
use crate::node_ipam::cidr_set::is_kept;

/// So many nodes have to be outside, before the flag is doubted: of one node nobody can tell which of both is wrong.
const FEWEST: usize = 2;
/// So many of them are named.
const NAMED: usize = 3;

/// A network of a node that has no block, or not for it alone.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) struct Foreign {
    /// The node's name.
    pub(crate) node: String,
    /// The network, as its Node spells it.
    pub(crate) network: String,
    /// Its place among the node's networks, from 0 on.
    pub(crate) nth: usize,
    /// Why; nothing: it is no network.
    pub(crate) why: Option<WhyNoBlock>,
}

impl Foreign {
    /// Whether it is of another cluster, if not of a kubelet's making.
    pub(crate) fn is_outside(&self) -> bool {
        matches!(self.why, None | Some(WhyNoBlock::Outside(_) | WhyNoBlock::TooMany))
    }

    /// The message of the event on its node.
    pub(crate) fn told(&self) -> String {
        let network = &self.network;
        let (what, next) = match &self.why {
            None => (format!("The pod network {network:?} is no network"), ""),
            Some(WhyNoBlock::Outside(cluster)) => (
                format!("The pod network {network} is outside --cluster-cidr {cluster}"),
                ", or correct --cluster-cidr",
            ),
            Some(WhyNoBlock::TooMany) => (
                format!("The pod network {network} is one more than --cluster-cidr has"),
                ", or add its family to --cluster-cidr",
            ),
            Some(WhyNoBlock::Wide(cluster, mask)) => {
                let others = match network.parse().is_ok_and(|it| is_kept(cluster, &it)) {
                    true => "no other node gets what lies in it",
                    false => "other nodes get what lies in it once nothing else is left",
                };
                let wide = format!(
                    "The pod network {network} is wider than a node's part of --cluster-cidr {cluster}, a /{mask}"
                );
                (format!("{wide}; {others}"), "")
            }
            Some(WhyNoBlock::Services(services)) => {
                (format!("The pod network {network} overlaps --service-cluster-ip-range {services}"), "")
            }
            Some(WhyNoBlock::Shared(other)) => {
                (format!("The pod network {network} overlaps that of node {other}"), ", or delete that one")
            }
        };
        let block = if matches!(self.why, Some(WhyNoBlock::Shared(_))) { "" } else { "; the node has no block of it" };
        format!("{what}{block}. Delete the node and let its kubelet register again{next}")
    }
}

/// Upstream's words, where it has some.
impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, network, nth, why } = self;
        let marked =
            format_args!("failed to mark cidr[{network}] at idx [{nth}] as occupied for node: {node}").to_string();
        match why {
            None => write!(f, "failed to parse node {node}, CIDR {network:?}"),
            Some(WhyNoBlock::TooMany) => write!(
                f,
                "node:{node} has an allocated cidr: {network} at index:{nth} that does not exist in cluster cidrs \
                 configuration"
            ),
            Some(WhyNoBlock::Outside(cluster)) => {
                write!(f, "{marked}: cidr {network} is out the range of cluster cidr {cluster}")
            }
            Some(WhyNoBlock::Wide(cluster, mask)) => {
                write!(f, "{marked}: cidr {network} is wider than a /{mask}, a node's part of cluster cidr {cluster}")
            }
            Some(WhyNoBlock::Services(services)) => {
                write!(f, "{marked}: cidr {network} overlaps service cidr {services}")
            }
            Some(WhyNoBlock::Shared(other)) => {
                write!(f, "nodes {node} and {other} have one pod network, {network}, which no two nodes can")
            }
        }
    }
}

/// Most nodes have pod networks outside of the cluster CIDRs: then the flag is wrong, and not the nodes.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) struct WrongFlag {
    nodes: usize,
    outside: usize,
    /// Some of them, with the networks.
    some: Vec<String>,
    clusters: Vec<IpNet>,
}

impl fmt::Display for WrongFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clusters = self.clusters.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let more = if self.outside > self.some.len() { ", …" } else { "" };
        write!(
            f,
            "of {} nodes, {} have pod networks outside --cluster-cidr {clusters}: {}{more}; correct --cluster-cidr, or delete these nodes and let their kubelets register again",
            self.nodes,
            self.outside,
            self.some.join(", ")
        )
    }
}

/// Whether the flag is wrong: more than half of all nodes, and at least two, are outside. Each node of `foreign` stands there once.
pub(crate) fn check_flag(nodes: usize, foreign: &[Foreign], clusters: Vec<IpNet>) -> Result<(), WrongFlag> {
    let outside: Vec<_> = foreign.iter().filter(|it| it.is_outside()).collect();
    if outside.len() < FEWEST || outside.len() * 2 <= nodes {
        return Ok(());
    }
    let some = outside.iter().take(NAMED).map(|it| format!("node {} has {}", it.node, it.network)).collect();
    Err(WrongFlag { nodes, outside: outside.len(), some, clusters })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn foreign(node: &str, network: &str, why: Option<WhyNoBlock>) -> Foreign {
        Foreign { node: node.to_owned(), network: network.to_owned(), nth: 0, why }
    }

    fn outside(node: &str) -> Foreign {
        foreign(node, "10.9.0.0/24", Some(WhyNoBlock::Outside(net("10.244.0.0/16"))))
    }

    #[test]
    fn adv_153_the_flag_is_wrong_where_most_nodes_say_so() {
        let of = |nodes: usize, names: &[&str]| {
            let foreign: Vec<_> = names.iter().map(|it| outside(it)).collect();
            check_flag(nodes, &foreign, vec![net("10.244.0.0/16"), net("fd00::/56")])
        };
        for (nodes, names) in [(0, vec![]), (1, vec!["a"]), (4, vec!["a", "b"]), (1000, vec!["a", "b", "c"])] {
            assert_eq!(of(nodes, &names), Ok(()), "{} of {nodes}", names.len());
        }
        let expected = "of 6 nodes, 4 have pod networks outside --cluster-cidr 10.244.0.0/16,fd00::/56: node a \
                        has 10.9.0.0/24, node b has 10.9.0.0/24, node c has 10.9.0.0/24, …; correct --cluster-cidr, or \
                        delete these nodes and let their kubelets register again";
        assert_eq!(of(6, &["a", "b", "c", "d"]).unwrap_err().to_string(), expected);
        assert!(of(2, &["a", "b"]).is_err() && of(3, &["a", "b"]).is_err());
    }

    #[test]
    fn adv_153_a_network_inside_says_nothing_about_the_flag() {
        let inside = [
            WhyNoBlock::Wide(net("10.244.0.0/16"), 24),
            WhyNoBlock::Services(net("10.244.0.0/20")),
            WhyNoBlock::Shared("other".to_owned()),
        ];
        let foreign: Vec<_> = inside.into_iter().map(|it| foreign("a", "10.244.0.0/22", Some(it))).collect();
        assert_eq!(check_flag(3, &foreign, vec![net("10.244.0.0/16")]), Ok(()));
    }

    #[test]
    fn adv_153_an_event_names_network_flag_and_next_step() {
        let cluster = net("10.244.0.0/16");
        let told: Vec<_> = [
            foreign("a", "nonsense", None),
            outside("a"),
            foreign("a", "fd00::/64", Some(WhyNoBlock::TooMany)),
            foreign("a", "0.0.0.0/0", Some(WhyNoBlock::Wide(cluster, 24))),
            foreign("a", "10.244.16.0/20", Some(WhyNoBlock::Wide(cluster, 24))),
            foreign("a", "10.244.1.0/24", Some(WhyNoBlock::Services(net("10.244.0.0/20")))),
            foreign("a", "10.244.1.0/24", Some(WhyNoBlock::Shared("b".to_owned()))),
        ]
        .iter()
        .map(Foreign::told)
        .collect();
        let expected = [
            r#"The pod network "nonsense" is no network; the node has no block of it. Delete the node and let its kubelet register again"#,
            "The pod network 10.9.0.0/24 is outside --cluster-cidr 10.244.0.0/16; the node has no block of it. Delete the node and let its kubelet register again, or correct --cluster-cidr",
            "The pod network fd00::/64 is one more than --cluster-cidr has; the node has no block of it. Delete the node and let its kubelet register again, or add its family to --cluster-cidr",
            "The pod network 0.0.0.0/0 is wider than a node's part of --cluster-cidr 10.244.0.0/16, a /24; other nodes get what lies in it once nothing else is left; the node has no block of it. Delete the node and let its kubelet register again",
            "The pod network 10.244.16.0/20 is wider than a node's part of --cluster-cidr 10.244.0.0/16, a /24; no other node gets what lies in it; the node has no block of it. Delete the node and let its kubelet register again",
            "The pod network 10.244.1.0/24 overlaps --service-cluster-ip-range 10.244.0.0/20; the node has no block of it. Delete the node and let its kubelet register again",
            "The pod network 10.244.1.0/24 overlaps that of node b. Delete the node and let its kubelet register again, or delete that one",
        ];
        assert_eq!(told, expected);
    }
}
