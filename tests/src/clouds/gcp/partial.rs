//! Partial answers: the fields that a request asks for.

use serde_json::{Map, Value};

use super::errors::{self, Refusal};

/// The wanted fields of an object: by name, or of all names with `*`. Without any the whole value is wanted.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Fields(Vec<(String, Fields)>);

impl Fields {
    /// Reads `a,b(c,d),e/f,items/*/name`.
    pub(super) fn parse(text: &str) -> Result<Fields, Refusal> {
        let mut rest = text;
        let fields = list(&mut rest).filter(|_| rest.is_empty());
        fields.ok_or_else(|| errors::invalid_parameter(&format!("Invalid field selection {text}")))
    }

    /// The value with what is wanted of it: of a list, of each of its elements.
    pub(super) fn of(&self, value: &Value) -> Value {
        match value {
            _ if self.0.is_empty() => value.clone(),
            Value::Array(all) => all.iter().map(|it| self.of(it)).collect(),
            Value::Object(all) => {
                let mut kept = Map::new();
                for (name, value) in all {
                    let mut wanted = self.0.iter().filter(|(it, _)| it == name || it == "*").map(|(_, it)| it);
                    let Some(first) = wanted.next() else { continue };
                    let mut shown = first.of(value);
                    for more in wanted {
                        merge(&mut shown, more.of(value));
                    }
                    kept.insert(name.clone(), shown);
                }
                Value::Object(kept)
            }
            _ => value.clone(),
        }
    }
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (name, value) in more {
                match into.get_mut(&name) {
                    Some(there) => merge(there, value),
                    None => _ = into.insert(name, value),
                }
            }
        }
        (Value::Array(into), Value::Array(more)) => into.iter_mut().zip(more).for_each(|(it, more)| merge(it, more)),
        (into, more) => *into = more,
    }
}

fn list(rest: &mut &str) -> Option<Fields> {
    let mut fields = Vec::new();
    loop {
        fields.push(one(rest)?);
        match rest.strip_prefix(',') {
            Some(after) => *rest = after,
            None => return Some(Fields(fields)),
        }
    }
}

fn one(rest: &mut &str) -> Option<(String, Fields)> {
    let end = rest.find([',', '(', ')', '/']).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if name.is_empty() || !name.chars().all(|it| it.is_ascii_alphanumeric() || it == '*') {
        return None;
    }
    *rest = after;
    let inner = if let Some(after) = rest.strip_prefix('/') {
        *rest = after;
        Fields(vec![one(rest)?])
    } else if let Some(after) = rest.strip_prefix('(') {
        *rest = after;
        let inner = list(rest)?;
        *rest = rest.strip_prefix(')')?;
        inner
    } else {
        Fields::default()
    };
    Some((name.to_owned(), inner))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn partial_answers_hold_what_is_asked_for() {
        let page = json!({
            "kind": "list", "nextPageToken": "t",
            "items": {
                "zones/a": { "instances": [{ "name": "n", "id": "1", "tags": { "items": ["x"], "fingerprint": "f" } }] },
                "zones/b": { "warning": { "code": "NO_RESULTS_ON_PAGE", "message": "m", "data": [] } },
            },
        });
        for (fields, kept) in [
            ("kind", json!({ "kind": "list" })),
            ("none", json!({})),
            (
                "nextPageToken,items/*/instances(name,tags/items)",
                json!({ "nextPageToken": "t", "items": {
                    "zones/a": { "instances": [{ "name": "n", "tags": { "items": ["x"] } }] }, "zones/b": {},
                } }),
            ),
            (
                "items/*/warning(code,message),items/*/instances(id)",
                json!({ "items": {
                    "zones/a": { "instances": [{ "id": "1" }] },
                    "zones/b": { "warning": { "code": "NO_RESULTS_ON_PAGE", "message": "m" } },
                } }),
            ),
        ] {
            assert_eq!(Fields::parse(fields).unwrap().of(&page), kept, "{fields}");
        }
    }

    #[test]
    fn selections_that_are_none_are_refused() {
        for fields in ["", "a,", "a(b", "a)", "a//b", "a b", "(a)"] {
            assert!(Fields::parse(fields).is_err(), "{fields}");
        }
    }
}
