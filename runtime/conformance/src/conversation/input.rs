//! Arguments of calls as people write them: JSON, with the names of `wit/` in lowerCamelCase.

use std::collections::BTreeMap;

use cloud_provider::{
    Address, AddressKind, ExternalTrafficPolicy, Ingress, IpFamily, IpMode, LoadBalancer, Node, Owner, PodNetwork,
    Port, Protocol, Route, RouteChange, RouteOwnership, RouteState, RouteTarget, Volume,
};
use serde::Deserialize;

/// A page of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageInput {
    /// Where it begins; absent: at the start.
    pub cursor: Option<String>,
    /// How many it holds at most; absent: as many as the provider likes.
    pub limit: Option<u32>,
}

/// One node, or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum NodesInput {
    /// `{"name": "web-1"}`
    One(Box<NodeInput>),
    /// `[{"name": "web-1"}, {"name": "web-2"}]`
    Several(Vec<NodeInput>),
}

/// A node, as much of it as a provider may know.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct NodeInput {
    name: String,
    uid: Option<String>,
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
    addresses: Vec<AddressInput>,
    zone: Option<String>,
    region: Option<String>,
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddressInput {
    kind: String,
    value: String,
}

impl NodeInput {
    /// The node.
    ///
    /// # Errors
    ///
    /// A sentence about an address that is none.
    pub fn node(self) -> Result<Node, String> {
        let address = |input: AddressInput| {
            let kind = AddressKind::parse(&input.kind).ok_or_else(|| {
                format!(
                    "{:?} is no kind of addresses; write Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS",
                    input.kind
                )
            })?;
            Ok::<_, String>(Address { kind, value: input.value })
        };
        Ok(Node {
            name: self.name,
            uid: self.uid,
            provider_id: self.provider_id,
            addresses: self.addresses.into_iter().map(address).collect::<Result<_, _>>()?,
            zone: self.zone,
            region: self.region,
            labels: self.labels.into_iter().collect(),
            extra: Vec::new(),
        })
    }
}

/// A load balancer as a Service asks for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LoadBalancerInput {
    name: Option<String>,
    owner: OwnerInput,
    memo: Option<String>,
    #[serde(default)]
    memo_is_new: bool,
    #[serde(default)]
    current_ingress: Vec<IngressInput>,
    load_balancer_class: Option<String>,
    #[serde(default)]
    ports: Vec<PortInput>,
    #[serde(default)]
    nodes: Vec<NodeInput>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    source_ranges: Vec<String>,
    #[serde(default)]
    ip_families: Vec<String>,
    #[serde(rename = "loadBalancerIP")]
    load_balancer_ip: Option<String>,
    /// The port of health checks with `externalTrafficPolicy: Local`.
    health_check_node_port: Option<u16>,
    #[serde(rename = "clientIPAffinitySeconds")]
    client_ip_affinity_seconds: Option<u32>,
    #[serde(default)]
    finalizers: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnerInput {
    #[serde(default = "default_namespace")]
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
}

