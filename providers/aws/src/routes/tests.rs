use std::cell::Cell;

use aerostat_sdk::testing::{Host, Outcome, answer};
use aerostat_sdk::{
    Error, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState, RouteTarget, Routes,
};

use crate::Aws;
use crate::tests::{action, filter, host, line, refused, sent, settings};

const POD: &str = "10.4.1.0/24";
const READ: &str = "Action=DescribeRouteTables Filter.1.Name=vpc-id Filter.1.Value.1=vpc-1 Filter.2.Name=tag-key \
                    Filter.2.Value.1=kubernetes.io/cluster/prod";

fn made(destination: &str, target: &str) -> String {
    format!(
        "<item><destinationCidrBlock>{destination}</destinationCidrBlock>{target}<state>active</state>\
         <origin>CreateRoute</origin></item>"
    )
}

fn to(destination: &str, instance: &str) -> String {
    let target = format!("<instanceId>{instance}</instanceId><networkInterfaceId>eni-1</networkInterfaceId>");
    made(destination, &target)
}

fn blackhole(destination: &str) -> String {
    made(destination, "<networkInterfaceId>eni-1</networkInterfaceId>").replace("active", "blackhole")
}

fn tables(ids: &[&str], routes: &str) -> Outcome {
    let tag = "<tagSet><item><key>kubernetes.io/cluster/prod</key><value>owned</value></item></tagSet>";
    let table = |id: &&str| format!("<item><routeTableId>{id}</routeTableId><routeSet>{routes}</routeSet>{tag}</item>");
    let tables: String = ids.iter().map(table).collect();
    answer(200, format!("<R><routeTableSet>{tables}</routeTableSet></R>"))
}

/// A table with these routes, and an answer to each write.
fn cloud(routes: String, write: impl Fn(&str) -> Outcome + 'static) -> Host {
    host(move |request| match action(request) {
        "DescribeRouteTables" => tables(&["rtb-1"], &routes),
        other => write(other),
    })
}

fn done(_: &str) -> Outcome {
    answer(200, "<R><return>true</return></R>")
}

fn target(instance: &str) -> RouteTarget {
    RouteTarget { next_hop: instance.to_owned(), node: Node::named("n") }
}

fn change(before: Option<Route>, after: Option<&str>) -> RouteChange {
    RouteChange { destination: POD.to_owned(), before, after: after.map(target), extra: Vec::new() }
}

fn apply(host: &Host, change: RouteChange) -> Result<RouteOutcome> {
    host.run(|| Aws::apply(&[change])).pop().unwrap()
}

fn list(host: &Host) -> Result<Vec<Route>> {
    host.run(|| Aws::list(None, 1_000)).map(|it| it.routes)
}

const FORWARD: &str = "Action=ModifyInstanceAttribute InstanceId=i-1 SourceDestCheck.Value=false";

#[test]
fn aws_051_a_route_to_an_instance_that_forwards() {
    let cloud = cloud(String::new(), done);
    assert_eq!(apply(&cloud, change(None, Some("i-1"))), Ok(RouteOutcome::Done));
    let create = "Action=CreateRoute RouteTableId=rtb-1 DestinationCidrBlock=10.4.1.0/24 InstanceId=i-1";
    assert_eq!(sent(&cloud), [READ, FORWARD, create]);
    let there = self::cloud(to(POD, "i-1"), |it| panic!("{it}"));
    assert_eq!(apply(&there, change(None, Some("i-1"))), Ok(RouteOutcome::Done), "repeated");
}

#[test]
fn aws_052_a_blackhole_is_replaced_in_one_step() {
    let cloud = cloud(blackhole(POD), done);
    let before = list(&cloud).unwrap().remove(0);
    assert_eq!(
        (&before.state, &before.next_hop, before.ownership),
        (&RouteState::Blackhole, &None, RouteOwnership::Unmarked)
    );
    assert_eq!(apply(&cloud, change(Some(before), Some("i-1"))), Ok(RouteOutcome::Done));
    let replace = "Action=ReplaceRoute RouteTableId=rtb-1 DestinationCidrBlock=10.4.1.0/24 InstanceId=i-1";
    assert_eq!(sent(&cloud)[1..], [READ, FORWARD, replace]);
}

#[test]
fn aws_052_a_dead_instance_of_the_same_id_is_no_route() {
    let dead = to(POD, "i-1").replace("active", "blackhole");
    let cloud = cloud(dead, done);
    let before = list(&cloud).unwrap().remove(0);
    assert_eq!(apply(&cloud, change(Some(before), Some("i-1"))), Ok(RouteOutcome::Done));
    assert!(sent(&cloud)[3].starts_with("Action=ReplaceRoute"), "{:?}", sent(&cloud));
}

