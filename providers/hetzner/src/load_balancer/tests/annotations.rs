//! Every annotation, and every setting about load balancers: what becomes of its value.

use aerostat_sdk::SortedSet;

use aerostat_sdk::Provider as _;

use super::*;

/// A row: with this value, it has this effect.
struct Row {
    what: What,
    value: &'static str,
    /// The annotations that it needs.
    with: &'static [(&'static str, &'static str)],
    effect: Effect,
}

/// An annotation by the end of its key, or a setting by the end of its name.
#[derive(Clone, Copy, Debug)]
enum What {
    Annotation(&'static str),
    Setting(&'static str),
}

use self::What::{Annotation, Setting};

/// Where it is seen, and what.
enum Effect {
    /// In the body of the creation, at this place.
    Created(&'static str, Value),
    /// In the body of the creation of a certificate, at this place.
    Certificate(&'static str, Value),
    /// In the only write of this name to a load balancer that there is.
    Written(&'static str, Value),
    /// In the addresses of the Service's status.
    Shown(&'static [&'static str]),
    /// The host gives the provider only nodes with these labels, since the description says so.
    Nodes,
    /// Nowhere: it is reserved.
    Nothing,
}

use self::Effect::{Certificate, Created, Nodes, Nothing, Shown, Written};

const HTTP: &[(&str, &str)] = &[("protocol", "http")];
const HTTPS: &[(&str, &str)] = &[("protocol", "https"), ("http-certificates", "42")];
const DOMAINS: (&str, &str) = ("http-managed-certificate-domains", "example.com");
const MANAGED: &[(&str, &str)] = &[("protocol", "https"), ("certificate-type", "managed"), DOMAINS];
const CHECKED_BY_HTTP: &[(&str, &str)] = &[("health-check-protocol", "http")];

/// A key that is set, its value, other keys beside it, and where that is seen.
type Cells = (What, &'static str, &'static [(&'static str, &'static str)], Effect);

#[rustfmt::skip]
fn rows() -> Vec<Row> {
    let rdns = |ip: &str, name: &str| json!({ "ip": ip, "dns_ptr": name });
    let attached = |field: &str, value: &str| json!({ "network": 7, field: value });
    let rows: Vec<Cells> = vec![
        (Annotation("name"), "web", &[], Created("/name", json!("web"))),
        (Annotation("type"), "lb21", &[], Created("/load_balancer_type", json!("lb21"))),
        (Annotation("location"), "hel1", &[], Created("/location", json!("hel1"))),
        (Annotation("network-zone"), "us-east", &[("location", "")], Created("/network_zone", json!("us-east"))),
        (Annotation("algorithm-type"), "least_connections", &[], Created("/algorithm/type", json!("least_connections"))),
        (Annotation("hostname"), "lb.example.com", &[], Shown(&["lb.example.com"])),
        (Annotation("node-selector"), "pool=web", &[], Nodes),
        (Annotation("disable-public-network"), "true", &[], Created("/public_interface", json!(false))),
        (Annotation("disable-private-ingress"), "true", &[], Shown(&["203.0.113.9", "2001:db8::9"])),
        (Annotation("use-private-ip"), "true", &[], Created("/targets/0/use_private_ip", json!(true))),
        (Annotation("private-ipv4"), "10.0.0.9", &[], Written("attach_to_network", attached("ip", "10.0.0.9"))),
        (Annotation("private-subnet-ip-range"), "10.0.1.0/24", &[],
            Written("attach_to_network", attached("ip_range", "10.0.1.0/24"))),
        (Annotation("ipv6-disabled"), "true", &[], Shown(&["203.0.113.9", "10.0.0.2"])),
        (Annotation("ipv4-rdns"), "v4.example.com", &[], Written("change_dns_ptr", rdns("203.0.113.9", "v4.example.com"))),
        (Annotation("ipv6-rdns"), "v6.example.com", &[], Written("change_dns_ptr", rdns("2001:db8::9", "v6.example.com"))),
        (Annotation("ipv4"), "203.0.113.1", &[], Nothing),
        (Annotation("ipv6"), "2001:db8::1", &[], Nothing),
        (Annotation("id"), "6", &[], Nothing),
        (Annotation("protocol"), "http", &[], Created("/services/0/protocol", json!("http"))),
        (Annotation("protocol.*"), "http", &[], Created("/services/0/protocol", json!("http"))),
        (Annotation("uses-proxyprotocol"), "true", &[], Created("/services/0/proxyprotocol", json!(true))),
        (Annotation("http-cookie-name"), "mine", HTTP, Created("/services/0/http/cookie_name", json!("mine"))),
        (Annotation("http-cookie-lifetime"), "5m", HTTP, Created("/services/0/http/cookie_lifetime", json!(300))),
        (Annotation("http-timeout-idle"), "45s", HTTP, Created("/services/0/http/timeout_idle", json!(45))),
        (Annotation("http-sticky-sessions"), "true", HTTP, Created("/services/0/http/sticky_sessions", json!(true))),
        (Annotation("http-redirect-http"), "true", HTTPS, Created("/services/0/http/redirect_http", json!(true))),
        (Annotation("certificate-type"), "managed", &[("protocol", "https"), DOMAINS], Certificate("/type", json!("managed"))),
        (Annotation("http-certificates"), "42,43", &[("protocol", "https")],
            Created("/services/0/http/certificates", json!([42, 43]))),
        (Annotation("http-managed-certificate-name"), "mine", MANAGED, Certificate("/name", json!("mine"))),
        (Annotation("http-managed-certificate-domains"), "example.com,*.example.com",
            &[("protocol", "https"), ("certificate-type", "managed")],
            Certificate("/domain_names", json!(["example.com", "*.example.com"]))),
        (Annotation("http-managed-certificate-acme-staging"), "true", MANAGED,
            Certificate("/labels/HC-Use-Staging-CA", json!("true"))),
        (Annotation("health-check-protocol"), "http", &[], Created("/services/0/health_check/protocol", json!("http"))),
        (Annotation("health-check-port"), "30999", &[], Created("/services/0/health_check/port", json!(30_999))),
        (Annotation("health-check-interval"), "7s", &[], Created("/services/0/health_check/interval", json!(7))),
        (Annotation("health-check-timeout"), "6s", &[], Created("/services/0/health_check/timeout", json!(6))),
        (Annotation("health-check-retries"), "5", &[], Created("/services/0/health_check/retries", json!(5))),
        (Annotation("health-check-http-domain"), "example.com", CHECKED_BY_HTTP,
            Created("/services/0/health_check/http/domain", json!("example.com"))),
        (Annotation("health-check-http-path"), "/ready", CHECKED_BY_HTTP,
            Created("/services/0/health_check/http/path", json!("/ready"))),
        (Annotation("health-check-http-validate-certificate"), "true", CHECKED_BY_HTTP,
            Created("/services/0/health_check/http/tls", json!(true))),
        (Annotation("http-status-codes"), "2??,404", CHECKED_BY_HTTP,
            Created("/services/0/health_check/http/status_codes", json!(["2??", "404"]))),
        (Setting("location"), "hel1", &[], Created("/location", json!("hel1"))),
        (Setting("networkZone"), "us-east", &[], Created("/network_zone", json!("us-east"))),
        (Setting("type"), "lb21", &[], Created("/load_balancer_type", json!("lb21"))),
        (Setting("algorithm"), "least_connections", &[], Created("/algorithm/type", json!("least_connections"))),
        (Setting("disablePublicNetwork"), "true", &[], Created("/public_interface", json!(false))),
        (Setting("disablePrivateIngress"), "true", &[], Shown(&["203.0.113.9", "2001:db8::9"])),
        (Setting("usePrivateIP"), "true", &[], Created("/targets/0/use_private_ip", json!(true))),
        (Setting("disableIPv6"), "true", &[], Shown(&["203.0.113.9", "10.0.0.2"])),
        (Setting("privateSubnetIPRange"), "10.0.1.0/24", &[],
            Written("attach_to_network", attached("ip_range", "10.0.1.0/24"))),
        (Setting("usesProxyProtocol"), "true", &[], Created("/services/0/proxyprotocol", json!(true))),
        (Setting("healthCheckInterval"), "7s", &[], Created("/services/0/health_check/interval", json!(7))),
        (Setting("healthCheckTimeout"), "6s", &[], Created("/services/0/health_check/timeout", json!(6))),
        (Setting("healthCheckRetries"), "5", &[], Created("/services/0/health_check/retries", json!(5))),
        (Setting("allowedCertificates"), "44", &[("protocol", "https"), ("http-certificates", "44")],
            Created("/services/0/http/certificates", json!([44]))),
    ];
    rows.into_iter().map(|(what, value, with, effect)| Row { what, value, with, effect }).collect()
}

impl What {
    /// The annotation's key or the setting's name, as they are described.
    fn name(self) -> String {
        match self {
            Annotation(name) => key(name),
            Setting(name) => format!("loadBalancers.{name}"),
        }
    }
}

impl Row {
    /// The value at the place of the row, with its annotation or without. Null is nothing.
    fn seen(&self, is_said: bool) -> Value {
        let cloud = Cloud::default().setting("network", "7");
        let (cloud, said) = match self.what {
            Setting(_) if is_said => (cloud.setting(self.what.name(), self.value), None),
            Annotation(_) if is_said => (cloud, Some((self.what.name().replace('*', "443"), self.value))),
            Setting(_) | Annotation(_) => (cloud, None),
        };
        let with = self.with.iter().map(|(name, value)| (key(name), *value)).chain(said);
        let annotated = |it: LoadBalancer| with.fold(it, |it, (key, value)| it.with_annotation(key, value));
        let ports = vec![Port::new(Protocol::Tcp, 443, 30_443)];
        let new = LoadBalancer { ports, ..remembering(&format!("creating {NAME} since 1000")) };
        match &self.effect {
            Created(place, _) => written(&cloud, &annotated(new), "load_balancers", place),
            Certificate(place, _) => written(&cloud, &annotated(new), "certificates", place),
            Nothing => written(&cloud, &annotated(new), "load_balancers", ""),
            Written(action, _) => {
                let cloud = Cloud { live: Some(shown(5)), ..cloud };
                written(&cloud, &annotated(remembering("5")), action, "")
            }
            Shown(_) => {
                let mut live = shown(5);
                live["private_net"] = json!([{ "network": 7, "ip": "10.0.0.2" }]);
                let (progress, _) = Cloud { live: Some(live), ..cloud }.ensure(&annotated(remembering("5")));
                ready(progress).into_iter().map(|it| it.ip.or(it.hostname)).collect()
            }
            Nodes => {
                let rows = Host::new().run(Hetzner::describe).unwrap().annotations;
                json!(is_said && rows.iter().any(|it| it.key == self.what.name() && it.selects_nodes))
            }
        }
    }
}

/// The value at a place of the only write that ends in this, or null if there is none.
fn written(cloud: &Cloud, service: &LoadBalancer, end: &str, place: &str) -> Value {
    drop(cloud.ensure(service));
    if !cloud.writes().iter().any(|it| it.ends_with(end)) {
        return Value::Null;
    }
    cloud.body(end).pointer(place).cloned().unwrap_or_default()
}

#[test]
fn each_annotation_and_each_setting_has_its_effect() {
    for row in rows() {
        let (said, unsaid) = (row.seen(true), row.seen(false));
        let expected = match &row.effect {
            Created(_, value) | Certificate(_, value) | Written(_, value) => value.clone(),
            Shown(addresses) => json!(addresses),
            Nodes => json!(true),
            Nothing => {
                assert!(said.is_object(), "{:?}: nothing is created", row.what);
                assert_eq!(said, unsaid, "{:?}", row.what);
                continue;
            }
        };
        assert_eq!(said, expected, "{:?}", row.what);
        assert_ne!(unsaid, expected, "{:?}: it is so without it, too", row.what);
    }
}

#[test]
fn whatever_is_described_has_a_row_here() {
    let description = Host::new().run(Hetzner::describe).unwrap();
    let annotations = description.annotations.into_iter().map(|it| it.key);
    let settings = description.settings.into_iter().map(|it| it.name);
    let described: SortedSet<_> = annotations.chain(settings.filter(|it| it.starts_with("loadBalancers."))).collect();
    let tested: SortedSet<_> = rows().into_iter().map(|it| it.what.name()).collect();
    assert_eq!(tested, described);
}
