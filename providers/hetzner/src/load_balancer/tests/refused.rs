//! Values that cannot be meant: the message names the key, the value, and what may stand there. Nothing is created.

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
fn an_impossible_load_balancer_is_not_announced() {
    check(|it| it.with_annotation(key("type"), "lb99"), "load balancer type not found: \"lb99\"");
    check(|it| it.with_annotation(key("use-private-ip"), "true"), "use private ip: missing network id");
    check(|it| it.with_annotation(key("disable-public-network"), "true"), "without a network nobody could reach it");
    check(|it| it.with_annotation(key("private-ipv4"), "10.0.0.9"), "needs setting network");
    check(|it| it.with_annotation(key("protocol"), "https"), "port 80 speaks HTTPS and has no certificate");
    check(|it| it.with_annotation(key("certificate-type"), "managed"), "needs annotation");
    check(|it| it.with_annotation(key("location"), ""), "neither load-balancer.hetzner.cloud/location nor");
    let udp = LoadBalancer::of("default", "dns", UID).with_port(Port::new(Protocol::Udp, 53, 30_053));
    check(|_| udp, "the Service has no TCP port");
    let redirect = |service: LoadBalancer| {
        let service =
            service.with_port(Port::new(Protocol::Tcp, 443, 30_443)).with_annotation(key("protocol.443"), "https");
        service.with_annotation(key("http-certificates"), "1").with_annotation(key("http-redirect-http"), "true")
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

/// A Service whose one port speaks HTTPS with certificates of the project.
fn secure(certificates: &str) -> LoadBalancer {
    service().with_annotation(key("protocol"), "https").with_annotation(key("http-certificates"), certificates)
}

fn not_nameable(annotation: &str, value: &str) -> String {
    format!(
        "annotation {}: {value:?} is not for authors of Services to name: take it off, or let the operator of the cluster add it \
         to setting loadBalancers.allowedCertificates",
        key(annotation)
    )
}

#[test]
fn adv_170_certificates_are_those_that_the_operator_allows() {
    for (allowed, named, refused) in [
        ("none", "42", Some("42")),
        ("42,shop-*", "42,7", Some("7")),
        ("42", "www", Some("www")),
        ("shop-*", "shop-1", None),
    ] {
        let cloud = Cloud::default().setting("loadBalancers.allowedCertificates", allowed);
        let (announced, _) = cloud.ensure(&secure(named));
        match refused {
            Some(refused) => assert_eq!(refusal(announced), not_nameable("http-certificates", refused), "{allowed}"),
            None => assert!(announced.is_ok(), "{allowed}: {announced:?}"),
        }
        assert_eq!(cloud.writes(), [""; 0], "{allowed}");
    }
}

/// A cloud whose load balancer has certificate 42 where the operator allows no certificate.
fn with_certificate() -> Cloud {
    let mut live = shown(7);
    let listener = &mut live["services"][0];
    listener["protocol"] = json!("https");
    listener["http"] = json!({ "certificates": [42] });
    Cloud::with(live).setting("loadBalancers.allowedCertificates", "none")
}

#[test]
fn adv_170_a_certificate_that_it_has_stays() {
    let cloud = with_certificate();
    let remembered = |certificates: &str| LoadBalancer { memo: Some("7".to_owned()), ..secure(certificates) };
    let (kept, _) = cloud.ensure(&remembered("42"));
    assert!(kept.is_ok(), "{kept:?}");
    assert_eq!(refusal(cloud.ensure(&remembered("42,43")).0), not_nameable("http-certificates", "43"));
}

/// A port is removed before another is added: what is refused then would serve nobody.
#[test]
fn adv_170_a_port_is_not_given_up_for_one_that_is_refused() {
    let cloud = with_certificate();
    let moved = LoadBalancer {
        memo: Some("7".to_owned()),
        ports: vec![Port::new(Protocol::Tcp, 8443, 30_443)],
        ..secure("42")
    };
    assert_eq!(refusal(cloud.ensure(&moved).0), not_nameable("http-certificates", "42"));
    assert_eq!(cloud.writes(), [""; 0]);
}

#[test]
fn a_certificate_that_no_port_uses_is_not_refused() {
    let cloud = Cloud::default().setting("loadBalancers.allowedCertificates", "none");
    let (announced, _) = cloud.ensure(&service().with_annotation(key("http-certificates"), "42"));
    assert!(announced.is_ok(), "{announced:?}");
}

/// A managed certificate that was made elsewhere is not a Service's by its name.
#[test]
fn adv_170_the_name_of_a_managed_certificate_takes_no_other() {
    let managed = remembering(&format!("creating {NAME} since 1000"))
        .with_annotation(key("protocol"), "https")
        .with_annotation(key("certificate-type"), "managed")
        .with_annotation(key("http-managed-certificate-domains"), "example.com")
        .with_annotation(key("http-managed-certificate-name"), "shop");
    let certificates = vec![json!({ "id": 8, "name": "shop", "labels": {} })];
    let taken = json!({ "error": { "code": "uniqueness_error", "message": "taken" } });
    let cloud = Cloud { certificates, ..Cloud::default() }.special("certificates", 409, taken);
    assert_eq!(refusal(cloud.ensure(&managed).0), not_nameable("http-managed-certificate-name", "shop"));
}
