//! The comparison itself: what is as recorded passes, and each kind of difference is seen.

use std::path::Path;

use serde_json::json;

use super::*;
use crate::scenario::Recording;
use crate::{better, files, vendored};

/// The vendored recording with this number.
fn recording(number: &str) -> Scenario {
    let file = files(&vendored()).into_iter().find(|file| file.to_string_lossy().contains(&format!("/{number}-")));
    read(&file.unwrap())
}

fn read(file: &Path) -> Scenario {
    let Recording::Played(mut scenario) = Scenario::read(file).unwrap() else { panic!("left out") };
    better::adjust(&mut scenario);
    *scenario
}

/// The observations of a program that does exactly as recorded.
fn as_recorded(scenario: &Scenario) -> Observed {
    let recorded = &scenario.observed;
    let writes = recorded.requests.iter().filter(|it| it.is_write()).map(|it| (it.name.clone(), it.target()));
    Observed {
        writes: writes.collect(),
        events: recorded.events.clone(),
        end: recorded
            .end
            .iter()
            .map(|(name, end)| (name.clone(), Some(end.clone()).filter(|it| !it.is_null())))
            .collect(),
        history: state::recorded(scenario),
        calls: recorded.cloud_calls.iter().map(question).collect(),
        routes: routes::recorded(scenario),
        ended: None,
    }
}

fn question(call: &CloudCall) -> Question {
    let service = call.service().to_owned();
    match call.function.as_str() {
        "EnsureLoadBalancer" | "UpdateLoadBalancer" => {
            Question::Ensure { service, cluster: "kubernetes".to_owned(), nodes: call.hosts() }
        }
        "GetLoadBalancer" | "EnsureLoadBalancerDeleted" => Question::Delete { service },
        "ListRoutes" => Question::ListRoutes { after: String::new() },
        "CreateRoute" | "DeleteRoute" => {
            let destination = call.args["destinationCIDR"].as_str().unwrap_or_default().to_owned();
            Question::Route { destination, before: false, after: None }
        }
        _ => get(call.node()),
    }
}

fn get(node: &str) -> Question {
    Question::Get { node: node.to_owned(), provider_id: String::new() }
}

/// Breaks one thing in a run of recording 01 that is otherwise as recorded, and expects one difference that begins so.
fn check(change: impl FnOnce(&mut Observed), expected: &str) {
    let scenario = recording("01");
    let mut seen = as_recorded(&scenario);
    change(&mut seen);
    let differences = differences(&scenario, &seen);
    assert_eq!(differences.len(), 1, "{differences:#?}");
    assert!(differences[0].starts_with(expected), "{}", differences[0]);
}

#[test]
fn a_run_as_recorded_has_no_differences() {
    for file in files(&vendored()) {
        let scenario = read(&file);
        let differences = differences(&scenario, &as_recorded(&scenario));
        assert!(differences.is_empty(), "{}: {differences:#?}", scenario.name);
    }
}

#[test]
fn a_letter_of_an_event_is_a_difference() {
    let expected = "events of Node n1";
    check(|seen| seen.events[0].message.push('.'), expected);
    check(|seen| seen.events[0].reason = "synced".into(), expected);
    check(|seen| seen.events[0].kind = "Warning".into(), expected);
    check(|seen| seen.events[0].reporting_component.clear(), expected);
    check(|seen| seen.events[0].source = json!({ "component": "aerostat" }), expected);
    check(|seen| seen.events[0].namespace = "kube-system".into(), expected);
    check(|seen| drop(seen.events[0].involved_object.as_object_mut().unwrap().remove("uid")), expected);
    check(|seen| seen.events.clear(), expected);
    check(|seen| seen.events.push(seen.events[0].clone()), expected);
}

#[test]
fn another_version_of_the_node_in_an_event_is_no_difference() {
    let scenario = recording("01");
    let mut seen = as_recorded(&scenario);
    seen.events[0].involved_object["resourceVersion"] = json!("4711");
    assert_eq!(differences(&scenario, &seen), Vec::<String>::new());
}

#[test]
fn a_part_of_the_final_object_is_a_difference() {
    let node =
        |seen: &mut Observed, change: fn(&mut Value)| change(seen.end.get_mut("Node n1").unwrap().as_mut().unwrap());
    check(
        |seen| node(seen, |it| it["spec"]["providerID"] = json!("fakecloud://2")),
        "Node n1 at the end: spec.providerID",
    );
    check(|seen| node(seen, |it| it["spec"]["taints"] = json!([{ "key": "a" }])), "Node n1 at the end: spec.taints");
    check(|seen| node(seen, |it| it["metadata"]["labels"]["a"] = json!("b")), "Node n1 at the end: metadata.labels");
    check(
        |seen| node(seen, |it| it["metadata"]["annotations"] = json!({ "a": "b" })),
        "Node n1 at the end: metadata.annotations",
    );
    check(
        |seen| node(seen, |it| it["status"]["addresses"].as_array_mut().unwrap().reverse()),
        "Node n1 at the end: status.addresses",
    );
    check(|seen| drop(seen.end.insert("Node n1".into(), None)), "Node n1 at the end");
}

#[test]
fn an_irrelevant_part_of_the_final_object_is_no_difference() {
    let scenario = recording("01");
    let mut seen = as_recorded(&scenario);
    let node = seen.end.get_mut("Node n1").unwrap().as_mut().unwrap();
    node["metadata"]["resourceVersion"] = json!("4711");
    node["metadata"]["annotations"] = json!({});
    node["status"]["conditions"] = json!([{ "type": "Ready" }]);
    assert_eq!(differences(&scenario, &seen), Vec::<String>::new());
}

