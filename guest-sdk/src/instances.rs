//! The machine of a node.

use crate::bindings::instances::exports::aerostat::cloud::instances::Guest;
use crate::{Address, AddressKind, Gap, Instance, Node, Page, Result, State};

/// The capability of a cloud with machines.
pub trait Instances {
    /// The machine behind `node`. Ask by provider id, or by name where the node has none yet.
    ///
    /// `Ok(None)` is a promise: the cloud is certain that the machine does not exist. Its node will be deleted.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered; [`Error::Invalid`](crate::Error::Invalid) for a provider id that is not this cloud's.
    fn get(node: &Node) -> Result<Option<Instance>>;

    /// One answer for each node, in the same order. Implement it where the cloud reads many ids in one request, and
    /// say so with [`Description::get_batch_size`](crate::Description::get_batch_size). An event that names none of
    /// several nodes is dropped.
    fn get_many(nodes: &[Node]) -> Vec<Result<Option<Instance>>> {
        nodes.iter().map(Self::get).collect()
    }

    /// One page of the cluster's machines, at most `limit` of them, from `cursor` on (`None`: from the start).
    ///
    /// `limit` stays the same from page to page. Absence from a list is never taken as deletion.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered. The list ends with it, and begins again later with a smaller `limit`.
    fn list(cursor: Option<&str>, limit: u32) -> Result<Page>;

    /// The canonical form of a provider id that has several spellings: letters in another case, an older form, an optional part.
    /// No HTTP. The id itself, unless the cloud has several spellings.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for a provider id that is not this cloud's.
    fn canonical_id(provider_id: &str) -> Result<String> {
        Ok(provider_id.to_owned())
    }
}

impl<T: Instances> Guest for T {
    fn get(nodes: Vec<Node>) -> Vec<Result<Option<Instance>>> {
        T::get_many(&nodes)
    }

    fn canonical_ids(provider_ids: Vec<String>) -> Vec<Result<String>> {
        provider_ids.iter().map(|it| T::canonical_id(it)).collect()
    }

    fn list(cursor: Option<String>, limit: u32) -> Result<Page> {
        T::list(cursor.as_deref(), limit)
    }
}

impl Instance {
    /// A running machine, by the node name that its kubelet registers and its provider id.
    pub fn new(name: impl Into<String>, provider_id: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            provider_id: Some(provider_id.into()),
            state: State::Running,
            machine_type: None,
            zone: None,
            region: None,
            addresses: Vec::new(),
            labels: Vec::new(),
            pod_cidrs: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Whether it runs.
    #[must_use]
    pub fn state(mut self, state: State) -> Self {
        self.state = state;
        self
    }

    /// The cloud's name for its size.
    #[must_use]
    pub fn machine_type(mut self, machine_type: impl Into<String>) -> Self {
        self.machine_type = Some(machine_type.into());
        self
    }

    /// Its zone, for `topology.kubernetes.io/zone`.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Its region, for `topology.kubernetes.io/region`.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Its addresses, in the order in which the node shall show them.
    #[must_use]
    pub fn addresses(mut self, addresses: impl IntoIterator<Item = Address>) -> Self {
        self.addresses.extend(addresses);
        self
    }

    /// A value that comes back in the node's `extra`: at most 1 KiB together, and only values that rarely change: another value
    /// makes the host reconcile every load balancer.
    #[must_use]
    pub fn extra(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.push((key.into(), value.into()));
        self
    }

    /// A further node label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }
}

impl Page {
    /// A page after which `next` comes; `None` on the last.
    pub fn new(instances: Vec<Instance>, next: Option<String>) -> Self {
        Self { instances, next, gaps: Vec::new() }
    }

    /// Says why this page may lack machines anywhere: a warning of the cloud.
    #[must_use]
    pub fn gap(mut self, reason: impl Into<String>) -> Self {
        self.gaps.push(Gap { zone: None, reason: reason.into() });
        self
    }

    /// Says why this page may lack machines of one zone: it did not answer, say.
    #[must_use]
    pub fn gap_in_zone(mut self, zone: impl Into<String>, reason: impl Into<String>) -> Self {
        self.gaps.push(Gap { zone: Some(zone.into()), reason: reason.into() });
        self
    }
}

impl Address {
    /// `Hostname`.
    pub fn hostname(value: impl Into<String>) -> Self {
        Self { kind: AddressKind::Hostname, value: value.into() }
    }

    /// `InternalIP`.
    pub fn internal_ip(value: impl Into<String>) -> Self {
        Self { kind: AddressKind::InternalIp, value: value.into() }
    }

    /// `ExternalIP`.
    pub fn external_ip(value: impl Into<String>) -> Self {
        Self { kind: AddressKind::ExternalIp, value: value.into() }
    }

    /// `InternalDNS`.
    pub fn internal_dns(value: impl Into<String>) -> Self {
        Self { kind: AddressKind::InternalDns, value: value.into() }
    }

    /// `ExternalDNS`.
    pub fn external_dns(value: impl Into<String>) -> Self {
        Self { kind: AddressKind::ExternalDns, value: value.into() }
    }
}
