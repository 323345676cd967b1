//! Bad input, one test for each: the message says what is wrong, and nothing is written.

use cloud_provider::{Error, Protocol};
use egress::Credentials;
use sandbox::{Provider, ProviderSettings};
use tests::clouds::digitalocean::Fault;
use tests::guests;
use tests::vendor::DigitalOcean;
use tests::vendor::loading::{endpoint, load};
use tokio::sync::OnceCell;

use crate::setup::{ID, Rig, Service, key, port, rig};

/// Checks what is said of a value of an annotation on a Service of type REGIONAL, and that nothing is asked for: there is
/// no cloud behind it.
async fn refused(name: &str, value: &str, allowed: &str) {
    let provider = PROVIDER.get_or_init(without_cloud).await;
    let load_balancers = provider.cloud().load_balancers.unwrap();
    let mut service = Service::of::<DigitalOcean>(&*load_balancers).with("type", "REGIONAL");
    // So that those annotations count which count only beside others.
    let beside =
        [("override-health-check", "true"), ("sticky-sessions-type", "cookies"), ("sticky-sessions-cookie-name", "LB")];
    for (name, value) in beside {
        service.annotate(&key(name), value);
    }
    service.annotate(&key("sticky-sessions-cookie-ttl"), "300");
    service.annotate(&key(name), value);
    assert_eq!(service.invalid().await, format!("annotation {}: {value:?} is not {allowed}", key(name)));
    assert_eq!(service.desired.memo, None);
}

/// One for all of these tests: it is compiled once.
static PROVIDER: OnceCell<Provider> = OnceCell::const_new();

async fn without_cloud() -> Provider {
    // Nothing listens on this port: a request would be an error of another kind.
    let nowhere = endpoint("api", "http://127.0.0.1:9");
    load(guests::DIGITALOCEAN, ProviderSettings::default(), vec![nowhere], Credentials::default()).await
}

macro_rules! refused {
    ($($test:ident: $name:literal = $value:literal is not $allowed:literal;)+) => {
        $(
            #[tokio::test]
            async fn $test() {
                refused($name, $value, $allowed).await;
            }
        )+
    };
}

// Cases: bad-annotation
refused! {
    bad_input_name: "name" = "-web" is not "a name of at most 255 letters, digits, dots and dashes that begins with a letter or digit and does not end with a dash";
    bad_input_type: "type" = "GLOBAL" is not "REGIONAL or REGIONAL_NETWORK";
    bad_input_network: "network" = "internal" is not "EXTERNAL or INTERNAL";
    bad_input_network_stack: "network-stack" = "IPV6" is not "IPV4 or DUALSTACK";
    bad_input_ip: "ip" = "2001:db8::1" is not "an IPv4 address";
    bad_input_subnet: "subnet-uuid" = "mine" is not "the UUID of a subnet";
    bad_input_protocol: "protocol" = "udp" is not "tcp, http, https or http2 (for http3 there is an annotation of its own)";
    bad_input_protocol_http3: "protocol" = "http3" is not "tcp, http, https or http2 (for http3 there is an annotation of its own)";
    bad_input_http_ports: "http-ports" = "80,http" is not "a list of ports such as 80,8080";
    bad_input_tls_ports: "tls-ports" = "https" is not "a list of ports such as 80,8080";
    bad_input_http2_ports: "http2-ports" = "70000" is not "a list of ports such as 80,8080";
    bad_input_http3_port: "http3-port" = "80,443" is not "one port, a whole number from 1 to 65535";
    bad_input_certificate_id: "certificate-id" = "web" is not "the UUID of a certificate";
    bad_input_hostname: "hostname" = "lb_1" is not "a DNS name such as lb.example.com";
    bad_input_size_slug: "size-slug" = "lb-huge" is not "lb-small, lb-medium or lb-large";
    bad_input_size_unit: "size-unit" = "101" is not "a whole number from 0 to 100";
    bad_input_sticky_ttl: "sticky-sessions-cookie-ttl" = "5m" is not "a whole number from 1 to 4294967295";
    bad_input_redirect: "redirect-http-to-https" = "yes" is not "true or false";
    bad_input_dns_records: "disable-lets-encrypt-dns-records" = "on" is not "true or false";
    bad_input_proxy_protocol: "enable-proxy-protocol" = "v2" is not "true or false";
    bad_input_keepalive: "enable-backend-keepalive" = "tRuE" is not "true or false";
    bad_input_idle_timeout: "http-idle-timeout-seconds" = "601" is not "a whole number of seconds from 30 to 600";
    bad_input_deny_rules: "deny-rules" = "1.2.3.4" is not "a list such as ip:192.0.2.1,cidr:198.51.100.0/24";
    bad_input_allow_rules: "allow-rules" = "cidr:1.2.3.4" is not "a list such as ip:192.0.2.1,cidr:198.51.100.0/24";
    bad_input_check_port: "healthcheck-port" = "81" is not "a TCP port of the Service";
    bad_input_check_path: "healthcheck-path" = "healthz" is not "a path that begins with /";
    bad_input_check_protocol: "healthcheck-protocol" = "udp" is not "tcp, http or https";
    bad_input_check_interval: "healthcheck-check-interval-seconds" = "2" is not "a whole number from 3 to 300";
    bad_input_check_timeout: "healthcheck-response-timeout-seconds" = "301" is not "a whole number from 3 to 300";
    bad_input_check_unhealthy: "healthcheck-unhealthy-threshold" = "1" is not "a whole number from 2 to 10";
    bad_input_check_healthy: "healthcheck-healthy-threshold" = "11" is not "a whole number from 2 to 10";
}

