use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use aerostat_sdk::testing::{Host, Outcome, Request, answer};
use aerostat_sdk::{
    Cluster, Error, Node, PodNetwork, Result, Route, RouteChange, RouteOutcome, RouteOwnership, RouteState,
    RouteTarget, Routes,
};
use serde_json::{Value, json};

use crate::Hetzner;
use crate::tests::server;

const DESTINATION: &str = "10.244.1.0/24";

fn node(name: &str, ip: Option<&str>) -> Node {
    let mut node = Node::named(name).with_provider_id("hcloud://42");
    node.extra = ip.map(|it| ("private-ipv4".to_owned(), it.to_owned())).into_iter().collect();
    node
}

/// A network with these routes, which stay as they are, and in which each action ends as `ends` says.
fn network(routes: &[(&str, &str)], ends: &'static str) -> Host {
    let routes: Vec<Value> = routes.iter().map(|(to, via)| json!({ "destination": to, "gateway": via })).collect();
    let routes = Rc::new(RefCell::new(routes));
    let answers = move |request: &Request| -> Outcome {
        let path: Vec<_> = request.path.iter().map(String::as_str).collect();
        let action = |id: u64, command: &str, status: &str| json!({ "id": id, "command": command, "status": status, "finished": null, "error": null, "resources": [] });
        // Its command by its id.
        let named = |id: &str| if id == "8" { action(8, "delete_route", ends) } else { action(9, "add_route", ends) };
        match &path[..] {
            ["networks", "7"] => answer(200, json!({ "network": { "id": 7, "routes": *routes.borrow() } }).to_string()),
            ["servers"] => answer(200, json!({ "servers": [server(42, "web-1")], "meta": {} }).to_string()),
            ["networks", "7", "actions", command] => {
                let id = if *command == "delete_route" { 8 } else { 9 };
                answer(201, json!({ "action": action(id, command, "running") }).to_string())
            }
            ["actions"] => answer(200, json!({ "actions": [named(&request.query[0].1)] }).to_string()),
            other => panic!("{other:?}"),
        }
    };
    let cluster = Cluster { pod_cidrs: vec!["10.244.0.0/16".to_owned()], ..Cluster::of("kubernetes", "c") };
    Host::new().setting("network", "7").cluster(cluster).answers(answers)
}

fn change(destination: &str, before: Option<&str>, after: Option<&str>) -> RouteChange {
    RouteChange {
        destination: destination.to_owned(),
        before: before.map(|it| Route::new(destination, it)),
        after: after.map(|it| RouteTarget { next_hop: it.to_owned(), node: node("web-1", Some(it)) }),
        extra: Vec::new(),
    }
}

fn apply(host: &Host, changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
    host.run(|| Hetzner::apply(changes))
}

fn is_pending(outcome: &Result<RouteOutcome>) -> bool {
    matches!(outcome, Ok(RouteOutcome::Pending(_)))
}

#[test]
fn a_next_hop_is_the_servers_address_in_the_network() {
    let host = network(&[], "success");
    let hop = |ip, destination: &str| {
        let network = PodNetwork { destination: destination.to_owned(), node: node("web-1", ip) };
        host.run(|| Hetzner::next_hop(&network))
    };
    assert_eq!(hop(Some("10.0.0.9"), DESTINATION), Ok("10.0.0.9".to_owned()));
    assert_eq!(host.requests(), [""; 0], "the host knows it");
    assert_eq!(hop(None, DESTINATION), Ok("10.0.0.5".to_owned()));
    assert_eq!(host.requests(), ["GET hcloud /servers?sort=id:asc&page=1&per_page=50"]);
    assert!(
        matches!(hop(Some(""), DESTINATION), Err(Error::Invalid(why)) if why.contains("not attached to network 7"))
    );
    assert!(matches!(hop(Some("10.0.0.9"), "fd00::/64"), Err(Error::Invalid(why)) if why.contains("are IPv4")));
}

