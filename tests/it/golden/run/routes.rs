//! The routes of a recording: what the script says of them, and which there are in the end.

use serde_json::Value;
use tests::script::{Failure, Route, Script};

use super::cloud::failure;
use crate::scenario::{CloudChange, CloudError, CloudRoute, Scenario};

/// Lets the script say of routes what the recorded cloud did from then on.
pub(super) fn change(script: &Script, scenario: &Scenario, change: &CloudChange) {
    if let Some(routes) = &change.routes {
        let route = |recorded: &CloudRoute| {
            let route = Route {
                id: recorded.name.clone(),
                ..Route::new(&recorded.destination, &next_hop(scenario, &recorded.target_node))
            };
            if recorded.blackhole { route.blackhole() } else { route }
        };
        script.set_routes(routes.iter().map(route));
    }
    if let Some(takes) = change.list_routes_delay {
        script.set_route_list_time(takes);
    }
    if let Some(error) = &change.list_routes_error {
        script.set_route_list_failure(error.as_ref().map(told));
    }
    let failures = change.create_route_error.iter().flat_map(|(node, error)| {
        let failed = scenario.observed.cloud_calls.iter().filter(move |call| {
            call.function == "CreateRoute" && call.result.starts_with("error") && word(call, "targetNode") == *node
        });
        failed.map(move |it| (word(it, "destinationCIDR"), error))
    });
    let failures = failures.chain(change.delete_route_error.iter().map(|(to, error)| (to.clone(), error)));
    for (destination, error) in failures {
        script.set_route_failure(&destination, told(error));
    }
}

/// To what a route to a node leads in the script: the rest of its provider id. Of a node that was never there: its name.
pub(crate) fn next_hop(scenario: &Scenario, node: &str) -> String {
    let given = scenario.given.iter().find(|it| it.object["metadata"]["name"] == node);
    let provider_id = given.and_then(|it| it.object["spec"]["providerID"].as_str());
    provider_id.and_then(|it| it.strip_prefix("fakecloud://")).unwrap_or(node).to_owned()
}

/// To what a route leads in the end: nowhere, if it is a blackhole.
pub(crate) fn leads_to(next_hop: String, blackhole: bool) -> String {
    if blackhole { "nowhere".to_owned() } else { next_hop }
}

fn told(error: &CloudError) -> Failure {
    failure(error)
}

fn word(call: &crate::scenario::CloudCall, key: &str) -> String {
    call.args.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
