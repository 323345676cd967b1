//! Objects compared with what they should be: lists without order, references from `projects/` on.

use serde_json::Value;

use crate::api::fields::from_project;

/// Whether a field of `wanted` is another one in `shown`. The fields that `shown` has beside them make no difference.
pub(super) fn differs(wanted: &Value, shown: &Value) -> bool {
    wanted.as_object().into_iter().flatten().any(|(field, value)| {
        let is_ignored = matches!(&**field, "name" | "network" | "labels");
        !is_ignored && !is_same(value, &shown[&**field])
    })
}

fn is_same(wanted: &Value, shown: &Value) -> bool {
    match wanted {
        // A backend is its group: balancing modes and capacities are not wanted.
        Value::Object(fields) if fields.contains_key("group") => is_same(&fields["group"], &shown["group"]),
        Value::Object(fields) => fields.iter().all(|(field, it)| is_same(it, &shown[&**field])),
        Value::Array(all) => {
            let others = shown.as_array().map(Vec::as_slice).unwrap_or_default();
            all.len() == others.len() && all.iter().all(|it| others.iter().any(|other| is_same(it, other)))
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => plain(wanted) == plain(shown),
    }
}

/// A value in the one form in which it is compared.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains("projects/") => from_project(text),
        Value::String(text) => text.to_lowercase(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_spelling_and_further_fields_make_no_difference() {
        let wanted = json!({
            "name": "a", "IPProtocol": "TCP", "ports": ["80", "443"], "target": "projects/p/x",
            "backends": [{ "group": "projects/p/g" }], "allowed": [{ "IPProtocol": "tcp", "ports": ["80"] }],
        });
        let mut shown = json!({
            "name": "b", "IPProtocol": "tcp", "ports": ["443", "80"], "target": "https://host/compute/v1/projects/p/x", "more": 1,
            "backends": [{ "group": "https://x/projects/p/g", "balancingMode": "CONNECTION" }],
            "allowed": [{ "ports": ["80"], "IPProtocol": "TCP" }],
        });
        assert!(!differs(&wanted, &shown));
        shown["ports"] = json!(["80"]);
        assert!(differs(&wanted, &shown));
        let check = json!({ "type": "HTTP", "httpHealthCheck": { "port": 10256, "requestPath": "/healthz" } });
        let mut shown = check.clone();
        shown["httpHealthCheck"]["proxyHeader"] = json!("NONE");
        assert!(!differs(&check, &shown), "the API adds fields within fields");
        shown["httpHealthCheck"]["port"] = json!(1);
        assert!(differs(&check, &shown));
    }
}
