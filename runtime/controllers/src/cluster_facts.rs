//! Answers of a provider are held against the facts of the cluster, before they go into Kubernetes. No client, no
//! clock, no log.

use std::net::IpAddr;

use cloud_provider::{Address, AddressKind, Ingress, IngressDescription, Instance, IpMode};
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Facts of the cluster, from the operator and the API server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClusterFacts {
    /// The networks of Services: `--service-cluster-ip-range`, and those of the ServiceCIDR objects.
    pub services: Vec<IpNet>,
    /// The ClusterIPs of the API server's own Service.
    pub api_service: Vec<IpAddr>,
    /// Where the API server is reached beside that: by the URL of this process, and by the endpoints of its Service.
    pub api_servers: Vec<IpAddr>,
    /// The networks of pods, as `clusterNetworks.pods` says.
    pub pods: Vec<IpNet>,
    /// `--cluster-cidr`.
    pub cluster_cidrs: Vec<IpNet>,
    /// Whether nodes get their pod networks from `--cluster-cidr`, or routes are made for those in it. Where pods share the
    /// machines' network, neither is so, and nodes have addresses in it.
    pub cluster_cidrs_are_given_out: bool,
    /// The networks of nodes, as `clusterNetworks.nodes` says.
    pub nodes: Vec<IpNet>,
    /// The only networks of nodes' addresses, as `provider.nodeAddresses` says; any, if it is empty.
    pub node_addresses: Vec<IpNet>,
    /// The only networks of load balancers' addresses, as `provider.loadBalancerAddresses` says; any, if it is empty.
    pub load_balancer_addresses: Vec<IpNet>,
}

/// The present holders of an address, as far as the cluster's objects tell.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Holders {
    /// The Service with this ClusterIP.
    pub(crate) cluster_ip: Option<String>,
    /// Another Service that is reached there, or is about to be.
    pub(crate) ingress: Option<String>,
    /// The node with this address.
    pub(crate) node: Option<NodeHolder>,
    /// The node whose pods are in this network.
    pub(crate) pods: Option<(String, IpNet)>,
    /// Whether the Service's status shows the address already.
    pub(crate) is_shown: bool,
}

/// A node that has an address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NodeHolder {
    pub(crate) name: String,
    /// Whether the cloud says so, and not the Node alone.
    pub(crate) is_confirmed: bool,
}

/// A Node's claims about itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct NodeWords {
    /// The addresses of its status, and the one that its kubelet was given.
    pub(crate) addresses: Vec<IpAddr>,
    /// Whether it has the label of the control plane, which no kubelet may write.
    pub(crate) is_control_plane: bool,
}

/// Where the word of a kubelet counts: RFC 1918, carriers' NAT, link-local, and RFC 4193.
const PRIVATE: [IpNet; 7] = [
    IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(10, 0, 0, 0), 8)),
    IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(172, 16, 0, 0), 12)),
    IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(192, 168, 0, 0), 16)),
    IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(100, 64, 0, 0), 10)),
    IpNet::V4(Ipv4Net::new_assert(std::net::Ipv4Addr::new(169, 254, 0, 0), 16)),
    IpNet::V6(Ipv6Net::new_assert(std::net::Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10)),
    IpNet::V6(Ipv6Net::new_assert(std::net::Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7)),
];

/// The labels under Kubernetes' own domains that say where something is: a provider has words for these facts.
const PLACES: [&str; 4] = [
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
];

/// The shortest prefixes that one node's pods can have: 65,536 addresses are six hundred times the kubelet's default of
/// 110 pods, and kube-controller-manager gives each node a /64.
const PODS_V4: u8 = 16;
const PODS_V6: u8 = 48;

