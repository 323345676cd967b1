//! A value that an annotation cannot have is told with the annotation, the value and what is allowed, and nothing is
//! written.

use aerostat_sdk::{Error, LoadBalancers, Port, Protocol, SortedSet};

use super::service;
use crate::Aws;
use crate::load_balancer::annotations::TABLE;
use crate::tests::{action, host, refused};

const CLASSIC: &str = "";
const NETWORK: &str = "nlb";
const BOTH: &[&str] = &[CLASSIC, NETWORK];

/// The part of an annotation's name that tells it from others, of which load balancers it is, and a value that it
/// cannot have.
const REFUSED: [(&str, &[&str], &str); 23] = [
    ("proxy-protocol", &[CLASSIC], "true"),
    ("access-log-enabled", BOTH, "yes"),
    ("access-log-emit-interval", &[CLASSIC], "6"),
    ("connection-draining-enabled", &[CLASSIC], "on"),
    ("connection-draining-timeout", &[CLASSIC], "3601"),
    ("connection-idle-timeout", &[CLASSIC], "0"),
    ("cross-zone-load-balancing-enabled", BOTH, "maybe"),
    ("aws-load-balancer-security-groups", &[CLASSIC], ", ,"),
    ("extra-security-groups", &[CLASSIC], ","),
    ("extra-security-groups", &[CLASSIC], "sg-1,default"),
    ("ssl-cert", BOTH, "example.com"),
    ("backend-protocol", &[CLASSIC], "udp"),
    ("healthcheck-protocol", BOTH, "icmp"),
    ("healthcheck-port", BOTH, "70000"),
    ("healthcheck-path", BOTH, "ready"),
    ("healthcheck-healthy-threshold", BOTH, "11"),
    ("healthcheck-unhealthy-threshold", BOTH, "1"),
    ("healthcheck-timeout", BOTH, "5s"),
    ("healthcheck-interval", BOTH, "301"),
    ("eip-allocations", &[NETWORK], "eipalloc-1,"),
    ("private-ipv4-addresses", &[NETWORK], "10.0.0.256"),
    ("subnets", BOTH, ","),
    ("load-balancer-source-ranges", BOTH, "10.0.0.0/33"),
];

/// A certificate that is not in the region of the load balancer.
const OTHER_REGION: &str = "arn:aws:acm:eu-west-1:123456789012:certificate/1";

/// Those that are refused with a sentence of their own: for the wrong kind of load balancer, or for a part of the value.
const OTHERWISE: [(&str, &str, &str, &str); 10] = [
    (
        "access-log-enabled",
        CLASSIC,
        "true",
        "name one with annotation service.beta.kubernetes.io/aws-load-balancer-access-log-s3",
    ),
    ("access-log-enabled", NETWORK, "true", "\"true\" takes a bucket of S3 to log into: name one with annotation"),
    (
        "additional-resource-tags",
        CLASSIC,
        "team=a,cost#=1",
        "\"cost#\" with the value \"1\" is no tag of a load balancer",
    ),
    ("additional-resource-tags", NETWORK, "aws:team=a", "which does not begin with aws:"),
    ("ssl-cert", CLASSIC, OTHER_REGION, "is a certificate of region eu-west-1: name one of region us-east-1"),
    ("ssl-cert", NETWORK, OTHER_REGION, "is a certificate of region eu-west-1: name one of region us-east-1"),
    ("healthcheck-timeout", NETWORK, "31", "time out after 31 s and begin every 30 s"),
    ("extra-security-groups", NETWORK, "sg-1", "is not supported by NLB"),
    ("target-group-attributes", CLASSIC, "proxy_protocol_v2.enabled=true", "it is only supported for NLB"),
    ("target-group-attributes", NETWORK, "foo=bar", "the attribute \"foo\" is not supported: preserve_client_ip"),
];

/// Any text is taken, and by whom it is judged.
const TAKEN: [(&str, &str); 7] = [
    ("load-balancer-type", "whatever is no other kind is Classic"),
    ("load-balancer-internal", "whatever is not false is true"),
    ("access-log-s3-bucket-name", "AWS"),
    ("access-log-s3-bucket-prefix", "AWS"),
    ("ssl-ports", "it selects ports, or none"),
    ("ssl-negotiation-policy", "AWS"),
    ("target-node-labels", "the host, for all providers"),
];

/// The row of an annotation.
fn row(name: &str) -> &'static dyn aerostat_sdk::key::Row {
    let mut found = TABLE.iter().filter(|it| it.name().ends_with(name));
    match (found.next(), found.next()) {
        (Some(row), None) => *row,
        _ => panic!("{name} is not one annotation"),
    }
}

/// Why a Service with this annotation is refused, where AWS has nothing.
fn refusal(kind: &str, key: &str, value: &str) -> String {
    let service = service(kind).with_port(Port::new(Protocol::Tcp, 80, 30_080)).with_annotation(key, value);
    let cloud = host(|request| {
        assert!(action(request).starts_with("Describe"), "nothing is written: {request:?}");
        refused(400, "LoadBalancerNotFound")
    });
    let cloud = cloud.setting("loadBalancers.nlbSecurityGroupMode", "Managed");
    match cloud.run(|| Aws::ensure(&service)) {
        Err(Error::Invalid(why)) => why,
        other => panic!("{key}={value}: {other:?}"),
    }
}

#[test]
fn every_annotation_names_what_it_refuses() {
    for (name, kinds, value) in REFUSED {
        let row = row(name);
        let (key, allowed) = (row.name(), row.annotation().values);
        for kind in kinds {
            let why = refusal(kind, key, value);
            assert_eq!(why, format!("annotation {key}: {value:?} is not {allowed}"), "{kind:?}");
        }
    }
    for (name, kind, value, part) in OTHERWISE {
        let key = row(name).name();
        let why = refusal(kind, key, value);
        assert!(why.contains(key) && why.contains(part), "{why}");
    }
}

#[test]
fn no_annotation_is_left_out() {
    let refused = REFUSED.iter().map(|it| it.0).chain(OTHERWISE.iter().map(|it| it.0));
    let named: SortedSet<_> = refused.chain(TAKEN.iter().map(|it| it.0)).map(|it| row(it).name()).collect();
    let all: SortedSet<_> = TABLE.iter().map(|it| it.name()).collect();
    assert_eq!(named, all);
}
