//! Values of annotations of Network Load Balancers: what they become at the cloud, and what becomes of a change.

use aerostat_sdk::testing::Request;

use super::*;
use crate::tests::pairs::{members, pairs};

/// The Service with this value of an annotation, in place of another.
fn set(service: LoadBalancer, name: &str, value: &str) -> LoadBalancer {
    let key = format!("{PREFIX}{name}");
    let annotations = service.annotations.iter().filter(|(it, _)| *it != key).cloned().collect();
    LoadBalancer { annotations, ..service }.with_annotation(key, value)
}

/// The writes of a Service whose annotation has each of these values, one after the other.
fn written(played: &Played<FakeNlb>, service: &mut LoadBalancer, name: &str, values: &[&str]) -> Vec<Vec<String>> {
    let step = |value: &&str| {
        *service = set(service.clone(), name, value);
        let sent = played.settle(service);
        assert_eq!(writes(&played.settle(service)), [""; 0], "{name} {value}");
        writes(&sent).into_iter().map(str::to_owned).collect()
    };
    values.iter().map(step).collect()
}

#[test]
fn security_groups_of_ones_own_go_by_an_empty_list() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    let (join, leave) = ("LoadBalancerJoinSecurityGroup", "LoadBalancerLeaveSecurityGroup");
    let steps = written(&played, &mut service, "security-group-ids", &["sg-a,sg-b", "sg-b", ""]);
    assert_eq!(steps, [vec![join], vec![leave], vec![leave]]);
    assert_eq!(only(&played, "load balancer")["SecurityGroupIds"], json!([]));
    let _ = written(&played, &mut service, "security-group-ids", &["sg-a"]);
    service.annotations.retain(|(key, _)| !key.ends_with("security-group-ids"));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0], "without the annotation they stay");
    // The group of its ranges is no group of one's own.
    service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    let _ = written(&played, &mut service, "security-group-ids", &[""]);
    assert_eq!(only(&played, "load balancer")["SecurityGroupIds"], json!(["sg-1"]));
}

#[test]
fn bandwidth_packages_are_changed_and_let_go() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    let (attach, detach) =
        ("AttachCommonBandwidthPackageToLoadBalancer", "DetachCommonBandwidthPackageFromLoadBalancer");
    let steps = written(&played, &mut service, "bandwidth-package-id", &["cbwp-1", "cbwp-2", ""]);
    assert_eq!(steps, [vec![attach], vec![detach, attach], vec![detach]]);
}

/// The zones of each request that changes them, as an annotation names them.
fn zones_of(requests: &[Request]) -> Vec<String> {
    let of = |request: &Request| {
        let zone = |mapping: &Value| {
            let text = |name: &str| mapping[name].as_str().unwrap_or_default().to_owned();
            let parts = ["ZoneId", "VSwitchId", "PrivateIPv4Address", "AllocationId"].map(text).join(":");
            parts.trim_end_matches(':').to_owned()
        };
        members(&pairs(request), "ZoneMappings").iter().map(zone).collect::<Vec<_>>().join(",")
    };
    requests.iter().filter(|it| action(it) == "UpdateLoadBalancerZones").map(of).collect()
}

#[test]
fn zones_of_a_network_load_balancer_follow_in_steps() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    let (b, g, h) = ("cn-hangzhou-b:vsw-b", "cn-hangzhou-g:vsw-g", "cn-hangzhou-h:vsw-h");
    let mut change = |zones: &str| {
        service = set(service.clone(), "zone-maps", zones);
        let sent = played.settle(&mut service);
        assert_eq!(writes(&played.settle(&mut service)), [""; 0], "{zones}");
        (writes(&sent).len(), zones_of(&sent))
    };
    assert_eq!(change(&format!("{g},{b}")), (0, Vec::new()), "their order says nothing");
    assert_eq!(change(&format!("{g},{h}")), (2, vec![format!("{b},{g},{h}"), format!("{g},{h}")]));
    let other = "cn-hangzhou-h:vsw-h2";
    assert_eq!(change(&format!("{other},{g}2")), (2, vec![format!("{g}2,{h}"), format!("{g}2,{other}")]));
}

#[test]
fn chosen_addresses_in_zones_follow_what_is_shown() {
    let played = Played::new(FakeNlb::default());
    let zones = |elastic: &str| format!("cn-hangzhou-b:vsw-b:10.0.0.9:{elastic},cn-hangzhou-g:vsw-g");
    let mut service = set(service(), "zone-maps", &zones("eip-1"));
    assert_eq!(zones_of(&played.settle(&mut service)), [""; 0]);
    service = set(service, "zone-maps", &zones("eip-2"));
    assert_eq!(zones_of(&played.settle(&mut service)), [zones("eip-2")]);
    service = set(service, "zone-maps", ZONES);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0], "addresses that nobody chooses stay");
    service.annotations.retain(|(key, _)| !key.ends_with("zone-maps"));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0], "without the annotation all stay");
}

