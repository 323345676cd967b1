//! Routes: which there are in the end, and what was asked of the cloud for them.

use std::collections::{BTreeMap, BTreeSet};

use ::tests::script::Question;
use ipnet::IpNet;
use serde_json::Value;

use super::{at_most, difference};
use crate::run::{Observed, leads_to, next_hop};
use crate::scenario::{CloudRoute, Scenario};

/// The name of the last routes in recordings.
pub(super) const END: &str = "routes";

/// Routes in the end, compared as networks, and no more calls than recorded: of lists, and of changes for each
/// destination.
pub(super) fn compare(expected: &Scenario, seen: &Observed, differences: &mut Vec<String>) {
    if !expected.has_routes() {
        return;
    }
    let routes = |routes: &[(String, String)]| {
        routes.iter().map(|(destination, hop)| format!("{} > {hop}", network(destination))).collect::<BTreeSet<_>>()
    };
    let (recorded, there) = (routes(&recorded(expected)), routes(&seen.routes));
    // Where nothing was recorded of them, there may be any.
    if expected.observed.end.contains_key(END) && recorded != there {
        difference("routes at the end", &recorded, &there, differences);
    }
    let calls = &expected.observed.cloud_calls;
    let lists = calls.iter().filter(|it| it.function == "ListRoutes").count();
    let listed =
        seen.calls.iter().filter(|it| matches!(it, Question::ListRoutes { after } if after.is_empty())).count();
    if listed > lists {
        difference("lists of routes", &format_args!("at most {lists}"), &listed, differences);
    }
    let mut allowed = BTreeMap::new();
    for call in calls.iter().filter(|it| ["CreateRoute", "DeleteRoute"].contains(&it.function.as_str())) {
        let destination = call.args.get("destinationCIDR").and_then(Value::as_str).unwrap_or_default();
        *allowed.entry(network(destination)).or_default() += 1;
    }
    let mut changed = BTreeMap::new();
    for call in &seen.calls {
        if let Question::Route { destination, .. } = call {
            *changed.entry(network(destination)).or_default() += 1;
        }
    }
    at_most("changes of the route to", &allowed, &changed, differences);
}

/// Destination and next hop of each route that was recorded in the end.
pub(super) fn recorded(scenario: &Scenario) -> Vec<(String, String)> {
    let end = scenario.observed.end.get(END).cloned().unwrap_or_default();
    let routes: Option<Vec<CloudRoute>> = serde_json::from_value(end).expect("routes are recorded as we know them");
    let route = |it: CloudRoute| (it.destination, leads_to(next_hop(scenario, &it.target_node), it.blackhole));
    routes.unwrap_or_default().into_iter().map(route).collect()
}

/// A network in its canonical form.
fn network(text: &str) -> String {
    text.parse::<IpNet>().map_or_else(|_| text.to_owned(), |it| it.trunc().to_string())
}

/// A message about a route without the UID of its node, which is that of the object that the event is about, and
/// without a duration.
pub(super) fn without_duration(message: &str, about: &Value) -> String {
    let (Some(rest), Some(uid)) = (message.strip_prefix("Could not create route "), about["uid"].as_str()) else {
        return message.to_owned();
    };
    let (uid, rest) = match rest.strip_prefix(uid) {
        Some(rest) => ("<uid>", rest),
        None => ("", rest),
    };
    let taken = rest.split_once(" after ").and_then(|(before, after)| {
        let (duration, error) = after.split_once(": ")?;
        let is_duration =
            duration == "<duration>" || duration.ends_with('s') && duration.starts_with(|it: char| it.is_ascii_digit());
        is_duration.then(|| format!("{before} after <duration>: {error}"))
    });
    format!("Could not create route {uid}{}", taken.unwrap_or_else(|| rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn uid_and_duration_are_chance_and_nothing_else_is() {
        let check = |message: &str, uid: &str| without_duration(message, &json!({ "uid": uid }));
        let recorded = check(
            "Could not create route <uid of n1> 10.244.1.0/24 for node n1 after <duration>: quota",
            "<uid of n1>",
        );
        assert_eq!(recorded, "Could not create route <uid> 10.244.1.0/24 for node n1 after <duration>: quota");
        assert_eq!(check("Could not create route u-1 10.244.1.0/24 for node n1 after 1.5ms: quota", "u-1"), recorded);
        for other in [
            "Could not create route u-2 10.244.1.0/24 for node n1 after 1.5ms: quota",
            "Could not create route u-1 10.244.1.0/24 for node n1 after a while: quota",
            "Could not create route u-1 10.244.1.0/24 for node n1 after 1.5ms: limit",
        ] {
            assert_ne!(check(other, "u-1"), recorded, "{other}");
        }
    }
}
