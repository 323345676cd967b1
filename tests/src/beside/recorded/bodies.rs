//! Azure's and Google's recordings: a file is a step, a read a line, and a write has its body.

use anyhow::{Context as _, Result, bail};
use conformance::{RecordedContent, RecordedExchange};
use serde_json::{Value, json};

use super::step::{VendorStep, all_by_name, asked, by_name, list, status, text, writes};
use crate::beside::comparison::ManagerState;

pub(super) fn steps(story: &str, step: &Value) -> Result<Vec<VendorStep>> {
    let exchanges = list(step, "requests")?.iter().map(exchange).collect::<Result<Vec<_>>>()?;
    let seen = json!({
        "services": all_by_name(&step["services"]),
        "nodes": all_by_name(&step["nodes"]),
        "cloud": by_name(&step["cloud"]),
    });
    let asked = asked(&exchanges);
    Ok(vec![VendorStep {
        story: story.to_owned(),
        name: format!("{}/{}", text(step, "part")?, text(step, "step")?),
        given: Value::Null,
        change: None,
        result: None,
        exchanges,
        events: step["events"].clone(),
        state: ManagerState { seen, asked },
    }])
}

fn exchange(request: &Value) -> Result<RecordedExchange> {
    let (ask, status) = match request {
        Value::String(line) => {
            let (ask, status) = line.rsplit_once(" -> ").with_context(|| format!("{line:?} tells no status"))?;
            (ask.to_owned(), status.parse().with_context(|| format!("{line:?} tells no status"))?)
        }
        Value::Object(_) => (text(request, "ask")?, status(request)?),
        other => bail!("{other} is no request"),
    };
    let (method, rest) = ask.split_once(' ').with_context(|| format!("{ask:?} has no path"))?;
    // `{"resource": "…"}` behind the path is the query.
    let (path, query) = match rest.split_once(" {") {
        Some((path, query)) => (path, serde_json::from_str(&format!("{{{query}")).with_context(|| ask.clone())?),
        None => (rest, Value::Null),
    };
    let pair = |(name, value): (&String, &Value)| {
        (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let mut query: Vec<_> = query.as_object().into_iter().flatten().map(pair).collect();
    query.extend(request["api-version"].as_str().map(|it| ("api-version".to_owned(), it.to_owned())));
    let content = |key: &str| request.get(key).filter(|it| !it.is_null()).cloned().map(RecordedContent::Json);
    Ok(RecordedExchange {
        method: method.to_owned(),
        path: path.to_owned(),
        query,
        writes: writes(method),
        body: content("body").or_else(|| content("form")),
        status: Some(status),
        answer: content("error"),
        ..RecordedExchange::default()
    })
}