/// The pod network that a Node says it has, if its word can be taken for it.
///
/// # Errors
///
/// The rest of a sentence about the network: "which is no network".
pub fn believed_pod_network(text: &str) -> Result<IpNet, &'static str> {
    let network: IpNet = text.parse().map_err(|_| "which is no network")?;
    let shortest = if matches!(network, IpNet::V4(_)) { PODS_V4 } else { PODS_V6 };
    if network.prefix_len() < shortest {
        return Err("which is too wide for the pods of one node");
    }
    if is_private(&network) { Ok(network.trunc()) } else { Err("which is not a private network") }
}

/// Whether a network is private: there alone a Node's own word counts.
#[must_use]
pub fn is_private(network: &IpNet) -> bool {
    PRIVATE.iter().any(|it| it.contains(network))
}

impl ClusterFacts {
    /// Where a load balancer is reached, as a Service's status may show it; or what is wrong with the first place that it
    /// must not show, as a sentence.
    ///
    /// kube-proxy takes the traffic of all pods to an address that comes with the mode VIP, which is the API server's
    /// default: a provider that does not describe that mode gets the other one.
    pub(crate) fn ingress(
        &self,
        places: Vec<Ingress>,
        described: IngressDescription,
        holders: impl Fn(IpAddr) -> Holders,
    ) -> Result<Vec<Ingress>, String> {
        places.into_iter().map(|it| self.place(it, described, &holders)).collect()
    }

    fn place(
        &self,
        mut place: Ingress,
        described: IngressDescription,
        holders: impl Fn(IpAddr) -> Holders,
    ) -> Result<Ingress, String> {
        if let Some(name) = &place.hostname {
            let own = || internal_name(name).map(|it| format!("the name {name:?} is {it}, and leads into the cluster"));
            if let Some(objection) = numeric_name(name).or_else(own) {
                return Err(objection);
            }
        }
        let Some(text) = &place.ip else { return Ok(place) };
        let ip = canonical_ip(text)?;
        let because = form(ip).map(|it| format!("{it}, where no client reaches a load balancer"));
        let because = because.or_else(|| self.belongs_to(ip, &holders(ip), described));
        if let Some(because) = because {
            return Err(format!("{text:?} is {because}"));
        }
        match place.ip_mode {
            Some(IpMode::Vip) if !described.vip => Err(format!(
                "{text:?} comes with ipMode VIP, by which each node keeps the cluster's traffic to this address from \
                 leaving it, and the provider does not describe that its load balancers are served like that"
            )),
            None if !described.vip => {
                place.ip_mode = Some(IpMode::Proxy);
                Ok(place)
            }
            Some(_) | None => Ok(place),
        }
    }

    /// The holder of an address that a load balancer shall have, as the rest of a sentence; `None` if it may have it.
    ///
    /// A Node's own word counts for private addresses, and for none that the operator has named as load balancers' or that
    /// the Service shows already: a kubelet keeps no Service from its address.
    fn belongs_to(&self, ip: IpAddr, holders: &Holders, described: IngressDescription) -> Option<String> {
        if let Some(service) = &holders.cluster_ip {
            return Some(format!("the ClusterIP of Service {service}"));
        }
        if let Some(because) = self.service_address(ip).or_else(|| self.api_server_address(ip)) {
            return Some(because);
        }
        if let Some(NodeHolder { name, .. }) = holders.node.as_ref().filter(|it| it.is_confirmed) {
            return Some(format!("an address of node {name}, as the cloud says"));
        }
        let named = narrowest(&self.load_balancer_addresses, ip);
        if named.is_none() && !self.load_balancer_addresses.is_empty() {
            return Some("in none of the networks in provider.loadBalancerAddresses of --cloud-config".to_owned());
        }
        let of_pods = || self.pods.iter().chain(&self.cluster_cidrs);
        if let Some(pods) = of_pods().find(|it| it.contains(&ip) && named.is_none_or(|own| own < it.prefix_len())) {
            return Some(format!(
                "in {pods}, a network of pods; if load balancers have addresses in a part of it, name that part in \
                 provider.loadBalancerAddresses of --cloud-config"
            ));
        }
        if holders.is_shown {
            return None;
        }
        let word_counts = named.is_none() && is_private(&IpNet::from(ip));
        if let Some(NodeHolder { name, .. }) = holders.node.as_ref().filter(|_| word_counts) {
            return Some(format!("an address of node {name}"));
        }
        // What the operator says of pods is all that there is to know of them.
        let is_told = of_pods().any(|it| it.addr().is_ipv4() == ip.is_ipv4());
        if let Some((node, pods)) = holders.pods.as_ref().filter(|_| word_counts && !is_told) {
            return Some(format!("in {pods}, the pod network of node {node}"));
        }
        let other = holders.ingress.as_ref().filter(|_| !described.shared)?;
        Some(format!(
            "the address of Service {other}, and the provider does not describe that Services share load balancers"
        ))
    }

