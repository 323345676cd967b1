//! Annotations and settings that are refused, and what the others become.

use super::*;

/// A value of each annotation that is refused. Those of ids would lead elsewhere in a path.
const REFUSED: [(&str, &str); 30] = [
    ("service.beta.kubernetes.io/openstack-internal-load-balancer", "True"),
    ("service.beta.kubernetes.io/load-balancer-source-ranges", "192.0.2.0/24, 10.0.0.0/33"),
    ("class", "silver"),
    ("floating-network-id", "../../x"),
    ("floating-subnet-id", "a b"),
    ("floating-subnet", "a\nb"),
    ("floating-subnet-tags", "a\0"),
    ("keep-floatingip", "1"),
    ("network-id", "x/y"),
    ("subnet-id", "../../x"),
    ("member-subnet-id", "x?y=z"),
    ("port-id", "x#y"),
    ("load-balancer-id", "../quotas"),
    ("hostname", "192.0.2.1"),
    ("connection-limit", "many"),
    ("lb-method", "FASTEST"),
    ("proxy-protocol", "v3"),
    ("x-forwarded-for", "True"),
    ("timeout-client-data", "5s"),
    ("timeout-member-connect", "-5"),
    ("timeout-member-data", "1e3"),
    ("timeout-tcp-inspect", "99999999999"),
    ("flavor-id", "%2e%2e"),
    ("availability-zone", "a\tb"),
    ("default-tls-container-ref", "https://keys/v1/orders/1"),
    ("enable-health-monitor", "yes"),
    ("health-monitor-delay", "soon"),
    ("health-monitor-timeout", "0"),
    ("health-monitor-max-retries", "11"),
    ("health-monitor-max-retries-down", "0"),
];

#[test]
fn refused_values_are_named() {
    for (key, value) in REFUSED.into_iter().chain([("connection-limit", "-2")]) {
        let mut stage = Stage::new().annotated(key, value);
        assert!(why(stage.ensured()).contains(key), "{key}");
        assert_eq!(stage.cloud.borrow_mut().asked().requests.len(), 0, "{key}");
    }
    let mut both = Stage::new().annotated("proxy-protocol", "true").annotated("x-forwarded-for", "true");
    assert!(why(both.ensured()).contains("cannot be used together"));
    let tls = "https://keys.example.com/v1/secrets/6b3c1a60-0d11-4c9e-8f3b-2f5a3d4f7a11";
    let mut named = Stage::new().annotated("default-tls-container-ref", tls);
    assert!(why(named.ensured()).contains("allowedTLSContainerRefs"));
}

#[test]
fn each_annotation_has_a_value_that_is_refused() {
    let description = Host::new().setting("region", "RegionOne").run(<OpenStack as aerostat_sdk::Provider>::describe);
    let short = |it: &str| it.trim_start_matches("loadbalancer.openstack.org/").to_owned();
    let known = description.unwrap().annotations.into_iter().map(|it| short(&it.key));
    let left: Vec<_> = known.filter(|key| !REFUSED.iter().any(|(it, _)| it == key)).collect();
    // The selector is the host's to read, and the address is written, and never read.
    assert_eq!(left, ["load-balancer-address", "node-selector"]);
}

#[test]
fn openstack_031_proxies_show_themselves_in_the_status() {
    let mode = |stage: &Stage| stage.service.current_ingress[0].ip_mode;
    let mut stage = Stage::new().annotated("proxy-protocol", "v2");
    stage.ensured().unwrap();
    assert_eq!(mode(&stage), Some(aerostat_sdk::IpMode::Proxy));
    stage.annotate("proxy-protocol", "false");
    assert_eq!(stage.ensured().unwrap(), ["DELETE /pools/*", "POST /pools", "PUT /pools/*/members"]);
    assert_eq!(mode(&stage), Some(aerostat_sdk::IpMode::Vip));
    let mut named =
        Stage::new().setting("loadBalancers.enableIngressHostname", "true").annotated("proxy-protocol", "true");
    named.ensured().unwrap();
    assert!(named.shown()[0].ends_with(".nip.io"), "{:?}", named.shown());
}

#[test]
fn openstack_038_new_source_ranges_are_one_write_for_each_port() {
    let mut stage = Stage::new().with(|it| it.ports.push(Port::new(Protocol::Tcp, 81, 30_081)));
    stage.ensured().unwrap();
    stage.service.source_ranges = vec!["192.0.2.0/24".to_owned()];
    assert_eq!(stage.ensured().unwrap(), ["PUT /listeners/*", "PUT /listeners/*"]);
    stage.service.source_ranges = vec!["2001:db8::/32".to_owned()];
    assert!(why(stage.ensured()).contains("nobody could reach it"));
}

#[test]
fn classes_win_over_annotations_about_floating_ips() {
    let stage = Stage::new().annotated("class", "gold").annotated("floating-subnet-id", "ext-a");
    let stage = stage.setting("loadBalancers.classes.gold.floatingSubnetID", "ext-b");
    let mut stage = stage.setting("loadBalancers.classes.gold.subnetID", "store");
    stage.ensured().unwrap();
    stage.change(|cloud| {
        assert!(cloud.floating.values().all(|it| it["subnet_id"] == "ext-b"));
        assert!(cloud.balancers.values().all(|it| it["vip_subnet_id"] == "store"));
    });
}
