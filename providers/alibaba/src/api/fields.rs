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
