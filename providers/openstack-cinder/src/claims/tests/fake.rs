//! Cinder and Nova in memory: what was begun shows when its time has passed.

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{self, Body, FakeCloud, FakeMoment, FakeObjects, Request, reply};
use serde_json::{Value, json};

/// How long a change takes.
const SECONDS: u64 = 3;

/// The id of the nth volume.
pub(super) fn volume(number: usize) -> String {
    format!("4de7ac8b-495b-4884-9a69-1050c679300{number}")
}

/// The id of a server.
pub(super) fn server(number: u64) -> String {
    format!("9a691050-495b-4884-9a69-1050c67931{number:02}")
}

/// A change that is under way: fields of a volume, or null for its end.
struct Running {
    volume: String,
    ends: u64,
    change: Value,
}

/// The volumes of a project, the first of which is another's.
pub(super) struct FakeProject {
    volumes: FakeObjects,
    running: Vec<Running>,
    servers: u64,
    /// Why volumes fail after they were made: a detail, as Cinder's messages have it.
    failing: Option<&'static str>,
    messages: Vec<Value>,
    /// The most volumes of a server.
    most: usize,
}

impl Default for FakeProject {
    fn default() -> Self {
        let volumes = FakeObjects::new("volume", "4de7ac8b-495b-4884-9a69-1050c679300");
        let project = Self { volumes, running: Vec::new(), servers: 0, failing: None, messages: Vec::new(), most: 26 };
        project.with("pvc-other", json!({}))
    }
}

impl FakeProject {
    /// The same with one that differs so from the usual one.
    pub(super) fn with(mut self, name: &str, differs: Value) -> Self {
        let mut volume = json!({
            "status": "available", "size": 10, "availability_zone": "nova", "metadata": {}, "server": null,
            "multiattach": false,
        });
        for (key, value) in differs.as_object().unwrap() {
            volume[key] = value.clone();
        }
        if !volume["server"].is_null() && differs.get("status").is_none() {
            volume["status"] = json!("in-use");
        }
        self.volumes.make(name, volume, FakeMoment::default());
        self
    }

    /// The same where volumes fail after they were made, for the reason with this detail in Cinder's messages.
    pub(super) fn failing(self, detail: &'static str) -> Self {
        Self { failing: Some(detail), ..self }
    }

    /// The same where the second volume has not grown when that was asked for at this time.
    pub(super) fn has_not_grown(mut self, at: &str) -> Self {
        self.messages.push(json!({
            "resource_uuid": volume(2), "event_id": "VOLUME_VOLUME_007_003", "created_at": at,
            "user_message": "extend volume: it is so.",
        }));
        self
    }

    /// The same where no server takes a volume.
    pub(super) fn full(self) -> Self {
        Self { most: 0, ..self }
    }

    fn settle(&mut self, now: u64) {
        let (ended, running) = self.running.drain(..).partition(|it: &Running| it.ends <= now);
        self.running = running;
        for Running { volume: id, change, .. } in ended {
            if change.is_null() {
                self.volumes.remove(&id);
            } else if let Some(it) = self.volumes.get_mut(&id) {
                change.as_object().unwrap().iter().for_each(|(key, value)| it.body[key] = value.clone());
            }
        }
    }

    fn begin(&mut self, id: &str, status: &str, change: Value, moment: FakeMoment) {
        self.volumes.get_mut(id).unwrap().body["status"] = json!(status);
        self.running.push(Running { volume: id.to_owned(), ends: moment.now + SECONDS, change });
    }

    fn status(&self, id: &str) -> &str {
        self.volumes.get(id).unwrap().body["status"].as_str().unwrap()
    }

    fn shown(&self, id: &str) -> Value {
        let it = self.volumes.get(id).unwrap();
        let mut shown = it.body.clone();
        (shown["id"], shown["name"]) = (json!(id), json!(it.name));
        let server = shown.as_object_mut().unwrap().remove("server").unwrap();
        let attachment = json!({ "server_id": server, "device": "/dev/vdb", "volume_id": id, "host_name": null });
        shown["attachments"] = if server.is_null() { json!([]) } else { json!([attachment]) };
        shown
    }

    fn listed(&self, request: &Request, moment: FakeMoment) -> testing::Response {
        let value = |name: &str| request.query.iter().find(|(key, _)| key == name).map(|(_, it)| it.as_str());
        let all = self.volumes.listed(moment).filter(|(_, it)| value("name").is_none_or(|name| it.name == name));
        let after: Vec<&str> = all.map(|(id, _)| id).filter(|id| value("marker").is_none_or(|it| *id > it)).collect();
        let limit: usize = value("limit").unwrap().parse().unwrap();
        let page: Vec<Value> = after.iter().take(limit).map(|id| self.shown(id)).collect();
        let links = if after.len() > limit { json!([{ "rel": "next", "href": "http://x/" }]) } else { json!([]) };
        reply(200, json!({ "volumes": page, "volumes_links": links }))
    }

