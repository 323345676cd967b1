//! New load balancers: DO cases 13 to 32 but for TLS, and 38 to 40.

use std::time::Duration;

use cloud_provider::{Error, ExternalTrafficPolicy, Ingress, IpMode, Progress, Protocol};
use serde_json::{Value, json};
use tests::clouds::digitalocean::{Creation, LoadBalancerStatus, Vpc};
use tests::vendor::{self, Behaviour, DigitalOcean, Hetzner, ProviderRig, Vendor};

use crate::setup::{CLUSTER_UID, ID, NAME, Service, TYPE, UID, dual, port, private, rig, worker};

tests::for_each_cloud! {
    a_setting_says_when_to_poll_again,
}

/// The request that creates a Service's load balancer, without a warning.
async fn sent(settings: &[(&str, &str)], change: impl FnOnce(&mut Service<'_>)) -> Value {
    let rig = rig(settings).await;
    let mut service = Service::new(&rig);
    change(&mut service);
    service.served().await;
    rig.body("POST", "/v2/load_balancers")
}

/// Why a Service gets no load balancer. Nothing is written.
async fn invalid(change: impl FnOnce(&mut Service<'_>)) -> String {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    change(&mut service);
    let why = service.invalid().await;
    assert_eq!(rig.requests(), [""; 0]);
    assert_eq!(service.desired.memo, None);
    why
}

fn annotate(service: &mut Service<'_>, pairs: &[(&str, &str)]) {
    for (name, value) in pairs {
        service.annotate(&crate::setup::key(name), value);
    }
}

#[tokio::test]
async fn do_13_a_plain_service_gets_a_network_load_balancer() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.creation = Creation::Stuck);
    let mut service = Service::new(&rig);
    let announced = service.pending().await;
    assert!(announced.status.memo.unwrap().starts_with(&format!("creating {NAME} since ")));
    assert_eq!(rig.requests(), [""; 0]);

    let begun = service.pending().await;
    let id = rig.only();
    assert_eq!(begun.after, Duration::from_secs(15));
    assert_eq!(begun.status.memo.as_ref(), Some(&id));
    assert_eq!(service.annotation(ID), Some(&*id));
    assert_eq!(service.annotation(TYPE), Some("REGIONAL_NETWORK"));
    let expected = ["GET /v2/load_balancers?page=1&per_page=200 → 200", "POST /v2/load_balancers → 202"];
    assert_eq!(rig.requests(), expected);
    let rule = json!({ "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 80 });
    let check = json!({
        "protocol": "http", "port": 10_256, "path": "/healthz", "check_interval_seconds": 3,
        "response_timeout_seconds": 5, "unhealthy_threshold": 3, "healthy_threshold": 5, "proxy_protocol": false,
    });
    assert_eq!(
        rig.body("POST", "/v2/load_balancers"),
        json!({
            "name": NAME, "region": "fra1", "type": "REGIONAL_NETWORK", "network": "EXTERNAL", "network_stack": "IPV4",
            "algorithm": "round_robin", "forwarding_rules": [rule], "health_check": check,
            "sticky_sessions": { "type": "none" }, "droplet_ids": [1], "redirect_http_to_https": false,
            "enable_proxy_protocol": false, "enable_backend_keepalive": false,
            "disable_lets_encrypt_dns_records": false, "firewall": {},
            "tags": [format!("aerostat:{CLUSTER_UID}:{UID}")],
        })
    );

    // It is polled again after a pause; nothing is written.
    let polled = service.pending().await;
    assert!(polled.after >= Duration::from_secs(15), "{:?}", polled.after);
    assert_eq!(rig.writes().len(), 1);
}

#[tokio::test]
async fn do_14_an_active_load_balancer_gives_its_address() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    let standing = service.served().await;
    let live = rig.cloud.load_balancers().get(&rig.only()).unwrap();
    let ip = live.ip.unwrap().to_string();
    assert_eq!(standing.ingress, [Ingress { ip: Some(ip), hostname: None, ip_mode: Some(IpMode::Vip) }]);
    assert_eq!(standing.memo, Some(live.id));
    assert_eq!(rig.requests().len(), 3, "list, creation, one poll");
}

#[tokio::test]
async fn do_15_a_proxy_has_addresses_of_both_families() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("type", "REGIONAL");
    let standing = service.served().await;
    let body = rig.body("POST", "/v2/load_balancers");
    assert_eq!(body["network_stack"], json!("DUALSTACK"));
    assert_eq!(body["forwarding_rules"][0]["target_port"], json!(30_080));
    let live = rig.cloud.load_balancers().get(&rig.only()).unwrap();
    let ingress = |ip: String| Ingress { ip: Some(ip), hostname: None, ip_mode: Some(IpMode::Vip) };
    let expected = [ingress(live.ip.unwrap().to_string()), ingress(live.ipv6.unwrap().to_string())];
    assert_eq!(standing.ingress, expected);
}

