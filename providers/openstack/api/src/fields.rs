//! Fields of objects, read one by one. A reader that the compiler writes for each type would be a fifth of the module.

use aerostat_sdk::http::{Request, Response};
use aerostat_sdk::{Error, Result};
use serde_json::Value;

use crate::lists::listed;

/// An object that is read field by field.
pub trait FromFields: Sized {
    /// Its value; `None` without what it cannot be without.
    fn from_fields(shown: &Value) -> Option<Self>;
}

/// All items of a list that the answer shows in `field`.
///
/// # Errors
///
/// As [`listed`], and for an item that is no `T`.
pub fn objects<T: FromFields>(request: &Request, field: &str) -> Result<Vec<T>> {
    listed(request, field)?.iter().map(|it| T::from_fields(it).ok_or_else(|| unread(field))).collect()
}

/// The object that an answer shows in `field`.
///
/// # Errors
///
/// If it is no `T`.
pub fn object<T: FromFields>(response: &Response, field: &str) -> Result<T> {
    let shown: Value = response.json_in(field)?;
    T::from_fields(&shown).ok_or_else(|| response.unreadable(&format_args!("its {field} lacks a field")))
}

fn unread(field: &str) -> Error {
    Error::unavailable(format_args!("an item of the list {field} lacks a field"))
}

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

/// A whole number.
#[must_use]
pub fn number<T: TryFrom<i64>>(shown: &Value, field: &str) -> Option<T> {
    shown[field].as_i64().and_then(|it| it.try_into().ok())
}

/// Texts; `None` where the field is not there. Null is a list without items.
#[inline(never)]
#[must_use]
pub fn texts(shown: &Value, field: &str) -> Option<Vec<String>> {
    let list = shown.get(field)?.as_array().map(Vec::as_slice).unwrap_or_default();
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The ids of the objects that a field names.
#[inline(never)]
#[must_use]
pub fn ids(shown: &Value, field: &str) -> Vec<String> {
    items(shown, field).iter().filter_map(|it| word(it, "id")).collect()
}

/// The items of a list; none where it is null or not there.
#[inline(never)]
#[must_use]
pub fn items<'v>(shown: &'v Value, field: &str) -> &'v [Value] {
    shown[field].as_array().map(Vec::as_slice).unwrap_or_default()
}
