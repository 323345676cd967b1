//! Security rules, probes and rules, by annotation.

use aerostat_sdk::{ExternalTrafficPolicy, LoadBalancer};

use super::*;

fn with(annotations: &[(&str, &str)]) -> LoadBalancer {
    annotations.iter().fold(service(), |it, (name, value)| it.with_annotation(key(name), *value))
}

/// The one probe of a Service.
fn probe(service: LoadBalancer) -> Value {
    let stage = BalancerStage::new();
    stage.ready(service);
    let mut probe = super::super::tree::parts(&stage.balancer(), "probes")[0]["properties"].clone();
    for it in ["provisioningState", "numberOfProbes"] {
        probe.as_object_mut().unwrap().remove(it);
    }
    probe
}

/// The properties of the rule for port 80.
fn rule(service: LoadBalancer) -> Value {
    let stage = BalancerStage::new();
    stage.ready(service);
    part(&stage.balancer(), "loadBalancingRules", &format!("{BASE}-TCP-80"))["properties"].clone()
}

#[test]
fn azure_027_local_services_have_one_probe() {
    let local = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..service() };
    let stage = BalancerStage::new();
    stage.ready(local.with_port(tcp(443)).with_port(Port::new(Protocol::Udp, 53, 30_053)));
    let shown = stage.balancer();
    assert_eq!(names(&shown, "probes"), [format!("{BASE}-TCP-31000")]);
    let probe = part(&shown, "probes", &format!("{BASE}-TCP-31000"));
    assert_eq!(
        (&probe["properties"]["protocol"], &probe["properties"]["requestPath"]),
        (&json!("Http"), &json!("/healthz"))
    );
    for it in super::super::tree::parts(&shown, "loadBalancingRules") {
        assert!(it["properties"]["probe"]["id"].as_str().unwrap().ends_with("-TCP-31000"));
    }
}

#[test]
fn azure_028_probes_speak_what_ports_carry() {
    let mut https = service();
    https.ports[0].app_protocol = Some("https".to_owned());
    let expected =
        json!({ "intervalInSeconds": 5, "port": 30_080, "probeThreshold": 2, "protocol": "Https", "requestPath": "/" });
    assert_eq!(probe(https.clone()), expected);
    let plain = probe(https.with_annotation(key("port_80_health-probe_protocol"), "tcp"));
    assert_eq!(plain, json!({ "intervalInSeconds": 5, "port": 30_080, "probeThreshold": 2, "protocol": "Tcp" }));
    let path = [
        ("azure-load-balancer-health-probe-protocol", "http"),
        ("azure-load-balancer-health-probe-request-path", "/live"),
        ("port_80_health-probe_interval", "10"),
        ("port_80_health-probe_num-of-probe", "4"),
    ];
    let expected = json!({ "intervalInSeconds": 10, "port": 30_080, "probeThreshold": 4, "protocol": "Http", "requestPath": "/live" });
    assert_eq!(probe(with(&path)), expected);
    let other = with(&[("port_80_health-probe_port", "p443")]).with_port(tcp(443));
    assert_eq!(probe(other)["port"], 30_443);
}

#[test]
fn shared_probes_are_everybodys() {
    let stage = BalancerStage::of(FakeArm::default(), &[("clusterServiceLoadBalancerHealthProbeMode", "shared")]);
    let first = stage.ready(service());
    let second = stage.ready(named("two", &uid(2)).with_port(tcp(443)));
    assert_eq!(names(&stage.balancer(), "probes"), ["cluster-service-shared-health-probe"]);
    stage.gone(&first);
    assert_eq!(names(&stage.balancer(), "probes"), ["cluster-service-shared-health-probe"]);
    stage.gone(&second);
    assert_eq!(stage.balancer(), Value::Null);
}

#[test]
fn azure_032_and_033_rules_follow_the_service() {
    let affine = LoadBalancer { client_ip_affinity_seconds: Some(10_800), ..service() };
    assert_eq!(rule(affine)["loadDistribution"], "SourceIP");
    let silent = rule(with(&[
        ("azure-load-balancer-disable-tcp-reset", "true"),
        ("azure-load-balancer-tcp-idle-timeout", "30"),
    ]));
    assert_eq!((&silent["enableTcpReset"], &silent["idleTimeoutInMinutes"]), (&json!(false), &json!(30)));
    let stage = BalancerStage::new();
    let ports = with(&[("port_443_no_lb_rule", "true"), ("port_80_no_probe_rule", "true")]).with_port(tcp(443));
    stage.ready(ports);
    assert_eq!(
        (names(&stage.balancer(), "loadBalancingRules").len(), names(&stage.balancer(), "probes").len()),
        (1, 0)
    );
}

#[test]
fn azure_034_sources_become_prefixes() {
    let stage = BalancerStage::new();
    let ranges =
        LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned(), "192.168.0.0/16".to_owned()], ..service() };
    let limited = stage.ready(ranges);
    let rule = part(&stage.group(), "securityRules", "k8s-azure-lb_allow_IPv4_560c32fa479c77f01b07c6ae4db2b777");
    assert_eq!(rule["properties"]["sourceAddressPrefixes"], json!(["10.0.0.0/8", "192.168.0.0/16"]));
    stage.ready(LoadBalancer { source_ranges: Vec::new(), ..limited });
    assert_eq!(names(&stage.group(), "securityRules"), ["k8s-azure-lb_allow_IPv4_d39272f7f57ed937951650d93992ad77"]);
}

