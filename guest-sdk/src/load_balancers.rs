//! A load balancer for a Service.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers::Guest;
use crate::{
    Deletion, Error, ExternalTrafficPolicy, FailedStatus, Ingress, IpMode, LoadBalancer, LoadBalancerStatus, Node,
    Owner, Pause, PendingStatus, Port, Progress, Protocol, Result,
};

/// What a cloud with load balancers implements.
///
/// Each call makes one step and answers with the status: no call waits. Every step is safe to repeat
/// and safe to lose. What an earlier call made is found again, by its mark of ownership in the cloud, by the name that
/// holds the Service's UID, or by the memo, and never made twice.
pub trait LoadBalancers {
    /// Takes one step towards the desired state. Reads first and writes only what differs.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered; [`Error::Invalid`] for what this cloud cannot do, and for a load balancer that cannot be proven to be the Service's, which is not touched.
    fn ensure(desired: &LoadBalancer) -> Result<Progress>;

    /// Takes one step towards its absence. What is not there, or cannot be proven to be the Service's, is
    /// [`Deletion::Done`] and is not touched. Where something may stay behind, a warning beside `Done` says what: then the
    /// host does not say that anything was deleted.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn delete(unwanted: &LoadBalancer) -> Result<Deletion>;
}

impl<T: LoadBalancers> Guest for T {
    fn ensure(desired: LoadBalancer) -> Result<Progress> {
        T::ensure(&desired)
    }

    fn delete(unwanted: LoadBalancer) -> Result<Deletion> {
        T::delete(&unwanted)
    }
}

