//! The cloud of the example, in memory.

use std::collections::BTreeMap;

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{
    Body, FakeActions, FakeCloud, FakeMoment, FakeObject, FakeObjects, Request, Response, reply,
};
use serde_json::{Value, json};

/// The longest tag.
const LONGEST_TAG: usize = 50;
/// The smallest page.
const SMALLEST_PAGE: usize = 5;
/// Seconds that it takes to build, to change and to delete a balancer.
const BUILDING: u64 = 4;
const CHANGING: u64 = 2;
const DELETING: u64 = 2;

/// The cloud: machines, and balancers that are built, changed and deleted by actions.
pub struct AsyncCloud {
    machines: FakeObjects,
    balancers: FakeObjects,
    actions: FakeActions,
    /// The last action on each balancer.
    last: BTreeMap<String, String>,
    /// The action that has built a balancer, and the one that deletes it.
    built: BTreeMap<String, String>,
    deleted: BTreeMap<String, String>,
}

impl Default for AsyncCloud {
    fn default() -> Self {
        Self {
            machines: FakeObjects::new("machine", "m-"),
            balancers: FakeObjects::new("load balancer", "lb-"),
            actions: FakeActions::default(),
            last: BTreeMap::new(),
            built: BTreeMap::new(),
            deleted: BTreeMap::new(),
        }
    }
}

impl FakeCloud for AsyncCloud {
    const BASE_PATH: &'static str = "/v1";

    fn fast_settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("pollInterval", "1s"), ("createAgainAfter", "5s")]
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.balancers.shown()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let now = FakeMoment::default();
        match change {
            ForeignChange::AddMachine { name } => self.set_machine(name, "running"),
            ForeignChange::StopMachine { name } => self.set_machine(name, "stopped"),
            ForeignChange::RemoveMachine { name } => {
                let id = self.machine(name)?;
                self.machines.remove(&id);
            }
            ForeignChange::AddForeign { name } => {
                let body = json!({ "spec": { "ports": {}, "machines": [] }, "tags": [] });
                return Some(Changed { id: Some(self.balancers.make(name, body, now)) });
            }
            ForeignChange::Touch { id } => {
                self.balancers.get_mut(id)?.body["tags"].as_array_mut()?.push(json!("team-blue"));
            }
            _ => return None,
        }
        Some(Changed::default())
    }

    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        let gone = self.deleted.iter().filter(|(_, action)| self.actions.is_done(action, moment) == Some(true));
        for id in gone.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.balancers.remove(&id);
            self.deleted.remove(&id);
        }
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, path.as_slice()) {
            (Method::Get, ["machines"]) => {
                let label = value(request, "label");
                let found = self.machines.listed(moment).filter(|(_, it)| label.is_none_or(|label| it.name == label));
                page(request, found.map(|(id, it)| machine(id, it)).collect())
            }
            (Method::Get, ["machines", id]) => found(self.machines.get(id).map(|it| machine(id, it))),
            (Method::Get, ["balancers"]) => {
                page(request, self.balancers.listed(moment).map(|(id, it)| self.balancer(id, it, moment)).collect())
            }
            (Method::Get, ["balancers", id]) => found(self.balancers.get(id).map(|it| self.balancer(id, it, moment))),
            (Method::Get, ["actions", id]) => found(
                self.actions
                    .is_done(id, moment)
                    .map(|is_done| json!({ "id": id, "status": if is_done { "success" } else { "running" } })),
            ),
            (Method::Post, ["balancers"]) => self.create(request, moment),
            (Method::Post, ["balancers", id, "update"]) => self.act(id, CHANGING, moment, |cloud| {
                if let (Some(balancer), Some(body)) = (cloud.balancers.get_mut(id), body(request)) {
                    balancer.body["spec"] = body;
                }
            }),
            (Method::Delete, ["balancers", id]) => {
                let response = self.act(id, DELETING, moment, |_| ());
                if response.status == 202 {
                    self.deleted.insert((*id).to_owned(), self.last[*id].clone());
                }
                response
            }
            _ => refused(404, "there is nothing under this path"),
        }
    }
}