/// The route appears after the first read, and leads to this instance.
fn raced(instance: &'static str) -> Result<RouteOutcome> {
    let reads = Cell::new(0);
    let host = host(move |request| match action(request) {
        "DescribeRouteTables" if reads.replace(reads.get() + 1) == 0 => tables(&["rtb-1"], ""),
        "DescribeRouteTables" => tables(&["rtb-1"], &to(POD, instance)),
        "CreateRoute" => refused(400, "RouteAlreadyExists"),
        _ => done(""),
    });
    apply(&host, change(None, Some("i-1")))
}

#[test]
fn aws_053_a_route_that_appeared_meanwhile_is_looked_at() {
    assert_eq!(raced("i-1"), Ok(RouteOutcome::Done));
    let why = "the route to 10.4.1.0/24 leads to i-2 by now, and is not touched: it was to be none";
    assert_eq!(raced("i-2"), Err(Error::invalid(why)));
}

#[test]
fn aws_054_two_tagged_tables_are_an_error() {
    let two = host(|_| tables(&["rtb-2", "rtb-1"], ""));
    let why = "several route tables in vpc-1 have the tag kubernetes.io/cluster/prod: rtb-1, rtb-2. Take it off all but one, or \
               set routeTable";
    assert_eq!(list(&two), Err(Error::invalid(why)));
    let none = list(&host(|_| answer(200, "<R><routeTableSet/></R>")));
    assert!(
        matches!(&none, Err(Error::Invalid(why)) if why.starts_with("no route table in vpc-1 has the tag")),
        "{none:?}"
    );
}

#[test]
fn aws_054_a_table_may_be_named() {
    let named = |found: &'static str| {
        let host = host(move |request| {
            assert_eq!(filter(request, "route-table-id"), ["rtb-9"], "{}", line(request));
            tables(&[found], "")
        });
        list(&host.setting("routeTable", "rtb-9"))
    };
    assert_eq!(named("rtb-9"), Ok(Vec::new()));
    assert_eq!(named("rtb-8"), Err(Error::invalid("there is no route table rtb-9: correct setting routeTable")));
}

#[test]
fn aws_055_a_full_table_is_tried_once() {
    let cloud = cloud(String::new(), |action| match action {
        "CreateRoute" => refused(400, "RouteLimitExceeded"),
        _ => done(""),
    });
    let another = RouteChange { destination: "10.4.2.0/24".to_owned(), ..change(None, Some("i-2")) };
    let answers = cloud.run(|| Aws::apply(&[change(None, Some("i-1")), another]));
    let full = "CreateRoute at endpoint ec2: 400 RouteLimitExceeded: It is so. (request r-1)";
    assert!(
        matches!(&answers[0], Err(Error::Invalid(why)) if why.contains("takes no more routes") && why.contains(full))
    );
    assert_eq!(answers[0], answers[1]);
    assert_eq!(sent(&cloud).len(), 3, "{:?}", sent(&cloud));
}

#[test]
fn aws_056_other_routes_are_foreign_and_not_touched() {
    let local = made("10.0.0.0/16", "<gatewayId>local</gatewayId>").replace("CreateRoute", "CreateRouteTable");
    let propagated = to("10.8.0.0/16", "i-8").replace("CreateRoute", "EnableVgwRoutePropagation");
    let targets = ["gatewayId", "natGatewayId", "vpcPeeringConnectionId", "transitGatewayId"];
    let gateways = targets.map(|it| made(POD, &format!("<{it}>x-1</{it}>")));
    let interface = made(POD, "<networkInterfaceId>eni-9</networkInterfaceId>");
    let dead = made(POD, "<natGatewayId>nat-1</natGatewayId>").replace("active", "blackhole");
    for route in gateways.into_iter().chain([local, propagated, interface, dead]) {
        let cloud = cloud(route.clone(), |it| panic!("{it}"));
        let before = list(&cloud).unwrap();
        assert_eq!(before[0].ownership, RouteOwnership::Foreign, "{route}");
        let destination = before[0].destination.clone();
        for after in [Some("i-1"), None] {
            let change = RouteChange { destination: destination.clone(), ..change(before.first().cloned(), after) };
            assert!(matches!(apply(&cloud, change), Err(Error::Invalid(_))), "{route}");
        }
    }
    let ipv6 = "<item><destinationIpv6CidrBlock>::/0</destinationIpv6CidrBlock><origin>CreateRoute</origin></item>";
    assert_eq!(list(&cloud(ipv6.to_owned(), done)), Ok(Vec::new()));
}

