//! Classic Load Balancers in memory: what is sent for a Service, and what becomes of the answers.

mod access;
mod built;
mod cloud;
mod inherited;
mod networks;
mod recorded;
mod reused;
mod settled;
mod values;

use aerostat_sdk::testing::{self, FakeCloud as _};
use aerostat_sdk::{
    Deletion, Error, ExternalTrafficPolicy, Ingress, IpMode, LoadBalancer, LoadBalancers as _, Port, Progress, Protocol,
};
use serde_json::{Value, json};

use self::cloud::FakeSlb;
use super::annotations::{OLDER_PREFIX, PREFIX};
use crate::provider::Alibaba;
use crate::tests::CLUSTER_ID;
use crate::tests::played::{Played, UID, actions, node, service, writes};

fn annotated(name: &str, value: &str) -> LoadBalancer {
    service().with_annotation(format!("{PREFIX}{name}"), value)
}

/// The only load balancer.
fn balancer(played: &Played<FakeSlb>) -> Value {
    let objects = played.cloud.borrow_mut().cloud().objects();
    assert_eq!(objects.len(), 1, "{objects:?}");
    objects[0].body.clone()
}

/// The only listener.
fn listener(live: &Value) -> &Value {
    let [listener] = &live["Listeners"].as_array().unwrap()[..] else { panic!("{live}") };
    listener
}

#[test]
fn lives_of_classic_load_balancers_keep_the_promises() {
    assert_eq!(testing::converge::<Alibaba, _>(FakeSlb::default), [""; 0]);
}

#[test]
fn alibaba_014_a_service_without_annotations_is_served() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    let expected = [
        "DescribeLoadBalancers",
        "CreateLoadBalancer",
        "DescribeLoadBalancerAttribute",
        "CreateVServerGroup",
        "CreateLoadBalancerTCPListener",
        "StartLoadBalancerListener",
    ];
    assert_eq!(actions(&played.settle(&mut service)), expected);
    assert_eq!(service.current_ingress, [Ingress::ip("203.0.113.1").ip_mode(IpMode::Vip)]);
    let again = played.settle(&mut service);
    assert_eq!(writes(&again), [""; 0], "alibaba_015");
    assert_eq!(again.len(), 4);
}

#[test]
fn alibaba_039_own_traffic_goes_through_what_changes_it() {
    let modes = [
        ("scheduler", "wrr", IpMode::Vip),
        ("proxy-protocol", "off", IpMode::Vip),
        ("proxy-protocol", "on", IpMode::Proxy),
        ("protocol-port", "http:80", IpMode::Proxy),
    ];
    for (name, value, mode) in modes {
        let mut service = annotated(name, value);
        Played::new(FakeSlb::default()).settle(&mut service);
        assert_eq!(service.current_ingress, [Ingress::ip("203.0.113.1").ip_mode(mode)], "{name}: {value}");
    }
}

#[test]
fn alibaba_017_another_vswitch_has_an_address() {
    let played = Played::new(FakeSlb { full: vec!["vsw-1"], ..FakeSlb::default() });
    let host = played.host.clone().setting("vswitches", "vsw-1,vsw-2");
    let played = Played { host, ..played };
    let mut service = annotated("address-type", "intranet");
    played.settle(&mut service);
    assert_eq!((&balancer(&played)["VSwitchId"], &balancer(&played)["VpcId"]), (&json!("vsw-2"), &json!("vpc-1")));
    let played = Played::new(FakeSlb { full: vec!["vsw-1"], ..FakeSlb::default() });
    let mut chosen = annotated("address-type", "intranet").with_annotation(format!("{PREFIX}vswitch-id"), "vsw-1");
    let _ = played.call(&mut chosen);
    let refused = played.call(&mut chosen);
    assert!(matches!(&refused, Ok(Progress::Failed(it)) if it.error.why().contains("VSwitch")), "{refused:?}");
}

#[test]
fn alibaba_018_another_address_type_is_a_warning() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}address-type"), "intranet");
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!(played.reasons().len(), 1);
}

#[test]
fn alibaba_019_two_with_the_same_tags_are_not_touched() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    let body = balancer(&played);
    played.cloud.borrow_mut().cloud().balancers.make("copy", body, testing::FakeMoment::default());
    service.memo = None;
    let _ = played.call(&mut service);
    let before = played.host.sent().len();
    let refused = played.call(&mut service);
    assert!(
        matches!(&refused, Ok(Progress::Failed(it)) if it.error.why().contains("lb-1") && it.error.why().contains("lb-2")),
        "{refused:?}"
    );
    assert_eq!(writes(&played.host.sent()[before..]), [""; 0]);
}