#[tokio::test]
async fn do_18_a_port_in_two_lists_is_invalid() {
    let why = invalid(|it| annotate(it, &[("type", "REGIONAL"), ("tls-ports", "80"), ("http-ports", "80")])).await;
    assert!(why.ends_with("both list 80: a port can be in one of them"), "{why}");
}

#[tokio::test]
async fn do_20_a_certificate_and_passthrough_exclude_each_other() {
    let id = "892071a0-bb95-49bc-8021-3afd67a210bf";
    let both = [("type", "REGIONAL"), ("certificate-id", id), ("tls-passthrough", "true")];
    let why = invalid(|it| annotate(it, &both)).await;
    assert!(why.ends_with("do-loadbalancer-certificate-id cannot both be set"), "{why}");
}

#[tokio::test]
async fn do_21_tls_needs_a_certificate_or_passthrough() {
    let why = invalid(|it| annotate(it, &[("type", "REGIONAL"), ("tls-ports", "80")])).await;
    assert!(why.starts_with("port 80 is to speak TLS: set one of the annotations"), "{why}");
}

#[tokio::test]
async fn do_23_an_overridden_check_needs_a_tcp_port() {
    let udp = |service: &mut Service<'_>| {
        service.desired.ports = vec![port(Protocol::Udp, 53)];
        annotate(service, &[("type", "REGIONAL")]);
    };
    let why = invalid(|service| {
        udp(service);
        annotate(service, &[("override-health-check", "true")]);
    });
    assert_eq!(why.await, "no health check port of protocol TCP found");
    assert_eq!(sent(&[], udp).await["health_check"]["port"], json!(10_256));
}

#[tokio::test]
async fn do_24_local_traffic_has_its_own_check() {
    let check =
        sent(&[], |it| it.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000)).await["health_check"]
            .clone();
    assert_eq!((&check["port"], &check["path"]), (&json!(31_000), &json!("/healthz")));
}

#[tokio::test]
async fn do_25_source_ranges_come_before_allow_rules() {
    let body = sent(&[], |service| {
        service.desired.source_ranges = vec!["10.0.0.0/8".to_owned()];
        annotate(service, &[("allow-rules", "ip:192.0.2.1")]);
    });
    assert_eq!(body.await["firewall"], json!({ "allow": ["cidr:10.0.0.0/8"] }));
}

#[tokio::test]
async fn do_27_an_internal_load_balancer_is_not_dual_stack() {
    let why = invalid(|it| annotate(it, &[("network", "INTERNAL"), ("network-stack", "DUALSTACK")])).await;
    let expected = "network-stack: \"DUALSTACK\" is not possible with an INTERNAL load balancer: IPV4";
    assert!(why.ends_with(expected), "{why}");
}

#[tokio::test]
async fn do_27_dual_stack_needs_nodes_that_have_both() {
    let why = invalid(|service| {
        service.desired.nodes = vec![dual(1), worker(2)];
        annotate(service, &[("network-stack", "DUALSTACK")]);
    });
    assert!(why.await.contains("is not possible while a node lacks a public IPv6 address"));
    let body = sent(&[], |it| it.desired.nodes = vec![dual(1), dual(2)]).await;
    assert_eq!(body["network_stack"], json!("DUALSTACK"));
}

#[tokio::test]
async fn do_28_a_network_load_balancer_takes_no_private_nodes() {
    let why = invalid(|it| it.desired.nodes = vec![private(1), private(2)]).await;
    let expected =
        "an external REGIONAL_NETWORK load balancer needs nodes with a public IPv4 address, and web-1, web-2 have none";
    assert!(why.starts_with(expected), "{why}");
}

#[tokio::test]
async fn do_29_without_nodes_it_is_tried_again() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.desired.nodes.clear();
    let none = Error::Unavailable("no ready nodes available for load balancer".to_owned());
    assert_eq!(service.step().await, Err(none));
    assert_eq!(rig.requests(), [""; 0]);
    service.desired.nodes = vec![worker(1)];
    service.served().await;
}

#[tokio::test]
async fn do_30_a_size_has_one_annotation() {
    let why = invalid(|it| annotate(it, &[("size-slug", "lb-large"), ("size-unit", "3")])).await;
    assert!(why.ends_with("do-loadbalancer-size-unit cannot both be set"), "{why}");
    let slug = sent(&[], |it| annotate(it, &[("size-slug", "lb-large")])).await;
    assert_eq!((&slug["size"], slug.get("size_unit")), (&json!("lb-large"), None));
    let unit = sent(&[], |it| annotate(it, &[("size-unit", "3")])).await;
    assert_eq!((unit.get("size"), &unit["size_unit"]), (None, &json!(3)));
}

#[tokio::test]
async fn do_31_an_own_address_has_one_annotation() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("ip", "198.51.100.7").with("name", "web.example.com");
    let standing = service.served().await;
    assert_eq!(standing.ingress[0].ip.as_deref(), Some("198.51.100.7"));
    assert_eq!(rig.body("POST", "/v2/load_balancers")["ip"], json!("198.51.100.7"));
    assert_eq!(rig.body("PUT", "/v2/load_balancers/*").get("ip"), None);
}

