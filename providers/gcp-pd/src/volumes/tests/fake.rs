//! Compute Engine in memory: a zone's disks, and operations of which nothing shows before they end.

use std::collections::BTreeMap;

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{
    Body, FakeCloud, FakeMoment, FakeObjects, Host, Request, Response, SharedCloud, SimulatedCloud, reply,
};
use serde_json::{Value, json};

/// How long an operation takes.
const SECONDS: u64 = 3;
/// The beginning of links.
const BASE: &str = "https://www.googleapis.com/compute/v1/projects/p1/";

/// A project, in which one disk is another's.
pub(super) struct FakeGce {
    /// By their paths, from `zones/` on.
    pub(super) disks: FakeObjects,
    pub(super) operations: Vec<FakeOperation>,
    pub(super) instances: u64,
    /// How many disks an instance takes.
    pub(super) most: usize,
    /// The status and the reason with which a verb is refused.
    pub(super) refusals: BTreeMap<&'static str, (u16, &'static str)>,
    /// The code with which the next operation of a verb ends.
    pub(super) failing: BTreeMap<&'static str, &'static str>,
    /// The zone that lists are silent about.
    pub(super) silent: Option<&'static str>,
}

/// An operation.
pub(super) struct FakeOperation {
    pub(super) verb: &'static str,
    /// From `zones/` on.
    pub(super) target: String,
    pub(super) id: String,
    begins: u64,
    ends: u64,
    ending: Option<Ending>,
    error: Option<&'static str>,
}

/// The end of an operation that does not fail: the disk, and what becomes of it.
enum Ending {
    Made(String),
    Attached(String, String),
    Detached(String, String),
    Size(String, Value),
    Deleted(String),
}

impl Default for FakeGce {
    fn default() -> Self {
        let gce = Self {
            disks: FakeObjects::new("volume", "disk-"),
            operations: Vec::new(),
            instances: 0,
            most: 16,
            refusals: BTreeMap::new(),
            failing: BTreeMap::new(),
            silent: None,
        };
        gce.with("pvc-other", json!({}))
    }
}

/// A time as Compute Engine writes it: in January of 1970.
fn written(seconds: u64) -> String {
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    assert!(day < 31, "{seconds}");
    format!("1970-01-{:02}T{:02}:{:02}:{:02}.000-00:00", day + 1, second / 3_600, second / 60 % 60, second % 60)
}

fn refusal(status: u16, reason: &str, message: &str) -> Response {
    let error = json!({ "message": message, "domain": "global", "reason": reason });
    reply(status, json!({ "error": { "code": status, "message": message, "errors": [error] } }))
}

fn asked<'a>(request: &'a Request, name: &str) -> &'a str {
    request.query.iter().find(|(it, _)| it == name).map_or("", |(_, value)| value)
}

fn body(request: &Request) -> Value {
    match &request.body {
        Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
        _ => Value::Null,
    }
}

impl FakeGce {
    /// The same with a disk in europe-west1-b that differs so from the usual one.
    pub(super) fn with(mut self, name: &str, differs: Value) -> Self {
        let mut disk = json!({ "sizeGb": "10", "status": "READY", "description": "", "labels": {}, "users": [] });
        for (key, value) in differs.as_object().unwrap() {
            disk[key] = value.clone();
        }
        self.disks.put(&format!("zones/europe-west1-b/disks/{name}"), name, disk, FakeMoment::default());
        self
    }

    pub(super) fn refusing(mut self, verb: &'static str, status: u16, reason: &'static str) -> Self {
        self.refusals.insert(verb, (status, reason));
        self
    }

    pub(super) fn failing(mut self, verb: &'static str, code: &'static str) -> Self {
        self.failing.insert(verb, code);
        self
    }

    /// The same with an operation of somebody else, which ends then.
    pub(super) fn with_operation(mut self, verb: &'static str, target: &str, ends: u64) -> Self {
        let (target, id) = (target.to_owned(), "0c0c0c0c-0000-4000-8000-000000000000".to_owned());
        self.operations.push(FakeOperation { verb, target, id, begins: 0, ends, ending: None, error: None });
        self
    }

    /// Ends what has had its time.
    fn settle(&mut self, now: u64) {
        for at in 0..self.operations.len() {
            if self.operations[at].ends > now {
                continue;
            }
            let Some(ending) = self.operations[at].ending.take() else { continue };
            let fails = self.operations[at].error.is_some();
            if fails {
                if let Ending::Made(disk) = ending {
                    self.disks.remove(&disk);
                }
                continue;
            }
            match ending {
                Ending::Made(disk) => self.disks.get_mut(&disk).unwrap().body["status"] = json!("READY"),
                Ending::Attached(disk, instance) => {
                    let users = &mut self.disks.get_mut(&disk).unwrap().body["users"];
                    match users.as_array().unwrap().is_empty() {
                        true => *users = json!([format!("{BASE}{instance}")]),
                        false => self.operations[at].error = Some("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE"),
                    }
                }
                Ending::Detached(disk, instance) => {
                    let users = self.disks.get_mut(&disk).unwrap().body["users"].as_array_mut().unwrap();
                    users.retain(|it| *it != json!(format!("{BASE}{instance}")));
                }
                Ending::Size(disk, size) => self.disks.get_mut(&disk).unwrap().body["sizeGb"] = size,
                Ending::Deleted(disk) => _ = self.disks.remove(&disk),
            }
        }
    }

