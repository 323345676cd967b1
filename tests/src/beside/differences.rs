//! How two accounts of what there is differ.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

/// One place at which they differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Difference {
    /// Where, with slashes: `services/web/finalizers`.
    pub at: String,
    /// The value that the vendor's manager leaves there. Absent: none.
    pub theirs: Option<String>,
    /// The value that ours leaves there. Absent: none.
    pub ours: Option<String>,
}

/// `services/web/finalizers: "theirs" → "ours"`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(f, "{}: {} → {}", self.at, shown(&self.theirs), shown(&self.ours))
    }
}

/// All places at which they differ. Lists of texts have no order.
#[must_use]
pub fn differences(theirs: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare("", Some(theirs), Some(ours), &mut found);
    found
}

fn compare(at: &str, theirs: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Difference>) {
    match (theirs, ours) {
        (Some(theirs), Some(ours)) if theirs == ours => {}
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let keys: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for key in keys {
                let at = if at.is_empty() { key.clone() } else { format!("{at}/{key}") };
                compare(&at, left.get(key), right.get(key), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if are_texts(left) && are_texts(right) => {
            let only = |of: &[Value], other: &[Value]| -> Vec<String> {
                of.iter().filter(|it| !other.contains(it)).map(ToString::to_string).collect()
            };
            let at = format!("{at}/*");
            let (missing, more) = (only(left, right), only(right, left));
            if missing.is_empty() && more.is_empty() && left.len() != right.len() {
                // The same texts, but not so often.
                found.push(Difference {
                    at,
                    theirs: Some(left.len().to_string()),
                    ours: Some(right.len().to_string()),
                });
                return;
            }
            found.extend(missing.into_iter().map(|it| Difference { at: at.clone(), theirs: Some(it), ours: None }));
            found.extend(more.into_iter().map(|it| Difference { at: at.clone(), theirs: None, ours: Some(it) }));
        }
        (theirs, ours) => {
            let shown = |value: Option<&Value>| value.map(ToString::to_string);
            found.push(Difference { at: at.to_owned(), theirs: shown(theirs), ours: shown(ours) });
        }
    }
}

fn are_texts(list: &[Value]) -> bool {
    list.iter().all(Value::is_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(theirs: &Value, ours: &Value) -> Vec<String> {
        differences(theirs, ours).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_values_have_no_differences() {
        let value = json!({ "a": ["x", "y"], "b": { "c": 1 } });
        assert_eq!(lines(&value, &value), [""; 0]);
        assert_eq!(lines(&value, &json!({ "a": ["y", "x"], "b": { "c": 1 } })), [""; 0], "texts have no order");
    }

    #[test]
    fn every_place_is_told_that_differs() {
        let theirs = json!({ "a": ["x", "y"], "b": { "c": 1, "d": null }, "e": [{ "f": 1 }], "g": ["x", "x"] });
        let ours = json!({ "a": ["y", "z"], "b": { "c": 2 }, "e": [{ "f": 2 }], "g": ["x"] });
        let expected = [
            "a/*: \"x\" → nothing",
            "a/*: nothing → \"z\"",
            "b/c: 1 → 2",
            "b/d: null → nothing",
            "e: [{\"f\":1}] → [{\"f\":2}]",
            "g/*: 2 → 1",
        ];
        assert_eq!(lines(&theirs, &ours), expected);
    }
}
