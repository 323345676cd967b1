use std::time::Duration;

use async_trait::async_trait;

use crate::{Error, Freshness, Node, Reply, Result};

/// Load balancers for Services.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// Whether calls are made at all now. It is asked before anything that belongs to a call is written in the cluster.
    ///
    /// # Errors
    ///
    /// The error that every call would have for an answer now.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Takes one step towards the desired state and says where things stand. Reads first and writes only what differs.
    ///
    /// Safe to repeat and safe to lose: what an earlier call made is found again, by its mark of ownership in the
    /// cloud or by `memo`, and never made twice. What cannot be proven to be ours is
    /// [`Error::Invalid`], and is not touched.
    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>>;

    /// As [`ensure`](Self::ensure), for a Service about which nothing was asked since the newest complete list of load
    /// balancers began: what that list has read of the cloud may answer this call too, if it is so fresh. For tens of
    /// Services that are built together this is one read and not one each.
    async fn ensure_listed(&self, desired: &LoadBalancer, _: Freshness) -> Reply<Result<Progress>> {
        self.ensure(desired).await
    }

    /// Takes one step towards its absence. What is not there, or cannot be proven to be ours, is [`Deletion::Done`] and
    /// is not touched.
    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>>;
}

/// Where an `ensure` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Progress {
    /// It is as desired.
    Ready(LoadBalancerStatus),
    /// It will be: come back later. No failure.
    Pending(PendingStatus),
    /// It cannot be, for now, and the status has to be kept all the same: an action of the cloud has failed, say.
    Failed(LoadBalancerStatus, Error),
    /// Somebody else serves this Service: no status, no event.
    NotManaged,
}

/// Where a `delete` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Deletion {
    /// It is gone, or was never ours.
    Done,
    /// It will be gone: come back later. No failure.
    Pending(PendingStatus),
    /// It is there and stays, because the cloud protects it, for this reason: one line. It is no longer the Service's.
    Kept(String),
}

/// A step was made; more have to follow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PendingStatus {
    /// Where things stand until then.
    pub status: LoadBalancerStatus,
    /// When to call again: between half a second and five minutes; zero beside the first memo means as soon as that is
    /// kept.
    pub after: Duration,
    /// The step that is waited for, for a person: one line.
    pub reason: String,
}

/// The status of a load balancer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LoadBalancerStatus {
    /// `status.loadBalancer.ingress`.
    pub ingress: Vec<Ingress>,
    /// The memo: text that the provider must know again, at most 1 KiB. It has to be kept, where the Service's authors cannot write,
    /// before the next call. Never empty. No two Services have the same one.
    pub memo: Option<String>,
    /// To be written on the Service for people and other tools: only keys that the provider describes and that the
    /// operator allows.
    pub annotations: Vec<(String, String)>,
    /// A condition that tells a person what to change on the Service.
    pub condition: Option<ServiceCondition>,
}

/// A condition of a Service that is `True`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServiceCondition {
    /// Its type.
    pub kind: ServiceConditionKind,
    /// One word, as Kubernetes takes it.
    pub reason: String,
    /// For a person, on one line.
    pub message: String,
}

/// The conditions that cloud providers set on Services.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServiceConditionKind {
    /// `LoadBalancerPortsError`: the cloud cannot serve these ports ([KEP-1435]).
    ///
    /// [KEP-1435]: https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/1435-mixed-protocol-lb
    Ports,
}

impl ServiceConditionKind {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Ports];

    /// As `status.conditions[].type` has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ports => "LoadBalancerPortsError",
        }
    }
}

/// Where a load balancer is reached. At least one of `ip` and `hostname` is there.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Ingress {
    /// An address; `None` where the cloud gives a name.
    pub ip: Option<String>,
    /// A name; `None` where the cloud gives an address.
    pub hostname: Option<String>,
    /// `status.loadBalancer.ingress[].ipMode`.
    pub ip_mode: Option<IpMode>,
}

