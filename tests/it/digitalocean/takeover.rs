//! A cluster that ran the vendor's controller is taken over without a write, and can go back.
//!
//! The load balancers and Services are as that controller leaves them: the name or the default one, all attributes sent
//! by each of its updates, id and type as annotations, addresses in the status.

use cloud_provider::{ExternalTrafficPolicy, Ingress, Protocol};
use tests::clouds::digitalocean::{
    Attributes, Certificate, Firewall, ForwardingRule, HealthCheck, LoadBalancer, StickySessions,
};

use crate::setup::{ID, NAME, Rig, Service, TYPE, key, port, rig, worker};

const BUILT: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";
const CERTIFICATE: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";

/// The load balancer that the vendor's controller built for [`Service::new`].
fn plain() -> Attributes {
    Attributes {
        kind: "REGIONAL_NETWORK".to_owned(),
        health_check: HealthCheck {
            protocol: "http".to_owned(),
            port: 10_256,
            path: "/healthz".to_owned(),
            check_interval_seconds: 3,
            response_timeout_seconds: 5,
            unhealthy_threshold: 3,
            healthy_threshold: 5,
            proxy_protocol: Some(false),
        },
        droplet_ids: vec![1],
        ..Attributes::new(NAME, "fra1", vec![ForwardingRule::new("tcp", 80, "tcp", 80)])
    }
}

/// Puts a load balancer with these attributes into the cloud, and into the status and the annotations of a Service.
fn built(rig: &Rig, service: &mut Service<'_>, attributes: Attributes) {
    let kind = attributes.kind.clone();
    let load_balancer = LoadBalancer { attributes, ..LoadBalancer::new(BUILT, "") };
    let ip = load_balancer.ip.map(|it| it.to_string());
    rig.cloud.load_balancers().insert(load_balancer);
    service.annotate(ID, BUILT);
    service.annotate(TYPE, &kind);
    service.desired.current_ingress = vec![Ingress { ip, hostname: None, ip_mode: None }];
}

/// Takes over, and checks that nothing is written, then or later, and that the Service stays as it is.
async fn taken_over(rig: &Rig, service: Service<'_>) {
    taken_over_with(rig, service, &[]).await;
}

/// Takes over with these writes alone.
async fn taken_over_with(rig: &Rig, mut service: Service<'_>, writes: &[&str]) {
    let annotations = service.desired.annotations.clone();
    let addresses = |it: &[Ingress]| it.iter().map(|it| (it.ip.clone(), it.hostname.clone())).collect::<Vec<_>>();
    let before = addresses(&service.desired.current_ingress);
    let standing = service.served().await;
    assert_eq!(standing.memo.as_deref(), Some(BUILT));
    assert_eq!(addresses(&standing.ingress), before);
    assert_eq!(service.desired.annotations, annotations, "the vendor's controller finds what it needs");
    service.served().await;
    assert_eq!(rig.writes(), writes);
    assert_eq!(rig.only(), BUILT);
}

#[tokio::test]
async fn a_plain_load_balancer_is_taken_over() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    built(&rig, &mut service, plain());
    taken_over(&rig, service).await;
}

#[tokio::test]
async fn a_named_load_balancer_is_taken_over_by_its_address() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("name", "web.example.com");
    built(&rig, &mut service, Attributes { name: "web.example.com".to_owned(), ..plain() });
    taken_over(&rig, service).await;
}

/// A Service with a host name and a name of its own, as the vendor's controller leaves it: only the host name is in the status.
fn hosted(rig: &Rig) -> Service<'_> {
    let mut service = Service::new(rig).with("name", "web.example.com").with("hostname", "lb.example.com");
    let attributes = Attributes {
        name: "web.example.com".to_owned(),
        kind: "REGIONAL".to_owned(),
        forwarding_rules: vec![ForwardingRule::new("tcp", 80, "tcp", 30_080)],
        ..plain()
    };
    built(rig, &mut service, attributes);
    let hostname = Some("lb.example.com".to_owned());
    service.desired.current_ingress = vec![Ingress { ip: None, hostname, ip_mode: None }];
    service
}