    fn begin(
        &mut self,
        request: &Request,
        moment: FakeMoment,
        verb: &'static str,
        target: &str,
        ending: Ending,
    ) -> Response {
        let (begins, ends) = (moment.now, moment.now + SECONDS);
        let (id, error) = (asked(request, "requestId").to_owned(), self.failing.remove(verb));
        let target = target.to_owned();
        self.operations.push(FakeOperation { verb, target, id, begins, ends, ending: Some(ending), error });
        reply(200, self.operation(self.operations.len() - 1, moment.now))
    }

    fn operation(&self, at: usize, now: u64) -> Value {
        let it = &self.operations[at];
        let mut shown = json!({
            "name": format!("operation-{at}"), "operationType": it.verb, "targetLink": format!("{BASE}{}", it.target),
            "clientOperationId": it.id, "insertTime": written(it.begins), "status": "RUNNING",
        });
        if it.ends <= now {
            shown["status"] = json!("DONE");
            shown["endTime"] = json!(written(it.ends));
            if let Some(code) = it.error {
                shown["error"] = json!({ "errors": [{ "code": code, "message": "It is so." }] });
            }
        }
        shown
    }

    fn shown(&self, path: &str) -> Value {
        let disk = self.disks.get(path).unwrap();
        let mut shown = disk.body.clone();
        shown["name"] = json!(disk.name);
        shown["zone"] = json!(format!("{BASE}zones/{}", path.split('/').nth(1).unwrap()));
        shown
    }

    fn listed(&self, request: &Request, moment: FakeMoment) -> Response {
        let filter = asked(request, "filter");
        let passes = |name: &str, body: &Value| match filter.split_once(" eq ").unwrap() {
            ("name", wanted) => name == wanted,
            ("description", wanted) => {
                let wanted = wanted.strip_prefix("\".*").unwrap().strip_suffix(".*\"").unwrap();
                body["description"].as_str().unwrap().contains(wanted)
            }
            other => panic!("{other:?}"),
        };
        let all: Vec<_> = self.disks.listed(moment).filter(|(_, it)| passes(&it.name, &it.body)).collect();
        let size: usize = asked(request, "maxResults").parse().unwrap();
        let begin: usize = asked(request, "pageToken").parse().unwrap_or_default();
        let mut scopes = json!({
            "zones/us-east1-b": { "warning": { "code": "NO_RESULTS_ON_PAGE", "message": "none" } },
            // A disk in two zones.
            "regions/europe-west1": { "disks": [{ "name": "pvc-two", "region": "r", "sizeGb": "1" }] },
        });
        if let Some(zone) = self.silent {
            scopes[format!("zones/{zone}")] =
                json!({ "warning": { "code": "UNREACHABLE", "message": "it is silent" } });
        }
        for (path, _) in all.iter().skip(begin).take(size) {
            let scope = &mut scopes[path.rsplitn(3, '/').nth(2).unwrap()];
            match scope["disks"].as_array_mut() {
                Some(disks) => disks.push(self.shown(path)),
                None => *scope = json!({ "disks": [self.shown(path)] }),
            }
        }
        let mut page = json!({ "items": scopes });
        if begin + size < all.len() {
            page["nextPageToken"] = json!((begin + size).to_string());
        }
        reply(200, page)
    }

    fn attach(&mut self, request: &Request, moment: FakeMoment, instance: &str) -> Response {
        let body = body(request);
        let disk = body["source"].as_str().unwrap().strip_prefix("projects/p1/").unwrap().to_owned();
        assert!(disk.ends_with(&format!("/{}", body["deviceName"].as_str().unwrap())), "{body}");
        let user = json!(format!("{BASE}{instance}"));
        let taken = self.disks.all().filter(|(_, it)| it.body["users"].as_array().unwrap().contains(&user)).count();
        if taken >= self.most {
            return refusal(403, "limitExceeded", "Exceeded limit 'maximum_persistent_disks' on resource");
        }
        self.begin(request, moment, "attachDisk", instance, Ending::Attached(disk, instance.to_owned()))
    }

    fn detach(&mut self, request: &Request, moment: FakeMoment, instance: &str) -> Response {
        let zone = instance.split('/').nth(1).unwrap();
        let disk = format!("zones/{zone}/disks/{}", asked(request, "deviceName"));
        let user = json!(format!("{BASE}{instance}"));
        let is_here = self.disks.get(&disk).is_some_and(|it| it.body["users"].as_array().unwrap().contains(&user));
        match is_here {
            true => self.begin(request, moment, "detachDisk", instance, Ending::Detached(disk, instance.to_owned())),
            false => refusal(400, "invalid", "No attached disk found with device name"),
        }
    }
}

