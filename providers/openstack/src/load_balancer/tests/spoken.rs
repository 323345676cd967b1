//! Protocols, classes and addresses of a new load balancer, by the numbers of the specification.

use aerostat_sdk::testing::{Response, reply};
use serde_json::{Value, json};

use super::*;

const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";
const SECRET: &str = "https://keys.example.com/v1/secrets/6b3c1a60-0d11-4c9e-8f3b-2f5a3d4f7a11";

/// The protocols of listener, pool and monitor of a load balancer with one port.
fn spoken(stage: &Stage) -> [String; 3] {
    let mut shared = stage.cloud.borrow_mut();
    let cloud = shared.cloud();
    let of = |all: &std::collections::BTreeMap<String, Value>, field: &str| {
        assert!(all.len() < 2, "{all:?}");
        all.values().next().map_or_else(String::new, |it| it[field].as_str().unwrap().to_owned())
    };
    [of(&cloud.listeners, "protocol"), of(&cloud.pools, "protocol"), of(&cloud.monitors, "type")]
}

/// An answer that says for how many seconds the service wants to be left alone.
fn paused(status: u16, seconds: &str) -> Response {
    Response { headers: vec![("retry-after".to_owned(), seconds.to_owned())], ..reply(status, "") }
}

fn port(protocol: Protocol, number: u16) -> Stage {
    Stage::new().with(|it| it.ports = vec![Port::new(protocol, number, 30_053)])
}

#[test]
fn openstack_026_an_internal_service_has_no_floating_ip() {
    let mut stage = Stage::new().annotated(INTERNAL, "true");
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers"]);
    let shown = stage.shown();
    stage.change(|cloud| {
        assert!(cloud.floating.is_empty());
        assert_eq!(cloud.balancers.values().next().unwrap()["vip_address"], json!(shown[0]));
    });
}

#[test]
fn openstack_028_without_external_network_it_is_internal() {
    let mut stage = Stage::new();
    stage.settings.retain(|(name, _)| !name.contains("floating"));
    stage.change(|cloud| cloud.is_closed = true);
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers"]);
    assert_eq!(stage.events, ["LoadBalancerForcedInternal"]);
    stage.change(|cloud| assert!(cloud.floating.is_empty()));
    assert!(stage.shown()[0].starts_with("10.6.1."), "{:?}", stage.shown());
}

#[test]
fn openstack_032_proxies_and_headers_exclude_each_other() {
    for proxy in ["true", "v1", "v2"] {
        let mut both = Stage::new().annotated("proxy-protocol", proxy).annotated("x-forwarded-for", "true");
        assert!(why(both.ensured()).contains("cannot be used together"), "{proxy}");
        assert_eq!(both.cloud.borrow_mut().asked().requests.len(), 0, "{proxy}");
    }
}

#[test]
fn openstack_033_forwarded_headers_make_a_listener_of_http() {
    let mut stage = Stage::new().annotated("x-forwarded-for", "true");
    stage.ensured().unwrap();
    assert_eq!(spoken(&stage), ["HTTP", "HTTP", ""]);
    stage.change(|cloud| {
        let headers = &cloud.listeners.values().next().unwrap()["insert_headers"];
        assert_eq!(headers, &json!({ "X-Forwarded-For": "true" }));
    });
}

#[test]
fn openstack_034_tls_ends_at_the_listener() {
    for malformed in ["gold", "https://keys/v1/orders/1", "https://keys/v1/secrets/..", "secrets/1"] {
        let mut stage = Stage::new().annotated("default-tls-container-ref", malformed);
        assert!(why(stage.ensured()).contains("default-tls-container-ref"), "{malformed}");
        assert_eq!(stage.cloud.borrow_mut().asked().requests.len(), 0, "{malformed}");
    }
    let settings = |stage: Stage| {
        stage
            .setting("loadBalancers.containerStore", "external")
            .setting("loadBalancers.defaultTLSContainerRef", SECRET)
    };
    let mut stage = settings(Stage::new());
    stage.ensured().unwrap();
    assert_eq!(spoken(&stage), ["TERMINATED_HTTPS", "HTTP", ""]);
    stage.change(|cloud| {
        assert_eq!(cloud.listeners.values().next().unwrap()["default_tls_container_ref"], json!(SECRET));
    });
}

#[test]
fn openstack_035_a_udp_port_has_its_listener_and_monitor() {
    let mut stage = port(Protocol::Udp, 53).annotated("enable-health-monitor", "true");
    stage.ensured().unwrap();
    assert_eq!(spoken(&stage), ["UDP", "UDP", "UDP-CONNECT"]);
}

#[test]
fn openstack_036_an_sctp_port_has_its_listener_and_monitor() {
    let mut stage = port(Protocol::Sctp, 132).annotated("enable-health-monitor", "true");
    stage.ensured().unwrap();
    assert_eq!(spoken(&stage), ["SCTP", "SCTP", "SCTP"]);
}

#[test]
fn openstack_039_an_unknown_class_is_named() {
    let mut stage = Stage::new().annotated("class", "gold");
    let refused = why(stage.ensured());
    assert!(refused.contains("class") && refused.contains("gold"), "{refused}");
    assert_eq!(stage.cloud.borrow_mut().asked().requests.len(), 0);
}

#[test]
fn openstack_040_a_port_without_node_port_has_an_empty_pool() {
    let mut stage = Stage::new().with(|it| it.ports[0].node_port = None);
    assert_eq!(stage.ensured().unwrap(), ["POST /loadbalancers", "POST /floatingips"]);
    assert_eq!(stage.events, ["LoadBalancerPortWithoutNodePort"]);
    stage.change(|cloud| assert_eq!((cloud.pools.len(), cloud.members.len()), (1, 0)));
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn openstack_054_a_quota_that_is_met_is_told() {
    let mut stage = Stage::new();
    let met: fn() -> Response = || {
        reply(403, json!({ "faultcode": "Client", "faultstring": "Quota has been met for resources: Load Balancer" }))
    };
    stage.change(|cloud| cloud.refuses = Some(met));
    let Err(refused) = stage.ensured() else { panic!("it is made") };
    // The host asks again after five minutes at the earliest.
    assert!(refused.is_quota() && refused.why().contains("Quota has been met"), "{refused:?}");
    stage.change(|cloud| cloud.refuses = None);
    stage.ensured().unwrap();
}

#[test]
fn openstack_055_retry_after_is_handed_to_the_host() {
    let limit: [(fn() -> Response, u32); 4] = [
        (|| paused(429, "7"), 7_000),
        (|| paused(413, "9"), 9_000),
        (|| reply(429, ""), 30_000),
        (|| reply(413, json!({ "overLimit": { "message": "rate" } })), 30_000),
    ];
    for (answer, pause) in limit {
        let mut stage = Stage::new();
        stage.change(|cloud| cloud.refuses = Some(answer));
        let refused = stage.ensured().unwrap_err();
        assert!(matches!(&refused, Error::RetryAfter(it) if it.milliseconds == pause), "{refused:?}");
    }
    let mut large = Stage::new();
    large.change(|cloud| cloud.refuses = Some(|| reply(413, json!({ "message": "Request is too large." }))));
    assert!(why(large.ensured()).contains("too large"), "no pause makes it smaller");
}
