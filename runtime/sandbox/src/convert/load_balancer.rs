use std::net::IpAddr;
use std::time::Duration;

use cloud_provider::{
    Deletion, ExternalTrafficPolicy, Ingress, IpFamily, IpMode, LoadBalancer, LoadBalancerStatus, Owner, PendingStatus,
    Port, Progress, Protocol, ServiceCondition, ServiceConditionKind,
};

use super::{instance, label, nonempty};
use crate::bindings::host::aerostat::cloud::types as shared;
use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers as wit;
use crate::untrusted::{is_printable, printable};

/// In a load balancer's `extra`: a finalizer of its Service.
const FINALIZER: &str = "finalizer";

/// The word of a status for a condition of the Service.
const CONDITION: &str = "service-condition";

/// The longest reason of a condition.
const REASON_BYTES: usize = 128;
const INGRESS: usize = 64;
const MEMO_BYTES: usize = 1 << 10;
const ANNOTATIONS: usize = 64;
const ANNOTATION_BYTES: usize = 4 << 10;
const TEXT_BYTES: usize = 1 << 10;
/// Later would be an outage.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// Which annotation keys pass between a Service and its provider.
pub(crate) struct AnnotationKeys<'a> {
    /// Those that the provider may see.
    pub(crate) read: &'a [cloud_provider::Annotation],
    /// Those that the provider has said it writes.
    pub(crate) described: &'a [String],
    /// Those that the operator lets it write.
    pub(crate) allowed: &'a [String],
}

/// A Service as a guest is told of it: of its annotations only those that the provider describes, of the nodes' labels
/// only those that `node_labels` names.
pub(crate) fn desired(it: &LoadBalancer, node_labels: &[String], keys: &AnnotationKeys<'_>) -> wit::LoadBalancer {
    let Owner { cluster, namespace, name, uid } = it.owner.clone();
    let is_read = |key: &str| keys.read.iter().any(|it| it.matches(key));
    wit::LoadBalancer {
        name: it.name.clone(),
        owner: wit::Owner { cluster, namespace, name, uid },
        memo: it.memo.clone(),
        current_ingress: it.current_ingress.iter().map(ingress_to_wit).collect(),
        load_balancer_class: it.load_balancer_class.clone(),
        ports: it.ports.iter().map(port).collect(),
        nodes: it.nodes.iter().map(|it| instance::node(it, node_labels)).collect(),
        annotations: it.annotations.iter().filter(|(key, _)| is_read(key)).cloned().collect(),
        source_ranges: it.source_ranges.clone(),
        ip_families: it
            .ip_families
            .iter()
            .map(|family| match family {
                IpFamily::Ipv4 => shared::IpFamily::Ipv4,
                IpFamily::Ipv6 => shared::IpFamily::Ipv6,
            })
            .collect(),
        load_balancer_ip: it.load_balancer_ip.clone(),
        external_traffic_policy: match it.external_traffic_policy {
            ExternalTrafficPolicy::Cluster => wit::ExternalTrafficPolicy::Cluster,
            ExternalTrafficPolicy::Local(port) => wit::ExternalTrafficPolicy::Local(port),
        },
        client_ip_affinity_seconds: it.client_ip_affinity_seconds,
        extra: it.finalizers.iter().map(|it| (FINALIZER.to_owned(), it.clone())).collect(),
    }
}

/// Where an `ensure` stands, or a sentence on what is wrong with the answer.
pub(crate) fn progress(it: wit::Progress, keys: &AnnotationKeys<'_>) -> Result<Progress, String> {
    Ok(match it {
        wit::Progress::Ready(it) => Progress::Ready(status(it, keys)?),
        wit::Progress::Pending(it) => Progress::Pending(pending(it, keys)?),
        wit::Progress::Failed(it) => {
            let wit::FailedStatus { status, error } = it;
            Progress::Failed(self::status(status, keys)?, super::error(error))
        }
        wit::Progress::NotManaged => Progress::NotManaged,
    })
}

/// Where a `delete` stands, or a sentence on what is wrong with the answer.
pub(crate) fn deletion(it: wit::Deletion, keys: &AnnotationKeys<'_>) -> Result<Deletion, String> {
    Ok(match it {
        wit::Deletion::Done => Deletion::Done,
        wit::Deletion::Kept(reason) => Deletion::Kept(printable(&reason, TEXT_BYTES)),
        wit::Deletion::Pending(it) => Deletion::Pending(pending(it, keys)?),
    })
}

fn port(it: &Port) -> wit::Port {
    wit::Port {
        name: it.name.clone(),
        protocol: match it.protocol {
            Protocol::Tcp => wit::Protocol::Tcp,
            Protocol::Udp => wit::Protocol::Udp,
            Protocol::Sctp => wit::Protocol::Sctp,
        },
        port: it.port,
        node_port: it.node_port,
        app_protocol: it.app_protocol.clone(),
    }
}

fn ingress_to_wit(it: &Ingress) -> wit::Ingress {
    wit::Ingress {
        ip: it.ip.clone(),
        hostname: it.hostname.clone(),
        ip_mode: it.ip_mode.map(|mode| match mode {
            IpMode::Vip => shared::IpMode::Vip,
            IpMode::Proxy => shared::IpMode::Proxy,
        }),
        extra: Vec::new(),
    }
}