#[test]
fn alibaba_022_https_comes_before_http_that_leads_there() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("protocol-port", "https:443,http:80")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .with_annotation(format!("{PREFIX}forward-port"), "80:443")
        .with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let sent = played.settle(&mut service);
    let made: Vec<_> = writes(&sent).into_iter().filter(|it| it.contains("Listener")).collect();
    let expected = [
        "CreateLoadBalancerHTTPSListener",
        "StartLoadBalancerListener",
        "CreateLoadBalancerHTTPListener",
        "StartLoadBalancerListener",
    ];
    assert_eq!(made, expected);
    let live = balancer(&played);
    assert_eq!(
        (&live["Listeners"][1]["ListenerForward"], &live["Listeners"][1]["ForwardPort"]),
        (&json!("on"), &json!("443"))
    );
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
}

#[test]
fn alibaba_027_a_rotated_certificate_of_a_domain_is_written() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("protocol-port", "https:443,http:80")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let key = format!("{PREFIX}domain-extensions");
    let mut settle = |domains: Option<&str>| {
        service.annotations.retain(|(it, _)| *it != key);
        service.annotations.extend(domains.map(|it| (key.clone(), it.to_owned())));
        let sent = played.settle(&mut service);
        let about_domains = actions(&sent).into_iter().filter(|it| it.contains("Domain")).map(str::to_owned);
        about_domains.collect::<Vec<_>>()
    };
    let certificates = || {
        let mut simulated = played.cloud.borrow_mut();
        let all =
            simulated.cloud().domains.all().map(|(_, it)| format!("{} {}", it.name, it.body["ServerCertificateId"]));
        all.collect::<Vec<_>>()
    };
    let (list, create, set) = ("DescribeDomainExtensions", "CreateDomainExtension", "SetDomainExtensionAttribute");
    assert_eq!(settle(Some("A.example.com:cert-1, *.example.org:cert-2")), [create, create], "a new listener has none");
    assert_eq!(settle(Some("a.example.com:cert-9,*.example.org:cert-2")), [list, set]);
    assert_eq!(certificates(), [r#"a.example.com "cert-9""#, r#"*.example.org "cert-2""#]);
    assert_eq!(settle(Some("a.example.com:cert-9,*.example.org:cert-2")), [list]);
    assert_eq!(settle(Some("b.example.com:cert-1,a.example.com:cert-9")), [list, create, "DeleteDomainExtension"]);
    assert_eq!(settle(None), [""; 0], "they stay as they are");
    assert_eq!(certificates(), [r#"a.example.com "cert-9""#, r#"b.example.com "cert-1""#]);
}

#[test]
fn domains_that_are_not_needed_make_room_for_others() {
    let played = Played::new(FakeSlb { most_domains: 2, ..FakeSlb::default() });
    let mut service = annotated("protocol-port", "https:443")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .with_annotation(format!("{PREFIX}domain-extensions"), "a.example.com:cert-1,b.example.com:cert-2");
    service.ports = vec![Port::new(Protocol::Tcp, 443, 30_443)];
    played.settle(&mut service);
    service.annotations.pop();
    service =
        service.with_annotation(format!("{PREFIX}domain-extensions"), "c.example.com:cert-3,b.example.com:cert-2");
    let (create, delete) = ("CreateDomainExtension", "DeleteDomainExtension");
    assert_eq!(writes(&played.settle(&mut service)), [create, delete, create]);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service = annotated("protocol-port", "https:443")
        .with_annotation(format!("{PREFIX}cert-id"), "c")
        .after(service.status());
    service.ports = vec![Port::new(Protocol::Tcp, 443, 30_443)];
    let all = "b.example.com:cert-2,c.example.com:cert-3,d.example.com:cert-4";
    service = service.with_annotation(format!("{PREFIX}domain-extensions"), all);
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(error) if error.is_quota()), "nothing makes room: {refused:?}");
    assert_eq!(played.cloud.borrow_mut().cloud().domains.all().count(), 2);
}

#[test]
fn machines_follow_where_a_listener_is_refused() {
    let played = Played::new(FakeSlb::default());
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().refused_at = vec!["SetLoadBalancerTCPListenerAttribute"];
    service = service.with_annotation(format!("{PREFIX}established-timeout"), "600");
    service.nodes.push(node(4));
    service = service.with_port(Port::new(Protocol::Udp, 53, 30_053));
    let before = played.host.sent().len();
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("SetLoadBalancerTCP")), "{refused:?}");
    let live = balancer(&played);
    let machines = live["Groups"].as_array().unwrap().iter().map(|it| it["Servers"].as_array().unwrap().len());
    assert_eq!(machines.collect::<Vec<_>>(), [4, 4, 4]);
    assert_eq!(live["Listeners"].as_array().unwrap().len(), 3, "nor does it hold up another listener");
    let sent = played.host.sent().split_off(before);
    assert_eq!(writes(&sent).iter().filter(|it| it.starts_with("SetLoadBalancerTCP")).count(), 2);
    played.cloud.borrow_mut().cloud().refused_at.clear();
    assert_eq!(writes(&played.settle(&mut service)), ["SetLoadBalancerTCPListenerAttribute"; 2]);
}

