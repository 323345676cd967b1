//! An API server that lags: to the next list, or to all lists, it answers with one that was recorded earlier.

use bytes::Bytes;
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};

use crate::faults::{Fault, Faults, Reply};

/// The query of a watch that begins with a list.
const STREAMED: &str = "watch=true&timeoutSeconds=1&allowWatchBookmarks=true&sendInitialEvents=true\
                        &resourceVersionMatch=NotOlderThan&resourceVersion=";

/// A list of all objects of one kind, as a watch streams it: one JSON text in each line.
#[derive(Clone, Debug)]
pub struct Recorded {
    resource: String,
    lines: Vec<Value>,
}

impl Recorded {
    /// Records the list as it is now. `resource` is as in `services`.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not answer with such a list.
    pub async fn now(client: &Client, resource: &str) -> Self {
        let request = Request::get(format!("/api/v1/{resource}?{STREAMED}")).body(Vec::new());
        let text = client.request_text(request.expect("a well-formed request")).await.expect("a streamed list");
        let lines: Vec<Value> = text.lines().map(|it| serde_json::from_str(it).expect("a line of JSON")).collect();
        let recorded = Self { resource: resource.to_owned(), lines };
        assert_eq!(recorded.end()["type"], "BOOKMARK", "the list has an end");
        recorded
    }

    /// The same list without one of its objects.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.lines.retain(|it| it["object"]["metadata"]["name"] != name);
        self
    }

    /// Cuts the watch's next request off from its past, and answers `lists` lists with this one.
    pub fn answer(&self, faults: &Faults, lists: u32) {
        let expired = json!({ "type": "ERROR", "object": {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version", "reason": "Expired", "code": 410,
        } });
        let Self { resource, .. } = self;
        let resumed = format!(r"/{resource}\?.*allowWatchBookmarks=true&resourceVersion=");
        faults.set(Fault::new(Method::GET, &resumed, Reply::Body(line(&expired).into())).times(1));
        let listed = format!(r"/{resource}\?.*sendInitialEvents=true");
        let body: Bytes = self.lines.iter().map(line).collect::<String>().into();
        faults.set(Fault::new(Method::GET, &listed, Reply::Body(body)).times(lists));
    }

    /// Answers all lists of the watch with this one, after which it tells nothing more.
    pub fn stay(&self, faults: &Faults) {
        let Self { resource, .. } = self;
        let resumed = format!(r"/{resource}\?.*allowWatchBookmarks=true&resourceVersion=");
        faults.set(Fault::new(Method::GET, &resumed, Reply::Silence));
        let listed = format!(r"/{resource}\?.*sendInitialEvents=true");
        let body: Bytes = self.lines.iter().map(line).collect::<String>().into();
        faults.set(Fault::new(Method::GET, &listed, Reply::Body(body)));
    }

    /// How many lists were answered with a recorded one.
    #[must_use]
    pub fn answered(faults: &Faults) -> usize {
        faults.answered().iter().filter(|it| it.uri.contains("sendInitialEvents=true")).count()
    }

    /// The bookmark that ends the list.
    fn end(&self) -> &Value {
        self.lines.last().unwrap_or(&Value::Null)
    }
}

fn line(event: &Value) -> String {
    format!("{event}\n")
}