fn pending(it: wit::PendingStatus, keys: &AnnotationKeys<'_>) -> Result<PendingStatus, String> {
    let wit::PendingStatus { status, wait: shared::Pause { milliseconds, reason } } = it;
    let after = Duration::from_millis(milliseconds.into());
    Ok(PendingStatus {
        status: self::status(status, keys)?,
        after: after.min(LONGEST_WAIT),
        reason: printable(&reason, TEXT_BYTES),
    })
}

fn status(it: wit::LoadBalancerStatus, keys: &AnnotationKeys<'_>) -> Result<LoadBalancerStatus, String> {
    let wit::LoadBalancerStatus { ingress: places, memo, annotations: wanted, extra } = it;
    let memo = self::memo(memo)?;
    if wanted.len() > ANNOTATIONS {
        return Err(format!("it wants to write {} annotations, more than {ANNOTATIONS}", wanted.len()));
    }
    let mut annotations: Vec<(String, String)> = Vec::with_capacity(wanted.len());
    for (key, value) in wanted {
        let shown = printable(&key, 128);
        if !keys.described.contains(&key) {
            return Err(format!("it wants to write the annotation {shown:?}, which it does not describe"));
        }
        if value.len() > ANNOTATION_BYTES {
            return Err(format!("the annotation {shown:?} has {} bytes, more than {ANNOTATION_BYTES}", value.len()));
        }
        if !is_printable(&value) {
            let value = printable(&value, 128);
            return Err(format!(
                "it wants to write the annotation {shown:?} with {value:?}, which is not printable text"
            ));
        }
        if annotations.iter().any(|(it, _)| *it == key) {
            return Err(format!("it wants to write the annotation {shown:?} twice"));
        }
        // The provider cannot know what the operator lets it write.
        if keys.allowed.contains(&key) {
            annotations.push((key, value));
        }
    }
    let condition = extra.iter().find(|(key, _)| key == CONDITION).and_then(|(_, value)| condition(value));
    Ok(LoadBalancerStatus { ingress: self::places(places)?, memo, annotations, condition })
}

/// "type reason message"; `None` for a type that this host does not set, and for what Kubernetes would not take.
fn condition(text: &str) -> Option<ServiceCondition> {
    let (kind, rest) = text.split_once(' ')?;
    let (reason, message) = rest.split_once(' ')?;
    let kind = ServiceConditionKind::ALL.into_iter().find(|it| it.as_str() == kind)?;
    Some(ServiceCondition {
        kind,
        reason: Some(reason).filter(|it| is_reason(it))?.to_owned(),
        message: printable(message, TEXT_BYTES),
    })
}

/// Whether the API server takes it as the reason of a condition.
fn is_reason(text: &str) -> bool {
    let is_inner = |it: u8| it.is_ascii_alphanumeric() || b"_,:".contains(&it);
    text.len() <= REASON_BYTES
        && text.starts_with(|it: char| it.is_ascii_alphabetic())
        && text.ends_with(|it: char| it.is_ascii_alphanumeric() || it == '_')
        && text.bytes().all(is_inner)
}

/// The memo that a provider wants to know again, or a sentence on what is wrong with it.
pub(super) fn memo(memo: Option<String>) -> Result<Option<String>, String> {
    let memo = nonempty(memo);
    if let Some(memo) = memo.as_ref().filter(|it| it.len() > MEMO_BYTES) {
        return Err(format!("its memo has {} bytes, more than {MEMO_BYTES}", memo.len()));
    }
    // It is compared byte for byte, and shown to whoever reads the Service: it cannot be escaped.
    if let Some(memo) = memo.as_ref().filter(|it| !is_printable(it)) {
        return Err(format!("its memo {:?} is not printable text", printable(memo, 128)));
    }
    Ok(memo)
}

/// Where a load balancer is reached, or a sentence on what is wrong with it.
pub(super) fn places(places: Vec<wit::Ingress>) -> Result<Vec<Ingress>, String> {
    if places.len() > INGRESS {
        return Err(format!("the load balancer has {} addresses, more than {INGRESS}", places.len()));
    }
    places.into_iter().map(ingress).collect()
}

/// Kubernetes would refuse anything else, and with it the whole status.
fn ingress(it: wit::Ingress) -> Result<Ingress, String> {
    let wit::Ingress {
        ip,
        hostname,
        ip_mode,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    let (ip, hostname) = (nonempty(ip), nonempty(hostname));
    if let Some(ip) = ip.as_ref().filter(|it| it.parse::<IpAddr>().is_err()) {
        return Err(format!("the load balancer's address {:?} is no IP address", printable(ip, 128)));
    }
    if let Some(name) = hostname.as_ref().filter(|it| !label::is_subdomain(it) || it.parse::<IpAddr>().is_ok()) {
        return Err(format!("the load balancer's name {:?} is no DNS name in lower case", printable(name, 128)));
    }
    if ip.is_none() && hostname.is_none() {
        return Err("the load balancer is reached at neither an address nor a name".into());
    }
    let ip_mode = ip_mode.map(|mode| match mode {
        shared::IpMode::Vip => IpMode::Vip,
        shared::IpMode::Proxy => IpMode::Proxy,
    });
    if ip_mode.is_some() && ip.is_none() {
        return Err("the load balancer has an ipMode and no address that it could be about".into());
    }
    Ok(Ingress { ip, hostname, ip_mode })
}

#[cfg(test)]
mod tests;
