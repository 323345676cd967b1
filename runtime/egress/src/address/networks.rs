//! The cluster's networks as the egress knows them, each with the party that names it.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use super::ranges;

/// The cluster's networks, as far as the egress knows them, so that no provider reaches into it.
#[derive(Clone, Debug, Default)]
pub struct KnownNetworks {
    /// Where the API server is. No config opens these.
    pub api_servers: Vec<ApiServerAddress>,
    /// The Services' networks, as the cluster's administrators defined them.
    pub services: Vec<IpNet>,
    /// The pods' networks, as the operator named them.
    pub pods: Vec<IpNet>,
    /// The nodes' networks, as the operator named them.
    pub nodes: Vec<IpNet>,
    /// The networks of single nodes.
    pub of_nodes: Vec<NodeNetwork>,
}

/// One way to the API server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ApiServerAddress {
    /// This address, on every port.
    Address(IpAddr),
    /// Where other things live too, as on loopback: this address and port.
    Socket(SocketAddr),
}

/// A network of one node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NodeNetwork {
    /// The network; a single address has the full prefix.
    pub network: IpNet,
    /// The kind of the network, and the party that names it.
    pub kind: NodeNetworkKind,
    /// The Node's name.
    pub node: String,
}

/// The kind of a node's network, and the party that names it.
///
/// A kubelet writes its own Node. What the Node says closes no public address, and nothing that `addresses` of an
/// endpoint names.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum NodeNetworkKind {
    /// An address that the cloud says the node's machine has.
    ConfirmedAddress,
    /// An address of the Node's status.
    Address,
    /// A pod network of the Node's spec.
    Pods,
}

impl KnownNetworks {
    pub(super) fn is_api_server(&self, ip: IpAddr, port: u16) -> bool {
        self.api_servers.iter().any(|it| it.is(ip, port))
    }

    /// The pods or nodes of the cluster at an address that the operator has not named.
    pub(super) fn any(&self, ip: IpAddr) -> Option<String> {
        let claimed = || self.of_nodes.iter().find(|it| it.network.contains(&ip) && ranges::is_private(ip));
        self.trusted(|it| it.contains(&ip)).or_else(|| claimed().map(NodeNetwork::describe))
    }

    /// The pods or nodes of the cluster at an address that the operator has named in a network with a prefix of
    /// this length, if it is in a narrower network. The narrower network counts, as in a routing table.
    pub(super) fn narrower(&self, ip: IpAddr, length: u8) -> Option<String> {
        self.trusted(|it| it.contains(&ip) && it.prefix_len() > length)
    }

    /// The first network that fits, of those that not a Node alone names.
    fn trusted(&self, fits: impl Fn(&IpNet) -> bool) -> Option<String> {
        if self.pods.iter().any(&fits) {
            return Some("in the cluster's pod network, as `clusterNetworks` says".to_owned());
        }
        if self.nodes.iter().any(&fits) {
            return Some("a node of the cluster, as `clusterNetworks` says".to_owned());
        }
        let is_confirmed = |it: &&NodeNetwork| it.kind == NodeNetworkKind::ConfirmedAddress && fits(&it.network);
        self.of_nodes.iter().find(is_confirmed).map(NodeNetwork::describe)
    }
}

impl NodeNetwork {
    fn describe(&self) -> String {
        let Self { network, node, .. } = self;
        match self.kind {
            NodeNetworkKind::ConfirmedAddress => format!("an address of node {node}, as the cloud says"),
            NodeNetworkKind::Address => format!("a private address, of node {node}"),
            NodeNetworkKind::Pods => format!("a private address, in the pod network {network} of node {node}"),
        }
    }
}

impl ApiServerAddress {
    fn is(self, ip: IpAddr, port: u16) -> bool {
        match self {
            Self::Address(own) => own.to_canonical() == ip.to_canonical(),
            Self::Socket(own) => own.ip().to_canonical() == ip.to_canonical() && own.port() == port,
        }
    }
}
