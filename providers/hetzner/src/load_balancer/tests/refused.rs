//! What cannot be meant: the message names the key, the value, and what may stand there. Nothing is created.

use super::*;

/// Checks the message about a Service, for which nothing is asked or announced.
fn check(change: impl FnOnce(LoadBalancer) -> LoadBalancer, why: &str) {
    let cloud = Cloud::default();
    let (progress, _) = cloud.ensure(&change(service()));
    let text = refusal(progress);
    assert!(text.contains(why), "{text}");
    assert_eq!(cloud.writes(), [""; 0]);
}

fn check_value(name: &str, value: &str, allowed: &str) {
    let key = key(name);
    check(|it| it.with_annotation(key.clone(), value), &format!("annotation {key}: {value:?} is not {allowed}"));
}

#[test]
fn values_are_checked() {
    check_value("algorithm-type", "foo", "round_robin or least_connections");
    check_value("protocol", "udp", "tcp, http or https");
    check_value("uses-proxyprotocol", "yes", "true or false");
    check_value("private-ipv4", "fd00::1", "an IPv4 address");
    check_value("private-subnet-ip-range", "10.0.0.0", "a network such as 10.0.1.0/24");
    check_value("health-check-interval", "1500ms", "a time such as 30s, from 1s to 3600s in whole seconds");
    check_value("http-timeout-idle", "10", "a time such as 30s, from 30s to 300s in whole seconds");
    check_value("health-check-retries", "0", "a whole number from 1 to 100");
    check_value("health-check-http-path", "healthz", "a path that begins with /");
    check_value("certificate-type", "Managed", "uploaded or managed");
    check_value("hostname", "not a name", "a DNS name such as lb.example.com");
    check_value("http-status-codes", "2??,", "a list of statuses such as 2??,3??");
    let port = key("protocol.80");
    check(|it| it.with_annotation(port.clone(), "x"), &format!("annotation {port}: \"x\" is not tcp, http or https"));
}

#[test]
fn what_cannot_be_built_is_not_announced() {
    check(|it| it.with_annotation(key("type"), "lb99"), "load balancer type not found: \"lb99\"");
    check(|it| it.with_annotation(key("use-private-ip"), "true"), "use private ip: missing network id");
    check(|it| it.with_annotation(key("disable-public-network"), "true"), "without a network nobody could reach it");
    check(|it| it.with_annotation(key("private-ipv4"), "10.0.0.9"), "needs setting network");
    check(|it| it.with_annotation(key("protocol"), "https"), "port 80 speaks HTTPS and has no certificate");
    check(|it| it.with_annotation(key("certificate-type"), "managed"), "needs annotation");
    check(|it| it.with_annotation(key("location"), ""), "neither load-balancer.hetzner.cloud/location nor");
    let udp = LoadBalancer::of("default", "dns", UID).with_port(Port::new(Protocol::Udp, 53, 30_053));
    check(|_| udp, "the Service has no TCP port");
    let redirect = |it: LoadBalancer| {
        let it = it.with_port(Port::new(Protocol::Tcp, 443, 30_443)).with_annotation(key("protocol.443"), "https");
        it.with_annotation(key("http-certificates"), "1").with_annotation(key("http-redirect-http"), "true")
    };
    check(redirect, "port 80 is a port of the Service");
}

#[test]
fn a_certificate_has_to_be_there() {
    let secure = remembering(&format!("creating {NAME} since 1000")).with_annotation(key("protocol"), "https");
    let cloud = Cloud::default();
    let (progress, _) = cloud.ensure(&secure.with_annotation(key("http-certificates"), "www"));
    assert!(refusal(progress).starts_with("certificate \"www\" not found"));
    assert_eq!(cloud.writes(), [""; 0]);
}