#[test]
fn azure_035_and_036_tags_and_denials_are_as_recorded() {
    let stage = BalancerStage::new();
    let tagged = with(&[
        ("azure-allowed-service-tags", "AzureFrontDoor.Backend,AzureCloud"),
        ("azure-allowed-ip-ranges", "10.10.0.0/16"),
        ("azure-deny-all-except-load-balancer-source-ranges", "true"),
    ]);
    let tagged = stage.ready(tagged);
    let names = names(&stage.group(), "securityRules");
    let expected = [
        "k8s-azure-lb_allow_IPv4_465c9cd4f09e4be21ec7e39f3ae2c518",
        "k8s-azure-lb_allow_IPv4_802088238045253e1bed2dc8730b6bcd",
        "k8s-azure-lb_allow_IPv4_79ca9de67447670cd96b3c861e2f9c6b",
        "k8s-azure-lb_deny-all_IPv4",
    ];
    assert_eq!(names, expected);
    let mut denial = part(&stage.group(), "securityRules", "k8s-azure-lb_deny-all_IPv4")["properties"].clone();
    denial.as_object_mut().unwrap().remove("provisioningState");
    let expected = json!({
        "access": "Deny", "destinationAddressPrefix": ips(&tagged)[0], "destinationPortRange": "*", "direction": "Inbound",
        "priority": 4095, "protocol": "*", "sourceAddressPrefix": "*", "sourcePortRange": "*",
    });
    assert_eq!(denial, expected);
    stage.gone(&tagged);
    assert!(super::super::tree::parts(&stage.group(), "securityRules").is_empty());
}

#[test]
fn azure_037_no_rules_where_none_are_wanted() {
    let stage = BalancerStage::new();
    let open = stage.ready(service());
    stage.ready(open.with_annotation(key("azure-disable-load-balancer-nsg-rule"), "true"));
    assert_eq!(names(&stage.group(), "securityRules"), [""; 0]);
}

#[test]
fn azure_038_without_floating_nodes_are_the_destination() {
    let stage = BalancerStage::new();
    let service = stage.ready(with(&[("azure-disable-load-balancer-floating-ip", "true")]));
    let rule = part(&stage.balancer(), "loadBalancingRules", &format!("{BASE}-TCP-80"));
    assert_eq!(
        (&rule["properties"]["backendPort"], &rule["properties"]["enableFloatingIP"]),
        (&json!(30_080), &json!(false))
    );
    let rules = super::super::tree::parts(&stage.group(), "securityRules").to_vec();
    assert_eq!(rules[0]["properties"]["destinationAddressPrefixes"], json!(["10.240.0.4", "10.240.0.5"]));
    assert_eq!(rules[0]["properties"]["destinationPortRanges"], json!(["30080"]));
    stage.gone(&service);
    assert!(super::super::tree::parts(&stage.group(), "securityRules").is_empty());
}

#[test]
fn azure_039_udp_has_no_probe_of_its_own() {
    let stage = BalancerStage::new();
    stage.ready(named("dns", UID).with_port(Port::new(Protocol::Udp, 53, 30_053)));
    let rule = part(&stage.balancer(), "loadBalancingRules", &format!("{BASE}-UDP-53"));
    assert!(rule["properties"]["probe"].is_null() && rule["properties"]["enableTcpReset"].is_null());
    assert_eq!(names(&stage.group(), "securityRules"), ["k8s-azure-lb_allow_IPv4_eacf5e21d4ad7b5345009ad51af9d388"]);
}

#[test]
fn azure_044_labels_are_set_and_taken_off() {
    let stage = BalancerStage::new();
    let labelled = stage.ready(with(&[
        ("azure-dns-label-name", "aero"),
        ("azure-pip-tags", "a=b,c=d"),
        ("azure-pip-ip-tags", "FirstPartyUsage=x"),
    ]));
    let public = stage.public(&format!("kubernetes-{BASE}"));
    assert_eq!(public["properties"]["dnsSettings"], json!({ "domainNameLabel": "aero" }));
    assert_eq!(public["properties"]["ipTags"], json!([{ "ipTagType": "FirstPartyUsage", "tag": "x" }]));
    assert_eq!(
        (&public["tags"]["a"], &public["tags"]["k8s-azure-dns-label-service"]),
        (&json!("b"), &json!("default/web"))
    );
    let mut without = labelled;
    without.annotations.retain(|(name, _)| !name.ends_with("azure-dns-label-name"));
    let without = stage.ready(without.with_annotation(key("azure-dns-label-name"), ""));
    let public = stage.public(&format!("kubernetes-{BASE}"));
    assert!(public["properties"]["dnsSettings"].is_null() && !public["tags"]["k8s-azure-dns-label-service"].is_null());
    drop(without);
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().refusals = vec![("PUT /subscriptions".to_owned(), 400, "DnsRecordInUse", 1)];
    assert!(stage.refused(&with(&[("azure-dns-label-name", "aero")])).contains("DnsRecordInUse"));
}

#[test]
fn azure_045_addresses_come_from_a_prefix() {
    let stage = BalancerStage::new();
    let prefix = rg("Microsoft.Network/publicIPPrefixes/p1");
    stage.ready(with(&[("azure-pip-prefix-id", &prefix)]));
    let public = stage.public(&format!("kubernetes-{BASE}-p1"));
    assert_eq!(public["properties"]["publicIPPrefix"], json!({ "id": prefix }));
}
