//! Pod networks of nodes, as a provider answers them, are held against the cluster's. No client, no clock, no log.
//!
//! Pods of a node answer for each address of its network: of one that belongs to Services, to nodes or to another node's
//! pods, they would get what was sent to these.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::node_ipam::cidr_set::{is_v6, overlap};

/// Addresses that mean something else on each machine, or several machines: these machines, loopback, link-local with the
/// metadata services, multicast.
const SPECIAL: [IpNet; 8] = [
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(0, 0, 0, 0), 8)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(169, 254, 0, 0), 16)),
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(224, 0, 0, 0), 3)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 96)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10)),
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8)),
];

/// The networks of the cluster, which decide where a pod network may lie.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PodNetworks {
    /// Where nodes' networks lie, each with the shortest prefix that a node's has: `--cluster-cidr`, or all addresses of a
    /// family.
    pub(crate) clusters: Vec<(IpNet, u8)>,
    /// `--service-cluster-ip-range`.
    pub(crate) services: Vec<IpNet>,
}

/// Another node that has a part of a network.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Holder {
    /// Its pods do.
    Pods(String, IpNet),
    /// Itself does, as the cloud says.
    Node(String, IpAddr),
}

impl PodNetworks {
    /// The pod network that a node may get by the word of its provider; or what is wrong with it, as the rest of a
    /// sentence. Narrower than usual is right: it is the cloud that cuts it.
    pub(crate) fn judge(&self, text: &str, holder: impl Fn(&IpNet) -> Option<Holder>) -> Result<IpNet, String> {
        let network: IpNet = text.parse().map_err(|_| "is no network".to_owned())?;
        if network.trunc() != network {
            return Err(format!("has bits behind its prefix: {} would be a network", network.trunc()));
        }
        if let Some(because) = self.objection(&network) {
            return Err(because);
        }
        match holder(&network) {
            None => Ok(network),
            Some(Holder::Pods(node, pods)) => Err(format!("overlaps {pods}, the pod network of node {node}")),
            Some(Holder::Node(node, address)) => Err(format!("holds {address}, an address of node {node}")),
        }
    }

    /// Whether a Node's own word about its pod network counts against what the provider says of another: a kubelet may
    /// write any network on its Node.
    pub(crate) fn is_plausible(&self, network: &IpNet) -> bool {
        self.objection(network).is_none()
    }