#[tokio::test]
async fn do_32_the_cluster_and_its_vpc_are_sent() {
    let rig = rig(&[("clusterId", "c-1"), ("vpcId", "11111111-2222-3333-4444-555555555555")]).await;
    let id = "11111111-2222-3333-4444-555555555555";
    let vpc = Vpc { id: id.to_owned(), name: "ours".to_owned(), region: "fra1".to_owned(), default: false };
    rig.cloud.vpcs().insert(vpc);
    rig.cloud.droplets().insert(tests::clouds::digitalocean::Droplet::new(1, "web-1").vpc(id));
    Service::new(&rig).served().await;
    let body = rig.body("POST", "/v2/load_balancers");
    let mark = format!("aerostat:{CLUSTER_UID}:{UID}");
    assert_eq!((&body["tags"], &body["vpc_uuid"]), (&json!(["k8s:c-1", mark]), &json!(id)));
    assert!(rig.cloud.tags().contains("k8s:c-1"));
}

#[tokio::test]
async fn a_setting_says_the_type_of_new_load_balancers() {
    let body = sent(&[("defaultLoadBalancerType", "REGIONAL")], |_| ()).await;
    assert_eq!(body["type"], json!("REGIONAL"));
}

#[tokio::test]
async fn a_chosen_name_comes_once_it_serves() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.creation = Creation::Reads(1));
    let mut service = Service::new(&rig).with("name", "web.example.com");
    service.pending().await;
    service.pending().await;
    assert_eq!(rig.cloud.load_balancers().get(&rig.only()).unwrap().name(), NAME);
    service.pending().await;
    assert_eq!(rig.writes().len(), 1);
    service.served().await;
    assert_eq!(rig.cloud.load_balancers().get(&rig.only()).unwrap().name(), "web.example.com");
    assert_eq!(rig.writes().len(), 2);
}

#[tokio::test]
async fn a_load_balancer_that_cannot_be_built_is_said_to_be_errored() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.creations_fail = true);
    let mut service = Service::new(&rig);
    let Error::Unavailable(why) = service.refused().await else { panic!("not unavailable") };
    let id = rig.only();
    assert!(why.starts_with(&format!("load balancer {id} ({NAME}) is errored")), "{why}");
    assert_eq!(rig.cloud.load_balancers().get(&id).unwrap().status, LoadBalancerStatus::Errored);
    assert_eq!(rig.writes().len(), 1);
}

#[tokio::test]
async fn do_39_a_disowned_service_is_left_alone() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.served().await;
    let before = rig.requests();
    for value in ["true", "1", "T"] {
        service.annotate("service.kubernetes.io/do-loadbalancer-disown", value);
        assert_eq!(service.step().await, Ok(Progress::NotManaged));
        service.desired.ports.push(port(Protocol::Tcp, 443));
        assert_eq!(service.step().await, Ok(Progress::NotManaged));
        service.gone().await;
    }
    assert_eq!(rig.requests(), before);
    rig.only();
}

#[tokio::test]
async fn do_40_a_disown_that_is_no_boolean_is_invalid() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.annotate("service.kubernetes.io/do-loadbalancer-disown", "yes");
    let why = "annotation service.kubernetes.io/do-loadbalancer-disown: \"yes\" is not true or false";
    assert_eq!(service.step().await, Err(Error::Invalid(why.to_owned())));
    assert_eq!(service.delete().await, Err(Error::Invalid(why.to_owned())));
    assert_eq!(rig.requests(), [""; 0]);
}

/// A cloud whose load balancers are built like this.
async fn rig_of<V: Vendor>(creation: vendor::Creation, settings: &[(&str, &str)]) -> ProviderRig<V> {
    ProviderRig::new(Behaviour { creation, ..Behaviour::default() }, settings).await
}

async fn a_setting_says_when_to_poll_again<V: Vendor>() {
    let rig = rig_of::<V>(vendor::Creation::Takes(Duration::from_secs(600)), &[("pollInterval", "2s")]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    assert_eq!(service.pending().await.after, Duration::from_secs(2));
    assert!(service.pending().await.after < Duration::from_secs(3));
}

#[tokio::test]
async fn do_38_a_hostname_takes_the_place_of_addresses() {
    a_hostname_takes_the_place_of_addresses::<DigitalOcean>().await;
}

#[tokio::test]
async fn hcloud_22_a_hostname_takes_the_place_of_addresses() {
    a_hostname_takes_the_place_of_addresses::<Hetzner>().await;
}

async fn a_hostname_takes_the_place_of_addresses<V: Vendor>() {
    let rig = rig_of::<V>(vendor::Creation::Takes(Duration::ZERO), &[]).await;
    let mut service = Service::new(&rig).with("hostname", "LB.Example.com");
    let hostname = Ingress { ip: None, hostname: Some("lb.example.com".to_owned()), ip_mode: None };
    assert_eq!(service.served().await.ingress, [hostname]);
}