#[test]
fn machines_follow_where_a_listener_fails_for_now() {
    for (code, machines, sent) in [("OperationFailed.Certificate", 4, 2), ("Throttling.User", 3, 1)] {
        let played = Played::new(FakeSlb::default());
        let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
        played.settle(&mut service);
        played.cloud.borrow_mut().cloud().refused_at = vec!["SetLoadBalancerTCPListenerAttribute"];
        played.cloud.borrow_mut().cloud().refused_with = code;
        service = service.with_annotation(format!("{PREFIX}established-timeout"), "600");
        service.nodes.push(node(4));
        let before = played.host.sent().len();
        let waits = played.call(&mut service);
        assert!(matches!(&waits, Ok(Progress::Pending(_)) | Err(Error::RetryAfter(_))), "{code}: {waits:?}");
        let written = writes(&played.host.sent()[before..]).iter().filter(|it| it.starts_with("Set")).count();
        assert_eq!(written, sent, "{code}: an endpoint that throttles rests");
        assert_eq!(balancer(&played)["Groups"][0]["Servers"].as_array().unwrap().len(), machines, "{code}");
    }
}

#[test]
fn machines_follow_where_an_annotation_is_refused() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("default-weight", "50");
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}network-type"), "classic");
    service.nodes = (2..=4).map(node).collect();
    let before = played.host.sent().len();
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("network-type")), "{refused:?}");
    let expected = ["AddVServerGroupBackendServers", "RemoveVServerGroupBackendServers"];
    assert_eq!(writes(&played.host.sent()[before..]), expected);
    let live = balancer(&played);
    let servers = live["Groups"][0]["Servers"].as_array().unwrap();
    let shown: Vec<_> = servers.iter().map(|it| format!("{} {}", it["ServerId"], it["Weight"])).collect();
    assert_eq!(shown, [r#""i-bp002" 50"#, r#""i-bp003" 50"#, r#""i-bp004" 50"#]);
}

#[test]
fn a_listener_moves_to_machines_that_are_there() {
    let played = Played::new(FakeSlb::default());
    let mut service = service().with_port(Port::new(Protocol::Tcp, 81, 30_081));
    played.settle(&mut service);
    // Port 80 is sent to the node port of 81, whose group lacks a machine.
    service.ports = vec![Port::new(Protocol::Tcp, 80, 30_081)];
    service.nodes.push(node(4));
    let sent = played.settle(&mut service);
    let written = writes(&sent).into_iter().filter(|it| !it.starts_with("Delete"));
    let expected = ["AddVServerGroupBackendServers", "SetLoadBalancerTCPListenerAttribute"];
    assert_eq!(written.collect::<Vec<_>>(), expected);
}

#[test]
fn a_load_balancer_that_has_served_is_never_taken_for_bare() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().hides_listeners = true;
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
}

#[test]
fn cookies_are_named_for_http_alone() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("protocol-port", "http:80")
        .with_annotation(format!("{PREFIX}sticky-session"), "on")
        .with_annotation(format!("{PREFIX}sticky-session-type"), "server")
        .with_annotation(format!("{PREFIX}cookie"), "route-1")
        .with_port(Port::new(Protocol::Tcp, 90, 30_090));
    played.settle(&mut service);
    let live = balancer(&played);
    let cookies = [0, 1].map(|it| live["Listeners"][it]["Cookie"].clone());
    assert_eq!(cookies, [json!("route-1"), Value::Null]);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    let mut other = annotated("protocol-port", "http:80").with_annotation(format!("{PREFIX}cookie"), "a; Secure");
    let refused = played.call(&mut other);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("cookie")), "{refused:?}");
}

#[test]
fn alibaba_023_another_protocol_is_another_listener() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    service = service.with_annotation(format!("{OLDER_PREFIX}protocol-port"), "http:80");
    let expected = ["DeleteLoadBalancerListener", "CreateLoadBalancerHTTPListener", "StartLoadBalancerListener"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
}

#[test]
fn alibaba_024_local_is_a_check_of_the_health_port() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(writes(&played.settle(&mut service)), ["SetLoadBalancerTCPListenerAttribute"]);
    let live = balancer(&played);
    let values = ["HealthCheckType", "HealthCheckConnectPort", "HealthCheckURI"].map(|it| listener(&live)[it].clone());
    assert_eq!(values, ["http", "31000", "/healthz"].map(Value::from));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.external_traffic_policy = ExternalTrafficPolicy::Cluster;
    assert_eq!(writes(&played.settle(&mut service)), ["SetLoadBalancerTCPListenerAttribute"]);
    assert_eq!(listener(&balancer(&played))["HealthCheckType"], "tcp");
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
}