fn default_namespace() -> String {
    "default".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct IngressInput {
    ip: Option<String>,
    hostname: Option<String>,
    ip_mode: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PortInput {
    #[serde(default)]
    name: String,
    protocol: Option<String>,
    port: u16,
    node_port: Option<u16>,
    app_protocol: Option<String>,
}

impl LoadBalancerInput {
    /// The load balancer, for the cluster with this name.
    ///
    /// # Errors
    ///
    /// A sentence about a protocol, a family, an address or an `ipMode` that is none.
    pub fn load_balancer(self, cluster: &str) -> Result<LoadBalancer, String> {
        let OwnerInput { namespace, name, uid } = self.owner;
        let port = |input: PortInput| {
            let protocol = input.protocol.as_deref().unwrap_or("TCP");
            let protocol = Protocol::parse(protocol)
                .ok_or_else(|| format!("{protocol:?} is no protocol of a port; write TCP, UDP or SCTP"))?;
            let PortInput { name, protocol: _, port, node_port, app_protocol } = input;
            Ok::<_, String>(Port { name, protocol, port, node_port, app_protocol })
        };
        let family = |name: String| {
            IpFamily::parse(&name).ok_or_else(|| format!("{name:?} is no family of addresses; write IPv4 or IPv6"))
        };
        let families: Vec<_> = self.ip_families.into_iter().map(family).collect::<Result<_, _>>()?;
        Ok(LoadBalancer {
            // As upstream calls it.
            name: self.name.unwrap_or_else(|| format!("a{}", uid.replace('-', "")).chars().take(32).collect()),
            owner: Owner { cluster: cluster.to_owned(), namespace, name, uid },
            memo: self.memo,
            memo_is_new: self.memo_is_new,
            current_ingress: self.current_ingress.into_iter().map(ingress).collect::<Result<_, _>>()?,
            load_balancer_class: self.load_balancer_class,
            ports: self.ports.into_iter().map(port).collect::<Result<_, _>>()?,
            nodes: self.nodes.into_iter().map(NodeInput::node).collect::<Result<_, _>>()?,
            annotations: self.annotations.into_iter().collect(),
            source_ranges: self.source_ranges,
            ip_families: if families.is_empty() { vec![IpFamily::Ipv4] } else { families },
            load_balancer_ip: self.load_balancer_ip,
            external_traffic_policy: match self.health_check_node_port {
                Some(port) => ExternalTrafficPolicy::Local(port),
                None => ExternalTrafficPolicy::Cluster,
            },
            client_ip_affinity_seconds: self.client_ip_affinity_seconds,
            finalizers: self.finalizers,
        })
    }
}

fn ingress(it: IngressInput) -> Result<Ingress, String> {
    let IngressInput { ip, hostname, ip_mode } = it;
    let mode = |it: String| IpMode::parse(&it).ok_or_else(|| format!("{it:?} is no ipMode; write VIP or Proxy"));
    Ok(Ingress { ip, hostname, ip_mode: ip_mode.map(mode).transpose()? })
}

/// A pod network and its node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodNetworkInput {
    destination: String,
    node: NodeInput,
}

impl PodNetworkInput {
    /// The pod network.
    ///
    /// # Errors
    ///
    /// A sentence about an address of the node that is none.
    pub fn network(self) -> Result<PodNetwork, String> {
        Ok(PodNetwork { destination: self.destination, node: self.node.node()? })
    }
}

/// A change of a route.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteChangeInput {
    destination: String,
    before: Option<RouteInput>,
    after: Option<TargetInput>,
    pending: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RouteInput {
    destination: String,
    next_hop: Option<String>,
    ownership: String,
    state: String,
    id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TargetInput {
    next_hop: String,
    node: NodeInput,
}

impl RouteChangeInput {
    /// The change.
    ///
    /// # Errors
    ///
    /// A sentence about an ownership, a state or an address that is none.
    pub fn change(self) -> Result<RouteChange, String> {
        let target = |it: TargetInput| Ok::<_, String>(RouteTarget { next_hop: it.next_hop, node: it.node.node()? });
        Ok(RouteChange {
            destination: self.destination,
            before: self.before.map(RouteInput::route).transpose()?,
            after: self.after.map(target).transpose()?,
            pending: self.pending,
        })
    }
}

impl RouteInput {
    fn route(self) -> Result<Route, String> {
        let ownership = match self.ownership.as_str() {
            "ours" => RouteOwnership::Ours,
            "unmarked" => RouteOwnership::Unmarked,
            "foreign" => RouteOwnership::Foreign,
            other => return Err(format!("{other:?} is no ownership of a route; write ours, unmarked or foreign")),
        };
        let state = match self.state.as_str() {
            "active" => RouteState::Active,
            "changing" => RouteState::Changing,
            "blackhole" => RouteState::Blackhole,
            "partial" => RouteState::Partial,
            other => {
                return Err(format!("{other:?} is no state of a route; write active, changing, blackhole or partial"));
            }
        };
        let Self { destination, next_hop, id, .. } = self;
        Ok(Route { destination, next_hop, ownership, state, id, extra: Vec::new() })
    }
}

/// The volume behind a PersistentVolume.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeInput {
    name: String,
    source: String,
    handle: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
}

impl VolumeInput {
    /// The volume.
    #[must_use]
    pub fn volume(self) -> Volume {
        let Self { name, source, handle, attributes } = self;
        Volume { name, source, handle, attributes: attributes.into_iter().collect() }
    }
}
