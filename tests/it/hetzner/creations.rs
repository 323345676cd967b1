//! New load balancers: cases 15 to 27.

use cloud_provider::{IpMode, Protocol};
use serde_json::{Value, json};
use tests::clouds::hetzner::{Certificate, Target};

use crate::setup::{CLUSTER_UID, LOCATION, NAME, Rig, Service, UID, key, port, rig};

const IN_NETWORK: [(&str, &str); 2] = [LOCATION, ("network", "4711")];

/// The body of the only creation.
fn created(rig: &Rig) -> Value {
    let requests = rig.cloud.requests_to("POST", "/v1/load_balancers");
    let [one] = &requests[..] else { panic!("not one creation: {:?}", rig.requests()) };
    serde_json::from_slice(&one.body).unwrap()
}

async fn is_refused(settings: &[(&str, &str)], annotations: &[(&str, &str)], why: &str) {
    let rig = rig(settings).await;
    let service = annotations.iter().fold(Service::new(&rig), |it, (name, value)| it.with(name, value));
    let mut service = service;
    let text = service.invalid().await;
    assert!(text.contains(why), "{text}");
    assert_eq!(rig.writes(), [""; 0]);
}

#[tokio::test]
async fn hcloud_15_without_a_place_nothing_is_created() {
    is_refused(&[], &[], "neither load-balancer.hetzner.cloud/location nor").await;
}

#[tokio::test]
async fn hcloud_16_one_request_creates_everything() {
    let rig = rig(&[("loadBalancers.location", "fsn1")]).await;
    let mut service = Service::new(&rig).with("location", "hel1");
    let (status, _) = service.served_with().await;
    let body = created(&rig);
    let labels = json!({
        "aerostat.dev/cluster-uid": CLUSTER_UID, "aerostat.dev/service-uid": UID, "hcloud-ccm/service-uid": UID,
    });
    assert_eq!((&body["name"], &body["location"], &body["labels"]), (&json!(NAME), &json!("hel1"), &labels));
    let port = &body["services"][0];
    assert_eq!((&port["listen_port"], &port["destination_port"]), (&json!(80), &json!(30_080)));
    assert_eq!((&port["health_check"]["protocol"], &port["health_check"]["port"]), (&json!("tcp"), &json!(30_080)));
    assert_eq!(body["targets"], json!([{ "type": "server", "server": { "id": 1 } }]));
    let modes: Vec<_> = status.ingress.iter().map(|it| it.ip_mode).collect();
    assert_eq!(modes, [Some(IpMode::Vip); 2], "IPv4 and IPv6");
    assert_eq!(rig.writes(), ["POST /v1/load_balancers → 201"]);
}

#[tokio::test]
async fn hcloud_17_an_empty_annotation_takes_the_location_back() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig).with("location", "").with("network-zone", "us-east");
    service.served_with().await;
    let body = created(&rig);
    assert_eq!((body.get("location"), &body["network_zone"]), (None, &json!("us-east")));
}

#[tokio::test]
async fn hcloud_18_an_unknown_algorithm_is_an_error() {
    is_refused(&[LOCATION], &[("algorithm-type", "foo")], "is not round_robin or least_connections").await;
}

#[tokio::test]
async fn hcloud_19_an_unknown_type_is_an_error() {
    is_refused(&[LOCATION], &[("type", "lb99")], "load balancer type not found").await;
}

#[tokio::test]
async fn hcloud_20_a_udp_port_is_left_out_with_a_warning() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig).with("type", "lb11");
    service.desired.ports.push(port(Protocol::Udp, 53));
    assert!(service.reasons().await.contains(&"UnsupportedProtocolConfigured".to_owned()));
    assert_eq!(created(&rig)["services"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn hcloud_21_proxy_protocol_is_told_to_the_cluster() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig).with("uses-proxyprotocol", "true");
    let (status, _) = service.served_with().await;
    assert_eq!(created(&rig)["services"][0]["proxyprotocol"], json!(true));
    assert!(status.ingress.iter().all(|it| it.ip_mode == Some(IpMode::Proxy)));
}

