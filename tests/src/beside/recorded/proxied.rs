//! OpenStack's recordings, made by a proxy before each service: a file is a story, and its steps have traces.

use anyhow::{Context as _, Result};
use conformance::{RecordedContent, RecordedExchange};
use serde_json::{Map, Value, json};

use super::step::{VendorStep, all_by_name, by_name, list, status, text, writes};
use crate::beside::asked::Asked;
use crate::beside::comparison::ManagerState;

pub(super) fn steps(story: &str, file: &Value) -> Result<Vec<VendorStep>> {
    let services = match &file["services"] {
        Value::Null if file["service"].is_null() => json!([]),
        Value::Null => json!([file["service"]]),
        several => several.clone(),
    };
    let given = json!({ "nodes": file["nodes"], "config": file["config"], "services": services });
    list(file, "steps")?.iter().map(|it| step(story, &given, it)).collect()
}

fn step(story: &str, given: &Value, step: &Value) -> Result<VendorStep> {
    let name = text(step, "step")?;
    let mut exchanges = Vec::new();
    // A step that only tells something has no trace.
    for entry in step["trace"].as_array().into_iter().flatten() {
        let times = entry["times"].as_u64().unwrap_or(1);
        let exchange = exchange(entry).with_context(|| name.clone())?;
        exchanges.extend((0..times).map(|_| exchange.clone()));
    }
    let counts = step["counts"].as_object().into_iter().flatten();
    let counted = counts.map(|(action, times)| {
        let method = action.split(' ').nth(1).unwrap_or_default();
        (action.clone(), writes(method), times.as_u64().unwrap_or_default() as usize)
    });
    let mut seen = Map::new();
    if let Some(service) = step.get("service").filter(|it| !it.is_null()) {
        let of = given["services"][0]["metadata"]["name"].as_str().unwrap_or(story);
        seen.insert("services".to_owned(), json!({ of: service }));
    }
    for key in ["services", "nodes"] {
        if let Some(all) = step.get(key) {
            seen.insert(key.to_owned(), all_by_name(all));
        }
    }
    for key in ["cloud", "network", "node"] {
        if let Some(value) = step.get(key) {
            seen.insert(key.to_owned(), by_name(value));
        }
    }
    Ok(VendorStep {
        story: story.to_owned(),
        name,
        given: given.clone(),
        change: step.get("change").cloned(),
        result: step["result"].as_str().map(str::to_owned),
        exchanges,
        events: step["events"].clone(),
        state: ManagerState { seen: seen.into(), asked: Asked::counted(counted) },
    })
}

fn exchange(entry: &Value) -> Result<RecordedExchange> {
    let method = text(entry, "method")?;
    // Names with angle brackets stand in it for what is made up, and nothing is escaped.
    let query = entry["query"].as_str().into_iter().flat_map(|it| it.split('&'));
    let query = query.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let content = |key: &str| entry.get(key).filter(|it| !it.is_null()).cloned().map(RecordedContent::Json);
    Ok(RecordedExchange {
        endpoint: text(entry, "api")?,
        path: text(entry, "path")?,
        query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        writes: writes(&method),
        method,
        body: content("body"),
        status: Some(status(entry)?),
        answer: content("answer"),
        ..RecordedExchange::default()
    })
}
