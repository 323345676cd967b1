//! Values of requests, read and judged.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::simulator::Recorded;

use super::errors::{Refused, bad_field, refused};

/// The text under a key: empty where there is none.
pub(super) fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_default()
}

/// The body of a request: an object.
pub(super) fn parsed(request: &Recorded) -> Result<Value, Refused> {
    let body: Option<Value> = serde_json::from_slice(&request.body).ok();
    body.filter(Value::is_object).ok_or_else(|| refused(400, "bad_request", "The body is no JSON object"))
}

/// A name: lower-case letters, digits and dashes, with a letter first.
pub(super) fn name(field: &str, text: &str) -> Result<String, Refused> {
    let is_part = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
    let is_name = text.bytes().next().is_some_and(|it| it.is_ascii_lowercase()) && text.bytes().all(is_part);
    match is_name && text.len() <= 63 && !text.ends_with('-') {
        true => Ok(text.to_owned()),
        false => Err(bad_field(field, &format!("{text:?} is no name"))),
    }
}

/// A number between these.
pub(super) fn number(body: &Value, field: &str, least: u64, most: u64) -> Result<u64, Refused> {
    let number = body[field].as_u64().filter(|it| (least..=most).contains(it));
    number.ok_or_else(|| bad_field(field, &format!("{} is not between {least} and {most}", body[field])))
}

/// One of these words.
pub(super) fn word(body: &Value, field: &str, words: &[&str]) -> Result<(), Refused> {
    match words.contains(&text(body, field)) {
        true => Ok(()),
        false => Err(bad_field(field, &format!("{} is none of {}", body[field], words.join(", ")))),
    }
}

/// An address of IPv4.
pub(super) fn is_address(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok_and(|it| !it.is_unspecified())
}

/// The items under a key: none where there is no list.
pub(super) fn list<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body[key].as_array().map(Vec::as_slice).unwrap_or_default()
}
