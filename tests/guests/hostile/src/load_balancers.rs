//! Crimes around load balancers. The Service's name is the crime.

use std::time::Duration;

use aerostat_sdk::{
    Deletion, Error, Ingress, IpMode, LoadBalancer, LoadBalancerStatus, Node, Progress, Result, events,
};

use crate::{commit, report};

/// A load balancer at the address that follows, with "-" for each dot: it takes the cluster's traffic to it.
const VIP: &str = "vip-";
/// The same, before it is ready.
const VIP_SOON: &str = "soon-vip-";

/// The answer of `ensure`; other names than the ones here are crimes against nodes.
pub(crate) fn ensure(desired: &LoadBalancer) -> Result<Progress> {
    let status = LoadBalancerStatus::new([Ingress::ip("192.0.2.1")]);
    let at = |ingress: Ingress| Ok(Progress::Ready(LoadBalancerStatus::new([ingress])));
    match desired.owner.name.as_str() {
        "long-memo" => Ok(Progress::Ready(status.memo("x".repeat(1025)))),
        "foreign-annotation" => Ok(Progress::Ready(status.annotation("kubernetes.io/ingress.class", "mine"))),
        "annotations" => {
            Ok(Progress::Ready(status.annotation("hostile.example/id", "7").annotation("hostile.example/kind", "evil")))
        }
        "forged-memo" => Ok(Progress::Ready(status.memo("lb-1\n\u{202e}"))),
        "forged-annotation" => Ok(Progress::Ready(status.annotation("hostile.example/id", "7\n\u{1b}[2J"))),
        "ip-that-is-none" => at(Ingress::ip("192.0.2.1\nevil")),
        "name-that-is-none" => at(Ingress::hostname("LB_1")),
        "nowhere" => at(Ingress { ip: None, hostname: None, ip_mode: Some(IpMode::Vip), extra: Vec::new() }),
        "everywhere" => Ok(Progress::Ready(LoadBalancerStatus::new((0..1000).map(|_| Ingress::ip("192.0.2.1"))))),
        "impatient" => Ok(Progress::pending(status, Duration::ZERO, "now\nnow")),
        "patient" => Ok(Progress::pending(status, Duration::MAX, "x".repeat(1 << 20))),
        name if name.starts_with(VIP) => at(Ingress::ip(dotted(&name[VIP.len()..])).ip_mode(IpMode::Vip)),
        name if name.starts_with(VIP_SOON) => {
            let there = Ingress::ip(dotted(&name[VIP_SOON.len()..])).ip_mode(IpMode::Vip);
            Ok(Progress::pending(LoadBalancerStatus::new([there]), Duration::from_secs(1), "it boots"))
        }
        "elsewhere" => Ok(Progress::NotManaged),
        "failed" => Ok(Progress::failed(status.memo("lb-1"), Error::unavailable("action 7 has errored\nnow"))),
        "mixed-ports" if desired.annotations.is_empty() => {
            let status = status.with_ports_error("LoadBalancerMixedProtocolNotSupported", "TCP and UDP\nside by side");
            Ok(Progress::failed(status, Error::invalid("one protocol for each load balancer")))
        }
        "failed-without-end" => Ok(Progress::failed(status.memo("x".repeat(1025)), Error::unavailable("it failed"))),
        "about-a-node" => {
            events::warning(Some("worker-1"), "NoTarget", "it is full");
            events::warning(None, "NoTarget", "one is full");
            Ok(Progress::Ready(status))
        }
        "see-service" => {
            report(format_args!("{:?} {:?}", desired.annotations, desired.memo)).map(|_| Progress::NotManaged)
        }
        crime => commit(&Node::named(crime)).map(|_| Progress::Ready(status)),
    }
}

fn dotted(name: &str) -> String {
    name.replace('-', ".")
}

/// The answer of `delete`.
pub(crate) fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
    match unwanted.owner.name.as_str() {
        "long-memo" => Ok(Deletion::pending(LoadBalancerStatus::new([]).memo("x".repeat(1025)), Duration::ZERO, "")),
        "kept" => Ok(Deletion::kept("deletion protection\nis on")),
        crime => commit(&Node::named(crime)).map(|_| Deletion::Done),
    }
}