#[test]
fn one_call_changes_zones_once_and_waits_for_no_job() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    service = set(service, "zone-maps", "cn-hangzhou-g:vsw-g,cn-hangzhou-h:vsw-h");
    let before = played.host.sent().len();
    assert!(matches!(played.call(&mut service), Ok(Progress::Pending(_))));
    let sent = played.host.sent().split_off(before);
    assert_eq!(
        (writes(&sent), sent.last().map(action)),
        (vec!["UpdateLoadBalancerZones"; 1], Some("UpdateLoadBalancerZones"))
    );
    assert!(service.memo.as_ref().unwrap().starts_with("nlb-1 UpdateLoadBalancerZones:action-"), "{service:?}");
    // Its job fails: that is told, and the step is taken again.
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().fails = Some("UpdateLoadBalancerZones");
    service = set(service, "zone-maps", ZONES);
    let before = played.host.sent().len();
    let told = (0..20).any(|_| match played.call(&mut service) {
        Ok(Progress::Failed(it)) => it.error.why().contains("UpdateLoadBalancerZones"),
        _ => false,
    });
    played.settle(&mut service);
    let (b, g, h) = ("cn-hangzhou-b:vsw-b", "cn-hangzhou-g:vsw-g", "cn-hangzhou-h:vsw-h");
    let more = format!("{g},{h},{b}");
    assert_eq!((told, zones_of(&played.host.sent()[before..])), (true, vec![more.clone(), more, format!("{g},{b}")]));
}

#[test]
fn zones_that_the_cloud_refuses_hold_nothing_up() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    let code = "ResourceNotFound.vSwitch";
    played.cloud.borrow_mut().cloud().waits_at = vec![("UpdateLoadBalancerZones", code); 30];
    service = set(service, "zone-maps", "cn-hangzhou-b:vsw-b,cn-hangzhou-g:vsw-b");
    service.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    let told = (0..30).any(|_| match played.call(&mut service) {
        Err(error) => error.why().contains(code),
        Ok(Progress::Failed(it)) => it.error.why().contains(code),
        Ok(_) => false,
    });
    let listeners = played.cloud.borrow_mut().cloud().listeners.all().count();
    assert_eq!((told, listeners), (true, 2));
}

#[test]
fn addresses_of_ipv6_are_opened_and_closed() {
    let played = Played::new(FakeNlb::default());
    let mut service = annotated("ip-version", "dualstack");
    played.settle(&mut service);
    let steps = written(&played, &mut service, "ipv6-address-type", &["Internet", "intranet"]);
    assert_eq!(steps, [["EnableLoadBalancerIpv6Internet"], ["DisableLoadBalancerIpv6Internet"]]);
    let plain = Played::new(FakeNlb::default());
    plain.settle(&mut annotated("ipv6-address-type", "internet"));
    assert_eq!(plain.reasons(), ["ServiceFieldsIgnored"], "it has no address of IPv6");
}

#[test]
fn further_certificates_come_and_go() {
    let played = Played::new(FakeNlb::default());
    let mut service = set(annotated("protocol-port", "tcpssl:80"), "cert-id", "c1");
    service = set(service, "additional-cert-ids", "c2,c3");
    let sent = played.settle(&mut service);
    let (add, remove) =
        ("AssociateAdditionalCertificatesWithListener", "DisassociateAdditionalCertificatesWithListener");
    assert_eq!(writes(&sent).iter().filter(|it| it.contains("Certificates")).collect::<Vec<_>>(), [&add]);
    assert_eq!(only(&played, "listener")["Further"], json!(["c2", "c3"]));
    let many: Vec<String> = (3..20).map(|it| format!("c{it}")).collect();
    let steps = written(&played, &mut service, "additional-cert-ids", &[&many.join(","), ""]);
    assert_eq!(steps, [vec![add, add, remove], vec![remove, remove]], "fifteen a request");
    assert_eq!(only(&played, "listener")["Further"], json!([]));
    let _ = written(&played, &mut service, "additional-cert-ids", &["c2"]);
    service.annotations.retain(|(key, _)| !key.ends_with("additional-cert-ids"));
    assert!(!actions(&played.settle(&mut service)).contains(&"ListListenerCertificates"), "they stay as they are");
    assert_eq!(only(&played, "listener")["Further"], json!(["c2"]));
}

