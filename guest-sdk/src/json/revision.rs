//! A text that is another one whenever an object has changed.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Another text for each other value, in 16 hexadecimal digits: the revision of something that a list shows. The order of fields
/// and of list items makes no difference, nor does the compiler that built the provider.
///
/// ```
/// use aerostat_sdk::json::revision;
/// use serde_json::json;
///
/// let shown = revision(&json!({ "name": "a", "ports": [80, 443] }));
/// assert_eq!(shown, revision(&json!({ "ports": [443, 80], "name": "a" })));
/// assert_ne!(shown, revision(&json!({ "name": "a", "ports": [80] })));
/// ```
#[must_use]
pub fn revision(value: &Value) -> String {
    let digest = Sha256::digest(canonical(value));
    digest.iter().take(8).map(|it| format!("{it:02x}")).collect()
}

/// The JSON of a value, with the fields of objects and the items of lists in an order of their own.
fn canonical(value: &Value) -> String {
    let (open, close, mut parts): (_, _, Vec<_>) = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return value.to_string(),
        Value::Array(items) => ('[', ']', items.iter().map(canonical).collect()),
        Value::Object(fields) => {
            let field = |(name, value): (&String, _)| format!("{}:{}", Value::from(name.as_str()), canonical(value));
            ('{', '}', fields.iter().map(field).collect())
        }
    };
    parts.sort_unstable();
    format!("{open}{}{close}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_changes_changes_the_revision() {
        let shown = json!({ "id": 7, "ports": [1, 2], "tag": null, "is": false });
        for (field, value) in [
            ("id", json!("7")),
            ("ports", json!([1])),
            ("ports", json!([1, 1])),
            ("ports", json!([[1], 2])),
            ("tag", json!("")),
            ("is", json!(true)),
            ("new", json!(null)),
        ] {
            let mut changed = shown.clone();
            changed[field] = value;
            assert_ne!(revision(&changed), revision(&shown), "{field}");
        }
        assert_ne!(revision(&json!(["ab", "c"])), revision(&json!(["a", "bc"])));
    }

    /// Another text here means that each load balancer is asked about once after an update.
    #[test]
    fn a_revision_is_the_same_in_every_build() {
        let shown = json!({ "id": 7, "ports": [1, 2], "name": "a\"b", "tag": null, "nested": { "is": false } });
        assert_eq!(revision(&shown), "f6d845d528ec8418");
    }
}
