//! Questions that many clouds have about a desired load balancer.

use std::fmt::Display;

use crate::{Error, ExternalTrafficPolicy, LoadBalancer, Port, Protocol, Result, SortedMap, SortedSet};

impl LoadBalancer {
    /// The path at which the nodes answer to health checks, at [`Self::health_check_port`].
    pub const HEALTH_CHECK_PATH: &'static str = "/healthz";

    /// Where kube-proxy says whether it is healthy.
    const KUBE_PROXY: u16 = 10_256;

    /// The region in which most of its nodes are.
    ///
    /// ```
    /// use aerostat_sdk::{LoadBalancer, Node};
    ///
    /// let node = |name, region| Node::named(name).in_region(region);
    /// let desired = LoadBalancer::of("default", "web", "uid").with_node(node("a", "nyc3")).with_node(node("b", "nyc3"));
    /// assert_eq!(desired.with_node(node("c", "fra1")).region().as_deref(), Ok("nyc3"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] without nodes; [`Error::Invalid`], if no node has a region, or two regions have as many.
    pub fn region(&self) -> Result<String> {
        let mut nodes_of: SortedMap<&str, usize> = SortedMap::new();
        for region in self.nodes.iter().filter_map(|it| it.region.as_deref()) {
            *nodes_of.get_or_default(region) += 1;
        }
        let most = nodes_of.values().max().copied().unwrap_or_default();
        let mut regions = nodes_of.into_iter().filter(|(_, nodes)| *nodes == most).map(|(region, _)| region);
        match (regions.next(), regions.next()) {
            (Some(region), None) => Ok(region.to_owned()),
            (None, _) if self.nodes.is_empty() => Err(Self::without_nodes("")),
            (None, _) => Err(Error::invalid(
                "the region is not known: the cloud says none of any node; set the provider's setting for it",
            )),
            (Some(one), Some(another)) => Err(Error::invalid(format_args!(
                "the region is not clear: as many nodes are in {one} as in {another}; set the provider's setting for it"
            ))),
        }
    }

    /// The error for a load balancer without any node to send to. `more` follows the sentence.
    pub fn without_nodes(more: impl Display) -> Error {
        Error::unavailable(format_args!("no ready nodes available for load balancer{more}"))
    }

    /// Refuses ports of other protocols than these.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], naming the first one.
    pub fn allow_protocols(&self, allowed: &[Protocol]) -> Result<()> {
        let Some(port) = self.ports.iter().find(|it| !allowed.contains(&it.protocol)) else { return Ok(()) };
        let (number, protocol) = (port.port, port.protocol.as_str());
        let allowed = allowed.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" or ");
        Err(Error::invalid(format_args!("only {allowed} protocol is supported: port {number} is {protocol}")))
    }

    /// The port at which each node says whether it takes traffic: where only pods of the node itself get it, that of these
    /// pods, and otherwise kube-proxy's.
    #[must_use]
    pub fn health_check_port(&self) -> u16 {
        match self.external_traffic_policy {
            ExternalTrafficPolicy::Local(port) => port,
            ExternalTrafficPolicy::Cluster => Self::KUBE_PROXY,
        }
    }

    /// Whether the Service's status shows this address. Only a controller can have written it there: it proves that the load
    /// balancer with this address is the Service's.
    #[must_use]
    pub fn shows_address(&self, address: &str) -> bool {
        !address.is_empty() && self.current_ingress.iter().any(|it| it.ip.as_deref() == Some(address))
    }

    /// Whether there are `ports`, and each is a node port of the Service. The API server gives a node port to one Service.
    #[must_use]
    pub fn has_node_ports(&self, ports: &[u16]) -> bool {
        let own: SortedSet<u16> = self.ports.iter().filter_map(|it| it.node_port).collect();
        !ports.is_empty() && ports.iter().all(|it| own.contains(it))
    }
}

impl Port {
    /// A port without a name: what is carried, what clients dial, and where the nodes listen.
    #[must_use]
    pub fn new(protocol: Protocol, port: u16, node_port: u16) -> Self {
        Self { name: String::new(), protocol, port, node_port: Some(node_port), app_protocol: None }
    }

    /// Its name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Where the nodes listen, for a load balancer that sends there.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], if the Service has no node port for it.
    pub fn required_node_port(&self) -> Result<u16> {
        self.node_port.ok_or_else(|| {
            Error::invalid(format_args!(
                "port {} has no node port, through which the load balancer reaches it: leave \
                 allocateLoadBalancerNodePorts at true",
                self.port
            ))
        })
    }
}

impl Protocol {
    /// The name in Kubernetes: "TCP".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ingress, Node};

    fn service() -> LoadBalancer {
        LoadBalancer::of("default", "web", "uid").with_port(Port::new(Protocol::Tcp, 80, 30_080)).with_port(Port::new(
            Protocol::Udp,
            53,
            30_053,
        ))
    }

    #[test]
    fn the_region_is_where_most_nodes_are() {
        let region = |regions: &[&str]| {
            let service = LoadBalancer::of("default", "web", "uid").with_node(Node::named("unknown"));
            regions.iter().fold(service, |it, region| it.with_node(Node::named("n").in_region(*region))).region()
        };
        assert_eq!(region(&["b", "a", "b"]).as_deref(), Ok("b"));
        let Err(Error::Invalid(why)) = region(&["b", "a"]) else { panic!("it is not clear") };
        assert!(why.starts_with("the region is not clear: as many nodes are in a as in b"), "{why}");
        assert!(matches!(region(&[]), Err(Error::Invalid(why)) if why.starts_with("the region is not known")));
        let none = LoadBalancer::of("default", "web", "uid").region();
        assert_eq!(none, Err(Error::unavailable("no ready nodes available for load balancer")));
    }

    #[test]
    fn other_protocols_are_refused() {
        assert_eq!(service().allow_protocols(&[Protocol::Tcp, Protocol::Udp]), Ok(()));
        let refused = Error::invalid("only TCP protocol is supported: port 53 is UDP");
        assert_eq!(service().allow_protocols(&[Protocol::Tcp]), Err(refused));
    }

    #[test]
    fn nodes_are_checked_where_their_traffic_policy_says() {
        assert_eq!(service().health_check_port(), 10_256);
        let local = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..service() };
        assert_eq!(local.health_check_port(), 31_000);
    }

    #[test]
    fn only_an_address_in_the_status_is_shown() {
        let service = LoadBalancer { current_ingress: vec![Ingress::ip("192.0.2.1"), Ingress::ip("")], ..service() };
        assert_eq!(["192.0.2.1", "192.0.2.2", ""].map(|it| service.shows_address(it)), [true, false, false]);
    }

    #[test]
    fn all_node_ports_have_to_be_the_services_own() {
        let has = |ports: &[u16]| service().has_node_ports(ports);
        assert_eq!(
            [has(&[30_053]), has(&[30_080, 30_080]), has(&[30_080, 30_081]), has(&[])],
            [true, true, false, false]
        );
    }

    #[test]
    fn a_port_without_a_node_port_is_refused() {
        let mut port = Port::new(Protocol::Tcp, 80, 30_080);
        assert_eq!(port.required_node_port(), Ok(30_080));
        port.node_port = None;
        assert!(
            matches!(port.required_node_port(), Err(Error::Invalid(why)) if why.starts_with("port 80 has no node port"))
        );
    }
}