#[test]
fn a_route_moves_and_goes() {
    let cloud = cloud(to(POD, "i-2"), done);
    let before = list(&cloud).unwrap().remove(0);
    assert_eq!(before, Route::new(POD, "i-2"));
    assert_eq!(apply(&cloud, change(Some(before.clone()), Some("i-1"))), Ok(RouteOutcome::Done));
    assert!(sent(&cloud)[3].starts_with("Action=ReplaceRoute"));
    assert_eq!(apply(&cloud, change(Some(before), None)), Ok(RouteOutcome::Done));
    assert_eq!(sent(&cloud)[5], "Action=DeleteRoute RouteTableId=rtb-1 DestinationCidrBlock=10.4.1.0/24");
    let gone = self::cloud(to(POD, "i-2"), |_| refused(400, "InvalidRoute.NotFound"));
    assert_eq!(apply(&gone, change(Some(Route::new(POD, "i-2")), None)), Ok(RouteOutcome::Done));
    let none = self::cloud(String::new(), |it| panic!("{it}"));
    assert_eq!(apply(&none, change(Some(Route::new(POD, "i-2")), None)), Ok(RouteOutcome::Done));
}

#[test]
fn a_route_that_is_not_as_planned_is_not_touched() {
    for (before, was) in [(None, "none"), (Some(Route::new(POD, "i-3")), "one that leads to i-3")] {
        for after in [Some("i-1"), None] {
            let cloud = cloud(to(POD, "i-2"), |it| panic!("{it}"));
            let why = format!("the route to {POD} leads to i-2 by now, and is not touched: it was to be {was}");
            assert_eq!(apply(&cloud, change(before.clone(), after)), Err(Error::Invalid(why)));
        }
    }
}

#[test]
fn a_route_whose_instance_ends_after_the_list_moves_and_goes() {
    let cloud = cloud(blackhole(POD), done);
    let before = Some(Route::new(POD, "i-2"));
    assert_eq!(apply(&cloud, change(before.clone(), Some("i-1"))), Ok(RouteOutcome::Done));
    assert_eq!(apply(&cloud, change(before, None)), Ok(RouteOutcome::Done));
    assert!(sent(&cloud).iter().any(|it| it.starts_with("Action=DeleteRoute")), "{:?}", sent(&cloud));
    // Where none was seen, it is somebody else's.
    assert!(matches!(apply(&cloud, change(None, Some("i-1"))), Err(Error::Invalid(_))));
}

#[test]
fn one_call_reads_the_table_once() {
    let cloud = cloud(String::new(), done);
    let changes = ["10.4.1.0/24", "10.4.2.0/24"]
        .map(|it| RouteChange { destination: it.to_owned(), ..change(None, Some("i-1")) });
    assert_eq!(cloud.run(|| Aws::apply(&changes)), [Ok(RouteOutcome::Done), Ok(RouteOutcome::Done)]);
    let actions: Vec<_> = sent(&cloud).iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect();
    let expected = ["DescribeRouteTables", "ModifyInstanceAttribute", "CreateRoute", "CreateRoute"];
    assert_eq!(actions, expected.map(|it| format!("Action={it}")));
}

#[test]
fn the_next_hop_is_the_nodes_instance() {
    let hop = |destination: &str, provider_id: Option<&str>| {
        let node = Node { provider_id: provider_id.map(str::to_owned), ..Node::named("n") };
        settings().run(|| Aws::next_hop(&PodNetwork { destination: destination.to_owned(), node }))
    };
    assert_eq!(hop(POD, Some("aws:///us-east-1a/i-1")), Ok("i-1".to_owned()));
    for (destination, id) in
        [("fd00::/64", Some("i-1")), (POD, None), (POD, Some("aws:///z/fargate-10.0.0.9")), ("x", Some("i-1"))]
    {
        assert!(matches!(hop(destination, id), Err(Error::Invalid(_))), "{destination} {id:?}");
    }
}

#[test]
fn pages_are_parts_of_the_table() {
    let routes: String = (0..3).map(|it| to(&format!("10.4.{it}.0/24"), "i-1")).collect();
    let cloud = cloud(routes, done);
    let first = cloud.run(|| Aws::list(None, 2)).unwrap();
    let second = cloud.run(|| Aws::list(first.next.as_deref(), 2)).unwrap();
    assert_eq!((first.routes.len(), second.routes.len(), second.next), (2, 1, None));
}
