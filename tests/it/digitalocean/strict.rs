//! The cloud at its strictest: what it refuses, leaves out, and does late.

use std::time::Duration;

use cloud_provider::{Error, Progress, Protocol};
use tests::clouds::digitalocean::{Certificate, Creation, Droplet, Scopes};

use crate::setup::{Rig, Service, node, port, rig, worker};

const CERTIFICATE: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";
const OTHER: &str = "1b7b1f0e-3c1f-4a55-9c39-6c1c0a3a5b22";

/// A Service on a load balancer that understands HTTP.
fn proxied(rig: &Rig) -> Service<'_> {
    Service::new(rig).with("type", "REGIONAL")
}

/// Checks that the Service is invalid for this reason, and gets no load balancer.
async fn assert_invalid(rig: &Rig, mut service: Service<'_>, reason: &str) {
    let why = service.invalid().await;
    assert!(why.contains(reason), "{why}");
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
}

#[tokio::test]
async fn a_redirect_without_tls_is_invalid() {
    let rig = rig(&[]).await;
    let service = proxied(&rig).with("protocol", "http").with("redirect-http-to-https", "true");
    assert_invalid(&rig, service, "redirect").await;
}

#[tokio::test]
async fn http3_without_tls_on_its_port_is_invalid() {
    let rig = rig(&[]).await;
    rig.cloud.certificates().insert(Certificate::new(CERTIFICATE, "web"));
    let mut service =
        proxied(&rig).with("certificate-id", CERTIFICATE).with("tls-ports", "8443").with("http3-port", "443");
    service.desired.ports = vec![port(Protocol::Tcp, 443), port(Protocol::Tcp, 8443)];
    assert_invalid(&rig, service, "http3").await;
}

#[tokio::test]
async fn a_path_for_a_tcp_check_is_invalid() {
    let rig = rig(&[]).await;
    let service = proxied(&rig)
        .with("override-health-check", "true")
        .with("healthcheck-protocol", "tcp")
        .with("healthcheck-path", "/healthz");
    assert_invalid(&rig, service, "path").await;
}

#[tokio::test]
async fn a_cookie_name_of_one_letter_is_invalid() {
    let rig = rig(&[]).await;
    let service = proxied(&rig)
        .with("protocol", "http")
        .with("sticky-sessions-type", "cookies")
        .with("sticky-sessions-cookie-name", "c")
        .with("sticky-sessions-cookie-ttl", "300");
    assert_invalid(&rig, service, "cookie").await;
}

#[tokio::test]
async fn more_nodes_than_the_account_allows_are_refused() {
    let rig = rig(&[]).await;
    (3..=11).for_each(|id| rig.cloud.droplets().insert(Droplet::new(id, &format!("web-{id}"))));
    rig.cloud.load_balancers().behave(|it| it.targets = Some(10));
    let mut service = Service::new(&rig);
    service.desired.nodes = (1..=11).map(worker).collect();
    assert!(service.invalid().await.contains("at most 10 droplets"));
    service.desired.nodes.pop();
    service.served().await;
    service.desired.nodes.push(worker(11));
    assert!(service.invalid().await.contains("at most 10 droplets"));
    let attributes = rig.cloud.load_balancers().get(&rig.only()).unwrap().attributes;
    assert_eq!(attributes.droplet_ids, Vec::from_iter(1..=10));
}

#[tokio::test]
async fn defaults_that_are_left_out_are_no_difference() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.defaults_left_out = true);
    let mut service = proxied(&rig).with("network-stack", "IPV4");
    let standing = service.served().await;
    assert_eq!(service.served().await, standing);
    assert_eq!(rig.writes(), ["POST /v2/load_balancers → 202"]);

    let before = rig.cloud.load_balancers().get(&rig.only()).unwrap().attributes;
    service.desired.ports.push(port(Protocol::Tcp, 443));
    assert_eq!(service.served().await, standing);
    let mut after = rig.cloud.load_balancers().get(&rig.only()).unwrap().attributes;
    assert_eq!(after.forwarding_rules.len(), 2);
    after.forwarding_rules.truncate(1);
    assert_eq!(after, before);
}

#[tokio::test]
async fn a_replaced_load_balancer_that_is_new_is_waited_for() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    let standing = service.served().await;
    rig.cloud.load_balancers().behave(|it| (it.replacements_are_new, it.creation) = (true, Creation::Reads(1)));
    service.desired.ports.push(port(Protocol::Tcp, 443));
    for _ in 0..2 {
        let pending_status = service.pending().await;
        assert!(!pending_status.after.is_zero());
        assert_eq!(pending_status.status.memo, standing.memo);
    }
    assert_eq!(service.step().await, Ok(Progress::Ready(standing)));
    assert_eq!(rig.cloud.requests_to("PUT", "/v2/load_balancers/*").len(), 1);
}

#[tokio::test]
async fn a_chosen_name_that_is_freed_late_is_waited_for() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.names_freed_late_by = Duration::from_hours(1));
    let mut first = Service::new(&rig).with("name", "web.example.com");
    first.served().await;
    first.gone().await;

    let mut second = Service::new(&rig).named("web", OTHER).with("name", "web.example.com");
    let because = loop {
        let pending_status = second.pending().await;
        if pending_status.reason.contains("already a load balancer with that name") {
            break pending_status;
        }
    };
    assert!(!because.after.is_zero());
    rig.cloud.load_balancers().behave(|it| it.names_freed_late_by = Duration::ZERO);
    second.served().await;
    assert_eq!(rig.cloud.load_balancers().all()[0].name(), "web.example.com");
}

#[tokio::test]
async fn a_token_that_may_only_read_is_denied_and_serves_nodes() {
    let rig = rig(&[]).await;
    rig.cloud.set_scopes(Scopes::ReadOnly);
    assert!(rig.get(node("web-1", "digitalocean://1")).await.unwrap().is_some());
    let mut service = Service::new(&rig);
    match service.refused().await {
        Error::Denied(why) => assert!(why.contains("missing the required permission"), "{why}"),
        other => panic!("not denied: {other:?}"),
    }
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);

    rig.cloud.set_scopes(Scopes::Full);
    service.served().await;
    rig.cloud.set_scopes(Scopes::ReadOnly);
    assert!(matches!(service.delete().await, Err(Error::Denied(_))));
    rig.cloud.set_scopes(Scopes::Full);
    service.gone().await;
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
}

#[tokio::test]
async fn an_account_that_the_token_may_not_read_is_unknown() {
    let rig = rig(&[]).await;
    rig.cloud.set_scopes(Scopes::Custom(vec!["droplet:read", "load_balancer:read"]));
    assert_eq!(rig.provider.cloud().identity.identity().await, Ok(None));
    assert_eq!(rig.list_all(200).await.len(), 2);
}
