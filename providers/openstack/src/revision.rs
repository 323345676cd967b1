//! A word that is another one whenever what a list shows has changed.
//!
//! The SDK's `json::revision` does the same with SHA-256, which would be a part of the module that nothing else needs: nobody gains
//! by two load balancers with one word.

use serde_json::Value;

/// Another word for each other value, in 16 hexadecimal digits, the same in every build. The order of fields and of list items makes no
/// difference.
pub(crate) fn revision(shown: &Value) -> String {
    format!("{:016x}", digest(shown))
}

fn digest(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().fold(1, |sum: u64, it| sum.wrapping_add(mixed(digest(it)))),
        Value::Object(fields) => {
            let field = |sum: u64, (name, it): (&String, &Value)| {
                sum.wrapping_add(mixed(hashed(name) ^ digest(it).rotate_left(17)))
            };
            fields.iter().fold(2, field)
        }
        other => hashed(&other.to_string()),
    }
}

/// FNV-1a.
fn hashed(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Spreads a sum's parts, so that what one loses another does not make up for.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_changes_changes_the_word() {
        let shown = json!({ "id": "a", "ports": [1, 2], "tag": null, "is": false });
        for (field, value) in [
            ("id", json!("b")),
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
        let swapped = json!({ "ports": [2, 1], "id": "a", "is": false, "tag": null });
        assert_eq!(revision(&swapped), revision(&shown));
        assert_ne!(revision(&json!({ "a": "b" })), revision(&json!({ "b": "a" })));
    }
}