impl LoadBalancer {
    /// The value of an annotation of the Service, if the provider describes it and it is there.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }

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
        let mut nodes_of: BTreeMap<&str, usize> = BTreeMap::new();
        for region in self.nodes.iter().filter_map(|it| it.region.as_deref()) {
            *nodes_of.entry(region).or_default() += 1;
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

    /// The error for a load balancer that would send to no node. `more` goes on after the sentence.
    pub fn without_nodes(more: impl Display) -> Error {
        Error::unavailable(format_args!("no ready nodes available for load balancer{more}"))
    }

    /// How things stand before this call, as far as the Service says: its addresses and its memo. What a step that
    /// changed neither of them answers.
    #[must_use]
    pub fn status(&self) -> LoadBalancerStatus {
        LoadBalancerStatus {
            ingress: self.current_ingress.clone(),
            memo: self.memo.clone(),
            annotations: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// The desired state of a Service in the cluster "kubernetes", without ports and nodes: for a vendor's own tests.
    pub fn of(namespace: impl Into<String>, name: impl Into<String>, uid: impl Into<String>) -> Self {
        let uid = uid.into();
        Self {
            name: format!("a{}", uid.replace('-', "")).chars().take(32).collect(),
            owner: Owner { cluster: "kubernetes".to_owned(), namespace: namespace.into(), name: name.into(), uid },
            memo: None,
            current_ingress: Vec::new(),
            load_balancer_class: None,
            ports: Vec::new(),
            nodes: Vec::new(),
            annotations: Vec::new(),
            source_ranges: Vec::new(),
            ip_families: Vec::new(),
            load_balancer_ip: None,
            external_traffic_policy: ExternalTrafficPolicy::Cluster,
            client_ip_affinity_seconds: None,
            extra: Vec::new(),
        }
    }

    /// The same with a port.
    #[must_use]
    pub fn with_port(mut self, port: Port) -> Self {
        self.ports.push(port);
        self
    }

    /// The same with a node that traffic may be sent to.
    #[must_use]
    pub fn with_node(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// The same with an annotation on the Service.
    #[must_use]
    pub fn with_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }

    /// The same after a call that answered `status`, which the host has kept.
    #[must_use]
    pub fn after(mut self, status: LoadBalancerStatus) -> Self {
        self.memo = status.memo;
        self.current_ingress = status.ingress;
        self
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

impl Progress {
    /// More has to follow: where things stand, when to come back (the host keeps it between half a second and five
    /// minutes, but for zero beside the first memo: as soon as that is kept), and what is being waited for.
    pub fn pending(status: LoadBalancerStatus, after: Duration, reason: impl Display) -> Self {
        Self::Pending(PendingStatus::new(status, after, reason))
    }

    /// It cannot be for now, and `status` is to be kept all the same: that an action of the cloud has failed, say.
    #[must_use]
    pub fn failed(status: LoadBalancerStatus, error: Error) -> Self {
        Self::Failed(FailedStatus { status, error })
    }
}

impl Deletion {
    /// More has to follow, as with [`Progress::pending`].
    pub fn pending(status: LoadBalancerStatus, after: Duration, reason: impl Display) -> Self {
        Self::Pending(PendingStatus::new(status, after, reason))
    }

    /// It is there and stays, because the cloud protects it: why, for a person.
    pub fn kept(reason: impl Display) -> Self {
        Self::Kept(reason.to_string())
    }
}

impl PendingStatus {
    /// Where things stand, when to come back, and what is being waited for, for a person.
    pub fn new(status: LoadBalancerStatus, after: Duration, reason: impl Display) -> Self {
        let milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        Self { status, wait: Pause { milliseconds, reason: reason.to_string() } }
    }
}

impl LoadBalancerStatus {
    /// A load balancer that is reached there. Empty while it is nowhere.
    pub fn new(ingress: impl IntoIterator<Item = Ingress>) -> Self {
        Self { ingress: ingress.into_iter().collect(), memo: None, annotations: Vec::new(), extra: Vec::new() }
    }

    /// What the next calls must know, at most 1 KiB: the cloud's id, say. The host keeps it on the Service, where the
    /// Service's authors cannot write, before it calls again. What is not said again is forgotten.
    #[must_use]
    pub fn memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = Some(memo.into());
        self
    }

    /// An annotation to write on the Service, for people and other tools. Its key has to be under
    /// [`Description::writes_annotation`](crate::Description::writes_annotation), and in the operator's config.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }
}

impl Ingress {
    /// An address.
    pub fn ip(ip: impl Into<String>) -> Self {
        Self { ip: Some(ip.into()), hostname: None, ip_mode: None, extra: Vec::new() }
    }

    /// A name.
    pub fn hostname(hostname: impl Into<String>) -> Self {
        Self { ip: None, hostname: Some(hostname.into()), ip_mode: None, extra: Vec::new() }
    }

    /// How traffic comes from there to a node.
    #[must_use]
    pub fn ip_mode(mut self, ip_mode: IpMode) -> Self {
        self.ip_mode = Some(ip_mode);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_pending_status_says_when_to_come_back() {
        let status = LoadBalancerStatus::new([Ingress::ip("192.0.2.1")]).memo("lb-1");
        let Progress::Pending(pending) = Progress::pending(status.clone(), Duration::from_secs(3), "it boots") else {
            panic!("another answer");
        };
        assert_eq!((pending.wait.milliseconds, &*pending.wait.reason), (3_000, "it boots"));
        assert_eq!(pending.status, status);
        assert_eq!(PendingStatus::new(status, Duration::MAX, "").wait.milliseconds, u32::MAX);
    }

    #[test]
    fn the_status_is_what_the_host_has_kept() {
        let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let desired = LoadBalancer::of("default", "web", uid).with_annotation("acme.example/size", "small");
        assert_eq!(desired.name, "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1");
        assert_eq!(desired.annotation("acme.example/size"), Some("small"));
        assert_eq!(desired.annotation("acme.example/colour"), None);
        let status =
            LoadBalancerStatus::new([Ingress::hostname("lb.acme.example").ip_mode(IpMode::Proxy)]).memo("lb-1");
        assert_eq!(desired.after(status.clone()).status(), status);
    }
}
