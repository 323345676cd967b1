//! Parts of objects that are written as a whole: each is found by its name, and what is not named of it stays as it came.

use serde_json::{Value, json};

use crate::api::fields::{items, text};

/// The parts of an object: "probes".
pub(crate) fn parts<'v>(shown: &'v Value, kind: &str) -> &'v [Value] {
    items(&shown["properties"], &format!("/{kind}"))
}

/// A part by its name, in any case.
pub(crate) fn part<'v>(shown: &'v Value, kind: &str, name: &str) -> Option<&'v Value> {
    parts(shown, kind).iter().find(|it| text(it, "/name").eq_ignore_ascii_case(name))
}

/// The parts of an object, to be changed.
pub(crate) fn parts_mut<'v>(shown: &'v mut Value, kind: &str) -> &'v mut Vec<Value> {
    if !shown["properties"][kind].is_array() {
        shown["properties"][kind] = json!([]);
    }
    match &mut shown["properties"][kind] {
        Value::Array(parts) => parts,
        _ => unreachable!("it was made a list"),
    }
}

/// Takes parts away. A list that is not there stays so.
pub(crate) fn remove(shown: &mut Value, kind: &str, is_unwanted: impl Fn(&Value) -> bool) {
    if shown["properties"][kind].is_array() {
        parts_mut(shown, kind).retain(|it| !is_unwanted(it));
    }
}

/// Puts a part there: a new one as it is; of one with its name the properties that differ, and without those of `optional` that it
/// does not have.
pub(crate) fn put(shown: &mut Value, kind: &str, desired: Value, optional: &[&str]) {
    let name = text(&desired, "/name").to_owned();
    let parts = parts_mut(shown, kind);
    let Some(old) = parts.iter_mut().find(|it| text(it, "/name").eq_ignore_ascii_case(&name)) else {
        parts.push(desired);
        return;
    };
    for field in optional {
        if desired["properties"][*field].is_null()
            && let Some(properties) = old["properties"].as_object_mut()
        {
            properties.remove(*field);
        }
    }
    for (field, value) in desired["properties"].as_object().into_iter().flatten() {
        if !is_same(&old["properties"][&**field], value) {
            old["properties"][&**field] = value.clone();
        }
    }
}

/// Whether a value says the same as the desired one: texts in any case, references by their ids alone, and fields that are not
/// desired do not count.
pub(crate) fn is_same(old: &Value, desired: &Value) -> bool {
    match (old, desired) {
        (Value::String(old), Value::String(desired)) => old.eq_ignore_ascii_case(desired),
        (Value::Object(_), Value::Object(fields)) => match fields.get("id") {
            Some(id) => is_same(&old["id"], id),
            None => fields.iter().all(|(name, value)| is_same(&old[&**name], value)),
        },
        (Value::Array(old), Value::Array(desired)) => {
            old.len() == desired.len() && old.iter().zip(desired).all(|(old, desired)| is_same(old, desired))
        }
        (old, desired) => old == desired,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_and_equal_ones_stay() {
        let shown = json!({ "properties": { "probes": [
            { "name": "A", "etag": "7", "properties": { "port": 1, "protocol": "TCP", "requestPath": "/", "numberOfProbes": 1 } },
            { "name": "other" },
        ] } });
        let mut edited = shown.clone();
        put(&mut edited, "probes", json!({ "name": "a", "properties": { "port": 1, "protocol": "Tcp" } }), &[]);
        assert_eq!(edited, shown);
        put(
            &mut edited,
            "probes",
            json!({ "name": "a", "properties": { "port": 2, "protocol": "Tcp" } }),
            &["requestPath"],
        );
        let expected = json!({ "port": 2, "protocol": "TCP", "numberOfProbes": 1 });
        assert_eq!(part(&edited, "probes", "a").unwrap()["properties"], expected);
        remove(&mut edited, "probes", |it| it["name"] == "A");
        remove(&mut edited, "rules", |_| true);
        assert_eq!(edited, json!({ "properties": { "probes": [{ "name": "other" }] } }));
    }

    #[test]
    fn references_are_compared_by_ids() {
        assert!(is_same(&json!({ "id": "/A/b" }), &json!({ "id": "/a/B", "name": "b" })));
        assert!(
            !is_same(&json!({ "id": "/a" }), &json!({ "id": "/b" })) && !is_same(&Value::Null, &json!({ "id": "/b" }))
        );
        assert!(!is_same(&json!([1, 2]), &json!([1])));
    }
}
