//! Values of annotations: what they become at the cloud, and what becomes of a change.

use aerostat_sdk::{Node, testing};

use super::*;
use crate::machine::{EXCLUDED, WITHOUT_TRAFFIC};

/// The Service with these annotations, and no others.
fn with(service: &LoadBalancer, annotations: &[(&str, &str)]) -> LoadBalancer {
    let bare = LoadBalancer { annotations: Vec::new(), ..service.clone() };
    annotations.iter().fold(bare, |it, (name, value)| it.with_annotation(format!("{PREFIX}{name}"), *value))
}

/// The fields of the only listener.
fn fields<const N: usize>(played: &Played<FakeSlb>, names: [&str; N]) -> [Value; N] {
    let live = balancer(played);
    names.map(|it| listener(&live)[it].clone())
}

/// Fails unless a new Service is refused with these words, and nothing is written.
fn is_refused(played: &Played<FakeSlb>, service: &mut LoadBalancer, words: &str) {
    let mut answers = (0..3).map(|_| played.call(service));
    let is_told = answers.any(|answer| match answer {
        Err(Error::Invalid(why)) => why.contains(words),
        Ok(Progress::Failed(it)) => it.error.why().contains(words),
        _ => false,
    });
    assert!(is_told && writes(&played.host.sent()).is_empty(), "{words}: {:?}", service.annotations);
}

#[test]
fn sticky_sessions_follow_their_annotations() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    let (http, on) = (("protocol-port", "http:80"), ("sticky-session", "on"));
    let (insert, server) = (("sticky-session-type", "insert"), ("sticky-session-type", "server"));
    let shown = || fields(&played, ["StickySession", "StickySessionType", "CookieTimeout", "Cookie"]);
    let word = |it: &str| if it.is_empty() { Value::Null } else { it.into() };
    let set = ["SetLoadBalancerHTTPListenerAttribute"];
    for (annotations, expected) in [
        (&[http, on, insert, ("cookie-timeout", "100")][..], ["on", "insert", "100", ""]),
        (&[http, on, insert, ("cookie-timeout", "86400"), ("cookie", "left")], ["on", "insert", "86400", ""]),
        (
            &[http, ("sticky-session", "ON"), server, ("cookie", "JSESSION-1"), ("cookie-timeout", "9")],
            ["on", "server", "", "JSESSION-1"],
        ),
        (&[http, on, server, ("cookie", "route")], ["on", "server", "", "route"]),
        (&[http, ("sticky-session", "off"), server, ("cookie", "route"), ("cookie-timeout", "9")], ["off", "", "", ""]),
        (&[http, on, insert, ("cookie-timeout", "1")], ["on", "insert", "1", ""]),
    ] {
        service = with(&service, annotations);
        let sent = played.settle(&mut service);
        let written: Vec<_> = writes(&sent).into_iter().filter(|it| it.contains("Listener")).collect();
        assert!(written == set || service.annotations.len() == 4 && written.len() == 2, "{annotations:?}: {written:?}");
        assert_eq!(shown(), expected.map(word), "{annotations:?}");
        assert_eq!(writes(&played.settle(&mut service)), [""; 0], "{annotations:?}");
    }
    // An annotation that is taken away leaves the value that it wrote.
    service = with(&service, &[http]);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
}

#[test]
fn sticky_sessions_without_a_cookie_are_refused() {
    let http = ("protocol-port", "http:80");
    for (annotations, lacking) in [
        (&[http, ("sticky-session", "on")][..], "sticky-session-type"),
        (&[http, ("sticky-session", "on"), ("sticky-session-type", "insert"), ("cookie", "c")], "cookie-timeout"),
        (&[http, ("sticky-session", "on"), ("sticky-session-type", "server"), ("cookie-timeout", "9")], "cookie"),
    ] {
        let played = Played::new(FakeSlb::default());
        let mut service = with(&service(), annotations);
        is_refused(&played, &mut service, &format!("{PREFIX}{lacking} is missing"));
    }
}

#[test]
fn values_beside_what_is_off_are_not_written() {
    let (http, tcp) = (("protocol-port", "http:80"), ("protocol-port", "tcp:80"));
    for (annotations, unwritten) in [
        (&[http, ("health-check-flag", "off"), ("health-check-interval", "9")][..], "HealthCheckInterval"),
        (&[http, ("health-check-uri", "/ok")], "HealthCheckURI"),
        (&[tcp, ("health-check-switch", "off"), ("healthy-threshold", "9")], "HealthyThreshold"),
        (&[tcp, ("health-check-type", "tcp"), ("health-check-httpcode", "http_2xx")], "HealthCheckHttpCode"),
        (&[tcp, ("connection-drain", "off"), ("connection-drain-timeout", "10")], "ConnectionDrainTimeout"),
        (&[tcp, ("acl-status", "off"), ("acl-id", "acl-9"), ("acl-type", "white")], "AclId"),
        (&[http, ("cookie", "c")], "Cookie"),
    ] {
        let played = Played::new(FakeSlb::default());
        let mut service = with(&service(), annotations);
        played.settle(&mut service);
        assert_eq!(fields(&played, [unwritten]), [Value::Null], "{annotations:?}");
        assert_eq!(writes(&played.settle(&mut service)), [""; 0], "{annotations:?}");
    }
    let played = Played::new(FakeSlb::default());
    let checked =
        [tcp, ("health-check-type", "HTTP"), ("health-check-uri", "/ok"), ("health-check-httpcode", "http_2xx")];
    played.settle(&mut with(&service(), &checked));
    let shown = fields(&played, ["HealthCheckType", "HealthCheckURI", "HealthCheckHttpCode"]);
    assert_eq!(shown, ["http", "/ok", "http_2xx"].map(Value::from));
}