#[test]
fn another_order_of_visible_states_is_a_difference() {
    check(|seen| seen.history.get_mut("Node n1").unwrap().swap(1, 2), "states of Node n1");
    check(|seen| drop(seen.history.get_mut("Node n1").unwrap().pop()), "states of Node n1");
    check(|seen| drop(seen.history.insert("Node n2".into(), Vec::new())), "states of Node n2");
}

#[test]
fn a_node_without_taint_and_provider_id_is_a_difference() {
    let scenario = recording("01");
    let mut seen = as_recorded(&scenario);
    seen.history.get_mut("Node n1").unwrap()[1].provider_id.clear();
    let differences = differences(&scenario, &seen);
    assert!(differences.iter().any(|it| it.contains("without taint and without provider id")), "{differences:#?}");
}

#[test]
fn one_write_too_many_is_a_difference() {
    check(|seen| seen.writes.push(("n1".into(), "nodes".into())), "writes to nodes n1");
    check(|seen| seen.writes.push(("n1".into(), "nodes/status".into())), "writes to nodes/status n1");
    check(|seen| seen.writes.push(("s1".into(), "services".into())), "writes to services s1");
}

#[test]
fn fewer_writes_and_calls_are_no_difference() {
    let scenario = recording("01");
    let mut seen = as_recorded(&scenario);
    seen.writes.clear();
    seen.calls.clear();
    assert_eq!(differences(&scenario, &seen), Vec::<String>::new());
}

#[test]
fn one_cloud_call_too_many_is_a_difference() {
    let list = || Question::List { after: String::new() };
    check(|seen| seen.calls.push(list()), "cloud calls about nodes");
    let scenario = recording("02");
    let mut seen = as_recorded(&scenario);
    seen.calls = vec![get("n1"), get("n1")];
    let too_many = differences(&scenario, &seen);
    assert!(too_many[0].starts_with("cloud calls about n1"), "{too_many:#?}");
    // One list with two pages instead of one call for each node.
    seen.calls = vec![list(), Question::List { after: "n1".into() }];
    assert_eq!(differences(&scenario, &seen), Vec::<String>::new());
}

#[test]
fn an_ended_process_is_a_difference() {
    check(|seen| seen.ended = Some("exit".into()), "the process ended: exit");
}

#[test]
fn a_difference_shows_what_changed_and_little_else() {
    let (old, new) = ("a\nb\nc\nd\nold\ne\nf\ng\nh", "a\nb\nc\nd\nnew\ne\nf\ng\nh");
    assert_eq!(lines(old, new), "    b\n    c\n    d\n  - old\n  + new\n    e\n    f\n    g\n");
}

#[test]
fn the_number_of_names_in_a_list_cut_short_counts() {
    let names = |from: usize, to: usize| (from..to).map(|it| format!("n{it}")).collect::<Vec<_>>().join(" ");
    let message = |list: &str| {
        format!("Error updating [{list}] [node names limited, total number of nodes: 25], error: the cloud is down")
    };
    let recorded = |message: String| {
        let event = Event::new(1.0, ("Service", "s1"), "service-controller", ("Warning", "R", message.clone()));
        let again =
            Event { verb: "patch".to_owned(), body: json!({ "message": message, "count": 2 }), ..Event::default() };
        [event, again]
    };
    let differ = |expected: &str, seen: &str| {
        let mut differences = Vec::new();
        events(&recorded(message(expected)), &recorded(message(seen)), &mut differences);
        differences.len()
    };
    let recorded = format!("{} <5 more>", names(0, 20));
    assert_eq!(differ(&recorded, &format!("{} <5 more>", names(5, 25))), 0, "other names, in another order");
    for (what, seen) in [
        ("fewer names", format!("{} <5 more>", names(0, 19))),
        ("another rest", format!("{} <6 more>", names(0, 20))),
        ("one name twice", format!("{} n0 <5 more>", names(0, 19))),
        ("no rest", names(0, 20)),
        ("another separator", format!("{} <5 more>", names(0, 20).replace(' ', ", "))),
    ] {
        assert_eq!(differ(&recorded, &seen), 2, "{what}");
    }
    assert_eq!(differ(&names(0, 3), &names(1, 4)), 2, "a list that is whole is compared name by name");
}

#[test]
fn another_route_another_change_and_another_list_are_seen() {
    let scenario = recording("67");
    let check = |change: fn(&mut Observed), expected: &[&str]| {
        let mut seen = as_recorded(&scenario);
        change(&mut seen);
        let found = differences(&scenario, &seen);
        let heads: Vec<_> = found.iter().filter_map(|it| it.lines().next()).collect();
        assert_eq!(heads, expected);
    };
    check(|_| {}, &[]);
    check(|it| it.routes[0].1 = "2".to_owned(), &["routes at the end"]);
    check(|it| drop(it.routes.pop()), &["routes at the end"]);
    check(|it| it.calls.push(Question::ListRoutes { after: String::new() }), &["lists of routes"]);
    check(|it| it.calls.push(Question::ListRoutes { after: "100".to_owned() }), &[]);
    let change = |observed: &mut Observed| {
        let destination = "10.244.1.0/24".to_owned();
        observed.calls.push(Question::Route { destination, before: false, after: None });
    };
    check(change, &["changes of the route to 10.244.1.0/24"]);
}