#[test]
fn a_list_says_whose_routes_lead_where() {
    let routes = [(DESTINATION, "10.0.0.5"), ("10.244.2.0/24", "10.0.0.6"), ("10.99.0.0/24", "10.0.0.6")];
    let page = network(&routes, "success").run(|| Hetzner::list(None, 100)).unwrap();
    let gone = Route::new("10.244.2.0/24", "10.0.0.6").state(RouteState::Blackhole);
    let foreign =
        Route::new("10.99.0.0/24", "10.0.0.6").state(RouteState::Blackhole).ownership(RouteOwnership::Foreign);
    assert_eq!(page.routes, [Route::new(DESTINATION, "10.0.0.5"), gone, foreign]);
    let host = network(&routes, "success");
    let first = host.run(|| Hetzner::list(None, 2)).unwrap();
    assert_eq!((first.routes.len(), first.next.as_deref()), (2, Some("routes:2:2")));
    let second = host.run(|| Hetzner::list(first.next.as_deref(), 2)).unwrap();
    assert_eq!((second.routes.len(), second.next), (1, None));
}

#[test]
fn a_route_as_desired_is_done_without_a_write() {
    let host = network(&[(DESTINATION, "10.0.0.5")], "success");
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", Some("10.0.0.6"), None)];
    assert_eq!(apply(&host, &changes), [Ok(RouteOutcome::Done), Ok(RouteOutcome::Done)]);
    assert_eq!(host.requests(), ["GET hcloud /networks/7"]);
}

/// The same changes, with the reasons that were answered.
fn again(changes: &[RouteChange], answers: &[Result<RouteOutcome>]) -> Vec<RouteChange> {
    let of_one = |(change, answer): (&RouteChange, &Result<RouteOutcome>)| {
        let reason = if let Ok(RouteOutcome::Pending(it)) = answer { Some(it.reason.clone()) } else { None };
        let extra = reason.map(|it| ("pending".to_owned(), it)).into_iter().collect();
        RouteChange { extra, ..change.clone() }
    };
    changes.iter().zip(answers).map(of_one).collect()
}

const TWO: [&str; 2] = ["GET hcloud /networks/7", "POST hcloud /networks/7/actions/add_route"];

#[test]
fn one_change_is_sent_and_nobody_asks_for_it_at_once() {
    let host = network(&[], "running");
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", None, Some("10.0.0.6"))];
    let answers = apply(&host, &changes);
    assert_eq!(host.requests(), TWO);
    let Ok(RouteOutcome::Pending(first)) = &answers[0] else { panic!("{answers:?}") };
    assert_eq!((first.milliseconds, &*first.reason), (200, "action 9 (add_route) has not ended"));
    let Ok(RouteOutcome::Pending(second)) = &answers[1] else { panic!("{answers:?}") };
    assert_eq!(second.reason, "network 7 carries out one change at a time");
}

#[test]
fn a_running_action_is_asked_about_before_a_write() {
    let host = network(&[], "running");
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", None, Some("10.0.0.6"))];
    let first = apply(&host, &changes);
    let second = apply(&host, &again(&changes, &first));
    assert_eq!(second, first, "each with its own reason");
    assert_eq!(host.requests()[2..], ["GET hcloud /networks/7", "GET hcloud /actions?id=9"]);
    assert_eq!(host.bodies().len(), 1);
}

#[test]
fn the_network_alone_shows_what_has_ended() {
    let host = network(&[(DESTINATION, "10.0.0.5")], "running");
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", None, Some("10.0.0.6"))];
    let running = [
        Ok(RouteOutcome::pending(Duration::from_millis(200), "action 9 (add_route) has not ended")),
        Ok(RouteOutcome::pending(Duration::from_millis(200), "network 7 carries out one change at a time")),
    ];
    let answers = apply(&host, &again(&changes, &running));
    assert!(answers[0] == Ok(RouteOutcome::Done) && is_pending(&answers[1]), "{answers:?}");
    assert_eq!(host.requests(), TWO, "two requests for each route");
}

#[test]
fn an_action_that_ended_meanwhile_is_believed() {
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", None, Some("10.0.0.6"))];
    let host = network(&[], "success");
    let first = apply(&host, &changes);
    let second = apply(&host, &again(&changes, &first));
    assert!(second[0] == Ok(RouteOutcome::Done) && is_pending(&second[1]), "{second:?}");
    assert_eq!(host.bodies().len(), 2, "and the next one is sent");
}