    /// The fault of the first address that a node must not have, as a sentence without a subject; `None` if all are
    /// right. `words` is asked for only where the node's own words matter.
    ///
    /// An address that the Node claims itself as well is refused only where it can be no node's, or by the operator:
    /// its kubelet could write it alone, and a node that works goes on to do so.
    pub(crate) fn node_addresses(&self, addresses: &[Address], words: impl Fn() -> NodeWords) -> Option<String> {
        addresses.iter().find_map(|address| {
            let because = match address.kind {
                AddressKind::InternalIp | AddressKind::ExternalIp => {
                    self.node_address(address.value.parse::<IpAddr>().ok()?.to_canonical(), &words)
                }
                AddressKind::Hostname | AddressKind::InternalDns | AddressKind::ExternalDns => {
                    internal_name(&address.value).map(|it| format!("{it}, and leads into the cluster"))
                }
            };
            because
                .map(|because| format!("names the {} {:?}, which is {because}", address.kind.as_str(), address.value))
        })
    }

    /// A machine of the cloud with those of its addresses that a node called `name` may have, and what is wrong with the others.
    /// The machine is the node's all the same: load balancers go on to lead to it.
    ///
    /// A host name that is the node's own is its kubelet's word as well, wherever it leads.
    pub(crate) fn judge_instance(
        &self,
        name: &str,
        mut instance: Instance,
        words: impl Fn() -> NodeWords,
    ) -> (Instance, Option<String>) {
        let mut refusal = None;
        instance.addresses.retain(|address| {
            if address.kind == AddressKind::Hostname && address.value == name {
                return true;
            }
            let because = self.node_addresses(std::slice::from_ref(address), &words);
            let is_fit = because.is_none();
            refusal = refusal.take().or(because);
            is_fit
        });
        (instance, refusal)
    }

    fn node_address(&self, ip: IpAddr, words: &impl Fn() -> NodeWords) -> Option<String> {
        if self.api_service.contains(&ip) {
            return self.service_address(ip);
        }
        if !self.node_addresses.is_empty() && narrowest(&self.node_addresses, ip).is_none() {
            return Some("in none of the networks in provider.nodeAddresses of --cloud-config".to_owned());
        }
        let because = form(ip).map(|it| format!("{it}, where no machine is reached"));
        let because = because.or_else(|| self.no_network_of_nodes(ip));
        if let Some(because) = because {
            return (!words().addresses.contains(&ip)).then_some(because);
        }
        let because = self.api_server_address(ip)?;
        let NodeWords { addresses, is_control_plane } = words();
        (!is_control_plane && !addresses.contains(&ip)).then(|| {
            format!(
                "{because}: if that is this node, it is one of the control plane, and has the label {CONTROL_PLANE} or a \
                 kubelet with --node-ip"
            )
        })
    }

    /// The network of Services or pods that an address is in, unless the operator has named a narrower network of
    /// nodes.
    fn no_network_of_nodes(&self, ip: IpAddr) -> Option<String> {
        let named = narrowest(&self.nodes, ip).max(narrowest(&self.node_addresses, ip));
        let holds = |it: &&IpNet| it.contains(&ip) && named.is_none_or(|own| own < it.prefix_len());
        let given_out = self.cluster_cidrs.iter().filter(|_| self.cluster_cidrs_are_given_out);
        let of_services = || self.services.iter().find(holds).map(|it| (it, "Services"));
        let of_pods = self.pods.iter().chain(given_out).find(holds).map(|it| (it, "pods"));
        let (network, whose) = of_services().or(of_pods)?;
        Some(format!(
            "in {network}, a network of {whose}; if machines have addresses in a part of it, name that part in \
             clusterNetworks.nodes of --cloud-config, or give their kubelets --node-ip"
        ))
    }