    fn create(&mut self, body: &Value, moment: FakeMoment) -> testing::Response {
        let mut made =
            json!({ "status": "creating", "server": null, "multiattach": false, "availability_zone": "nova" });
        for (key, value) in body["volume"].as_object().unwrap().iter().filter(|(key, _)| *key != "name") {
            made[key] = value.clone();
        }
        let id = self.volumes.make(body["volume"]["name"].as_str().unwrap(), made, moment);
        let status = if self.failing.is_some() { "error" } else { "available" };
        if let Some(detail) = self.failing {
            self.messages.push(json!({
                "resource_uuid": id, "event_id": format!("VOLUME_VOLUME_001_{detail}"), "created_at": "2026-11-30T07:00:00",
                "user_message": "schedule allocate volume: it is so.",
            }));
        }
        self.begin(&id, "creating", json!({ "status": status }), moment);
        reply(202, json!({ "volume": self.shown(&id) }))
    }

    fn extend(&mut self, id: &str, request: &Request, body: &Value, moment: FakeMoment) -> testing::Response {
        let version = request.headers.iter().find(|(name, _)| name == "openstack-api-version").map(|(_, it)| &**it);
        let status = self.status(id).to_owned();
        match (&*status, version) {
            ("available", None) | ("in-use", Some("volume 3.42")) => {}
            _ => return refusal(400, "badRequest", &format!("Invalid volume: status is {status}")),
        }
        let change = json!({ "size": body["os-extend"]["new_size"], "status": status });
        self.begin(id, "extending", change, moment);
        reply(202, "")
    }

    fn attach(&mut self, server: &str, body: &Value, moment: FakeMoment) -> testing::Response {
        let id = body["volumeAttachment"]["volumeId"].as_str().unwrap();
        if self.status(id) != "available" {
            let message = format!("Invalid volume: volume {id} status must be available");
            return refusal(400, "badRequest", &message);
        }
        if self.volumes.all().filter(|(_, it)| it.body["server"] == server).count() >= self.most {
            let message =
                "The maximum allowed number of disk devices (26) to attach to a single instance has been exceeded.";
            return refusal(403, "forbidden", message);
        }
        self.begin(id, "reserved", json!({ "status": "in-use", "server": server }), moment);
        reply(
            200,
            json!({ "volumeAttachment": { "id": id, "serverId": server, "volumeId": id, "device": "/dev/vdb" } }),
        )
    }
}

/// A refusal as Nova and Cinder write it.
pub(super) fn refusal(status: u16, name: &str, message: &str) -> testing::Response {
    reply(status, json!({ name: { "code": status, "message": message } }))
}

impl FakeCloud for FakeProject {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> testing::Response {
        self.settle(moment.now);
        let path: Vec<_> = request.path.iter().map(String::as_str).collect();
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        let unknown = || refusal(404, "itemNotFound", "It could not be found.");
        match (&*request.endpoint, request.method, &path[..]) {
            ("volume", Method::Get, ["volumes"] | ["volumes", "detail"]) => self.listed(request, moment),
            ("volume", Method::Get, ["messages"]) => reply(200, json!({ "messages": self.messages })),
            ("volume", Method::Post, ["volumes"]) => self.create(&body, moment),
            ("volume", _, ["volumes", id, ..]) if self.volumes.get(id).is_none() => unknown(),
            ("volume", Method::Get, ["volumes", id]) => reply(200, json!({ "volume": self.shown(id) })),
            ("volume", Method::Delete, ["volumes", id]) => {
                let is_attached = !self.volumes.get(id).unwrap().body["server"].is_null();
                assert!(!is_attached && matches!(self.status(id), "available" | "error"), "Cinder refuses it");
                self.begin(id, "deleting", Value::Null, moment);
                reply(202, "")
            }
            ("volume", Method::Post, ["volumes", id, "action"]) => self.extend(id, request, &body, moment),
            ("compute", Method::Post, ["servers", server, "os-volume_attachments"]) => {
                self.attach(server, &body, moment)
            }
            ("compute", Method::Delete, ["servers", server, "os-volume_attachments", id]) => {
                if self.volumes.get(id).is_none_or(|it| it.body["server"] != *server) {
                    return unknown();
                }
                self.begin(id, "detaching", json!({ "status": "available", "server": null }), moment);
                reply(202, "")
            }
            other => panic!("{other:?}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.volumes.shown()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let ForeignChange::AddMachine { .. } = change else { return None };
        self.servers += 1;
        Some(Changed { id: Some(server(self.servers)) })
    }

    fn busy(&self, _: &Request) -> testing::Response {
        refusal(409, "conflictingRequest", "An earlier change is under way.")
    }
}
