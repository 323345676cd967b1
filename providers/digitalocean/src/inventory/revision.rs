//! A text that is another one whenever a load balancer is shown otherwise.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// Of one load balancer as a list shows it, whatever the order of its fields, rules and targets.
///
/// The API shows no health and no traffic; everything that it shows is what somebody has set, or where it is reached. With
/// another release of this provider it may be another one: then each load balancer is looked at once.
pub(super) fn of(shown: &Value) -> String {
    let mut shown = shown.clone();
    // What else a region has, its sizes say, is not the load balancer's.
    if let Some(region) = shown.get_mut("region") {
        *region = region["slug"].take();
    }
    format!("{:016x}", hash(&shown))
}

/// Each kind of value is another one.
fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 'n'.hash(&mut hasher),
        Value::Bool(it) => ('b', it).hash(&mut hasher),
        Value::Number(it) => ('d', it.to_string()).hash(&mut hasher),
        Value::String(it) => ('s', it).hash(&mut hasher),
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(hash).collect();
            items.sort_unstable();
            ('a', items).hash(&mut hasher);
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(name, value)| (name, hash(value))).collect();
            fields.sort_unstable();
            ('o', fields).hash(&mut hasher);
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
        let shown =
            json!({ "id": "4de7", "name": "a0", "ip": "192.0.2.1", "droplet_ids": [1, 2], "tag": null, "x": false });
        let revision = of(&shown);
        let other_order =
            json!({ "x": false, "tag": null, "droplet_ids": [2, 1], "ip": "192.0.2.1", "name": "a0", "id": "4de7" });
        assert_eq!(of(&other_order), revision);
        for (field, value) in [
            ("ip", json!("192.0.2.2")),
            ("droplet_ids", json!([1])),
            ("droplet_ids", json!([1, 1])),
            ("droplet_ids", json!([1, 2, 3])),
            ("droplet_ids", json!(["1", 2])),
            ("tag", json!("")),
            ("x", json!(true)),
            ("new", json!(null)),
        ] {
            let mut changed = shown.clone();
            changed[field] = value;
            assert_ne!(of(&changed), revision, "{field}");
        }
        let of_region = |region: Value| of(&json!({ "id": "4de7", "region": region }));
        assert_eq!(
            of_region(json!({ "slug": "nyc3", "sizes": ["s"] })),
            of_region(json!({ "slug": "nyc3", "sizes": [] }))
        );
        assert_ne!(of_region(json!({ "slug": "nyc3" })), of_region(json!({ "slug": "fra1" })));
        assert_ne!(of(&json!(["ab", "c"])), of(&json!(["a", "bc"])));
    }
}