#[test]
fn alibaba_025_machines_go_in_by_twenty_and_forty() {
    let played = Played::new(FakeSlb::default());
    let mut service = LoadBalancer { nodes: (1..=95).map(node).collect(), ..service() };
    let sent = played.settle(&mut service);
    let adds = writes(&sent).into_iter().filter(|it| it.contains("BackendServers")).count();
    assert_eq!(adds, 2, "20 with the group, 40 and 35 behind it");
    assert_eq!(balancer(&played)["Groups"][0]["Servers"].as_array().unwrap().len(), 95);
    service.nodes.remove(7);
    assert_eq!(writes(&played.settle(&mut service)), ["RemoveVServerGroupBackendServers"]);
}

#[test]
fn alibaba_026_a_full_group_loses_what_is_gone_first() {
    let played = Played::new(FakeSlb { most_servers: 3, ..FakeSlb::default() });
    let mut service = service();
    played.settle(&mut service);
    service.nodes = (2..=4).map(node).collect();
    let expected =
        ["AddVServerGroupBackendServers", "RemoveVServerGroupBackendServers", "AddVServerGroupBackendServers"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
    let live = balancer(&played);
    let ids: Vec<_> = live["Groups"][0]["Servers"].as_array().unwrap().iter().map(|it| &it["ServerId"]).collect();
    assert_eq!(ids, ["i-bp002", "i-bp003", "i-bp004"]);
}

#[test]
fn alibaba_031_a_load_balancer_that_is_kept_loses_no_listener() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("preserve-lb-on-delete", "true");
    played.settle(&mut service);
    let deletion = played.host.run(|| Alibaba::delete(&service));
    assert!(matches!(deletion, Ok(Deletion::Kept(_))), "{deletion:?}");
    let live = balancer(&played);
    assert_eq!((&live["DeleteProtection"], listener(&live)["Status"].as_str()), (&json!("off"), Some("running")));
    let keys: Vec<_> = live["Tags"].as_array().unwrap().iter().map(|it| it["TagKey"].as_str().unwrap()).collect();
    assert_eq!(keys, ["aerostat.dev/cluster-uid", "aerostat.dev/service-uid", "aerostat.dev/kept"]);
}

#[test]
fn alibaba_032_a_load_balancer_that_is_gone_is_deleted() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().balancers.remove("lb-1");
    assert_eq!(played.host.run(|| Alibaba::delete(&service)), Ok(Deletion::Done));
}

#[test]
fn alibaba_033_an_address_of_the_internet_may_be_forbidden() {
    let played = Played::new(FakeSlb::default());
    let host = played.host.clone().setting("disablePublicSLB", "true");
    let refused = host.run(|| Alibaba::ensure(&service()));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("disablePublicSLB")), "{refused:?}");
    assert!(host.requests().is_empty());
}

#[test]
fn a_load_balancer_with_other_tags_is_not_touched() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    played.settle(&mut service);
    let other = json!([{ "TagKey": "aerostat.dev/cluster-uid", "TagValue": "x" }, { "TagKey": "aerostat.dev/service-uid", "TagValue": UID }]);
    played.cloud.borrow_mut().cloud().balancers.get_mut("lb-1").unwrap().body["Tags"] = other;
    service.nodes.pop();
    let before = played.host.sent().len();
    assert!(matches!(played.call(&mut service), Err(Error::Invalid(_))));
    assert!(matches!(played.host.run(|| Alibaba::delete(&service)), Ok(Deletion::Kept(_))));
    assert_eq!(writes(&played.host.sent()[before..]), [""; 0]);
}

#[test]
fn values_that_are_not_allowed_are_refused_before_a_creation() {
    for (name, value) in [
        ("bandwidth", "abc"),
        ("protocol-port", "http:81"),
        ("protocol-port", "https:80"),
        ("scheduler", "best"),
        ("default-weight", "101"),
        ("ip-version", "DualStack"),
        ("id", "lb-mine"),
        ("address-type", "intranet"),
        ("additional-resource-tags", "ack.aliyun.com=c2"),
        ("domain-extensions", "example.com"),
        ("domain-extensions", "a_b.example.com:cert-1"),
        ("domain-extensions", "example.com:cert-1,Example.com:cert-2"),
    ] {
        let played = Played::new(FakeSlb::default());
        let mut service = annotated(name, value);
        let refused = played.call(&mut service).and_then(|_| played.call(&mut service));
        let is_refused = match &refused {
            Err(Error::Invalid(_)) => true,
            Ok(Progress::Failed(it)) => matches!(it.error, Error::Invalid(_)),
            _ => false,
        };
        assert!(is_refused, "{name} {value}: {refused:?}");
        assert_eq!(writes(&played.host.sent()), [""; 0], "{name} {value}");
    }
}