    fn service_address(&self, ip: IpAddr) -> Option<String> {
        if self.api_service.contains(&ip) {
            return Some("the ClusterIP of the API server".to_owned());
        }
        let network = self.services.iter().find(|it| it.contains(&ip))?;
        Some(format!("in {network}, a network of Services"))
    }

    fn api_server_address(&self, ip: IpAddr) -> Option<String> {
        self.api_servers.contains(&ip).then(|| "where the API server is reached".to_owned())
    }
}

/// The label of a node of the control plane.
pub(crate) const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Whether a label's domain is Kubernetes' own, or below it.
pub(crate) fn is_reserved_label(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    ["kubernetes.io", "k8s.io"]
        .into_iter()
        .any(|reserved| domain.strip_suffix(reserved).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Whether a volume may have a label with this key, and its node affinity a requirement: where it is, or what a driver has
/// said in a domain of its own.
pub(crate) fn is_volume_label(key: &str) -> bool {
    PLACES.contains(&key) || !is_reserved_label(key)
}

/// The length of the longest of these prefixes that an address has.
fn narrowest(networks: &[IpNet], ip: IpAddr) -> Option<u8> {
    networks.iter().filter(|it| it.contains(&ip)).map(IpNet::prefix_len).max()
}

/// An address in the form that Kubernetes takes, or a sentence on what is wrong with it.
fn canonical_ip(text: &str) -> Result<IpAddr, String> {
    let ip: IpAddr = text.parse().map_err(|_| format!("{text:?} is no IP address"))?;
    let canonical = ip.to_canonical();
    match canonical == ip {
        true => Ok(ip),
        false => Err(format!(
            "{text:?} is an IPv4 address that is written as IPv6, and Kubernetes refuses it: the provider has to answer \
             \"{canonical}\""
        )),
    }
}

/// The kind of an address that means something else on each machine, or several machines. kube-proxy would send a
/// node's own traffic to it, which is why Kubernetes refuses them in EndpointSlices.
fn form(ip: IpAddr) -> Option<&'static str> {
    match ip {
        _ if ip.is_unspecified() => Some("the address of no machine"),
        _ if ip.is_loopback() => Some("each machine's address for itself"),
        _ if ip.is_multicast() => Some("a multicast address"),
        IpAddr::V4(ip) if ip.is_broadcast() => Some("the address of all machines"),
        IpAddr::V4(ip) if ip.is_link_local() => Some("a link-local address"),
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some("a link-local address"),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}

/// The sandbox has checked that it is a DNS name. The API server reads four numbers as an address, leading zeros or not.
fn numeric_name(name: &str) -> Option<String> {
    let parts: Vec<_> = name.split('.').collect();
    let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    let reads_as_ip = parts.len() == 4 && parts.iter().all(is_number);
    reads_as_ip.then(|| format!("the name {name:?} reads as an address, and Kubernetes refuses it"))
}

/// The scope of a name that resolves in the cluster, or on each machine, and nowhere else.
fn internal_name(name: &str) -> Option<&'static str> {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let is_below = |domain: &str| name.strip_suffix(domain).is_some_and(|it| it.is_empty() || it.ends_with('.'));
    match () {
        () if is_below("localhost") => Some("each machine's name for itself"),
        () if ["kubernetes", "kubernetes.default"].contains(&name.as_str()) => Some("a name of the API server"),
        () if is_below("svc") || is_below("cluster.local") => Some("a name of a Service"),
        () => None,
    }
}

#[cfg(test)]
mod tests;
