//! What a recording is about.

use serde_json::{Value, json};

const LIFECYCLE: &str = "cloud-node-lifecycle-controller";

/// Why a recording shows other controllers than the one for nodes, if it does: seen in its content, whatever its name.
pub(super) fn not_about_nodes(recording: &Value) -> Option<&'static str> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let observed = &recording["observed"];
    let given = list(&recording["given"]);
    let cloud = list(&recording["cloud"]);
    let functions: Vec<_> = list(&observed["cloud_calls"]).iter().map(|it| it["function"].to_string()).collect();
    let asked = |word: &str| functions.iter().any(|function| function.contains(word));

    if given.iter().any(|it| it["object"]["kind"] == "Service") || asked("LoadBalancer") {
        return Some("needs the service controller");
    }
    if asked("Route") || !list(&recording["cloudWithout"]).contains(&json!("routes")) {
        return Some("needs the route controller");
    }
    // The lifecycle controller asks about every node that is not Ready. That is only by the way unless there is
    // something to find, or something was done about it.
    let nodes = cloud.iter().filter_map(|it| it["nodes"].as_object()).flat_map(|it| it.values());
    let mut found = nodes.filter_map(Value::as_object).flat_map(|it| it.iter()).filter(|(key, value)| {
        matches!((key.as_str(), value), ("exists", Value::Bool(false)) | ("shutdown", Value::Bool(true)))
            || matches!(key.as_str(), "existsError" | "shutdownError")
    });
    let requests = list(&observed["requests"]);
    let deleted = requests.iter().any(|it| it["resource"] == "nodes" && it["verb"] == "delete");
    let tainted = requests.iter().any(|it| it["patch"]["spec"]["taints"].is_array());
    let told = list(&observed["events"]).iter().any(|it| it["source"]["component"] == LIFECYCLE);
    if deleted || tainted || told || (found.next().is_some() && (asked("InstanceExists") || asked("InstanceShutdown")))
    {
        return Some("needs the node lifecycle controller");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_recording_is_about_is_seen_in_its_content() {
        let check = |change: Value, expected: Option<&str>| {
            let mut recording = json!({
                "cloudWithout": ["routes"],
                "given": [{ "object": { "kind": "Node" } }],
                "cloud": [{ "nodes": { "n1": { "exists": true } } }],
                "observed": { "cloud_calls": [{ "function": "InstanceMetadata" }, { "function": "InstanceExists" }] },
            });
            crate::state::merge(&mut recording, &change);
            assert_eq!(not_about_nodes(&recording), expected, "{recording}");
        };
        check(json!({}), None);
        check(json!({ "given": [{ "object": { "kind": "Service" } }] }), Some("needs the service controller"));
        check(json!({ "cloudWithout": [] }), Some("needs the route controller"));
        let lifecycle = Some("needs the node lifecycle controller");
        check(json!({ "cloud": [{ "nodes": { "n1": { "exists": false } } }] }), lifecycle);
        check(json!({ "cloud": [{ "nodes": { "n1": { "existsError": {} } } }] }), lifecycle);
        check(json!({ "observed": { "requests": [{ "resource": "nodes", "verb": "delete" }] } }), lifecycle);
        // Nobody asked: it shows nothing.
        check(
            json!({ "cloud": [{ "nodes": { "n1": { "exists": false } } }], "observed": { "cloud_calls": [] } }),
            None,
        );
    }
}