impl FakeCloud for FakeGce {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        self.settle(moment.now);
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let whole = path.join("/");
        if request.method == Method::Get {
            return match path[..] {
                ["aggregated", "disks"] => self.listed(request, moment),
                ["zones", _, "disks", _] if self.disks.get(&whole).is_some() => reply(200, self.shown(&whole)),
                ["zones", zone, "operations"] => {
                    let pattern = asked(request, "filter").strip_prefix("targetLink eq \".*/").unwrap();
                    let target = pattern.strip_suffix('"').unwrap();
                    assert!(target.starts_with(&format!("zones/{zone}/")), "{target}");
                    let all = 0..self.operations.len();
                    let all = all.filter(|at| self.operations[*at].target == target);
                    reply(200, json!({ "items": all.map(|at| self.operation(at, moment.now)).collect::<Vec<_>>() }))
                }
                _ => refusal(404, "notFound", "The resource was not found"),
            };
        }
        let id = asked(request, "requestId");
        assert_eq!((id.len(), &id[14..15], &id[19..20]), (36, "4", "8"), "{id}");
        if let Some(at) = self.operations.iter().position(|it| it.id == id) {
            return reply(200, self.operation(at, moment.now));
        }
        let verb = match (request.method, &path[..]) {
            (Method::Delete, _) => "delete",
            (_, [_, _, _]) => "insert",
            (_, [.., verb]) => verb,
            other => panic!("{other:?}"),
        };
        if let Some((status, reason)) = self.refusals.get(verb) {
            return refusal(*status, reason, "It is so.");
        }
        let object = path[..path.len().min(4)].join("/");
        match (verb, path[2]) {
            ("insert", "disks") => {
                let mut disk = body(request);
                let name = disk["name"].as_str().unwrap().to_owned();
                let path = format!("{whole}/{name}");
                if self.disks.get(&path).is_some() {
                    return refusal(409, "alreadyExists", "The resource already exists");
                }
                disk.as_object_mut().unwrap().remove("name");
                (disk["status"], disk["users"]) = (json!("CREATING"), json!([]));
                self.disks.put(&path, name, disk, moment);
                self.begin(request, moment, "insert", &path, Ending::Made(path.clone()))
            }
            ("attachDisk", "instances") => self.attach(request, moment, &object),
            ("detachDisk", "instances") => self.detach(request, moment, &object),
            (_, "disks") if self.disks.get(&object).is_none() => refusal(404, "notFound", "It was not found"),
            ("resize", "disks") => {
                let size = body(request)["sizeGb"].clone();
                self.begin(request, moment, "resize", &object, Ending::Size(object.clone(), size))
            }
            ("delete", "disks") => {
                let disk = &mut self.disks.get_mut(&object).unwrap().body;
                assert_eq!(disk["users"], json!([]), "it is attached");
                disk["status"] = json!("DELETING");
                self.begin(request, moment, "delete", &object, Ending::Deleted(object.clone()))
            }
            other => panic!("{other:?}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        let mut shown = self.disks.shown();
        shown.retain(|it| it.body["status"] != "DELETING");
        for it in &mut shown {
            let body = it.body.as_object_mut().unwrap();
            body.remove("status");
            body.remove("users");
        }
        shown
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let ForeignChange::AddMachine { .. } = change else { return None };
        self.instances += 1;
        Some(Changed { id: Some(format!("projects/p1/zones/europe-west1-b/instances/node-{}", self.instances)) })
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("project", "p1")]
    }

    fn busy(&self, _: &Request) -> Response {
        refusal(400, "resourceNotReady", "The resource is not ready")
    }
}

/// Compute Engine, and a cluster that works on its volumes.
pub(super) struct Stage {
    pub(super) cloud: SharedCloud<FakeGce>,
    pub(super) host: Host,
}

impl Stage {
    pub(super) fn of(gce: FakeGce) -> Self {
        let cloud = SimulatedCloud::new(gce).shared();
        let host = Host::of(&cloud).setting("project", "p1");
        Self { cloud, host }
    }

    /// One call at this moment.
    pub(super) fn run<T>(&self, of: impl FnOnce() -> T) -> T {
        let now = self.cloud.borrow().now();
        self.host.clone().at(now).run(of)
    }

    /// Lets time pass.
    pub(super) fn advance(&self, seconds: u64) {
        self.cloud.borrow_mut().advance(std::time::Duration::from_secs(seconds));
    }

    /// The writes that were sent: their verbs, or the collection of what is made.
    pub(super) fn writes(&self) -> Vec<String> {
        let all = self.host.sent();
        let writes = all.iter().filter(|it| it.method != Method::Get);
        writes
            .map(|request| match request.method {
                Method::Delete => "delete".to_owned(),
                _ => request.path.last().unwrap().clone(),
            })
            .collect()
    }
}
