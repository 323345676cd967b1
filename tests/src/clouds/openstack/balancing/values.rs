//! Values that Octavia refuses, and how it writes those that it takes.

use ipnet::IpNet;
use serde_json::{Value, json};

use crate::clouds::openstack::errors::{self, Refused};

/// How traffic is spread.
pub(super) const METHODS: [&str; 4] = ["LEAST_CONNECTIONS", "ROUND_ROBIN", "SOURCE_IP", "SOURCE_IP_PORT"];

/// A whole number between these, if there is one.
pub(super) fn number(object: &Value, key: &str, (least, most): (i64, i64)) -> Result<(), Refused> {
    let Some(value) = object[key].as_i64() else { return Ok(()) };
    if value < least {
        return Err(errors::octavia_field(
            key,
            &value.to_string(),
            &format!("Value should be greater or equal to {least}"),
        ));
    }
    if value > most {
        return Err(errors::octavia_field(
            key,
            &value.to_string(),
            &format!("Value should be lower or equal to {most}"),
        ));
    }
    Ok(())
}

/// One of these words, if there is one.
pub(super) fn word(object: &Value, key: &str, words: &[&str]) -> Result<(), Refused> {
    match object[key].as_str() {
        Some(value) if !words.contains(&value) => {
            Err(errors::octavia_field(key, value, &format!("Value should be one of: {}", words.join(", "))))
        }
        _ => Ok(()),
    }
}

/// Networks, each once and without host bits.
///
/// # Errors
///
/// Fails at what is no network.
pub(super) fn networks(value: &Value) -> Result<Value, Refused> {
    let mut all: Vec<Value> = Vec::new();
    for network in value.as_array().into_iter().flatten() {
        let text = network.as_str().unwrap_or_default();
        let parsed: IpNet = text
            .parse()
            .map_err(|_| errors::octavia_field("allowed_cidrs", text, "Value should be IPv4 or IPv6 CIDR format"))?;
        let written = json!(parsed.trunc().to_string());
        if !all.contains(&written) {
            all.push(written);
        }
    }
    Ok(if all.is_empty() { Value::Null } else { Value::Array(all) })
}

/// The given fields of a request's object, those that name its place left out.
pub(super) fn fields(object: &Value, without: &[&str]) -> Vec<(String, Value)> {
    let all = object.as_object().into_iter().flatten();
    all.filter(|(key, _)| !without.contains(&key.as_str())).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// An object with defaults, over which the given fields are written.
pub(super) fn over(mut defaults: Value, fields: Vec<(String, Value)>) -> Value {
    for (key, value) in fields {
        if !value.is_null() {
            defaults[key] = value;
        }
    }
    defaults
}