#[tokio::test]
async fn hcloud_23_a_private_one_shows_its_private_address() {
    let rig = rig(&IN_NETWORK).await;
    let mut service = Service::new(&rig).with("disable-public-network", "true").with("use-private-ip", "true");
    let addresses = service.addresses().await;
    assert_eq!(addresses.len(), 1);
    assert!(addresses[0].starts_with("10.0."), "{addresses:?}");
    assert_eq!(rig.writes(), ["POST /v1/load_balancers → 201"]);
    let body = created(&rig);
    assert_eq!((&body["network"], &body["public_interface"]), (&json!(4711), &json!(false)));
}

#[tokio::test]
async fn hcloud_24_private_addresses_need_a_network() {
    is_refused(&[LOCATION], &[("use-private-ip", "true")], "use private ip: missing network id").await;
}

#[tokio::test]
async fn hcloud_25_an_address_in_the_network_is_asked_for() {
    let rig = rig(&IN_NETWORK).await;
    let mut service = Service::new(&rig).with("private-ipv4", "10.0.0.9").with("use-private-ip", "true");
    assert!(service.addresses().await.contains(&"10.0.0.9".to_owned()));
    let all = rig.cloud.load_balancers().all();
    assert_eq!(all[0].private_net, Some((4711, "10.0.0.9".parse().unwrap())));
    assert_eq!(all[0].targets, [Target::Server { id: 1, use_private_ip: true }]);
    let attached = &rig.cloud.requests_to("POST", "/v1/load_balancers/*/actions/attach_to_network")[0].body;
    let attached: Value = serde_json::from_slice(attached).unwrap();
    assert_eq!(attached, json!({ "network": 4711, "ip": "10.0.0.9" }));
}

#[tokio::test]
async fn hcloud_26_a_certificate_is_found_by_its_name() {
    let rig = rig(&[LOCATION]).await;
    rig.cloud.certificates().insert(Certificate::new(42, "www"));
    let mut service = Service::new(&rig).with("protocol", "https").with("http-certificates", "www");
    service.desired.ports = vec![port(Protocol::Tcp, 443)];
    service.served_with().await;
    assert_eq!(created(&rig)["services"][0]["http"]["certificates"], json!([42]));
    assert!(rig.requests().contains(&"GET /v1/certificates?name=www → 200".to_owned()));
}

#[tokio::test]
async fn hcloud_27_a_managed_certificate_is_created_once() {
    let managed = [("protocol", "https"), ("certificate-type", "managed")];
    is_refused(&[LOCATION], &managed, "needs annotation").await;
    let rig = rig(&[LOCATION]).await;
    let mut service = managed.iter().fold(Service::new(&rig), |it, (name, value)| it.with(name, value));
    service.set("http-managed-certificate-domains", "example.com");
    service.served_with().await;
    let name = format!("ccm-managed-certificate-{UID}");
    let certificates = rig.cloud.certificates().all();
    let [made] = &certificates[..] else { panic!("{certificates:?}") };
    assert_eq!((&made.name, made.labels.get("hcloud-ccm/service-uid").map(String::as_str)), (&name, Some(UID)));
    assert_eq!(created(&rig)["services"][0]["http"]["certificates"], json!([made.id]));
}

#[tokio::test]
async fn hcloud_27_a_certificate_of_that_name_is_taken() {
    let rig = rig(&[LOCATION]).await;
    let name = format!("ccm-managed-certificate-{UID}");
    rig.cloud.certificates().insert(Certificate::new(42, &name).managed());
    let mut service = Service::new(&rig).with("protocol", "https").with("certificate-type", "managed");
    service.set("http-managed-certificate-domains", "example.com");
    service.served_with().await;
    assert_eq!(created(&rig)["services"][0]["http"]["certificates"], json!([42]));
    assert!(rig.writes().contains(&"POST /v1/certificates → 409".to_owned()));
}

#[tokio::test]
async fn one_port_can_speak_otherwise() {
    let rig = rig(&[LOCATION]).await;
    rig.cloud.certificates().insert(Certificate::new(42, "www"));
    let mut service = Service::new(&rig).with("protocol.443", "https").with("http-certificates", "42");
    service.desired.ports.push(port(Protocol::Tcp, 443));
    service.served_with().await;
    let all = rig.cloud.load_balancers().all();
    let protocols: Vec<_> = all[0].services.iter().map(|it| (it.listen_port, it.protocol.clone())).collect();
    assert_eq!(protocols, [(80, "tcp".to_owned()), (443, "https".to_owned())]);
    assert!(service.desired.annotations.iter().any(|(it, _)| *it == key("protocol.443")));
}
