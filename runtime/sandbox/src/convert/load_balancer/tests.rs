use cloud_provider::{Annotation, Node};

use super::*;

fn keys(check: impl FnOnce(&AnnotationKeys<'_>)) {
    let read = |key: &str| Annotation { key: key.into(), ..Annotation::default() };
    check(&AnnotationKeys {
        read: &[read("acme.example/size")],
        described: &["acme.example/id".into(), "acme.example/kind".into()],
        allowed: &["acme.example/id".into(), "other.example/key".into()],
    });
}

fn answer(change: impl FnOnce(&mut wit::LoadBalancerStatus)) -> wit::LoadBalancerStatus {
    let ingress = vec![wit::Ingress { ip: Some("192.0.2.1".into()), hostname: None, ip_mode: None, extra: Vec::new() }];
    let mut answer = wit::LoadBalancerStatus { ingress, memo: None, annotations: Vec::new(), extra: Vec::new() };
    change(&mut answer);
    answer
}

fn check(change: impl FnOnce(&mut wit::LoadBalancerStatus), expected: Result<LoadBalancerStatus, &str>) {
    keys(|keys| assert_eq!(status(answer(change), keys), expected.map_err(str::to_owned)));
}

fn refused(change: impl FnOnce(&mut wit::LoadBalancerStatus), because: &str) {
    check(change, Err(because));
}

#[test]
fn a_condition_of_a_service_is_one_that_upstream_knows() {
    let said = |texts: &[&str]| {
        let texts = texts.iter().map(|it| ("service-condition".to_owned(), (*it).to_owned())).collect();
        let keys = AnnotationKeys { read: &[], described: &[], allowed: &[] };
        status(answer(|it| it.extra = texts), &keys).unwrap().condition
    };
    let known = |reason: &str, message: &str| {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        Some(ServiceCondition { kind: ServiceConditionKind::Ports, reason, message })
    };
    assert_eq!(said(&["LoadBalancerPortsError Mixed:a_1 TCP and UDP"]), known("Mixed:a_1", "TCP and UDP"));
    assert_eq!(said(&["LoadBalancerPortsError Mixed a\nb"]), known("Mixed", "a\\nb"));
    assert_eq!(said(&["LoadBalancerPortsError A 1", "LoadBalancerPortsError B 2"]), known("A", "1"));
    let long = format!("LoadBalancerPortsError {} x", "r".repeat(129));
    for refused in [
        "",
        "LoadBalancerPortsError",
        "LoadBalancerPortsError Mixed",
        "aerostat.dev/memo Kept lb-2",
        "Ready True x",
        "LoadBalancerPortsError 1st x",
        "LoadBalancerPortsError a: x",
        "LoadBalancerPortsError é x",
        &long,
    ] {
        assert_eq!(said(&[refused]), None, "{refused:?}");
    }
}

fn plain() -> LoadBalancerStatus {
    let ingress = vec![Ingress { ip: Some("192.0.2.1".into()), ..Ingress::default() }];
    LoadBalancerStatus { ingress, ..LoadBalancerStatus::default() }
}

#[test]
fn a_memo_has_a_kibibyte_and_an_empty_one_is_none() {
    check(|it| it.memo = Some(String::new()), Ok(plain()));
    let memo = Some("x".repeat(1024));
    check(|it| it.memo = Some("x".repeat(1024)), Ok(LoadBalancerStatus { memo, ..plain() }));
    refused(|it| it.memo = Some("x".repeat(1025)), "its memo has 1025 bytes, more than 1024");
}

#[test]
fn an_annotation_to_write_is_described_and_allowed() {
    let pair = |key: &str| (key.to_owned(), "7".to_owned());
    check(
        |it| it.annotations = vec![pair("acme.example/id"), pair("acme.example/kind")],
        Ok(LoadBalancerStatus { annotations: vec![pair("acme.example/id")], ..plain() }),
    );
    refused(
        |it| it.annotations = vec![pair("other.example/key")],
        "it wants to write the annotation \"other.example/key\", which it does not describe",
    );
    refused(
        |it| it.annotations = vec![pair("acme.example/id"), pair("acme.example/id")],
        "it wants to write the annotation \"acme.example/id\" twice",
    );
    refused(
        |it| it.annotations = vec![("acme.example/id".to_owned(), "x".repeat(4097))],
        "the annotation \"acme.example/id\" has 4097 bytes, more than 4096",
    );
    refused(|it| it.annotations = vec![pair("acme.example/id"); 65], "it wants to write 65 annotations, more than 64");
}

fn at(ip: &str, hostname: &str) -> impl FnOnce(&mut wit::LoadBalancerStatus) + use<> {
    let (ip, hostname) = (Some(ip.to_owned()), Some(hostname.to_owned()));
    move |it| it.ingress = vec![wit::Ingress { ip, hostname, ip_mode: None, extra: Vec::new() }]
}

#[test]
fn an_address_is_one_that_kubernetes_takes() {
    let name = Ingress { hostname: Some("lb-1.acme.example".into()), ..Ingress::default() };
    check(at("", "lb-1.acme.example"), Ok(LoadBalancerStatus { ingress: vec![name], ..plain() }));
    let both = Ingress { ip: Some("2001:db8::1".into()), hostname: Some("lb".into()), ip_mode: None };
    check(at("2001:db8::1", "lb"), Ok(LoadBalancerStatus { ingress: vec![both], ..plain() }));
    refused(at("192.0.2.1\nx", ""), "the load balancer's address \"192.0.2.1\\\\nx\" is no IP address");
    refused(at("lb.acme.example", ""), "the load balancer's address \"lb.acme.example\" is no IP address");
    for wrong in ["LB.acme.example", "a b", "-lb", "192.0.2.1", "lb..example"] {
        refused(at("", wrong), &format!("the load balancer's name {wrong:?} is no DNS name in lower case"));
    }
    refused(at("", ""), "the load balancer is reached at neither an address nor a name");
    refused(|it| it.ingress = vec![it.ingress[0].clone(); 65], "the load balancer has 65 addresses, more than 64");
}

#[test]
fn an_ip_mode_is_about_an_address() {
    let mode = |ip: Option<&str>| {
        let (ip, hostname) = (ip.map(str::to_owned), Some("lb".to_owned()));
        move |status: &mut wit::LoadBalancerStatus| {
            status.ingress =
                vec![wit::Ingress { ip, hostname, ip_mode: Some(shared::IpMode::Proxy), extra: Vec::new() }]
        }
    };
    let both = Ingress { ip: Some("192.0.2.1".into()), hostname: Some("lb".into()), ip_mode: Some(IpMode::Proxy) };
    check(mode(Some("192.0.2.1")), Ok(LoadBalancerStatus { ingress: vec![both], ..plain() }));
    refused(mode(None), "the load balancer has an ipMode and no address that it could be about");
}

#[test]
fn a_wait_is_no_outage() {
    for (asked, expected) in [(0, 0), (2_500, 2_500), (300_001, 300_000), (u32::MAX, 300_000)] {
        let pending_status = |reason: &str| wit::PendingStatus {
            status: answer(|_| {}),
            wait: shared::Pause { milliseconds: asked, reason: reason.into() },
        };
        let expected =
            PendingStatus { status: plain(), after: Duration::from_millis(expected), reason: "it\\nboots".into() };
        keys(|keys| {
            let answer = progress(wit::Progress::Pending(pending_status("it\nboots")), keys);
            assert_eq!(answer, Ok(Progress::Pending(expected.clone())));
            let answer = deletion(wit::Deletion::Pending(pending_status("it\nboots")), keys);
            assert_eq!(answer, Ok(Deletion::Pending(expected)));
        });
    }
}

#[test]
fn a_guest_sees_only_its_own_annotations_and_labels() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let [cluster, namespace, name, uid] = ["kubernetes", "default", "web", "0e2f6f1c"].map(str::to_owned);
    let desired = LoadBalancer {
        name: "a0e2f6f1c".into(),
        owner: Owner { cluster, namespace, name, uid },
        memo: Some("lb-1".into()),
        current_ingress: plain().ingress,
        nodes: vec![Node { labels: vec![pair("rack", "r1"), pair("secret", "s")], ..Node::default() }],
        annotations: vec![pair("acme.example/size", "small"), pair("vault.example/token", "s")],
        ip_families: vec![IpFamily::Ipv4],
        external_traffic_policy: ExternalTrafficPolicy::Local(30_000),
        ..LoadBalancer::default()
    };
    keys(|keys| {
        let seen = super::desired(&desired, &["rack".into()], keys);
        assert_eq!(seen.annotations, [pair("acme.example/size", "small")]);
        assert_eq!(seen.nodes[0].labels, [pair("rack", "r1")]);
        assert_eq!((seen.memo.as_deref(), seen.current_ingress[0].ip.as_deref()), (Some("lb-1"), Some("192.0.2.1")));
        assert!(matches!(seen.external_traffic_policy, wit::ExternalTrafficPolicy::Local(30_000)));
    });
}