/// Why a Service gets no load balancer, without a write.
async fn invalid(change: impl FnOnce(&mut Service<'_>)) -> String {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    change(&mut service);
    let why = service.invalid().await;
    assert_eq!(rig.writes(), [""; 0]);
    why
}

/// Cases: bad-annotation
#[tokio::test]
async fn bad_input_load_balancer_id() {
    let why = invalid(|it| it.annotate(ID, "web")).await;
    assert_eq!(why, format!("annotation {ID}: \"web\" is not the UUID of a load balancer"));
}

/// Cases: bad-port
#[tokio::test]
async fn bad_input_sctp() {
    let why = invalid(|it| it.desired.ports.push(port(Protocol::Sctp, 5_000))).await;
    assert_eq!(why, "only TCP or UDP protocol is supported: port 5000 is SCTP");
}

/// Cases: bad-port
#[tokio::test]
async fn bad_input_reserved_port() {
    let mut reserved = port(Protocol::Tcp, 80);
    reserved.port = 50_053;
    let why = invalid(|it| it.desired.ports.push(reserved)).await;
    assert_eq!(why, "port 50053 cannot be used: 50053 to 50055 are reserved by the cloud");
}

/// Cases: bad-place
#[tokio::test]
async fn bad_input_region_that_nobody_says() {
    let why = invalid(|it| it.desired.nodes[0].region = None).await;
    assert!(why.starts_with("the region is not known"), "{why}");
}

/// Why the cloud refuses a creation: in its own words, and what was announced is taken back.
async fn refused_by_the_cloud(rig: &Rig) -> String {
    let mut service = Service::new(rig);
    let why = service.invalid().await;
    assert!(rig.cloud.load_balancers().all().is_empty());
    assert_eq!(service.desired.memo, None);
    why
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_quota() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.limit = Some(0));
    // It passes by itself: neither the Service nor the credential is to blame.
    let refused = Service::new(&rig).refused().await;
    let Error::Unavailable(why) = refused else { panic!("not one that is tried again: {refused:?}") };
    let words = "POST /v2/load_balancers at endpoint api: 422 you have reached the limit of load balancers";
    assert!(why.starts_with(words) && why.contains("A quota of the account is used up"), "{why}");
    assert!(rig.cloud.load_balancers().all().is_empty());
}

/// Cases: cloud-says-no
#[tokio::test]
async fn bad_input_422() {
    let rig = rig(&[]).await;
    let body = r#"{ "id": "unprocessable_entity", "message": "the moon is in the wrong house" }"#;
    rig.cloud.inject(Fault::status("POST", "/v2/load_balancers", 422).body(body));
    let why = refused_by_the_cloud(&rig).await;
    assert!(why.starts_with("POST /v2/load_balancers at endpoint api: 422 the moon is in the wrong house"), "{why}");
}

/// Cases: bad-place
#[tokio::test]
async fn bad_input_vpc_of_other_droplets() {
    let rig = rig(&[("vpcId", "11111111-2222-3333-4444-555555555555")]).await;
    let why = refused_by_the_cloud(&rig).await;
    assert!(why.contains("422 VPC 11111111-2222-3333-4444-555555555555 was not found"), "{why}");
}

#[tokio::test]
async fn a_missing_right_is_denied() {
    let rig = rig(&[]).await;
    rig.cloud.inject(Fault::status("POST", "/v2/load_balancers", 403).undone());
    let mut service = Service::new(&rig);
    assert!(matches!(service.refused().await, Error::Denied(_)));
    assert!(rig.cloud.load_balancers().all().is_empty());
}
