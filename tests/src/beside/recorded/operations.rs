//! IBM's and Alibaba's recordings: a file is a step, with whole requests and answers. At IBM a request has a path, at Alibaba an action.

use anyhow::Result;
use conformance::{RecordedContent, RecordedExchange};
use serde_json::{Map, Value, json};

use super::step::{VendorStep, asked, by_name, list, status, text, writes};
use crate::beside::comparison::ManagerState;

/// The beginnings of Alibaba's actions that change nothing.
const READING: [&str; 4] = ["Describe", "Get", "List", "Query"];

pub(super) fn steps(
    story: &str,
    step: &Value,
    exchange: impl Fn(&Value) -> Result<RecordedExchange>,
) -> Result<Vec<VendorStep>> {
    let exchanges = list(step, "requests")?.iter().map(exchange).collect::<Result<Vec<_>>>()?;
    let (mut services, mut nodes) = (Map::new(), Map::new());
    for (name, object) in step["left"].as_object().into_iter().flatten() {
        match name.split_once('/') {
            Some(("svc", name)) => services.insert(name.to_owned(), object.clone()),
            Some((_, name)) => nodes.insert(name.to_owned(), object.clone()),
            None => nodes.insert(name.clone(), object.clone()),
        };
    }
    let mut seen = json!({ "services": services, "nodes": nodes });
    if let Some(cloud) = step.get("cloud") {
        seen["cloud"] = by_name(cloud);
    }
    let asked = asked(&exchanges);
    Ok(vec![VendorStep {
        story: story.to_owned(),
        name: text(step, "step")?,
        given: Value::Null,
        change: None,
        result: None,
        exchanges,
        events: step["events"].clone(),
        state: ManagerState { seen, asked },
    }])
}

/// A request of IBM's.
pub(super) fn request(entry: &Value) -> Result<RecordedExchange> {
    let method = text(entry, "method")?;
    Ok(RecordedExchange {
        path: text(entry, "path")?,
        query: pairs(&entry["query"]),
        writes: writes(&method),
        method,
        body: content(entry, "body").or_else(|| content(entry, "form")),
        status: Some(status(entry)?),
        answer: content(entry, "answer"),
        ..RecordedExchange::default()
    })
}

/// A request of Alibaba's.
pub(super) fn action(entry: &Value) -> Result<RecordedExchange> {
    let action = text(entry, "action")?;
    Ok(RecordedExchange {
        endpoint: text(entry, "api")?,
        method: "POST".to_owned(),
        path: "/".to_owned(),
        query: pairs(&entry["params"]),
        writes: !READING.iter().any(|it| action.starts_with(it)),
        operation: Some(action),
        status: Some(status(entry)?),
        answer: content(entry, "answer"),
        ..RecordedExchange::default()
    })
}

fn pairs(value: &Value) -> Vec<(String, String)> {
    let pair = |(name, value): (&String, &Value)| {
        (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    value.as_object().into_iter().flatten().map(pair).collect()
}

fn content(entry: &Value, key: &str) -> Option<RecordedContent> {
    entry.get(key).filter(|it| !it.is_null()).cloned().map(RecordedContent::Json)
}