#[tokio::test]
async fn a_hostname_and_a_chosen_name_are_taken_over() {
    let rig = rig(&[]).await;
    let service = hosted(&rig);
    taken_over(&rig, service).await;
}

#[tokio::test]
async fn an_unproven_load_balancer_stays_and_is_reported() {
    let rig = rig(&[]).await;
    let mut service = hosted(&rig);
    let message = service.gone_without(BUILT).await;
    assert!(message.contains("delete it in the cloud"), "{message}");
    assert_eq!(rig.writes(), [""; 0]);
    rig.only();
}

#[tokio::test]
async fn a_load_balancer_with_everything_is_taken_over() {
    let rig = rig(&[("clusterId", "c-1")]).await;
    rig.cloud.certificates().insert(Certificate::new(CERTIFICATE, "web"));
    let mut service = Service::new(&rig)
        .with("protocol", "http")
        .with("http2-ports", "443")
        .with("certificate-name", "web")
        .with("algorithm", "least_connections")
        .with("size-unit", "2")
        .with("sticky-sessions-type", "cookies")
        .with("sticky-sessions-cookie-name", "LB")
        .with("sticky-sessions-cookie-ttl", "300")
        .with("redirect-http-to-https", "true")
        .with("enable-proxy-protocol", "true")
        .with("enable-backend-keepalive", "true")
        .with("disable-lets-encrypt-dns-records", "true")
        .with("http-idle-timeout-seconds", "90")
        .with("deny-rules", "ip:192.0.2.9")
        .with("healthcheck-check-interval-seconds", "10")
        .with("healthcheck-response-timeout-seconds", "6")
        .with("healthcheck-unhealthy-threshold", "4")
        .with("healthcheck-healthy-threshold", "6");
    service.desired.ports.push(port(Protocol::Tcp, 443));
    service.desired.ports.push(port(Protocol::Udp, 53));
    service.desired.nodes.push(worker(2));
    service.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    service.desired.source_ranges = vec!["10.0.0.0/8".to_owned(), "172.16.0.0/12".to_owned()];
    let secured =
        ForwardingRule { certificate_id: CERTIFICATE.to_owned(), ..ForwardingRule::new("http2", 443, "http", 30_443) };
    let attributes = Attributes {
        kind: "REGIONAL".to_owned(),
        algorithm: "least_connections".to_owned(),
        size_unit: 2,
        // In the order of the Service's ports, not in ours.
        forwarding_rules: vec![
            ForwardingRule::new("http", 80, "http", 30_080),
            secured,
            ForwardingRule::new("udp", 53, "udp", 30_053),
        ],
        health_check: HealthCheck {
            port: 31_000,
            check_interval_seconds: 10,
            response_timeout_seconds: 6,
            unhealthy_threshold: 4,
            healthy_threshold: 6,
            ..plain().health_check
        },
        sticky_sessions: StickySessions {
            kind: "cookies".to_owned(),
            cookie_name: Some("LB".to_owned()),
            cookie_ttl_seconds: Some(300),
        },
        firewall: Firewall {
            allow: vec!["cidr:172.16.0.0/12".to_owned(), "cidr:10.0.0.0/8".to_owned()],
            deny: vec!["ip:192.0.2.9".to_owned()],
        },
        droplet_ids: vec![2, 1],
        redirect_http_to_https: true,
        enable_proxy_protocol: true,
        enable_backend_keepalive: true,
        disable_lets_encrypt_dns_records: true,
        http_idle_timeout_seconds: 90,
        ..plain()
    };
    built(&rig, &mut service, attributes);
    taken_over_with(
        &rig,
        service,
        &["POST /v2/tags/k8s:c-1/resources → 404", "POST /v2/tags → 201", "POST /v2/tags/k8s:c-1/resources → 204"],
    )
    .await;
    assert_eq!(rig.cloud.load_balancers().get(BUILT).unwrap().tags, ["k8s:c-1"], "the vendor's controller does so too");
}

