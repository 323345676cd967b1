//! A step of any vendor's recording, and how it is read out of JSON.

use anyhow::{Context as _, Result};
use conformance::RecordedExchange;
use serde_json::{Map, Value, json};

use crate::beside::asked::Asked;
use crate::beside::comparison::ManagerState;

/// A step of a vendor's manager.
#[derive(Clone, Debug)]
pub struct VendorStep {
    /// The file's name without its end: `basic`.
    pub story: String,
    /// The step's name: `create`.
    pub name: String,
    /// The circumstances of the story, where the file tells them: `nodes`, `config`, `services`.
    pub given: Value,
    /// The merge patch that began the step, if it was one.
    pub change: Option<Value>,
    /// The end of the step in the recorder's words: `ensured`, `failed`.
    pub result: Option<String>,
    /// The requests, in their order. A request that was repeated stands there as often.
    pub exchanges: Vec<RecordedExchange>,
    /// Events that are new in the step, as they were recorded.
    pub events: Value,
    /// `services` and `nodes` by name, and `cloud`, each where it was recorded; and all requests, also those that the file only counts.
    pub state: ManagerState,
}

/// Lists of objects as objects, by what names each: so differences between two are told by their place. A name that stands there twice
/// gets a number; a member of a pool is named with its port.
#[must_use]
pub fn by_name(value: &Value) -> Value {
    match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), by_name(value))).collect(),
        Value::Array(all) if !all.is_empty() && all.iter().all(Value::is_object) => {
            let mut named = Map::new();
            for value in all {
                let mut name = named_as(value);
                while named.contains_key(&name) {
                    name.push_str(" again");
                }
                named.insert(name, by_name(value));
            }
            named.into()
        }
        other => other.clone(),
    }
}

fn named_as(value: &Value) -> String {
    let text = |key: &str| value[key].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
    let name = ["name", "description", "id"].into_iter().find_map(text).unwrap_or_else(|| value.to_string());
    match (value["address"].as_str(), value["protocol_port"].as_u64()) {
        (Some(address), Some(port)) => format!("{name} {address}:{port}"),
        (_, _) => name,
    }
}

/// All requests, by their method and path.
pub(super) fn asked(exchanges: &[RecordedExchange]) -> Asked {
    Asked::of(exchanges.iter().map(|exchange| {
        let RecordedExchange { endpoint, method, path, writes, operation, .. } = exchange;
        let action = operation.clone().unwrap_or_else(|| format!("{method} {path}"));
        (format!("{endpoint} {action}").trim_start().to_owned(), *writes)
    }))
}

/// Services or nodes by their names; a list of lines stays one.
pub(super) fn all_by_name(value: &Value) -> Value {
    if value.is_null() { json!({}) } else { by_name(value) }
}

pub(super) fn text(value: &Value, key: &str) -> Result<String> {
    value[key].as_str().map(str::to_owned).with_context(|| format!("there is no text {key:?} in {value}"))
}

pub(super) fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("there is no list {key:?}"))
}

pub(super) fn status(value: &Value) -> Result<u16> {
    let status = value["status"].as_u64().with_context(|| format!("there is no status in {value}"))?;
    Ok(u16::try_from(status)?)
}

pub(super) fn writes(method: &str) -> bool {
    !matches!(method, "GET" | "HEAD")
}