impl AsyncCloud {
    fn machine(&self, label: &str) -> Option<String> {
        self.machines.all().find(|(_, it)| it.name == label).map(|(id, _)| id.to_owned())
    }

    fn set_machine(&mut self, label: &str, status: &str) {
        let (body, now) = (json!({ "status": status }), FakeMoment::default());
        match self.machine(label) {
            Some(id) => self.machines.put(&id, label, body, now),
            None => drop(self.machines.make(label, body, now)),
        }
    }

    fn create(&mut self, request: &Request, moment: FakeMoment) -> Response {
        let Some(body) = body(request) else { return refused(400, "the body is no object") };
        let tags: Vec<&str> = body["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if tags.iter().any(|it| it.len() > LONGEST_TAG) {
            return refused(400, "a tag has more than 50 characters");
        }
        let shown = json!({ "spec": body["spec"], "tags": tags });
        let label = body["label"].as_str().unwrap_or_default();
        if self.balancers.all().any(|(_, it)| it.name == label) {
            return refused(409, "the label is taken");
        }
        let id = self.balancers.make(label, shown, moment);
        let action = self.actions.begin(&id, BUILDING, moment);
        self.last.insert(id.clone(), action.clone());
        self.built.insert(id.clone(), action);
        let balancer = self.balancers.get(&id).map(|it| self.balancer(&id, it, moment));
        reply(202, json!({ "balancer": balancer, "action": self.last[&id] }))
    }

    /// Begins an action on a balancer, one at a time.
    fn act(&mut self, id: &str, seconds: u64, moment: FakeMoment, change: impl FnOnce(&mut Self)) -> Response {
        if self.balancers.get(id).is_none() {
            return refused(404, "there is no such balancer");
        }
        if self.actions.is_busy(id, moment) {
            return refused(409, "an action on it is running");
        }
        change(self);
        let action = self.actions.begin(id, seconds, moment);
        self.last.insert(id.to_owned(), action.clone());
        reply(202, json!({ "action": action }))
    }

    fn balancer(&self, id: &str, it: &FakeObject, moment: FakeMoment) -> Value {
        let is_built = self.built.get(id).is_none_or(|it| self.actions.is_done(it, moment) == Some(true));
        let ip = is_built.then(|| format!("203.0.113.{}", number(id)));
        let FakeObject { name, body, .. } = it;
        json!({
            "id": id, "label": name, "ip": ip, "action": self.last.get(id), "spec": body["spec"], "tags": body["tags"],
        })
    }
}

fn machine(id: &str, it: &FakeObject) -> Value {
    json!({ "id": id, "label": it.name, "status": it.body["status"], "ip": format!("10.0.0.{}", number(id)) })
}

/// The number at the end of an id.
fn number(id: &str) -> u8 {
    id.rsplit('-').next().and_then(|it| it.parse::<u64>().ok()).and_then(|it| u8::try_from(it % 250).ok()).unwrap_or(0)
}

fn page(request: &Request, items: Vec<Value>) -> Response {
    let number = |name, otherwise| value(request, name).and_then(|it| it.parse().ok()).unwrap_or(otherwise);
    let (page, size): (usize, usize) = (number("page", 1), number("page_size", 20));
    if size < SMALLEST_PAGE {
        return refused(400, "no page is smaller than 5");
    }
    let pages = items.len().div_ceil(size).max(1);
    let data: Vec<_> = items.into_iter().skip(page.saturating_sub(1) * size).take(size).collect();
    reply(200, json!({ "data": data, "page": page, "pages": pages }))
}

fn value<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
}

fn body(request: &Request) -> Option<Value> {
    match &request.body {
        Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).ok().filter(Value::is_object),
        Some(Body::Form(_)) | None => None,
    }
}

fn found(object: Option<Value>) -> Response {
    object.map_or_else(|| refused(404, "there is no such object"), |it| reply(200, it))
}

/// `{ "errors": [{ "reason": "…" }] }`
fn refused(status: u16, reason: &str) -> Response {
    reply(status, json!({ "errors": [{ "reason": reason }] }))
}
