//! URLs in answers. What comes after an answer is asked of the endpoint that answered, by a path of the provider's own.

use aerostat_sdk::{Error, Instances, LoadBalancers, Progress};
use serde_json::json;

use super::*;
use crate::Azure;

/// URLs that belong to no endpoint.
const ELSEWHERE: [&str; 4] = [
    "https://attacker.example/subscriptions/x?api-version=x&$skipToken=2",
    "https://management.azure.com.attacker.example/subscriptions/x?$skipToken=2",
    "http://169.254.169.254/metadata/identity/oauth2/token?$skipToken=2",
    "//attacker.example/subscriptions/x?$skipToken=2",
];

/// A place at an endpoint.
fn place(path: &str, token: &str) -> Location {
    Location {
        endpoint: "network".to_owned(),
        path: path.split('/').map(str::to_owned).collect(),
        query: vec![("api-version".to_owned(), "x".to_owned()), ("$skipToken".to_owned(), token.to_owned())],
    }
}

#[test]
fn next_pages_at_another_host_are_not_asked_for() {
    for link in ELSEWHERE {
        let host = settings().answers(move |_| answer(200, json!({ "value": [], "nextLink": link }).to_string()));
        let answer = host.run(|| Azure::list(None, 500));
        assert!(matches!(&answer, Err(Error::Unavailable(why)) if why.contains("another host")), "{answer:?}");
        assert_eq!(host.requests().len(), 1, "{link}: {:?}", host.requests());
    }
}

#[test]
fn next_pages_of_another_list_are_those_of_this_one() {
    let link = "https://management.azure.com/subscriptions/other/providers/Microsoft.KeyVault/vaults?$skipToken=2";
    let host = settings().resolves(link, place("subscriptions/other/providers/Microsoft.KeyVault/vaults", "2"));
    let host = host.answers(move |request| {
        let is_first = request.query.iter().all(|(name, _)| name != "$skiptoken");
        let page = if is_first { json!({ "value": [], "nextLink": link }) } else { json!({ "value": [] }) };
        answer(200, page.to_string())
    });
    host.run(|| Azure::list(None, 500)).unwrap();
    let sent = host.sent();
    assert!(sent.iter().any(|it| it.query.contains(&("$skiptoken".to_owned(), "2".to_owned()))), "{sent:#?}");
    assert!(sent.iter().all(|it| it.path[1] == SUBSCRIPTION && it.endpoint != "vault"), "{sent:#?}");
    assert!(sent.iter().all(|it| !it.path.contains(&"vaults".to_owned())), "{sent:#?}");
}

/// The memo of a Service whose address is being made, while Azure names this URL as that of the operation.
fn memo_after(url: &'static str, host: impl FnOnce(Host) -> Host) -> (String, Host) {
    let (own, cloud) = host_of_slow_operations();
    let host = host(own).answers(move |request| {
        let mut cloud = cloud.borrow_mut();
        cloud.clock += 1;
        let moment = FakeMoment { now: cloud.clock, lists_lag: false };
        let mut response = aerostat_sdk::testing::FakeCloud::answer(&mut *cloud, request, moment);
        if request.method == aerostat_sdk::Method::Put {
            response.headers = vec![("azure-asyncoperation".to_owned(), url.to_owned())];
        }
        Ok(response)
    });
    let service = aerostat_sdk::LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11")
        .with_port(aerostat_sdk::Port::new(aerostat_sdk::Protocol::Tcp, 80, 30_080));
    match host.run(|| Azure::ensure(&service)) {
        Ok(Progress::Pending(pending)) => (pending.status.memo.unwrap(), host),
        other => panic!("{other:?}"),
    }
}

fn host_of_slow_operations() -> (Host, std::rc::Rc<std::cell::RefCell<FakeArm>>) {
    host(FakeArm { takes: 30, ..FakeArm::default() })
}

#[test]
fn operations_at_another_host_are_not_remembered() {
    for url in [
        "https://attacker.example/subscriptions/x/providers/Microsoft.Network/locations/westeurope/operations/op-1",
        "//attacker.example/subscriptions/x/providers/Microsoft.Network/locations/westeurope/operations/op-1",
        "http://169.254.169.254/metadata/identity/locations/westeurope/operations/op-1",
    ] {
        let (memo, host) = memo_after(url, |it| it);
        assert!(!memo.contains('/'), "{memo}");
        assert!(host.sent().iter().all(|it| it.path[0] == "subscriptions"), "{url}");
    }
    // The memo holds location and name of an operation at the endpoint, and no path.
    const OWN: &str = "https://management.azure.com/own";
    for (path, expected) in [
        (
            "subscriptions/other/providers/Microsoft.Network/locations/westeurope/operations/op-1",
            Some("westeurope/op-1"),
        ),
        ("metadata/identity/locations/westeurope/operations/op-1", Some("westeurope/op-1")),
        ("subscriptions/other/providers/Microsoft.Network/locations/../operations/op-1", None),
        ("subscriptions/other/providers/Microsoft.Network/locations/westeurope/vaults/op-1", None),
    ] {
        let (memo, _) = memo_after(OWN, |it| it.resolves(OWN, place(path, "")));
        assert_eq!(memo.split(' ').find(|it| it.contains('/')), expected, "{path}: {memo}");
    }
}
