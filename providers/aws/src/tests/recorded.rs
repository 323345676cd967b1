//! Requests beside those of AWS's official SDK, which `tests/aws/record.py` has recorded for the same calls.

mod networks;

use aerostat_sdk::testing::{Body, answer};
use aerostat_sdk::{
    Instances, Method, Node, PersistentVolumes, Provider, Route, RouteChange, RouteTarget, Routes, SortedMap, Volume,
};
use serde_json::Value;

use super::{Ec2, Host, Outcome, Request, action, filter, host, listed, node, value};
use crate::Aws;

/// A name, and what makes the requests that are recorded under it.
type Call = (&'static str, fn(&Host));

/// A call of the provider that sends each recorded request, by the name of the recording.
const CALLS: [Call; 16] = [
    ("instances", |host| drop(host.run(|| <Aws as Instances>::list(None, 1_000)))),
    ("instances-next-page", |host| drop(host.run(|| <Aws as Instances>::list(Some("key:eyJ2IjoiMiJ9+/=&"), 1_000)))),
    ("instances-by-older-tag", |host| drop(host.run(|| <Aws as Instances>::list(Some("legacy:"), 1_000)))),
    ("instances-by-id", |host| drop(host.run(|| Aws::get_many(&[node("i-1"), node("i-2")])))),
    ("instances-by-name", |host| drop(host.run(|| Aws::get(&Node::named("ip-10-0-0-1.ec2.internal"))))),
    ("interfaces", |host| drop(host.run(|| Aws::get(&node("aws:///z/fargate-10.0.0.9"))))),
    ("zones", |host| drop(host.run(|| Aws::get(&node("i-no-zone-id"))))),
    ("topology", |host| drop(host.run(|| Aws::get_many(&[node("i-1"), node("i-2")])))),
    ("vpc", |host| drop(host.run(Aws::identity))),
    ("route-tables", |host| drop(host.run(|| <Aws as Routes>::list(None, 100)))),
    ("route-table", |host| drop(host.clone().setting("routeTable", "rtb-1").run(|| <Aws as Routes>::list(None, 100)))),
    ("route-created", |host| changed(host, "10.4.1.0/24", None, Some("i-1"))),
    ("route-replaced", |host| changed(host, "10.4.1.0/24", Some("i-2"), Some("i-1"))),
    ("route-deleted", |host| changed(host, "10.4.1.0/24", Some("i-2"), None)),
    ("forwarding", |host| changed(host, "10.4.1.0/24", None, Some("i-1"))),
    ("volumes", |host| drop(host.run(|| Aws::get_topologies(&["vol-1", "vol-2"].map(volume))))),
];

fn volume(handle: &str) -> Volume {
    Volume {
        name: "pv".to_owned(),
        source: "ebs.csi.aws.com".to_owned(),
        handle: handle.to_owned(),
        attributes: Vec::new(),
        extra: Vec::new(),
    }
}

/// Changes the route to a destination, of which the table has what is there `before`.
fn changed(host: &Host, destination: &str, before: Option<&'static str>, after: Option<&str>) {
    let route = before.map(|instance| {
        format!(
            "<item><destinationCidrBlock>{destination}</destinationCidrBlock><instanceId>{instance}</instanceId>\
             <state>active</state><origin>CreateRoute</origin></item>"
        )
    });
    let host = host.clone().answers(move |request| cloud(request, route.as_deref().unwrap_or_default()));
    let change = RouteChange {
        destination: destination.to_owned(),
        before: before.map(|it| Route::new(destination, it)),
        after: after.map(|it| RouteTarget { next_hop: it.to_owned(), node: Node::named("n") }),
        extra: Vec::new(),
    };
    drop(host.run(|| Aws::apply(&[change])));
}

/// Answers that lead on to each request: instances that need labels, and a route table.
fn cloud(request: &Request, routes: &str) -> Outcome {
    match action(request) {
        "DescribeInstances" => {
            let instance = |id: &&str| {
                let zone_id = (*id != "i-no-zone-id").then_some("use1-az1");
                Ec2 { kind: "p5.48xlarge", zone_id, ..Ec2::new(id) }.xml()
            };
            listed(&filter(request, "instance-id").iter().map(instance).collect::<Vec<_>>(), None)
        }
        "DescribeRouteTables" => {
            let tag = "<tagSet><item><key>kubernetes.io/cluster/prod</key></item></tagSet>";
            let table = format!("<item><routeTableId>rtb-1</routeTableId><routeSet>{routes}</routeSet>{tag}</item>");
            answer(200, format!("<R><routeTableSet>{table}</routeTableSet></R>"))
        }
        _ => answer(200, "<R/>"),
    }
}

#[test]
fn requests_are_those_of_the_official_sdk() {
    let recorded: Value = serde_json::from_str(include_str!("../../../../tests/aws/requests.json")).unwrap();
    let recorded = recorded["requests"].as_object().unwrap();
    assert_eq!(recorded.len(), CALLS.len() + networks::CALLS.len(), "each recording has its call");
    for (name, call) in CALLS.into_iter().chain(networks::CALLS) {
        let expected = &recorded[name];
        let pairs: SortedMap<&str, &str> = expected["pairs"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (&**name, value.as_str().unwrap()))
            .collect();
        let host = host(|request| cloud(request, ""));
        call(&host);
        let requests = host.sent();
        let of_action: Vec<_> = requests.iter().filter(|it| action(it) == pairs["Action"]).collect();
        let [request] = of_action[..] else { panic!("{name}: {of_action:#?}") };
        assert_eq!((request.method, expected["method"].as_str()), (Method::Post, Some("POST")), "{name}");
        let target = format!("/{}", request.path.join("/"));
        assert_eq!((target.as_str(), request.query.len()), (expected["target"].as_str().unwrap(), 0), "{name}");
        // The host writes the form, and its content type.
        let content_type = expected["contentType"].as_str().unwrap();
        assert!(content_type.starts_with("application/x-www-form-urlencoded"), "{name}: {content_type}");
        let Some(Body::Form(ours)) = &request.body else { panic!("{name}: no form") };
        let ours: SortedMap<&str, &str> = ours.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(ours, pairs, "{name}");
        let version = if request.endpoint == "elbv2" { "2015-12-01" } else { "2016-11-15" };
        assert_eq!(value(request, "Version"), Some(version), "{name}");
    }
}