    fn objection(&self, network: &IpNet) -> Option<String> {
        if let Some(services) = self.services.iter().find(|it| overlap(it, network)) {
            return Some(format!("overlaps {services}, the network of Services"));
        }
        let mut of_family = self.clusters.iter().filter(|(it, _)| is_v6(it) == is_v6(network)).peekable();
        if of_family.peek().is_none() {
            return Some("is of a family that --cluster-cidr does not have".to_owned());
        }
        let Some((_, mask)) = of_family.clone().find(|(it, _)| it.contains(network)) else {
            let clusters: Vec<_> = of_family.map(|(it, _)| it.to_string()).collect();
            return Some(format!("is not inside --cluster-cidr {}", clusters.join(",")));
        };
        if network.prefix_len() < *mask {
            return Some(format!("is wider than a /{mask}, the part of one node by --node-cidr-mask-size"));
        }
        let special = SPECIAL.iter().find(|it| overlap(it, network))?;
        Some(format!("overlaps {special}, where no pod of another machine is reached"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn networks(clusters: &[(&str, u8)], services: &[&str]) -> PodNetworks {
        PodNetworks {
            clusters: clusters.iter().map(|(it, mask)| (net(it), *mask)).collect(),
            services: services.iter().map(|it| net(it)).collect(),
        }
    }

    #[track_caller]
    fn refuses(networks: &PodNetworks, text: &str, part: &str) {
        let because = networks.judge(text, |_| None).expect_err(text);
        assert!(because.contains(part), "{text}: {because}");
    }

    #[test]
    fn adv_152_a_network_of_the_cluster_is_taken() {
        let it = networks(&[("10.244.0.0/16", 24), ("fd00::/48", 64)], &["10.96.0.0/12"]);
        for right in ["10.244.1.0/24", "10.244.255.128/25", "10.244.1.1/32", "fd00:0:0:7::/64", "fd00:0:0:7::/80"] {
            assert_eq!(it.judge(right, |_| None), Ok(net(right)));
        }
    }

    #[test]
    fn adv_152_a_network_outside_of_the_cluster_is_refused() {
        let it = networks(&[("10.244.0.0/16", 24), ("fd00::/48", 64)], &["10.244.240.0/20"]);
        for (text, part) in [
            ("", "is no network"),
            ("10.244.1.0", "is no network"),
            ("10.244.1.0/24\n", "is no network"),
            ("10.244.1.7/24", "has bits behind its prefix: 10.244.1.0/24 would be"),
            ("10.9.1.0/24", "is not inside --cluster-cidr 10.244.0.0/16"),
            ("0.0.0.0/0", "overlaps 10.244.240.0/20, the network of Services"),
            ("10.244.0.0/17", "is wider than a /24"),
            ("10.244.0.0/23", "is wider than a /24"),
            ("10.244.241.0/24", "overlaps 10.244.240.0/20, the network of Services"),
            ("fd00::/48", "is wider than a /64"),
            ("fd01::/64", "is not inside --cluster-cidr fd00::/48"),
            ("::/0", "is not inside --cluster-cidr fd00::/48"),
            ("::ffff:10.244.1.0/120", "is not inside --cluster-cidr fd00::/48"),
        ] {
            refuses(&it, text, part);
        }
        refuses(&networks(&[("10.244.0.0/16", 24)], &[]), "0.0.0.0/0", "is not inside --cluster-cidr");
        refuses(&networks(&[("10.244.0.0/16", 24)], &[]), "fd00::/64", "a family that --cluster-cidr does not have");
    }

    #[test]
    fn adv_152_without_a_cluster_cidr_the_rest_still_counts() {
        let it = networks(&[("0.0.0.0/0", 24), ("::/0", 64)], &["10.96.0.0/12", "fd01::/112"]);
        assert_eq!(it.judge("10.9.1.0/24", |_| None), Ok(net("10.9.1.0/24")));
        for (text, part) in [
            ("10.9.0.0/16", "is wider than a /24"),
            ("10.100.1.0/24", "the network of Services"),
            ("fd01::/64", "the network of Services"),
            ("127.0.0.0/24", "overlaps 127.0.0.0/8"),
            ("169.254.169.0/24", "overlaps 169.254.0.0/16"),
            ("224.0.0.0/24", "overlaps 224.0.0.0/3"),
            ("0.0.0.0/24", "overlaps 0.0.0.0/8"),
            ("::/64", "overlaps ::/96"),
            ("::ffff:10.9.1.0/120", "overlaps ::ffff:0.0.0.0/96"),
            ("fe80::/64", "overlaps fe80::/10"),
            ("ff02::/64", "overlaps ff00::/8"),
        ] {
            refuses(&it, text, part);
        }
    }

    #[test]
    fn adv_152_a_network_of_another_node_is_refused() {
        let it = networks(&[("10.244.0.0/16", 24)], &[]);
        let pods = |_: &IpNet| Some(Holder::Pods("n1".to_owned(), net("10.244.1.0/24")));
        let because = it.judge("10.244.1.128/25", pods).unwrap_err();
        assert_eq!(because, "overlaps 10.244.1.0/24, the pod network of node n1");
        let node = |_: &IpNet| Some(Holder::Node("n1".to_owned(), "10.244.1.9".parse().unwrap()));
        assert_eq!(it.judge("10.244.1.0/24", node).unwrap_err(), "holds 10.244.1.9, an address of node n1");
    }

    #[test]
    fn adv_152_a_kubelets_made_up_network_counts_for_nothing() {
        let it = networks(&[("10.244.0.0/16", 24)], &["10.244.240.0/20"]);
        for (network, counts) in
            [("10.244.1.0/24", true), ("10.244.1.7/32", true), ("0.0.0.0/0", false), ("10.244.0.0/16", false)]
        {
            assert_eq!(it.is_plausible(&net(network)), counts, "{network}");
        }
    }
}