#[test]
fn fields_of_the_proxy_protocol_are_one_parameter() {
    let played = Played::new(FakeNlb::default());
    let mut service = set(annotated("proxy-protocol", "on"), "ppv2-pvl-vpc-id-enabled", "on");
    played.settle(&mut service);
    let flags = |endpoint: bool, service: bool, network: bool| json!({ "Ppv2PrivateLinkEpIdEnabled": endpoint, "Ppv2PrivateLinkEpsIdEnabled": service, "Ppv2VpcIdEnabled": network });
    assert_eq!(only(&played, "listener")["ProxyProtocolV2Config"], flags(false, false, true));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    let update = vec!["UpdateListenerAttribute"];
    assert_eq!(
        written(&played, &mut service, "ppv2-pvl-ep-id-enabled", &["on", "off"]),
        [update.clone(), update.clone()]
    );
    assert_eq!(written(&played, &mut service, "ppv2-pvl-eps-id-enabled", &["On"]), [update]);
    assert_eq!(only(&played, "listener")["ProxyProtocolV2Config"], flags(false, true, true));
    let plain = Played::new(FakeNlb::default());
    plain.settle(&mut annotated("ppv2-pvl-ep-id-enabled", "on"));
    assert!(only(&plain, "listener")["ProxyProtocolV2Config"].is_null());
    assert_eq!(plain.reasons(), ["ServiceFieldsIgnored"], "nothing is told by a protocol that is off");
}

#[test]
fn values_that_the_vendor_serves_are_served() {
    let udp = |service: LoadBalancer| LoadBalancer { ports: vec![Port::new(Protocol::Udp, 53, 30_053)], ..service };
    let long = format!("n{}", "1".repeat(127));
    for service in [
        annotated("server-group-type", "Instance"),
        annotated("name", &long),
        annotated("address-type", "Intranet"),
        annotated("cross-zone-enabled", "ON"),
        udp(annotated("health-check-type", "udp")),
        annotated("health-check-type", "udp"),
    ] {
        let played = Played::new(FakeNlb::default());
        let mut service = service;
        played.settle(&mut service);
        assert_eq!(writes(&played.settle(&mut service)), [""; 0], "{:?}", service.annotations);
    }
    let played = Played::new(FakeNlb::default());
    let mut service = set(set(annotated("protocol-port", "tcpssl:80"), "cert-id", "c1"), "cacert", "on");
    service = set(service, "cacert-id", "ca-1,ca-2");
    played.settle(&mut service);
    assert_eq!(only(&played, "listener")["CaCertificateIds"], json!(["ca-1", "ca-2"]));
    let check = Played::new(FakeNlb::default());
    check.settle(&mut udp(annotated("health-check-type", "udp")));
    assert_eq!(only(&check, "server group")["HealthCheck"]["HealthCheckType"], "UDP");
    for (name, value) in [
        ("server-group-type", "ip"),
        ("name", "n"),
        ("name", &*format!("{long}1")),
        ("bandwidth-package-id", "*"),
        ("ipv6-address-type", "both"),
        ("additional-cert-ids", "c1,,c2"),
        ("ppv2-pvl-ep-id-enabled", "yes"),
        ("listener-port-range", "1000-2000:80"),
    ] {
        let played = Played::new(FakeNlb::default());
        let mut service = set(annotated("protocol-port", "tcpssl:80"), "cert-id", "c1");
        service = set(service, name, value);
        let refused = (0..3).any(|_| match played.call(&mut service) {
            Err(Error::Invalid(why)) => why.contains(name),
            Ok(Progress::Failed(it)) => it.error.why().contains(name),
            _ => false,
        });
        assert!(refused && writes(&played.host.sent()).is_empty(), "{name} {value}");
    }
}

#[test]
fn a_service_with_the_type_nlb_has_a_network_load_balancer() {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { load_balancer_class: None, ..annotated("type", "nlb") };
    played.settle(&mut service);
    assert_eq!(service.memo.as_deref(), Some("nlb-1"));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(count(&played), 0);
}

/// A cloud whose operator keeps Services from the internet.
fn closed(mut played: Played<FakeNlb>) -> Played<FakeNlb> {
    played.host = played.host.setting("disablePublicSLB", "true");
    played
}

#[test]
fn no_later_annotation_opens_what_the_operator_keeps_closed() {
    let inner = || set(set(service(), "ip-version", "DualStack"), "address-type", "intranet");
    let (played, mut service) = (closed(Played::new(FakeNlb::default())), inner());
    played.settle(&mut service);
    for name in ["address-type", "ipv6-address-type"] {
        let before = played.host.sent().len();
        let refused = played.call(&mut set(service.clone(), name, "internet"));
        let names = |why: &str| why.contains("disablePublicSLB") && why.contains(&format!("-{name}: intranet"));
        assert!(matches!(&refused, Err(Error::Invalid(why)) if names(why)), "{refused:?}");
        assert_eq!(writes(&played.host.sent()[before..]), [""; 0], "{name}");
    }
    let (played, mut service) = (Played::new(FakeNlb::default()), inner());
    played.settle(&mut service);
    let opened = ["UpdateLoadBalancerAddressTypeConfig", "EnableLoadBalancerIpv6Internet"];
    for (name, action) in ["address-type", "ipv6-address-type"].into_iter().zip(opened) {
        assert_eq!(written(&played, &mut service, name, &["internet"]), [[action]]);
    }
    // Those of before stay open, and may be closed.
    let played = closed(played);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!(written(&played, &mut service, "address-type", &["intranet"]), [[opened[0]]]);
}