#[tokio::test]
async fn an_overridden_check_is_taken_over() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("override-health-check", "true");
    let check = HealthCheck {
        protocol: "tcp".to_owned(),
        port: 30_080,
        path: String::new(),
        proxy_protocol: None,
        ..plain().health_check
    };
    built(&rig, &mut service, Attributes { health_check: check, ..plain() });
    taken_over(&rig, service).await;
}

#[tokio::test]
async fn a_load_balancer_without_annotations_is_adopted_by_name() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    built(&rig, &mut service, plain());
    service.desired.annotations.clear();
    service.served().await;
    assert_eq!(rig.writes(), [""; 0]);
    assert_eq!((service.annotation(ID), service.annotation(TYPE)), (Some(BUILT), Some("REGIONAL_NETWORK")));
}

#[tokio::test]
async fn tolerated_annotations_are_taken_over_with_a_warning() {
    for (name, value) in [
        ("tls-passthrough", "perhaps"),
        ("algorithm", "random"),
        ("sticky-sessions-type", "ip"),
        ("http-ports", "eighty"),
        ("healthcheck-port", "80"),
        ("size-unit", "0"),
    ] {
        let rig = rig(&[]).await;
        let mut service = Service::new(&rig).with(name, value);
        built(&rig, &mut service, plain());
        let (_, events) = service.served_with().await;
        let (reason, message) = crate::setup::warning(&events);
        assert_eq!(reason, "AnnotationTolerated");
        assert!(message.starts_with(&format!("annotation {}: {value:?}", key(name))), "{message}");
        assert_eq!(rig.writes(), [""; 0]);
    }
}

#[tokio::test]
async fn a_value_that_the_load_balancer_has_is_no_refusal() {
    let path = HealthCheck { path: "well".to_owned(), port: 30_080, proxy_protocol: None, ..plain().health_check };
    for (annotations, attributes) in [
        (
            vec![("override-health-check", ""), ("healthcheck-path", "well")],
            Attributes { health_check: path, ..plain() },
        ),
        (vec![("name", "web_1")], Attributes { name: "web_1".to_owned(), ..plain() }),
        (
            vec![("name", "a1f2e3d4c5b6a79880910a1b2c3d4e5f")],
            Attributes { name: "a1f2e3d4c5b6a79880910a1b2c3d4e5f".to_owned(), ..plain() },
        ),
        (
            vec![("deny-rules", "ip:192.0.2.9/32")],
            Attributes {
                firewall: Firewall { deny: vec!["ip:192.0.2.9/32".to_owned()], ..Firewall::default() },
                ..plain()
            },
        ),
        (
            vec![("tls-passthrough", "true"), ("certificate-id", CERTIFICATE)],
            Attributes {
                kind: "REGIONAL".to_owned(),
                forwarding_rules: vec![ForwardingRule::new("tcp", 80, "tcp", 30_080)],
                ..plain()
            },
        ),
        (vec![("network", "internal")], plain()),
        (vec![("network-stack", "IPV6")], plain()),
        (vec![("ip", "the usual")], plain()),
        (vec![("subnet-uuid", "mine")], plain()),
    ] {
        let rig = rig(&[]).await;
        let mut service = Service::new(&rig);
        for (name, value) in &annotations {
            service.annotate(&key(name), value);
        }
        built(&rig, &mut service, attributes);
        let (_, events) = service.served_with().await;
        let (reason, message) = crate::setup::warning(&events);
        assert_eq!(reason, "AnnotationTolerated", "{annotations:?}");
        assert!(message.contains(annotations.last().unwrap().1) || message.contains("true"), "{message}");
        assert_eq!(rig.writes(), [""; 0], "{annotations:?}");
    }
}

#[tokio::test]
async fn a_load_balancer_that_was_taken_over_is_deleted() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("name", "web.example.com");
    built(&rig, &mut service, Attributes { name: "web.example.com".to_owned(), ..plain() });
    service.gone().await;
    assert!(rig.cloud.load_balancers().all().is_empty());
}
