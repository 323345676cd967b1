//! Tables of requests. A row is a simulator, and what is asked of it with the answers that are expected.
//!
//! An expected body says what has to be in an answer, and an answer may hold more: members of objects that are not named. In it
//! `"$name"` remembers a value the first time and is that value afterwards, also in paths and bodies; `"~text"` is any string that
//! begins so, `{ "#": 3 }` a list of three, and `null` what is not there.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures::FutureExt;
use serde_json::{Value, json};
use tests::simulator::{Cloud, Simulator};

use crate::client::{bare, send};

/// The values that a row has remembered, by their names.
pub(crate) type Known = BTreeMap<String, Value>;

/// A story of a simulator of its own.
pub(crate) struct Row<C: Cloud> {
    name: String,
    simulator: Pin<Box<dyn Future<Output = Simulator<C>>>>,
    known: Known,
    steps: Vec<Step<C>>,
}

/// An act of a row between its requests.
type Act<C> = Box<dyn FnOnce(&Simulator<C>, &Known)>;

/// A part of a row.
pub(crate) enum Step<C: Cloud> {
    Ask(Ask),
    Then(Act<C>),
}

/// A request, and the answer that is expected.
pub(crate) struct Ask {
    method: &'static str,
    path: String,
    body: Option<Value>,
    status: Option<u16>,
    expected: Value,
    headers: Vec<(&'static str, &'static str)>,
}

/// A row with this simulator, of which nothing is asked yet.
pub(crate) fn row<C: Cloud>(
    name: impl Into<String>,
    simulator: impl Future<Output = Simulator<C>> + 'static,
) -> Row<C> {
    Row { name: name.into(), simulator: Box::pin(simulator), known: Known::new(), steps: Vec::new() }
}

impl<C: Cloud> Row<C> {
    /// Remembers a value from the beginning.
    pub(crate) fn knowing(mut self, name: &str, value: &str) -> Self {
        self.known.insert(name.to_owned(), json!(value));
        self
    }

    /// Goes on with these steps.
    pub(crate) fn asks<const N: usize>(self, steps: [Step<C>; N]) -> Self {
        self.also(steps)
    }

    /// Goes on with as many steps as there are.
    pub(crate) fn also(mut self, steps: impl IntoIterator<Item = Step<C>>) -> Self {
        self.steps.extend(steps);
        self
    }
}

/// Does something to the simulator, or looks into it.
pub(crate) fn then<C: Cloud, T>(act: impl FnOnce(&Simulator<C>, &Known) -> T + 'static) -> Step<C> {
    Step::Then(Box::new(|simulator, known| drop(act(simulator, known))))
}

/// A request without a body.
pub(crate) fn ask<C: Cloud>(method: &'static str, path: impl Into<String>) -> Step<C> {
    Step::Ask(Ask {
        method,
        path: path.into(),
        body: None,
        status: Some(200),
        expected: json!({}),
        headers: Vec::new(),
    })
}

/// A request with a body; null is none.
pub(crate) fn say<C: Cloud>(method: &'static str, path: impl Into<String>, body: Value) -> Step<C> {
    ask(method, path).with(|it| it.body = Some(body).filter(|it| !it.is_null()))
}

/// GET.
pub(crate) fn get<C: Cloud>(path: impl Into<String>) -> Step<C> {
    ask("GET", path)
}

/// POST.
pub(crate) fn post<C: Cloud>(path: impl Into<String>, body: Value) -> Step<C> {
    say("POST", path, body)
}

/// PUT.
pub(crate) fn put<C: Cloud>(path: impl Into<String>, body: Value) -> Step<C> {
    say("PUT", path, body)
}

/// DELETE without a body.
pub(crate) fn delete<C: Cloud>(path: impl Into<String>) -> Step<C> {
    ask("DELETE", path)
}

impl<C: Cloud> Step<C> {
    fn with(mut self, change: impl FnOnce(&mut Ask)) -> Self {
        if let Step::Ask(ask) = &mut self {
            change(ask);
        }
        self
    }

    /// Any answer at all.
    pub(crate) fn whatever(self) -> Self {
        self.with(|it| (it.status, it.expected) = (None, json!("*")))
    }

    /// The status that is expected, whatever the body is.
    pub(crate) fn status(self, status: u16) -> Self {
        self.with(|it| (it.status, it.expected) = (Some(status), json!("*")))
    }

    /// The status and the parts of the body that are expected.
    pub(crate) fn is(self, status: u16, expected: Value) -> Self {
        self.with(|it| (it.status, it.expected) = (Some(status), expected))
    }

    /// A refusal of DigitalOcean's, with its sentence.
    pub(crate) fn refused(self, status: u16, message: &str) -> Self {
        self.is(status, json!({ "message": message }))
    }

    /// A refusal of Hetzner's, with its code.
    pub(crate) fn code(self, status: u16, code: &str) -> Self {
        self.is(status, json!({ "error": { "code": code } }))
    }

    /// Headers of the answer. Empty is one that is not there, `"~text"` one that begins so, and `"/name"` the one that the body has there.
    pub(crate) fn headers<const N: usize>(self, headers: [(&'static str, &'static str); N]) -> Self {
        self.with(|it| it.headers = headers.into())
    }
}

/// Plays all rows, and fails with all that failed.
pub(crate) async fn play<C: Cloud>(rows: impl IntoIterator<Item = Row<C>>) {
    let mut failed = Vec::new();
    for Row { name, simulator, known, steps } in rows {
        if let Err(panic) = AssertUnwindSafe(tell(simulator, known, steps)).catch_unwind().await {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            failed.push(format!("{name}: {}", text.unwrap_or("it failed")));
        }
    }
    assert!(failed.is_empty(), "{} rows failed:\n{}", failed.len(), failed.join("\n"));
}

