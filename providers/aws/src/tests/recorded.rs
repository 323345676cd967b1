//! Requests beside those of AWS's official SDK, which `tests/aws/record.py` has recorded for the same calls.

mod networks;

use aerostat_sdk::testing::answer;
use aerostat_sdk::{Instances, Node, PersistentVolumes, Provider, Route, RouteChange, RouteTarget, Routes, Volume};
use aws_api::testing::{SdkCall, check_recorded};

use super::{Ec2, Host, Outcome, Request, action, filter, host, listed, node};
use crate::Aws;

/// A call of the provider that sends each recorded request, by the name of the recording.
const CALLS: [SdkCall; 16] = [
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
    let calls: Vec<_> = CALLS.into_iter().chain(networks::CALLS).collect();
    let host = || host(|request| cloud(request, ""));
    check_recorded(include_str!("../../../../tests/aws/requests.json"), &calls, host);
}
