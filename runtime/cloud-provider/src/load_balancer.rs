use std::time::Duration;

use async_trait::async_trait;

use crate::{Machine, Reply, Result};

/// Load balancers for Services.
#[async_trait]
pub trait LoadBalancers: Send + Sync {
    /// Whether calls are made at all now. It is asked before the cluster is told or written what belongs to a call.
    ///
    /// # Errors
    ///
    /// What every call would answer now.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Takes one step towards the wish and says where things stand. Reads first and writes only what differs.
    ///
    /// Safe to repeat and safe to lose: what an earlier call made is found again, by its mark of ownership in the
    /// cloud or by `memo`, and never made twice. What cannot be proven to be ours is
    /// [`Error::Invalid`](crate::Error::Invalid), and is not touched.
    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>>;

    /// Takes one step towards its absence. What is not there, or cannot be proven to be ours, is [`Removal::Done`] and
    /// is not touched.
    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Removal>>;
}

/// Where an `ensure` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Progress {
    /// It is as wished.
    Ready(Standing),
    /// It will be: come back later. No failure.
    Pending(Unfinished),
    /// Somebody else serves this Service: no status, no event.
    Elsewhere,
}

/// Where a `delete` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Removal {
    /// It is gone, or was never ours.
    Done,
    /// It will be gone: come back later. No failure.
    Pending(Unfinished),
}

/// A step was made; more have to follow.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unfinished {
    /// Where things stand until then.
    pub standing: Standing,
    /// When to call again: between one second and five minutes.
    pub after: Duration,
    /// What is being waited for, for a person: one line.
    pub because: String,
}

/// What there is to know about a load balancer.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Standing {
    /// `status.loadBalancer.ingress`.
    pub ingress: Vec<Ingress>,
    /// What the provider must know again, at most 1 KiB. It has to be kept, where the Service's authors cannot write,
    /// before the next call. Never empty.
    pub memo: Option<String>,
    /// To be written on the Service for people and other tools: only keys that the provider describes and that the
    /// operator allows.
    pub annotations: Vec<(String, String)>,
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
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LoadBalancer {
    /// Upstream's default name: "a" and the Service's UID without dashes, 32 characters at most.
    pub name: String,
    /// The Service.
    pub owner: Owner,
    /// What an earlier [`Standing`] asked to keep. Proof of ownership. Never empty.
    pub memo: Option<String>,
    /// The addresses that the Service's status shows now, ours or an earlier controller's. Proof for adoption.
    pub current: Vec<Ingress>,
    /// `spec.loadBalancerClass`.
    pub class: Option<String>,
    /// `spec.ports`, in its order: to some clouds the first one is particular.
    pub ports: Vec<Port>,
    /// Those that traffic may be sent to. Empty for `delete`.
    pub nodes: Vec<Machine>,
    /// The Service's annotations. The sandbox passes on only those that the provider describes.
    pub annotations: Vec<(String, String)>,
    /// `spec.loadBalancerSourceRanges`, canonical and complete, or those of the annotation
    /// `service.beta.kubernetes.io/load-balancer-source-ranges` if the provider describes that. Empty means not given.
    pub source_ranges: Vec<String>,
    /// `spec.ipFamilies`.
    pub families: Vec<IpFamily>,
    /// `spec.loadBalancerIP`.
    pub address: Option<String>,
    /// `spec.externalTrafficPolicy`.
    pub traffic: Traffic,
    /// Client-IP affinity, in seconds.
    pub affinity: Option<u32>,
}

/// Whose load balancer it is: what a mark of ownership says.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Owner {
    /// `--cluster-name`.
    pub cluster: String,
    /// Of the Service.
    pub namespace: String,
    /// Of the Service.
    pub name: String,
    /// Of the Service: alone unique in time.
    pub uid: String,
}

/// One of `spec.ports`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Port {
    /// "" where the Service has one port without a name.
    pub name: String,
    /// What is carried.
    pub protocol: Protocol,
    /// What clients dial.
    pub port: u16,
    /// `None` with `allocateLoadBalancerNodePorts: false`.
    pub node_port: Option<u16>,
    /// `appProtocol`.
    pub app_protocol: Option<String>,
}

/// What a port carries.
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
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Traffic {
    /// All of them.
    Cluster,
    /// Those with a ready pod, which is told on this port: `GET /healthz`.
    Local(u16),
}
