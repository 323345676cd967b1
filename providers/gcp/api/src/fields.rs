//! Fields of objects, read one by one. A reader that the compiler writes for each type would be a fifth of the module.

use serde_json::Value;

/// A text; empty where it is null or not there.
#[inline(never)]
#[must_use]
pub fn text(shown: &Value, field: &str) -> String {
    shown[field].as_str().unwrap_or_default().to_owned()
}

/// A text; `None` where it is null, empty or not there.
#[inline(never)]
#[must_use]
pub fn word(shown: &Value, field: &str) -> Option<String> {
    shown[field].as_str().filter(|it| !it.is_empty()).map(str::to_owned)
}

/// The items of a list; none where it is null or not there.
#[inline(never)]
#[must_use]
pub fn items<'v>(shown: &'v Value, field: &str) -> &'v [Value] {
    shown[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A reference from `projects/` on: what stands before it differs from answer to answer.
#[must_use]
pub fn from_project(url: &str) -> String {
    url.find("projects/").map_or(url, |at| &url[at..]).to_owned()
}

/// The last part of a reference.
#[must_use]
pub fn last_of_url(url: &str) -> String {
    crate::last_of(url).to_owned()
}
