//! The subject of a recording, and whether aerostat can play it.

use serde_json::{Value, json};

/// Why a recording shows what cannot happen to aerostat, if it does: seen in its content, whatever its name.
pub(super) fn cannot_be_played(recording: &Value) -> Option<&'static str> {
    let has_routes = recording["cloudWithout"].as_array().is_none_or(|parts| !parts.contains(&json!("routes")));
    // Upstream's few recordings of routes are about nothing else.
    let is_cut = has_routes && recording["observed"]["final"].as_object().is_none_or(serde_json::Map::is_empty);
    if is_cut {
        return Some(
            "is cut to its beginning: the routes of 260 nodes are a test of their own, with a cloud that counts calls",
        );
    }
    let changes = recording["cloud"].as_array();
    let mut routes = changes.into_iter().flatten().filter_map(|it| it["routes"].as_array()).flatten();
    if routes.any(|it| it["enableNodeAddresses"] == true) {
        return Some("needs a cloud that stores the addresses of a node with its route: ours have next hops");
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
    fn the_subject_of_a_recording_is_seen_in_its_content() {
        let check = |change: Value, expected: Option<&str>| {
            let mut recording = json!({
                "cloudWithout": ["routes"],
                "given": [{ "object": { "kind": "Service" } }],
                "observed": { "final": { "Node n1": {} }, "cloud_calls": [{ "function": "InstanceExists" }] },
            });
            crate::state::merge(&mut recording, &change);
            assert_eq!(cannot_be_played(&recording), expected, "{recording}");
        };
        check(json!({}), None);
        check(json!({ "cloudWithout": [] }), None);
        let cut =
            "is cut to its beginning: the routes of 260 nodes are a test of their own, with a cloud that counts calls";
        check(json!({ "cloudWithout": null, "observed": { "final": null } }), Some(cut));
        let route = json!({ "destinationCIDR": "10.244.1.0/24", "enableNodeAddresses": true });
        let stored = "needs a cloud that stores the addresses of a node with its route: ours have next hops";
        check(json!({ "cloudWithout": [], "cloud": [{ "t": 0.1 }, { "routes": [route] }] }), Some(stored));
        let cloud = |service: Value| json!({ "cloud": [{ "t": 0.1 }, { "services": { "default/a": null, "default/b": service } }] });
        let no_status = Some("needs a cloud that answers without a status: with ours, every answer has one");
        check(cloud(json!({ "nullStatus": true })), no_status);
        check(cloud(json!({ "nullStatus": false })), None);
        check(cloud(json!({ "ingress": [] })), None);
    }
}