#[test]
fn an_action_that_failed_is_an_error_of_its_change_alone() {
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", None, Some("10.0.0.6"))];
    let host = network(&[], "error");
    let first = apply(&host, &changes);
    let second = apply(&host, &again(&changes, &first));
    assert!(matches!(&second[0], Err(Error::Unavailable(why)) if why.contains("action 9 (add_route) has failed")));
    assert!(is_pending(&second[1]), "it is sent: {second:?}");
}

#[test]
fn a_network_that_is_quick_takes_forty_writes_of_a_call() {
    let host = Host::new().setting("network", "7").answers(|request| match request.path.len() {
        2 => answer(200, r#"{ "network": { "id": 7, "routes": [] } }"#),
        _ => answer(201, r#"{ "action": { "id": 9, "command": "add_route", "status": "success" } }"#),
    });
    let changes: Vec<_> = (0..100).map(|it| change(&format!("10.244.{it}.0/24"), None, Some("10.0.0.5"))).collect();
    let answers = apply(&host, &changes);
    assert!(answers[..40].iter().all(|it| *it == Ok(RouteOutcome::Done)));
    assert!(answers[40..].iter().all(is_pending));
    assert_eq!(host.requests().len(), 41);
}

#[test]
fn another_gateway_is_replaced_only_if_it_is_the_one_before() {
    let host = network(&[(DESTINATION, "10.0.0.6")], "success");
    let moved = [change(DESTINATION, Some("10.0.0.6"), Some("10.0.0.5"))];
    let mut answers = apply(&host, &moved);
    for _ in 0..2 {
        assert!(is_pending(&answers[0]), "{answers:?}");
        answers = apply(&host, &again(&moved, &answers));
    }
    assert_eq!(answers, [Ok(RouteOutcome::Done)]);
    assert_eq!(
        host.bodies(),
        [
            r#"{"destination":"10.244.1.0/24","gateway":"10.0.0.6"}"#,
            r#"{"destination":"10.244.1.0/24","gateway":"10.0.0.5"}"#
        ]
    );
    for before in [None, Some("10.0.0.7")] {
        let host = network(&[(DESTINATION, "10.0.0.6")], "success");
        let refused = apply(&host, &[change(DESTINATION, before, Some("10.0.0.5"))]);
        assert!(
            matches!(&refused[0], Err(Error::Invalid(why)) if why.contains("leads to 10.0.0.6 by now")),
            "{refused:?}"
        );
        assert_eq!(host.bodies(), [""; 0]);
    }
}

#[test]
fn ipv6_asks_nobody() {
    let host = network(&[], "success");
    let refused = apply(&host, &[change("fd00::/64", None, Some("10.0.0.5"))]);
    assert!(matches!(&refused[0], Err(Error::Invalid(_))));
    assert_eq!(host.requests(), [""; 0]);
}

#[test]
fn a_destination_outside_the_cluster_is_said_and_made() {
    let host = network(&[], "success");
    assert!(is_pending(&apply(&host, &[change("10.99.1.0/24", None, Some("10.0.0.5"))])[0]));
    let [event] = &host.events()[..] else { panic!("one warning") };
    assert_eq!((&*event.reason, event.about.as_deref()), ("ClusterCIDRMisconfigured", Some("web-1")));
}

#[test]
fn a_full_table_is_asked_once() {
    let host = Host::new().setting("network", "7").answers(|request| match request.path.len() {
        2 => answer(200, r#"{ "network": { "id": 7, "routes": [] } }"#),
        _ => answer(403, r#"{ "error": { "code": "resource_limit_exceeded", "message": "enough routes" } }"#),
    });
    let changes = [change(DESTINATION, None, Some("10.0.0.5")), change("10.244.2.0/24", None, Some("10.0.0.6"))];
    let refused = apply(&host, &changes);
    assert!(matches!(&refused[0], Err(Error::Invalid(why)) if why.starts_with("network 7 takes no more routes")));
    assert_eq!(refused[0], refused[1]);
    assert_eq!(host.requests().len(), 2);
}

#[test]
fn without_a_network_there_are_no_routes() {
    let why = |host: Host| match host.run(|| Hetzner::list(None, 100)) {
        Err(Error::Invalid(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(Host::new()).starts_with("routes need setting network"));
    let robot = Host::new().setting("network", "7").setting("robot.enabled", "true");
    assert!(why(robot).contains("excludes routes"));
}
