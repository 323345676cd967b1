//! A text that is another one whenever an object has changed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

/// Another text for each other value, in 16 hexadecimal digits: the revision of something that a list shows. The order of fields
/// and of list items makes no difference. With another release of a provider it may be another one.
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
    format!("{:016x}", hash(value))
}

/// Each kind of value is another one.
fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0_u8.hash(&mut hasher),
        Value::Bool(it) => (1_u8, it).hash(&mut hasher),
        Value::Number(it) => (2_u8, it.to_string()).hash(&mut hasher),
        Value::String(it) => (3_u8, it).hash(&mut hasher),
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(hash).collect();
            items.sort_unstable();
            (4_u8, items).hash(&mut hasher);
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(name, value)| (name, hash(value))).collect();
            fields.sort_unstable();
            (5_u8, fields).hash(&mut hasher);
        }
    }
    hasher.finish()
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
}
