//! Fields of objects, read one by one.

use serde_json::Value;

/// A text; empty where it is null or not there.
#[inline(never)]
pub(crate) fn text(shown: &Value, field: &str) -> String {
    shown[field].as_str().unwrap_or_default().to_owned()
}

/// The items of a list in its wrapper: `Instances.Instance`. None where it is null or not there.
#[inline(never)]
pub(crate) fn items<'v>(shown: &'v Value, wrapper: &str, field: &str) -> &'v [Value] {
    shown[wrapper][field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of such a list that are not empty.
#[inline(never)]
pub(crate) fn texts(shown: &Value, wrapper: &str, field: &str) -> Vec<String> {
    let texts = items(shown, wrapper, field).iter().filter_map(Value::as_str);
    texts.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// The items of a list without a wrapper. None where it is null or not there.
#[inline(never)]
pub(crate) fn list<'v>(shown: &'v Value, field: &str) -> &'v [Value] {
    shown[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of such a list.
pub(crate) fn words(shown: &Value, field: &str) -> Vec<String> {
    list(shown, field).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A value as requests write it; `None` where it is none of a parameter.
pub(crate) fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The tags of an object. A list and an attribute spell them in their own ways.
pub(crate) fn tags(shown: &Value) -> Vec<(String, String)> {
    tags_in(list(shown, "Tags"))
}

/// The tags of an object, in their wrapper.
pub(crate) fn wrapped_tags(shown: &Value) -> Vec<(String, String)> {
    tags_in(items(shown, "Tags", "Tag"))
}

fn tags_in(tags: &[Value]) -> Vec<(String, String)> {
    let either = |tag: &Value, first: &str, second: &str| {
        let text = text(tag, first);
        if text.is_empty() { self::text(tag, second) } else { text }
    };
    tags.iter().map(|it| (either(it, "TagKey", "Key"), either(it, "TagValue", "Value"))).collect()
}

/// The pairs of a list of texts: `JobIds.1`, `JobIds.2`.
#[inline(never)]
pub(crate) fn counted<'v>(list: &str, values: &[&'v str]) -> Vec<(String, &'v str)> {
    (1..).zip(values).map(|(number, value): (usize, _)| (format!("{list}.{number}"), *value)).collect()
}

/// The texts that are not among others.
#[inline(never)]
pub(crate) fn without(all: &[String], others: &[String]) -> Vec<String> {
    all.iter().filter(|it| !others.contains(it)).cloned().collect()
}

/// The pairs of tags: `Tag.1.Key`, `Tag.1.Value`, `Tag.2.Key`.
#[inline(never)]
pub(crate) fn tag_list<'t>(tags: &[(&'t str, &'t str)]) -> Vec<(String, &'t str)> {
    numbered("Tag", tags.iter().map(|(key, value)| [("Key", *key), ("Value", *value)]))
}

/// Pairs as a request takes them.
#[inline(never)]
pub(crate) fn borrowed<'p>(pairs: &'p [(String, &'p str)]) -> Vec<(&'p str, &'p str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

/// The same of pairs that own their values.
#[inline(never)]
pub(crate) fn borrowed_words(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// The pairs of a list's items: `Tag.1.Key`, `Tag.1.Value`, `Tag.2.Key`.
pub(crate) fn numbered<'n, V>(
    list: &str,
    items: impl Iterator<Item = impl IntoIterator<Item = (&'n str, V)>>,
) -> Vec<(String, V)> {
    let item = |(number, item): (usize, _)| -> Vec<(String, V)> { pairs_of(list, number, item) };
    (1..).zip(items).flat_map(item).collect()
}

fn pairs_of<'n, V>(list: &str, number: usize, item: impl IntoIterator<Item = (&'n str, V)>) -> Vec<(String, V)> {
    item.into_iter().map(|(part, value)| (format!("{list}.{number}.{part}"), value)).collect()
}