/// How traffic comes from a load balancer to a node.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum IpMode {
    /// With the load balancer's address as destination.
    Vip,
    /// With the node's or the pod's.
    Proxy,
}

impl IpMode {
    /// The name in the Kubernetes API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vip => "VIP",
            Self::Proxy => "Proxy",
        }
    }

    /// The mode with this name in the Kubernetes API, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Vip, Self::Proxy].into_iter().find(|it| it.as_str() == name)
    }
}

/// Everything that a Service says about its load balancer. Lists are sorted, but for `ports`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LoadBalancer {
    /// Upstream's default name: "a" and the Service's UID without dashes, 32 characters at most.
    pub name: String,
    /// The Service.
    pub owner: Owner,
    /// The memo that an earlier [`LoadBalancerStatus`] asked to keep. Proof of ownership. Never empty.
    pub memo: Option<String>,
    /// Whether no call of `ensure` before this one has had the memo, whichever process made it: then none can have begun what the
    /// memo announces. `false` where that is not known.
    pub memo_is_new: bool,
    /// The addresses that the Service's status shows now, ours or an earlier controller's. Proof for adoption.
    pub current_ingress: Vec<Ingress>,
    /// `spec.loadBalancerClass`.
    pub load_balancer_class: Option<String>,
    /// `spec.ports`, in its order: to some clouds the first one is particular.
    pub ports: Vec<Port>,
    /// Those that traffic may be sent to. Empty for `delete`.
    pub nodes: Vec<Node>,
    /// The Service's annotations. The sandbox passes on only those that the provider describes.
    pub annotations: Vec<(String, String)>,
    /// `spec.loadBalancerSourceRanges`, canonical and complete, or those of the annotation
    /// `service.beta.kubernetes.io/load-balancer-source-ranges` if the provider describes that. Empty means not given.
    pub source_ranges: Vec<String>,
    /// `spec.ipFamilies`.
    pub ip_families: Vec<IpFamily>,
    /// `spec.loadBalancerIP`.
    pub load_balancer_ip: Option<String>,
    /// `spec.externalTrafficPolicy`.
    pub external_traffic_policy: ExternalTrafficPolicy,
    /// Client-IP affinity, in seconds.
    pub client_ip_affinity_seconds: Option<u32>,
    /// Those of its finalizers that the provider describes: an earlier controller's.
    pub finalizers: Vec<String>,
}

/// The owner of a load balancer, as a mark of ownership names it.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Owner {
    /// `--cluster-name`.
    pub cluster: String,
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub name: String,
    /// The Service's UID: alone unique in time.
    pub uid: String,
}

/// One of `spec.ports`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Port {
    /// "" where the Service has one port without a name.
    pub name: String,
    /// TCP, UDP or SCTP.
    pub protocol: Protocol,
    /// The port that clients dial.
    pub port: u16,
    /// `None` with `allocateLoadBalancerNodePorts: false`.
    pub node_port: Option<u16>,
    /// `appProtocol`.
    pub app_protocol: Option<String>,
}

/// The protocol of a port.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Protocol {
    /// `TCP`.
    Tcp,
    /// `UDP`.
    Udp,
    /// `SCTP`.
    Sctp,
}

impl Protocol {
    /// The name in the Kubernetes API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sctp => "SCTP",
        }
    }

    /// The protocol with this name in the Kubernetes API, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Tcp, Self::Udp, Self::Sctp].into_iter().find(|it| it.as_str() == name)
    }
}

/// An address family of a Service.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum IpFamily {
    /// `IPv4`.
    Ipv4,
    /// `IPv6`.
    Ipv6,
}

impl IpFamily {
    /// The name in the Kubernetes API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        }
    }

    /// The family with this name in the Kubernetes API, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Ipv4, Self::Ipv6].into_iter().find(|it| it.as_str() == name)
    }
}

/// Which nodes take traffic.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum ExternalTrafficPolicy {
    /// All of them.
    #[default]
    Cluster,
    /// Those with a ready pod, as this port says: `GET /healthz`.
    Local(u16),
}
