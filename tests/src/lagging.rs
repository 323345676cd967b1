//! An API server that lags: to the next list, or to all lists, it answers with one that was recorded earlier.
//!
//! A list is recorded as any API server gives it, and answered in both forms: as a watch streams it, and as a page where lists are
//! not streamed.

use bytes::Bytes;
use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};

use crate::faults::{Fault, Faults, Reply};

/// The query of a watch that begins with a list.
const STREAMED: &str = "sendInitialEvents=true";
/// The query of a list where lists are not streamed.
const PAGE: &str = "limit=";

/// A list of all objects of one kind.
#[derive(Clone, Debug)]
pub struct Recorded {
    resource: String,
    list: Value,
}

impl Recorded {
    /// Records the list as it is now. `resource` is as in `services`.
    ///
    /// # Panics
    ///
    /// Panics if the API server does not answer with such a list.
    pub async fn now(client: &Client, resource: &str) -> Self {
        let request = Request::get(format!("/api/v1/{resource}")).body(Vec::new());
        let list = client.request(request.expect("a well-formed request")).await.expect("a list");
        let recorded = Self { resource: resource.to_owned(), list };
        assert!(recorded.list["items"].is_array(), "{}", recorded.list);
        recorded
    }

    /// The same list without one of its objects.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        if let Some(items) = self.list["items"].as_array_mut() {
            items.retain(|it| it["metadata"]["name"] != name);
        }
        self
    }

    /// Cuts the watch's next request off from its past, and answers `lists` lists with this one, in whichever form they are asked
    /// for.
    pub fn answer(&self, faults: &Faults, lists: u32) {
        let expired = json!({ "type": "ERROR", "object": {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "too old resource version", "reason": "Expired", "code": 410,
        } });
        faults.set(Fault::new(Method::GET, &self.resumed(), Reply::Body(line(&expired).into())).times(1));
        faults.set(self.answered_to(STREAMED, self.streamed()).times(lists));
        faults.set(self.answered_to(PAGE, self.list.to_string().into()).times(lists));
    }

    /// Answers all lists of a watch that has not begun with this one, after which it tells nothing more.
    pub fn stay(&self, faults: &Faults) {
        faults.set(Fault::new(Method::GET, &self.resumed(), Reply::Silence));
        faults.set(self.answered_to(STREAMED, self.streamed()));
    }

    /// How many lists were answered with a recorded one.
    #[must_use]
    pub fn answered(faults: &Faults) -> usize {
        let is_list = |uri: &str| uri.contains(STREAMED) || uri.contains(PAGE);
        faults.answered().iter().filter(|it| it.code == Some(200) && is_list(&it.uri)).count()
    }

    /// The requests for changes since a list.
    fn resumed(&self) -> String {
        format!(r"/{}\?.*allowWatchBookmarks=true&resourceVersion=", self.resource)
    }

    fn answered_to(&self, query: &str, body: Bytes) -> Fault {
        Fault::new(Method::GET, &format!(r"/{}\?.*{query}", self.resource), Reply::Body(body))
    }

    /// The list as a watch streams it: one JSON text in each line, and a bookmark that ends it.
    fn streamed(&self) -> Bytes {
        let Self { list, .. } = self;
        let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List");
        let types = |mut object: Value| {
            object["kind"] = json!(kind);
            object["apiVersion"] = list["apiVersion"].clone();
            object
        };
        let objects = list["items"].as_array().into_iter().flatten();
        let added = objects.map(|it| line(&json!({ "type": "ADDED", "object": types(it.clone()) })));
        let end = types(json!({ "metadata": {
            "resourceVersion": list["metadata"]["resourceVersion"],
            "annotations": { "k8s.io/initial-events-end": "true" },
        } }));
        added.chain([line(&json!({ "type": "BOOKMARK", "object": end }))]).collect::<String>().into()
    }
}

/// Refuses streamed lists, as Kubernetes 1.33 does unless its feature gate `WatchList` is on.
pub fn refuse_streams(faults: &Faults) {
    let message = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    faults.set(Fault::status(Method::GET, STREAMED, 422, "Invalid", message));
}

fn line(event: &Value) -> String {
    format!("{event}\n")
}
