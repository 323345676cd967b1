use async_trait::async_trait;

use crate::{Reply, Result};

/// Which machine stands behind a node.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Whether calls are made at all now. It is asked before anything is concluded from what the cloud does not have.
    ///
    /// # Errors
    ///
    /// The error that every call would have for an answer now.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Asks about several nodes: one answer for each, in the same order. Batches that the cloud cannot read in one
    /// request are asked side by side.
    ///
    /// `Ok(None)` means that the cloud is certain that the machine does not exist.
    async fn get(&self, nodes: &[Node]) -> Reply<Vec<Result<Option<Instance>>>>;

    /// One page of the cluster's machines, at most `limit` of them, beginning at `cursor` (`None`: at the start).
    /// Absence from a list is never taken as deletion.
    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>>;

    /// One word for each of these provider ids, in the same order: the same for all spellings of one machine's id,
    /// another for another machine. Nothing is read from the cloud, so that the words can be kept. As it is written
    /// here, every machine has one spelling.
    ///
    /// An error for an id means that it is none of this cloud's.
    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        provider_ids.iter().cloned().map(Ok).collect()
    }
}

/// A Kubernetes node, as much of it as a provider may know.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Node {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`; `None` for a node that is no longer there.
    pub uid: Option<String>,
    /// `spec.providerID`; `None` until the node is initialised. Never empty.
    pub provider_id: Option<String>,
    /// `status.addresses`.
    pub addresses: Vec<Address>,
    /// `topology.kubernetes.io/zone`.
    pub zone: Option<String>,
    /// `topology.kubernetes.io/region`.
    pub region: Option<String>,
    /// The node's labels. The sandbox passes on only those that the provider describes and that the operator named in
    /// `provider.nodeLabels`.
    pub labels: Vec<(String, String)>,
    /// The `extra` of the newest [`Instance`] of this node, up to a few minutes old: a hint, never proof.
    pub extra: Vec<(String, String)>,
}

/// One page of the list of machines.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Page {
    /// The machines on it.
    pub instances: Vec<Instance>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
    /// Where this page may lack machines.
    pub gaps: Vec<Gap>,
}

/// Machines that a page may lack.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Gap {
    /// Those of this zone; `None`: any. Never empty.
    pub zone: Option<String>,
    /// For a person: a warning of the cloud, a zone that did not answer. One line.
    pub reason: String,
}

/// A machine of the cloud.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Instance {
    /// The node name that its kubelet registers.
    pub name: String,
    /// `None` if the cloud has none. Never empty.
    pub provider_id: Option<String>,
    /// Whether it runs.
    pub state: State,
    /// The cloud's name for its size. Never empty; the same holds for zone and region.
    pub machine_type: Option<String>,
    /// For `topology.kubernetes.io/zone`.
    pub zone: Option<String>,
    /// For `topology.kubernetes.io/region`.
    pub region: Option<String>,
    /// In the cloud's order. None: the node keeps those that it has, which is the answer for a machine that exists as far
    /// as can be told, and about which the cloud tells nothing.
    pub addresses: Vec<Address>,
    /// Further node labels.
    pub labels: Vec<(String, String)>,
    /// The pod networks that the cloud has given it, in CIDR notation: for the cloud allocator of node IPAM.
    pub pod_cidrs: Vec<String>,
    /// The value that comes back in [`Node::extra`]: sorted, at most 1 KiB. Another value is a change of every load balancer.
    pub extra: Vec<(String, String)>,
}

/// Whether a machine runs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum State {
    /// It runs, is about to, or is in any other state in which it exists and was not shut down.
    #[default]
    Running,
    /// It was shut down, and still exists.
    Stopped,
}

/// A node address, as in `status.addresses`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Address {
    /// The kind of the address.
    pub kind: AddressKind,
    /// The address, as the cloud spells it.
    pub value: String,
}

/// `status.addresses[].type`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AddressKind {
    /// `Hostname`.
    Hostname,
    /// `InternalIP`.
    InternalIp,
    /// `ExternalIP`.
    ExternalIp,
    /// `InternalDNS`.
    InternalDns,
    /// `ExternalDNS`.
    ExternalDns,
}

impl AddressKind {
    /// The name in the Kubernetes API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hostname => "Hostname",
            Self::InternalIp => "InternalIP",
            Self::ExternalIp => "ExternalIP",
            Self::InternalDns => "InternalDNS",
            Self::ExternalDns => "ExternalDNS",
        }
    }

    /// The kind with this name in the Kubernetes API, if there is one.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Hostname, Self::InternalIp, Self::ExternalIp, Self::InternalDns, Self::ExternalDns]
            .into_iter()
            .find(|it| it.as_str() == name)
    }
}
