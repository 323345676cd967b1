//! What a recording is about.

use serde_json::{Value, json};

/// Why a recording shows controllers that aerostat does not have, if it does: seen in its content, whatever its name.
pub(super) fn needs_others(recording: &Value) -> Option<&'static str> {
    let calls = recording["observed"]["cloud_calls"].as_array();
    let routes_were_asked =
        calls.into_iter().flatten().any(|it| it["function"].as_str().is_some_and(|it| it.contains("Route")));
    let has_routes = recording["cloudWithout"].as_array().is_none_or(|parts| !parts.contains(&json!("routes")));
    (routes_were_asked || has_routes).then_some("needs the route controller")
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
            assert_eq!(needs_others(&recording), expected, "{recording}");
        };
        let routes = Some("needs the route controller");
        check(json!({}), None);
        check(json!({ "cloudWithout": [] }), routes);
        check(json!({ "cloudWithout": null }), routes);
        check(json!({ "observed": { "cloud_calls": [{ "function": "ListRoutes" }] } }), routes);
    }
}
