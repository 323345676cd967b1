use aerostat_sdk::{Error, LoadBalancer, Port, Progress, Protocol};

use super::{Cloud, NAME, ensure, port, ready, service, with, writes};
use crate::api::elb::model::ClassicAttributes;

/// Refused before anything is asked, for this reason.
fn refuses(service: &LoadBalancer, why: &str) {
    let host = Cloud::new().host();
    let refused = ensure(&host, service);
    assert!(matches!(&refused, Err(Error::Invalid(it)) if it.contains(why)), "{refused:?}");
    assert_eq!(host.requests(), [""; 0]);
}

#[test]
fn aws_022_only_tcp_is_served() {
    let mut udp = service(&["i-1"]);
    udp.ports = vec![Port::new(Protocol::Udp, 53, 30_053)];
    refuses(&udp, "only TCP protocol is supported: port 53 is UDP");
}

#[test]
fn aws_023_affinity_is_refused() {
    let service = LoadBalancer { client_ip_affinity_seconds: Some(10_800), ..service(&["i-1"]) };
    refuses(&service, "unsupported load balancer affinity: ClientIP");
}

#[test]
fn aws_024_an_address_cannot_be_chosen() {
    let service = LoadBalancer { load_balancer_ip: Some("192.0.2.1".to_owned()), ..service(&["i-1"]) };
    refuses(&service, "LoadBalancerIP cannot be specified for AWS ELB");
}

#[test]
fn aws_025_the_proxy_protocol_is_for_all_ports() {
    refuses(
        &with(service(&["i-1"]), &[("proxy-protocol", "true")]),
        "aws-load-balancer-proxy-protocol: \"true\" is not *",
    );
}

#[test]
fn aws_030_a_classic_one_does_not_become_a_network_one() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let host = cloud.host();
    let refused = ensure(&host, &with(service(&["i-1"]), &[("type", "nlb")]).after(status));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("cannot change type")), "{refused:?}");
    assert_eq!(host.requests(), [""; 0]);
    assert!(cloud.state.borrow().balancers.contains_key(NAME));
}

#[test]
fn values_that_a_classic_one_cannot_have_are_refused() {
    for (name, value, why) in [
        ("connection-idle-timeout", "3601", "1 to 3600"),
        ("connection-idle-timeout", "x", "connection-idle-timeout"),
        ("connection-draining-enabled", "yes", "connection-draining-enabled"),
        ("connection-draining-timeout", "0", "connection-draining-timeout"),
        ("access-log-enabled", "1x", "access-log-enabled"),
        ("access-log-emit-interval", "6", "access-log-emit-interval"),
        ("cross-zone-load-balancing-enabled", "maybe", "cross-zone-load-balancing-enabled"),
        ("backend-protocol", "udp", "backend-protocol"),
        ("healthcheck-protocol", "udp", "healthcheck-protocol"),
        ("healthcheck-port", "0", "healthcheck-port"),
        ("healthcheck-timeout", "61", "2 to 60 seconds"),
        ("healthcheck-interval", "5", "time out after 5 s and begin every 5 s"),
        ("healthcheck-healthy-threshold", "1", "healthcheck-healthy-threshold"),
        ("healthcheck-unhealthy-threshold", "11", "healthcheck-unhealthy-threshold"),
        ("target-group-attributes", "preserve_client_ip.enabled=true", "target-group-attributes"),
    ] {
        refuses(&with(service(&["i-1"]), &[(name, value)]), why);
    }
}

#[test]
fn an_annotation_without_effect_is_not_refused() {
    let cloud = Cloud::new();
    // White space is a part of a port's name.
    for ports in ["443", "80 "] {
        ready(&Cloud::new(), &with(service(&["i-1"]), &[("ssl-cert", "web"), ("ssl-ports", ports)]));
    }
    let plain = service(&["i-1"]);
    let status = ready(&cloud, &plain);
    // Somebody has switched the log on elsewhere.
    let log = ClassicAttributes {
        log_enabled: true,
        log_bucket: Some("logs".to_owned()),
        idle_timeout: Some(60),
        ..ClassicAttributes::default()
    };
    cloud.state.borrow_mut().balancers.get_mut(NAME).unwrap().attributes = log;
    let (host, logged) = (cloud.host(), with(plain, &[("access-log-enabled", "true")]).after(status));
    assert!(matches!(ensure(&host, &logged), Ok(Progress::Ready(_))));
    assert_eq!(writes(&host), [""; 0]);
}

#[test]
fn without_node_ports_there_is_nothing_to_lead_to() {
    let mut service = service(&["i-1"]);
    service.ports = vec![Port { node_port: None, ..port(80, 1) }];
    refuses(&service, "allocateLoadBalancerNodePorts");
}

#[test]
fn an_unproven_load_balancer_is_not_touched() {
    let cloud = Cloud::new();
    ready(&cloud, &service(&["i-1"]));
    cloud.state.borrow_mut().balancers.get_mut(NAME).unwrap().tags.clear();
    let host = cloud.host();
    let refused = ensure(&host, &with(service(&["i-1"]), &[("proxy-protocol", "*")]));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("not proven")), "{refused:?}");
    assert_eq!(writes(&host), [""; 0]);
}
