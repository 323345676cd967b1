//! What a recording is about.

use serde_json::{Value, json};

/// Why a recording shows what cannot happen to aerostat, if it does: seen in its content, whatever its name.
pub(super) fn cannot_be_played(recording: &Value) -> Option<&'static str> {
    let calls = recording["observed"]["cloud_calls"].as_array();
    let routes_were_asked =
        calls.into_iter().flatten().any(|it| it["function"].as_str().is_some_and(|it| it.contains("Route")));
    let has_routes = recording["cloudWithout"].as_array().is_none_or(|parts| !parts.contains(&json!("routes")));
    if routes_were_asked || has_routes {
        return Some("needs the route controller");
    }
    let changes = recording["cloud"].as_array();
    let services = changes.into_iter().flatten().filter_map(|it| it["services"].as_object()).flat_map(|it| it.values());
    let mut without_status = services.filter(|it| it["nullStatus"] == true);
    without_status.next().map(|_| "needs a cloud that answers without a status: with ours, every answer has one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_is_about_is_seen_in_its_content() {
        let check = |change: Value, expected: Option<&str>| {
            let mut recording = json!({
                "cloudWithout": ["routes"],
                "given": [{ "object": { "kind": "Service" } }],
                "observed": { "cloud_calls": [{ "function": "InstanceExists" }, { "function": "EnsureLoadBalancer" }] },
            });
            crate::state::merge(&mut recording, &change);
            assert_eq!(cannot_be_played(&recording), expected, "{recording}");
        };
        let routes = Some("needs the route controller");
        check(json!({}), None);
        check(json!({ "cloudWithout": [] }), routes);
        check(json!({ "cloudWithout": null }), routes);
        check(json!({ "observed": { "cloud_calls": [{ "function": "ListRoutes" }] } }), routes);
        let cloud = |service: Value| json!({ "cloud": [{ "t": 0.1 }, { "services": { "default/a": null, "default/b": service } }] });
        let no_status = Some("needs a cloud that answers without a status: with ours, every answer has one");
        check(cloud(json!({ "nullStatus": true })), no_status);
        check(cloud(json!({ "nullStatus": false })), None);
        check(cloud(json!({ "ingress": [] })), None);
    }
}
