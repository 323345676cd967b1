//! A load balancer for a Service.

use std::fmt::Display;
use std::time::Duration;

use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers::Guest;
use crate::{
    Deletion, Error, ExternalTrafficPolicy, FailedStatus, Ingress, IpMode, LoadBalancer, LoadBalancerStatus, Node,
    Owner, Pause, PendingStatus, Port, Progress, Result,
};

/// The capability of a cloud with load balancers.
///
/// Each call makes one step and answers with the status: no call waits. A step may be repeated,
/// and its answer may be lost: what an earlier call created is found by its mark of ownership in the cloud, by the name that
/// holds the Service's UID, or by the memo, and never created twice.
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

    /// Whether the load balancers were listed a moment ago, so that the requests of
    /// [`LoadBalancerInventory::list`](crate::LoadBalancerInventory::list) cost nothing in this call: to look there first
    /// saves the read of this one.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.extra.iter().any(|(key, value)| key == "host.listed" && value == "true")
    }

    /// Whether the load balancer was created for the very question of this call, nodes and all, and was not [`Progress::Ready`] since
    /// (`host.as-created`): parts that the creation has made need not be compared then.
    #[must_use]
    pub fn is_as_created(&self) -> bool {
        self.extra.iter().any(|(key, value)| key == "host.as-created" && value == "true")
    }

    /// Whether no call of [`LoadBalancers::ensure`] before this one has had this memo (`host.new-memo`): what it announces, no call
    /// has sent yet. If the cloud refuses it for certain, [`Progress::Failed`] without a memo takes
    /// the announcement back, and a [`LoadBalancers::delete`] has nothing to wait for. `false` also where the host does not know, as after a
    /// restart: then look into the cloud first.
    #[must_use]
    pub fn is_memo_new(&self) -> bool {
        self.extra.iter().any(|(key, value)| key == "host.new-memo" && value == "true")
    }

    /// The finalizers that its Service has, of those that the provider describes.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.extra.iter().filter(|(key, _)| key == "finalizer").map(|(_, finalizer)| finalizer.as_str())
    }

    /// The status before this call, as the Service shows it: its addresses and its memo. A step that changes neither of them
    /// answers with it.
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

impl Progress {
    /// It is not ready: the status, when to call again (the host keeps it between half a second and five minutes, but for zero
    /// with the first memo: then it calls as soon as the memo is kept), and what the call waits for.
    pub fn pending(status: LoadBalancerStatus, after: Duration, reason: impl Display) -> Self {
        Self::Pending(PendingStatus::new(status, after, reason))
    }

    /// It failed for now, and `status` is kept: the cloud reports that one of its actions has failed, say.
    #[must_use]
    pub fn failed(status: LoadBalancerStatus, error: Error) -> Self {
        Self::Failed(FailedStatus { status, error })
    }
}

impl Deletion {
    /// It is not deleted yet, as with [`Progress::pending`].
    pub fn pending(status: LoadBalancerStatus, after: Duration, reason: impl Display) -> Self {
        Self::Pending(PendingStatus::new(status, after, reason))
    }

    /// It is there and stays, because the cloud protects it: why, for a person.
    pub fn kept(reason: impl Display) -> Self {
        Self::Kept(reason.to_string())
    }
}

impl PendingStatus {
    /// The status, when to call again, and what the call waits for, for a person.
    pub fn new(status: LoadBalancerStatus, after: Duration, reason: impl Display) -> Self {
        let milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        Self { status, wait: Pause { milliseconds, reason: reason.to_string() } }
    }
}

/// The word of a status for a condition of the Service.
const CONDITION: &str = "service-condition";

impl LoadBalancerStatus {
    /// The same, with the condition `LoadBalancerPortsError` on the Service: the cloud cannot serve its ports. `reason` is one
    /// word, such as `LoadBalancerMixedProtocolNotSupported`. The next [`Progress::Ready`] without it takes it off.
    #[must_use]
    pub fn with_ports_error(mut self, reason: impl Display, message: impl Display) -> Self {
        self.extra.push((CONDITION.to_owned(), format!("LoadBalancerPortsError {reason} {message}")));
        self
    }

    /// The same of a call that has created the load balancer as it was asked for: while nothing else is asked for, the next ones
    /// are told so ([`LoadBalancer::is_as_created`]).
    #[must_use]
    pub fn created(mut self) -> Self {
        self.extra.push(("created".to_owned(), "true".to_owned()));
        self
    }

    /// A load balancer with these addresses; none while it has none.
    pub fn new(ingress: impl IntoIterator<Item = Ingress>) -> Self {
        Self { ingress: ingress.into_iter().collect(), memo: None, annotations: Vec::new(), extra: Vec::new() }
    }

    /// The memo that the next calls must know, at most 1 KiB: the cloud's id, say. The host keeps it on the Service, where the
    /// Service's authors cannot write, before it calls again. A status without it removes it.
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

    /// Where a Service is reached: by `hostname` alone, if its author chose one, or by all addresses that are not empty.
    ///
    /// ```
    /// use aerostat_sdk::{Ingress, IpMode};
    ///
    /// let addresses = ["192.0.2.1", ""];
    /// assert_eq!(Ingress::list(None, addresses, IpMode::Vip), [Ingress::ip("192.0.2.1").ip_mode(IpMode::Vip)]);
    /// assert_eq!(Ingress::list(Some("lb.example"), addresses, IpMode::Vip), [Ingress::hostname("lb.example")]);
    /// ```
    pub fn list<'a>(
        hostname: Option<&str>,
        addresses: impl IntoIterator<Item = &'a str>,
        ip_mode: IpMode,
    ) -> Vec<Self> {
        if let Some(hostname) = hostname {
            return vec![Self::hostname(hostname)];
        }
        let addresses = addresses.into_iter().filter(|it| !it.is_empty());
        addresses.map(|it| Self::ip(it).ip_mode(ip_mode)).collect()
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