#[test]
fn words_of_the_vendor_are_read_in_any_case() {
    for (name, value, field, shown) in [
        ("address-type", "Internet", "AddressType", "internet"),
        ("delete-protection", "OFF", "DeleteProtection", "off"),
        ("ip-version", "IPv4", "AddressIPVersion", "ipv4"),
    ] {
        let played = Played::new(FakeSlb::default());
        let mut service = annotated(name, value);
        let sent = played.settle(&mut service);
        let creation = sent.iter().find(|it| crate::tests::action(it) == "CreateLoadBalancer").unwrap();
        let pairs = crate::tests::published::parameters(creation);
        assert!(pairs.contains(&(field, shown)), "{pairs:?}");
    }
    is_refused(&Played::new(FakeSlb::default()), &mut annotated("health-check-type", "udp"), "health-check-type");
}

#[test]
fn tags_without_a_value_are_tags() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("additional-resource-tags", "team=web,lonely,empty=");
    played.settle(&mut service);
    let live = balancer(&played);
    let tag = |key: &str| live["Tags"].as_array().unwrap().iter().find(|it| it["TagKey"] == key).cloned().unwrap();
    assert_eq!(["team", "lonely", "empty"].map(|it| tag(it)["TagValue"].clone()), ["web", "", ""].map(Value::from));
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
}

#[test]
fn nodes_that_say_so_are_left_out() {
    let played = Played::new(FakeSlb::default());
    let labelled =
        |number: usize, label: &str| Node { labels: vec![(label.to_owned(), String::new())], ..node(number) };
    let mut service = service();
    service.nodes = vec![node(1), labelled(2, EXCLUDED[0]), labelled(3, EXCLUDED[1]), labelled(4, WITHOUT_TRAFFIC)];
    service.nodes.push(labelled(5, "pool"));
    played.settle(&mut service);
    let machines = || {
        let live = balancer(&played);
        let all: Vec<_> =
            live["Groups"][0]["Servers"].as_array().unwrap().iter().map(|it| it["ServerId"].clone()).collect();
        all
    };
    assert_eq!(machines(), ["i-bp001", "i-bp005"]);
    assert_eq!(played.reasons(), [""; 0], "they are meant to be");
    service.nodes[0].labels.push((EXCLUDED[0].to_owned(), "true".to_owned()));
    assert_eq!(writes(&played.settle(&mut service)), ["RemoveVServerGroupBackendServers"]);
    assert_eq!(machines(), ["i-bp005"]);
}

#[test]
fn an_elastic_address_is_shown_once_it_is_bound() {
    let played = Played::new(FakeSlb::default());
    let mut service = annotated("external-ip-type", "eip");
    played.settle(&mut service);
    assert_eq!(service.current_ingress, [Ingress::ip("203.0.113.1").ip_mode(IpMode::Vip)]);
    assert_eq!(played.reasons(), ["ServiceFieldsIgnored"], "none is bound");
    played.cloud.borrow_mut().cloud().elastic = Some("198.51.100.7");
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    assert_eq!(service.current_ingress, [Ingress::ip("198.51.100.7").ip_mode(IpMode::Vip)]);
    is_refused(&Played::new(FakeSlb::default()), &mut annotated("external-ip-type", "ip"), "external-ip-type");
}

#[test]
fn nodes_are_selected_by_the_older_key_too() {
    let description = crate::tests::settings().run(<Alibaba as aerostat_sdk::Provider>::describe).unwrap();
    let selecting: Vec<_> = description.annotations.iter().filter(|it| it.selects_nodes).map(|it| &*it.key).collect();
    assert_eq!(selecting, [format!("{PREFIX}backend-label"), format!("{OLDER_PREFIX}backend-label")]);
    let place = |key: &str| description.annotations.iter().position(|it| it.key == key).unwrap();
    assert!(
        place(&format!("{OLDER_PREFIX}backend-label")) < place(&format!("{OLDER_PREFIX}*")),
        "the first row counts"
    );
    assert_eq!(testing::warnings(&description), [""; 0]);
}
