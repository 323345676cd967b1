//! A load balancer for a Service.

use std::fmt::Display;
use std::time::Duration;

use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers::Guest;
use crate::{
    Ingress, IpMode, LoadBalancer, Node, Owner, Port, Progress, Protocol, Removal, Result, Standing, Traffic,
    Unfinished,
};

/// What a cloud with load balancers implements.
///
/// Each call makes one step and answers where things stand: nobody waits inside a call. Every step is safe to repeat
/// and safe to lose. What an earlier call made is found again, by its mark of ownership in the cloud, by the name that
/// holds the Service's UID, or by the memo, and never made twice.
pub trait LoadBalancers {
    /// Takes one step towards the wish. Reads first and writes only what differs.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered; [`Error::Invalid`](crate::Error::Invalid) for a wish that this cloud cannot grant,
    /// and for a load balancer that cannot be proven to be the Service's, which is not touched.
    fn ensure(desired: &LoadBalancer) -> Result<Progress>;

    /// Takes one step towards its absence. What is not there, or cannot be proven to be the Service's, is
    /// [`Removal::Done`] and is not touched. Where something may stay behind, a warning beside `Done` says what: then the
    /// host does not tell that anything was deleted.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn delete(unwanted: &LoadBalancer) -> Result<Removal>;
}

impl<T: LoadBalancers> Guest for T {
    fn ensure(desired: LoadBalancer) -> Result<Progress> {
        T::ensure(&desired)
    }

    fn delete(unwanted: LoadBalancer) -> Result<Removal> {
        T::delete(&unwanted)
    }
}

impl LoadBalancer {
    /// The value of an annotation of the Service, if the provider describes it and it is there.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
    }

    /// How things stand before this call, as far as the Service says: its addresses and its memo. What a step that
    /// changed neither of them answers.
    #[must_use]
    pub fn standing(&self) -> Standing {
        Standing { ingress: self.current.clone(), memo: self.memo.clone(), annotations: Vec::new() }
    }

    /// The wish of a Service in the cluster "kubernetes", without ports and nodes: for a vendor's own tests.
    pub fn of(namespace: impl Into<String>, name: impl Into<String>, uid: impl Into<String>) -> Self {
        let uid = uid.into();
        Self {
            name: format!("a{}", uid.replace('-', "")).chars().take(32).collect(),
            owner: Owner { cluster: "kubernetes".to_owned(), namespace: namespace.into(), name: name.into(), uid },
            memo: None,
            current: Vec::new(),
            class: None,
            ports: Vec::new(),
            nodes: Vec::new(),
            annotations: Vec::new(),
            source_ranges: Vec::new(),
            families: Vec::new(),
            address: None,
            traffic: Traffic::Cluster,
            affinity: None,
            extra: Vec::new(),
        }
    }

    /// The same wish with a port.
    #[must_use]
    pub fn with_port(mut self, port: Port) -> Self {
        self.ports.push(port);
        self
    }

    /// The same wish with a node that traffic may be sent to.
    #[must_use]
    pub fn with_node(mut self, node: Node) -> Self {
        self.nodes.push(node);
        self
    }

    /// The same wish with an annotation on the Service.
    #[must_use]
    pub fn with_annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }

    /// The same wish after a call that answered `standing`, which the host has kept.
    #[must_use]
    pub fn after(mut self, standing: Standing) -> Self {
        self.memo = standing.memo;
        self.current = standing.ingress;
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
    /// More has to follow: where things stand, when to come back (the host keeps it between one second and five
    /// minutes, but for zero beside the first memo: as soon as that is kept), and what is being waited for.
    pub fn pending(standing: Standing, after: Duration, because: impl Display) -> Self {
        Self::Pending(Unfinished::new(standing, after, because))
    }
}

impl Removal {
    /// More has to follow, as with [`Progress::pending`].
    pub fn pending(standing: Standing, after: Duration, because: impl Display) -> Self {
        Self::Pending(Unfinished::new(standing, after, because))
    }
}

impl Unfinished {
    /// Where things stand, when to come back, and what is being waited for, for a person.
    pub fn new(standing: Standing, after: Duration, because: impl Display) -> Self {
        let after_milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        Self { standing, after_milliseconds, because: because.to_string() }
    }
}

impl Standing {
    /// A load balancer that is reached there. Empty while it is nowhere.
    pub fn new(ingress: impl IntoIterator<Item = Ingress>) -> Self {
        Self { ingress: ingress.into_iter().collect(), memo: None, annotations: Vec::new() }
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
        Self { ip: Some(ip.into()), hostname: None, ip_mode: None }
    }

    /// A name.
    pub fn hostname(hostname: impl Into<String>) -> Self {
        Self { ip: None, hostname: Some(hostname.into()), ip_mode: None }
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
    fn what_is_pending_says_when_to_come_back() {
        let standing = Standing::new([Ingress::ip("192.0.2.1")]).memo("lb-1");
        let Progress::Pending(unfinished) = Progress::pending(standing.clone(), Duration::from_secs(3), "it boots")
        else {
            panic!("another answer");
        };
        assert_eq!((unfinished.after_milliseconds, &*unfinished.because), (3_000, "it boots"));
        assert_eq!(unfinished.standing, standing);
        assert_eq!(Unfinished::new(standing, Duration::MAX, "").after_milliseconds, u32::MAX);
    }

    #[test]
    fn what_the_host_kept_is_where_things_stand() {
        let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let wish = LoadBalancer::of("default", "web", uid).with_annotation("acme.example/size", "small");
        assert_eq!(wish.name, "a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1");
        assert_eq!(wish.annotation("acme.example/size"), Some("small"));
        assert_eq!(wish.annotation("acme.example/colour"), None);
        let standing = Standing::new([Ingress::hostname("lb.acme.example").ip_mode(IpMode::Proxy)]).memo("lb-1");
        assert_eq!(wish.after(standing.clone()).standing(), standing);
    }
}
