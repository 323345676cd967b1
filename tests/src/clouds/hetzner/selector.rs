//! Label selectors, as lists of the service and targets of load balancers take them.

use std::collections::BTreeMap;

/// The labels of a resource.
pub type Labels = BTreeMap<String, String>;

/// The requirements on labels, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Has(String),
    Lacks(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl Selector {
    /// Reads a selector: `key`, `!key`, `key=value`, `key==value`, `key!=value`, `key in (a,b)` and `key notin (a,b)`, with commas between.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    pub(super) fn parse(text: &str) -> Result<Selector, String> {
        parts(text).into_iter().map(|it| requirement(it.trim())).collect::<Result<_, _>>().map(Selector)
    }

    pub(super) fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::Has(key) => labels.contains_key(key),
            Requirement::Lacks(key) => !labels.contains_key(key),
            Requirement::In(key, values) => labels.get(key).is_some_and(|it| values.contains(it)),
            Requirement::NotIn(key, values) => !labels.get(key).is_some_and(|it| values.contains(it)),
        })
    }
}

/// The text between commas that stand outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut inside = false;
    let separates = |letter: char| {
        inside = letter == '(' || (inside && letter != ')');
        letter == ',' && !inside
    };
    text.split(separates).collect()
}

fn requirement(text: &str) -> Result<Requirement, String> {
    let wrong = || format!("the label selector {text:?} is invalid");
    let one = |key: &str, value: &str| (key.trim().to_owned(), vec![value.trim().to_owned()]);
    let (requirement, key) = if let Some((key, value)) = text.split_once("!=") {
        let (key, values) = one(key, value);
        (Requirement::NotIn(key.clone(), values), key)
    } else if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        let (key, values) = one(key, value);
        (Requirement::In(key.clone(), values), key)
    } else if let Some((left, values)) = text.split_once('(') {
        let values = values.strip_suffix(')').ok_or_else(wrong)?;
        let values = values.split(',').map(|it| it.trim().to_owned()).collect();
        match left.trim().split_once(' ') {
            Some((key, word)) if word.trim() == "in" => (Requirement::In(key.to_owned(), values), key.to_owned()),
            Some((key, word)) if word.trim() == "notin" => (Requirement::NotIn(key.to_owned(), values), key.to_owned()),
            _ => return Err(wrong()),
        }
    } else if let Some(key) = text.strip_prefix('!') {
        (Requirement::Lacks(key.to_owned()), key.to_owned())
    } else {
        (Requirement::Has(text.to_owned()), text.to_owned())
    };
    if is_key(&key) { Ok(requirement) } else { Err(wrong()) }
}

/// Whether labels may be called so: a name, with or without a domain before it.
pub(super) fn is_key(key: &str) -> bool {
    let name = key.split_once('/').map_or(key, |(_, name)| name);
    !name.is_empty() && is_value(name) && key.len() <= 253 + 1 + 63
}

/// Whether labels may have this value.
pub(super) fn is_value(value: &str) -> bool {
    let ends = [value.bytes().next(), value.bytes().next_back()];
    value.is_empty()
        || value.len() <= 63
            && ends.into_iter().flatten().all(|it| it.is_ascii_alphanumeric())
            && value.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks whether a selector matches the labels `env=dev` and `example.com/tier=web`.
    #[track_caller]
    fn check(selector: &str, matches: bool) {
        let labels = [("env", "dev"), ("example.com/tier", "web")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        assert_eq!(Selector::parse(selector).unwrap().matches(&labels), matches, "{selector}");
    }

    #[test]
    fn labels_are_compared() {
        check("env=dev", true);
        check("env==dev,example.com/tier=web", true);
        check("env=prod", false);
        check("env!=dev", false);
        check("stage!=dev", true);
        check("env", true);
        check("!env", false);
        check("env in (prod, dev),!stage", true);
        check("env notin (prod,dev)", false);
    }

    #[test]
    fn nonsense_is_refused() {
        for wrong in ["", "env in dev", "env within (dev)", "-env", "env=dev,"] {
            assert!(Selector::parse(wrong).is_err(), "{wrong}");
        }
    }
}
