//! Routes of Acme's network, which the cloud gives ids, and its volumes. Two routes may have one destination.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::Answer;

/// The zone of everything.
pub(super) const ZONE: &str = "north-1";

/// Routes and volumes.
#[derive(Debug, Default)]
pub(super) struct AcmeNetwork {
    /// By id: destination, machine and labels.
    pub(super) routes: BTreeMap<String, Value>,
    /// By handle.
    pub(super) volumes: BTreeMap<String, Value>,
    /// How many ids were given.
    ids: usize,
}

impl AcmeNetwork {
    /// A new id with this beginning.
    fn id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}-{:03}", self.ids)
    }

    /// Adds a route, and returns its id.
    pub(super) fn add_route(&mut self, route: Value) -> String {
        let id = self.id("route");
        self.routes.insert(id.clone(), route);
        id
    }

    /// Adds a volume, and returns its handle.
    pub(super) fn add_volume(&mut self) -> String {
        let id = self.id("vol");
        self.volumes.insert(id.clone(), json!({ "zone": ZONE }));
        id
    }

    /// `GET /routes`: a page.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        let number = |name: &str| query.iter().find(|(it, _)| it == name).and_then(|(_, it)| it.parse().ok());
        let (after, limit) = (number("after").unwrap_or(0), number("limit").unwrap_or(100));
        let page: Vec<_> = self.routes.iter().skip(after).take(limit).map(|(id, it)| shown(id, it)).collect();
        let end = after + page.len();
        let next = (end < self.routes.len()).then(|| end.to_string());
        Answer::ok(&json!({ "routes": page, "next": next }))
    }

    /// `POST /routes`.
    pub(super) fn make(&mut self, body: &[u8]) -> Answer {
        let Ok(route) = serde_json::from_slice::<Value>(body) else { return refused(StatusCode::BAD_REQUEST) };
        let id = self.add_route(route);
        Answer::ok(&shown(&id, &self.routes[&id]))
    }

    /// `PUT /routes/{id}`.
    pub(super) fn replace(&mut self, id: &str, body: &[u8]) -> Answer {
        match (self.routes.get_mut(id), serde_json::from_slice::<Value>(body)) {
            (None, _) => refused(StatusCode::NOT_FOUND),
            (_, Err(_)) => refused(StatusCode::BAD_REQUEST),
            (Some(route), Ok(new)) => {
                *route = new;
                Answer::ok(&shown(id, route))
            }
        }
    }

    /// `DELETE /routes/{id}`.
    pub(super) fn delete(&mut self, id: &str) -> Answer {
        match self.routes.remove(id) {
            Some(_) => Answer::no_content(),
            None => refused(StatusCode::NOT_FOUND),
        }
    }

    /// `GET /volumes/{handle}`.
    pub(super) fn volume(&self, id: &str) -> Answer {
        self.volumes.get(id).map_or_else(|| refused(StatusCode::NOT_FOUND), Answer::ok)
    }
}

fn shown(id: &str, route: &Value) -> Value {
    let mut shown = route.clone();
    shown["id"] = json!(id);
    shown
}

fn refused(status: StatusCode) -> Answer {
    Answer::json(status, &json!({ "error": status.canonical_reason() }))
}
