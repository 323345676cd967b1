//! The cloud in memory: as much of newcloud's API as the provider uses. Make it answer as the real one does.

use std::collections::BTreeMap;

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{
    Body, FakeActions, FakeCloud, FakeMoment, FakeObject, FakeObjects, Request, Response, reply,
};
use serde_json::{Value, json};

/// The longest tag.
const LONGEST_TAG: usize = 255; // new: tag
/// The smallest page.
const SMALLEST_PAGE: usize = 1; // new: fake-smallest
/// Seconds that it takes to build a load balancer, and to change it.
const BUILDING: u64 = 4;
const CHANGING: u64 = 1;

/// The cloud: machines and load balancers.
pub struct Cloud {
    machines: FakeObjects,
    balancers: FakeObjects,
    actions: FakeActions,
    /// The action that builds each load balancer.
    built: BTreeMap<String, String>,
}

impl Default for Cloud {
    fn default() -> Self {
        Self {
            machines: FakeObjects::new("machine", "m-"),
            balancers: FakeObjects::new("load balancer", "lb-"),
            actions: FakeActions::default(),
            built: BTreeMap::new(),
        }
    }
}

impl FakeCloud for Cloud {
    const BASE_PATH: &'static str = "/v1"; // new: base

    fn fast_settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("pollInterval", "1s"), ("createAgainAfter", "5s")] // new: fast
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.balancers.shown()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => self.set_machine(name, "running"),
            ForeignChange::StopMachine { name } => self.set_machine(name, "stopped"),
            ForeignChange::RemoveMachine { name } => {
                let id = self.machine(name)?;
                self.machines.remove(&id);
            }
            ForeignChange::AddForeign { name } => {
                let body = json!({ "spec": { "ports": {}, "machines": [] }, "tags": [] });
                return Some(Changed {
                    id: Some(self.balancers.make(name, body, FakeMoment::default())),
                });
            }
            ForeignChange::Touch { id } => {
                self.balancers.get_mut(id)?.body["tags"]
                    .as_array_mut()?
                    .push(json!("team-blue"));
            }
            _ => return None,
        }
        Some(Changed::default())
    }

    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, path.as_slice()) {
            (Method::Get, ["machines"]) => {
                let name = value(request, "name");
                let found = self
                    .machines
                    .listed(moment)
                    .filter(|(_, it)| name.is_none_or(|name| it.name == name));
                page(request, found.map(|(id, it)| machine(id, it)).collect())
            }
            (Method::Get, ["machines", id]) => {
                found(self.machines.get(id).map(|it| machine(id, it)))
            }
            (Method::Get, ["balancers"]) => page(
                request,
                self.balancers
                    .listed(moment)
                    .map(|(id, it)| self.balancer(id, it, moment))
                    .collect(),
            ),
            (Method::Get, ["balancers", id]) => found(
                self.balancers
                    .get(id)
                    .map(|it| self.balancer(id, it, moment)),
            ),
            (Method::Post, ["balancers"]) => {
                let Some(body) = body(request) else {
                    return refused(400, "the body is no object");
                };
                let name = body["name"].as_str().unwrap_or_default();
                let shown = json!({ "spec": body["spec"], "tags": body["tags"] });
                let tags = body["tags"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str);
                if tags.map(str::len).max().is_some_and(|it| it > LONGEST_TAG) {
                    return refused(400, "a tag is too long");
                }
                if self.balancers.all().any(|(_, it)| it.name == name) {
                    return refused(409, "the name is taken");
                }
                let id = self.balancers.make(name, shown, moment);
                self.build(&id, moment)
            }
            (Method::Put, ["balancers", name]) => {
                let Some(spec) = body(request) else {
                    return refused(400, "the body is no object");
                };
                self.balancers
                    .put(name, *name, json!({ "spec": spec, "tags": [] }), moment);
                self.build(name, moment)
            }
            (Method::Put, ["balancers", id, "spec"]) => {
                let Some(spec) = body(request) else {
                    return refused(400, "the body is no object");
                };
                if self.actions.is_busy(id, moment) {
                    return refused(409, "an earlier change is under way");
                }
                let Some(balancer) = self.balancers.get_mut(id) else {
                    return found(None);
                };
                balancer.body["spec"] = spec;
                self.actions.begin(id, CHANGING, moment);
                found(
                    self.balancers
                        .get(id)
                        .map(|it| self.balancer(id, it, moment)),
                )
            }
            (Method::Delete, ["balancers", id]) => match self.balancers.remove(id) {
                true => reply(204, ""),
                false => found(None),
            },
            _ => refused(404, "there is nothing under this path"),
        }
    }
}

impl Cloud {
    fn machine(&self, name: &str) -> Option<String> {
        self.machines
            .all()
            .find(|(_, it)| it.name == name)
            .map(|(id, _)| id.to_owned())
    }

    fn set_machine(&mut self, name: &str, status: &str) {
        let (body, now) = (json!({ "status": status }), FakeMoment::default());
        match self.machine(name) {
            Some(id) => self.machines.put(&id, name, body, now),
            None => drop(self.machines.make(name, body, now)),
        }
    }

    fn build(&mut self, id: &str, moment: FakeMoment) -> Response {
        let action = self.actions.begin(id, BUILDING, moment);
        self.built.insert(id.to_owned(), action);
        found(
            self.balancers
                .get(id)
                .map(|it| self.balancer(id, it, moment)),
        )
    }

    fn balancer(&self, id: &str, it: &FakeObject, moment: FakeMoment) -> Value {
        let is_built = self
            .built
            .get(id)
            .is_none_or(|it| self.actions.is_done(it, moment) == Some(true));
        let ip = is_built.then(|| format!("203.0.113.{}", number(id)));
        json!({ "id": id, "name": it.name, "ip": ip, "spec": it.body["spec"], "tags": it.body["tags"] })
    }
}

fn machine(id: &str, it: &FakeObject) -> Value {
    json!({
        "id": id, "name": it.name, "status": it.body["status"],
        "size": "small", "zone": "north-1", "ip": format!("10.0.0.{}", number(id)),
    })
}

/// A number from 1 to 250 for an id, the same for the same.
fn number(id: &str) -> u8 {
    id.bytes()
        .fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte))
        % 250
        + 1
}

fn page(request: &Request, all: Vec<Value>) -> Response {
    let number = |name, otherwise| {
        value(request, name)
            .and_then(|it| it.parse().ok())
            .unwrap_or(otherwise)
    };
    let page: usize = number("page", 1); // new: fake-number
    let size: usize = number("per_page", 20); // new: fake-size
    if size < SMALLEST_PAGE {
        return refused(400, "the page is smaller than the smallest");
    }
    let count = all.len(); // new: count
    let items: Vec<_> = all
        .into_iter()
        .skip(page.saturating_sub(1) * size)
        .take(size)
        .collect();
    let end = (page * size < count).then_some(page + 1); // new: page-end
    let answer = json!({ "items": items, "next_page": end }); // new: page
    reply(200, answer)
}

fn value<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request
        .query
        .iter()
        .find(|(it, _)| it == name)
        .map(|(_, value)| value.as_str())
}

fn body(request: &Request) -> Option<Value> {
    match &request.body {
        Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).ok().filter(Value::is_object),
        Some(Body::Form(_)) | None => None,
    }
}

fn found(object: Option<Value>) -> Response {
    object.map_or_else(
        || refused(404, "there is no such object"),
        |it| reply(200, it),
    )
}

fn refused(status: u16, why: &str) -> Response {
    reply(status, json!({ "message": why })) // new: refused
}
