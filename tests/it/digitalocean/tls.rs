//! Protocols and certificates: DO cases 16, 17, 19, 22, 43, 44 and 45.

use cloud_provider::{Ingress, IpMode, Protocol};
use serde_json::{Value, json};
use tests::clouds::digitalocean::Certificate;

use crate::setup::{Rig, Service, key, port, rig};

const OLD: &str = "892071a0-bb95-49bc-8021-3afd67a210bf";
const NEW: &str = "ba9b9c18-6c59-46c2-99df-70da170a42ba";

/// A Service of type REGIONAL with ports 80 and 443.
fn proxied(rig: &Rig) -> Service<'_> {
    let mut service = Service::new(rig).with("type", "REGIONAL");
    service.desired.ports.push(port(Protocol::Tcp, 443));
    service
}

fn rule(entry: &str, port: u16, target: &str, certificate: Option<&str>) -> Value {
    let mut rule = json!({
        "entry_protocol": entry, "entry_port": port, "target_protocol": target, "target_port": 30_000 + port,
    });
    if let Some(id) = certificate {
        rule["certificate_id"] = json!(id);
    }
    rule
}

/// The rules that the last request of this method asked for.
fn rules(rig: &Rig, method: &str, path: &str) -> Value {
    rig.body(method, path)["forwarding_rules"].clone()
}

#[tokio::test]
async fn do_16_a_certificate_makes_443_https() {
    let rig = rig(&[]).await;
    rig.cloud.certificates().insert(Certificate::new(OLD, "web"));
    let standing = proxied(&rig).with("protocol", "http").with("certificate-id", OLD).served().await;
    let expected = json!([rule("http", 80, "http", None), rule("https", 443, "http", Some(OLD))]);
    assert_eq!(rules(&rig, "POST", "/v2/load_balancers"), expected);
    assert!(standing.ingress.iter().all(|it| it.ip_mode == Some(IpMode::Proxy)), "TLS ends at the load balancer");
}

#[tokio::test]
async fn do_17_http2_on_443_is_no_https() {
    let rig = rig(&[]).await;
    rig.cloud.certificates().insert(Certificate::new(OLD, "web"));
    proxied(&rig).with("http2-ports", "443").with("certificate-id", OLD).served().await;
    let expected = json!([rule("tcp", 80, "tcp", None), rule("http2", 443, "http", Some(OLD))]);
    assert_eq!(rules(&rig, "POST", "/v2/load_balancers"), expected);
}

#[tokio::test]
async fn do_19_a_certificate_is_found_by_its_name() {
    let rig = rig(&[]).await;
    let mut service = proxied(&rig).with("certificate-name", "web");
    let missing = service.invalid().await;
    assert!(missing.starts_with("certificate with name \"web\" not found"), "{missing}");
    assert_eq!(rig.requests(), ["GET /v2/certificates?name=web&page=1&per_page=1 → 200"]);

    rig.cloud.certificates().insert(Certificate::new(NEW, "web"));
    service.served().await;
    assert_eq!(rules(&rig, "POST", "/v2/load_balancers")[1], rule("https", 443, "http", Some(NEW)));
}

#[tokio::test]
async fn do_22_http3_stands_beside_https() {
    let rig = rig(&[]).await;
    rig.cloud.certificates().insert(Certificate::new(OLD, "web"));
    proxied(&rig).with("tls-ports", "443").with("http3-port", "443").with("certificate-id", OLD).served().await;
    let expected = json!([
        rule("tcp", 80, "tcp", None),
        rule("https", 443, "http", Some(OLD)),
        rule("http3", 443, "http", Some(OLD)),
    ]);
    assert_eq!(rules(&rig, "POST", "/v2/load_balancers"), expected);
}

/// A Service with an annotated certificate, in whose place the load balancer now shows another.
async fn renewed(rig: &Rig, name: &str) {
    rig.cloud.certificates().insert(Certificate::new(OLD, name).lets_encrypt());
    let mut service = proxied(rig).with("certificate-id", OLD);
    service.served().await;
    rig.cloud.certificates().insert(Certificate::new(NEW, "web").lets_encrypt());
    rig.cloud
        .load_balancers()
        .update(&rig.only(), |it| NEW.clone_into(&mut it.attributes.forwarding_rules[1].certificate_id));
    // Something else changes, so that all is written.
    service.annotate(&key("enable-backend-keepalive"), "true");
    service.served().await;
    assert_eq!(service.annotation(&key("certificate-id")), Some(OLD), "the annotation is its author's");
}

#[tokio::test]
async fn do_43_a_renewed_certificate_stays() {
    let rig = rig(&[]).await;
    renewed(&rig, "web").await;
    let expected = rule("https", 443, "http", Some(NEW));
    assert_eq!(rules(&rig, "PUT", "/v2/load_balancers/*")[1], expected);
}

#[tokio::test]
async fn do_43_a_renewed_certificate_alone_is_no_difference() {
    let rig = rig(&[]).await;
    rig.cloud.certificates().insert(Certificate::new(OLD, "web").lets_encrypt());
    let mut service = proxied(&rig).with("certificate-id", OLD);
    service.served().await;
    rig.cloud.certificates().insert(Certificate::new(NEW, "web").lets_encrypt());
    rig.cloud.certificates().remove(OLD);
    rig.cloud
        .load_balancers()
        .update(&rig.only(), |it| NEW.clone_into(&mut it.attributes.forwarding_rules[1].certificate_id));
    let before = rig.writes();
    service.served().await;
    assert_eq!(rig.writes(), before);
}

#[tokio::test]
async fn do_44_another_certificate_takes_its_place() {
    let rig = rig(&[]).await;
    renewed(&rig, "shop").await;
    let expected = rule("https", 443, "http", Some(OLD));
    assert_eq!(rules(&rig, "PUT", "/v2/load_balancers/*")[1], expected);
}

#[tokio::test]
async fn do_45_the_proxy_protocol_keeps_traffic_on_its_way() {
    let rig = rig(&[]).await;
    let standing = proxied(&rig).with("enable-proxy-protocol", "true").served().await;
    assert!(!standing.ingress.is_empty());
    assert!(standing.ingress.iter().all(|it: &Ingress| it.ip_mode == Some(IpMode::Proxy)), "{:?}", standing.ingress);
    assert_eq!(rig.body("POST", "/v2/load_balancers")["enable_proxy_protocol"], json!(true));
}
