//! Services that are refused before anything is made, and those that are not.

use super::*;
use crate::tests::{required, settings};

#[test]
fn addresses_suit_the_scheme() {
    let managed = |cloud: &Cloud| cloud.host().setting("loadBalancers.nlbSecurityGroupMode", "Managed");
    for (name, internal, list, why) in [
        ("eip-allocations", "true", "eipalloc-1", "is for an internet-facing load balancer: take it off, or set"),
        ("private-ipv4-addresses", "false", "10.0.1.9", "is for an internal load balancer: take it off, or set"),
    ] {
        let cloud = Cloud::default();
        let (host, plain) = (managed(&cloud), annotated(service(), "internal", internal));
        let refused = refusal(ensure(&host, &annotated(plain.clone(), name, list)));
        assert!(refused.contains(name) && refused.contains(&format!("{list:?} {why}")), "{refused}");
        assert_eq!(written(&host), [""; 0]);
        // They count only when it is made.
        let Ok(Progress::Ready(status)) = ensure(&managed(&cloud), &plain) else { panic!() };
        let asked = annotated(plain, name, list).after(status);
        assert!(matches!(ensure(&managed(&cloud), &asked), Ok(Progress::Ready(_))));
    }
}

#[test]
fn adv_170_elastic_ips_are_judged_where_one_is_made() {
    let cloud = Cloud::default();
    let named = annotated(service(), "eip-allocations", "eipalloc-1,eipalloc-2,eipalloc-3");
    // The status tells of a load balancer that is gone.
    let named = LoadBalancer { current_ingress: hostname(), ..named };
    let host = cloud.on(required());
    let why = refusal(ensure(&host, &named));
    assert!(why.contains("loadBalancers.allowedElasticIPs"), "{why}");
    assert_eq!(written(&host), [""; 0]);
    // One that there is keeps what it has.
    let served = served(&cloud, service());
    let named = LoadBalancer { annotations: named.annotations, ..served };
    let host = cloud.on(required());
    assert!(matches!(ensure(&host, &named), Ok(Progress::Ready(_))));
}

#[test]
fn an_annotation_without_effect_is_not_refused() {
    let udp = with_nodes(without_ports().with_port(Port::new(Protocol::Udp, 53, 30_053)), 1);
    for service in
        [annotated(udp, "ssl-cert", "web"), annotated(annotated(service(), "ssl-cert", "web"), "ssl-ports", "dns")]
    {
        served(&Cloud::default(), annotated(service, "access-log-s3-bucket-prefix", "prod"));
    }
    // Its targets follow the nodes, whatever its tags are.
    let cloud = Cloud::default();
    let tagged = annotated(served(&cloud, service()), "additional-resource-tags", "cost#=1");
    assert_eq!(actions(&writes(&cloud, &with_nodes(tagged, 3)))[..1], ["RegisterTargets"]);
}

#[test]
fn values_that_are_not_allowed_make_nothing() {
    for (name, value) in [
        ("access-log-enabled", "yes"),
        ("cross-zone-load-balancing-enabled", "on"),
        ("eip-allocations", "eipalloc-1,"),
        ("healthcheck-healthy-threshold", "11"),
        ("healthcheck-interval", "301"),
        ("healthcheck-path", "ready"),
        ("healthcheck-port", "0"),
        ("healthcheck-protocol", "icmp"),
        ("healthcheck-timeout", "5s"),
        ("healthcheck-unhealthy-threshold", "1"),
        ("private-ipv4-addresses", "2001:db8::1,10.0.2.9,10.0.3.9"),
        ("security-groups", ", ,"),
        ("subnets", ","),
        ("target-group-attributes", "preserve_client_ip.enabled"),
    ] {
        let host = Cloud::default().host().setting("loadBalancers.nlbSecurityGroupMode", "Managed");
        let why = refusal(ensure(&host, &annotated(service(), name, value)));
        assert!(why.starts_with(&format!("annotation service.beta.kubernetes.io/aws-load-balancer-{name}: ")), "{why}");
        assert_eq!(written(&host), [""; 0], "{name}");
    }
    let ranges = service().with_annotation("service.beta.kubernetes.io/load-balancer-source-ranges", "10.0.0.0");
    assert!(refusal(ensure(&settings(), &ranges)).contains("\"10.0.0.0\" is not a list of networks"));
}
