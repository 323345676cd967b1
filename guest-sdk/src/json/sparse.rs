//! Objects in which a zero value means that the field is not set, as clients in Go read it with `omitempty`.

use serde_json::Value;

/// The same JSON without fields that are `null`, `""` or `0`, at any depth. Elements of lists stay.
///
/// ```
/// use aerostat_sdk::json::sparse;
/// use serde_json::json;
///
/// let shown = json!({ "id": "lb-1", "tag": "", "check": { "port": 0, "path": null, "proxy": false }, "ports": [0, 80] });
/// assert_eq!(sparse(shown), json!({ "id": "lb-1", "check": { "proxy": false }, "ports": [0, 80] }));
/// ```
#[must_use]
pub fn sparse(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, it)| !is_zero(it));
            Value::Object(fields.map(|(name, it)| (name, sparse(it))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sparse).collect()),
        other => other,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}