async fn tell<C: Cloud>(simulator: impl Future<Output = Simulator<C>>, mut known: Known, steps: Vec<Step<C>>) {
    let simulator = simulator.await;
    for step in steps {
        let ask = match step {
            Step::Ask(ask) => ask,
            Step::Then(act) => {
                act(&simulator, &known);
                continue;
            }
        };
        let path = in_path(&ask.path, &known);
        let answer = match &ask.body {
            Some(body) => send(&simulator, ask.method, &path, &in_body(body, &known)).await,
            None => bare(&simulator, ask.method, &path).await,
        };
        let (answer, asked) = (answer.unwrap(), format!("{} {path}", ask.method));
        assert_eq!(answer.status, ask.status.unwrap_or(answer.status), "{asked}: {}", answer.body);
        if let Err(why) = compare(&ask.expected, &answer.body, &mut known, "") {
            panic!("{asked}: {why}, in {}", answer.body);
        }
        for (name, expected) in ask.headers {
            let is = answer.header(name);
            let fits = match expected.chars().next() {
                Some('~') => is.starts_with(&expected[1..]),
                Some('/') => answer.body.pointer(expected).and_then(Value::as_str) == Some(is),
                _ => is == expected,
            };
            assert!(fits, "{asked}: {name} is {is:?}, and should be {expected:?}");
        }
    }
}

/// A path with the values that are known.
fn in_path(path: &str, known: &Known) -> String {
    known.iter().fold(path.to_owned(), |path, (name, value)| {
        path.replace(name.as_str(), value.as_str().unwrap_or(&value.to_string()))
    })
}

/// A body with the values that are known.
fn in_body(body: &Value, known: &Known) -> Value {
    match body {
        Value::String(name) => known.get(name).unwrap_or(body).clone(),
        Value::Array(parts) => parts.iter().map(|it| in_body(it, known)).collect(),
        Value::Object(parts) => parts.iter().map(|(name, it)| (name.clone(), in_body(it, known))).collect(),
        _ => body.clone(),
    }
}

/// Compares what was answered at a place with what is expected there.
fn compare(expected: &Value, is: &Value, known: &mut Known, at: &str) -> Result<(), String> {
    let differs = || Err(format!("{at:?} is {is}, and should be {expected}"));
    match expected {
        Value::String(text) if text == "*" => Ok(()),
        Value::String(text) if text.starts_with('$') => match known.get(text) {
            Some(value) if value != is => Err(format!("{at:?} is {is}, and should be {value}")),
            Some(_) => Ok(()),
            None if is.is_null() => differs(),
            None => {
                known.insert(text.clone(), is.clone());
                Ok(())
            }
        },
        Value::String(text) if text.starts_with('~') => match is.as_str() {
            Some(is) if is.starts_with(&text[1..]) => Ok(()),
            _ => differs(),
        },
        Value::Object(parts) => match (parts.get("#"), is.as_array()) {
            (Some(count), Some(list)) if *count == list.len() => Ok(()),
            (Some(_), _) => differs(),
            (None, _) if !parts.is_empty() && !is.is_object() => differs(),
            (None, _) => parts.iter().try_for_each(|(name, it)| compare(it, &is[name], known, &format!("{at}/{name}"))),
        },
        Value::Array(parts) => match is.as_array() {
            Some(list) if list.len() == parts.len() => {
                let mut pairs = parts.iter().zip(list).enumerate();
                pairs.try_for_each(|(nth, (it, is))| compare(it, is, known, &format!("{at}/{nth}")))
            }
            _ => differs(),
        },
        _ if expected == is => Ok(()),
        _ => differs(),
    }
}

#[test]
fn a_body_is_compared_in_the_parts_that_are_expected() {
    let is = json!({ "a": 1, "b": [1, 2], "c": "text", "d": { "e": null } });
    for (expected, fits) in [
        (json!({}), true),
        (json!({ "a": 1 }), true),
        (json!({ "a": 2 }), false),
        (json!({ "b": [1, 2] }), true),
        (json!({ "b": [1] }), false),
        (json!({ "b": { "#": 2 } }), true),
        (json!({ "b": { "#": 3 } }), false),
        (json!({ "a": { "#": 1 } }), false),
        (json!({ "c": "~te" }), true),
        (json!({ "c": "~tt" }), false),
        (json!({ "a": "~1" }), false),
        (json!({ "f": null, "d": { "e": null, "f": null } }), true),
        (json!({ "c": null }), false),
        (json!({ "a": { "b": 1 } }), false),
        (json!({ "a": "$x", "b": ["$x", 2] }), true),
        (json!({ "a": "$x", "b": [1, "$x"] }), false),
        (json!({ "f": "$x" }), false),
    ] {
        assert_eq!(compare(&expected, &is, &mut Known::new(), "").is_ok(), fits, "{expected}");
    }
}

#[tokio::test]
async fn a_table_names_each_row_that_fails() {
    let simulator = || crate::client::simulator(tests::clouds::digitalocean::Options::default(), 1, 1);
    let rows = [
        row("one", simulator()).asks([get("/v2/droplets/1").status(404)]),
        row("two", simulator()).asks([get("/v2/droplets/1").is(200, json!({ "droplet": { "id": 1 } }))]),
        row("three", simulator()).asks([get("/v2/droplets/1").is(200, json!({ "droplet": { "id": 2 } }))]),
    ];
    let panic = AssertUnwindSafe(play(rows)).catch_unwind().await.unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    let begin: Vec<_> = text.lines().filter_map(|it| it.split_once(": ").map(|it| it.0)).collect();
    assert!(begin.contains(&"one") && begin.contains(&"three") && !begin.contains(&"two"), "{text}");
}
