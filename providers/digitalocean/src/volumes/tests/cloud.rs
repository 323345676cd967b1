//! The account in memory.

use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{self, Body, FakeCloud, FakeMoment, FakeObjects, Request, reply};
use serde_json::{Value, json};

use crate::volumes::*;

/// Ids of volumes, but for their last digit.
pub(super) const PREFIX: &str = "506f78a4-e098-11e5-ad9f-00000000000";
const SECONDS: u64 = 3;

pub(super) struct Running {
    pub(super) volume: String,
    pub(super) kind: &'static str,
    pub(super) ends: u64,
    pub(super) change: Value,
    pub(super) fails: bool,
}

/// The volumes of an account, one of which is another's.
pub(super) struct Account {
    pub(super) volumes: FakeObjects,
    pub(super) actions: Vec<Running>,
    pub(super) droplets: u64,
    /// Whether the next action fails.
    pub(super) breaks: bool,
    /// Whether actions are refused.
    pub(super) refuses: bool,
    /// The order in which actions are shown.
    pub(super) newest_first: bool,
    pub(super) most: usize,
}

impl Default for Account {
    fn default() -> Self {
        let cloud = Self {
            volumes: FakeObjects::new("volume", PREFIX),
            actions: Vec::new(),
            droplets: 0,
            breaks: false,
            refuses: false,
            newest_first: true,
            most: 7,
        };
        cloud.with("pvc-other", json!({}))
    }
}

impl Account {
    /// The same with one that differs so from the usual one.
    pub(super) fn with(mut self, name: &str, differs: Value) -> Self {
        let mut volume = json!({ "description": "", "size_gigabytes": 10, "droplet_ids": null, "region": "nyc3" });
        for (key, value) in differs.as_object().unwrap() {
            volume[key] = value.clone();
        }
        self.volumes.make(name, volume, FakeMoment::default());
        self
    }

    pub(super) fn with_action(mut self, id: &str, fails: bool, ends: u64) -> Self {
        self.actions.push(Running { volume: id.to_owned(), kind: "attach_volume", ends, change: json!({}), fails });
        self
    }

    /// Ends what has had its time.
    fn settle(&mut self, now: u64) {
        for action in self.actions.iter().filter(|it| it.ends <= now && !it.fails) {
            let Some(volume) = self.volumes.get_mut(&action.volume) else { continue };
            for (key, value) in action.change.as_object().unwrap() {
                volume.body[key] = value.clone();
            }
        }
        for action in &mut self.actions {
            if action.ends <= now {
                action.change = json!({});
            }
        }
    }

    fn shown(&self, id: &str) -> Value {
        let volume = self.volumes.get(id).unwrap();
        let mut shown = volume.body.clone();
        (shown["id"], shown["name"]) = (json!(id), json!(volume.name));
        shown["region"] = json!({ "slug": volume.body["region"] });
        shown
    }

    fn act(&mut self, id: &str, body: &Value, now: u64) -> testing::Response {
        assert_eq!(body["region"], self.volumes.get(id).unwrap().body["region"]);
        if self.actions.iter().any(|it| it.ends > now) {
            return refusal(422, "Droplet already has a pending event.");
        }
        if self.refuses {
            return refusal(422, "Droplet can't be found");
        }
        let droplets = self.volumes.get(id).unwrap().body["droplet_ids"].clone();
        let (kind, change) = match body["type"].as_str().unwrap() {
            "attach" if !droplets.is_null() => return refusal(422, "This volume is already attached"),
            "attach" if self.volumes.all().filter(|(_, it)| !it.body["droplet_ids"].is_null()).count() >= self.most => {
                return refusal(422, "cannot attach more than 7 volumes to a single Droplet");
            }
            "attach" => ("attach_volume", json!({ "droplet_ids": [body["droplet_id"]] })),
            "detach" if droplets.is_null() => return refusal(422, "Attachment not found"),
            "detach" => ("detach_volume", json!({ "droplet_ids": null })),
            _ => ("resize", json!({ "size_gigabytes": body["size_gigabytes"] })),
        };
        let fails = std::mem::take(&mut self.breaks);
        self.actions.push(Running { volume: id.to_owned(), kind, ends: now + SECONDS, change, fails });
        reply(202, json!({ "action": {} }))
    }
}

fn refusal(status: u16, words: &str) -> testing::Response {
    reply(status, json!({ "id": "unprocessable_entity", "message": words }))
}

fn not_found() -> testing::Response {
    reply(404, json!({ "id": "not_found", "message": "The resource you requested could not be found." }))
}

impl FakeCloud for Account {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> testing::Response {
        self.settle(moment.now);
        let path: Vec<_> = request.path.iter().map(String::as_str).collect();
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        match (request.method, &path[1..]) {
            (Method::Get, ["volumes"]) => {
                let name = request.query.iter().find(|(key, _)| key == "name").map(|(_, it)| it);
                let all = self.volumes.listed(moment).filter(|(_, it)| name.is_none_or(|name| it.name == *name));
                let all: Vec<_> = all.map(|(id, _)| self.shown(id)).collect();
                reply(200, json!({ "volumes": all, "links": {}, "meta": { "total": all.len() } }))
            }
            (Method::Post, ["volumes"]) => {
                let name = body["name"].as_str().unwrap().to_owned();
                if self.volumes.all().any(|(_, it)| it.name == name && it.body["region"] == body["region"]) {
                    return refusal(409, "a volume with this name already exists");
                }
                let mut volume = body;
                volume["droplet_ids"] = Value::Null;
                volume.as_object_mut().unwrap().remove("name");
                let id = self.volumes.make(name, volume, moment);
                reply(201, json!({ "volume": self.shown(&id) }))
            }
            (_, ["volumes", id, ..]) if self.volumes.get(id).is_none() => not_found(),
            (Method::Get, ["volumes", id]) => reply(200, json!({ "volume": self.shown(id) })),
            (Method::Delete, ["volumes", id]) => {
                assert!(self.volumes.get(id).unwrap().body["droplet_ids"].is_null(), "it is attached");
                self.volumes.remove(id);
                reply(204, "")
            }
            (Method::Get, ["volumes", id, "actions"]) => {
                let state = |action: &Running| match (action.ends > moment.now, action.fails) {
                    (true, _) => "in-progress",
                    (_, true) => "errored",
                    _ => "completed",
                };
                let all = self.actions.iter().enumerate().filter(|(_, it)| it.volume == *id);
                let mut all: Vec<_> =
                    all.map(|(at, it)| json!({ "id": at, "type": it.kind, "status": state(it) })).collect();
                if self.newest_first {
                    all.reverse();
                }
                let query = |key| request.query.iter().find(|(it, _)| it == key).unwrap().1.parse::<usize>().unwrap();
                let (page, size) = (query("page"), query("per_page"));
                let shown: Vec<_> = all.iter().skip((page - 1) * size).take(size).collect();
                // No links: a page without them is not the last for that.
                reply(200, json!({ "actions": shown, "links": {}, "meta": { "total": all.len() } }))
            }
            (Method::Post, ["volumes", id, "actions"]) => self.act(id, &body, moment.now),
            other => panic!("{other:?}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.volumes.shown()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let ForeignChange::AddMachine { .. } = change else { return None };
        self.droplets += 1;
        Some(Changed { id: Some(self.droplets.to_string()) })
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("volumes", "true")]
    }

    fn busy(&self, _: &Request) -> testing::Response {
        refusal(422, "Droplet already has a pending event.")
    }
}
