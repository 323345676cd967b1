//! Fields of objects, read one by one. A reader that the compiler writes for each type would be a fifth of the module.

use serde_json::Value;

/// A text; empty where it is null or not there.
#[inline(never)]
pub(crate) fn text<'v>(shown: &'v Value, place: &str) -> &'v str {
    shown.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// A text; `None` where it is null, empty or not there.
#[inline(never)]
pub(crate) fn word<'v>(shown: &'v Value, place: &str) -> Option<&'v str> {
    shown.pointer(place).and_then(Value::as_str).filter(|it| !it.is_empty())
}

/// The items of a list; none where it is null or not there.
#[inline(never)]
pub(crate) fn items<'v>(shown: &'v Value, place: &str) -> &'v [Value] {
    shown.pointer(place).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list.
pub(crate) fn words<'v>(shown: &'v Value, place: &str) -> impl Iterator<Item = &'v str> {
    items(shown, place).iter().filter_map(Value::as_str)
}

/// A tag, in any case: names of tags have none.
pub(crate) fn tag<'v>(shown: &'v Value, name: &str) -> Option<&'v str> {
    let mut tags = shown["tags"].as_object().into_iter().flatten();
    tags.find(|(it, _)| it.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.as_str())
}
