//! Compute Engine in memory, as far as load balancers need it. Each write is an operation that takes its time.

use std::collections::{BTreeMap, BTreeSet};

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{Body, FakeCloud, FakeMoment, Request, Response, reply};
use serde_json::{Value, json};

use crate::tests::path_of;

/// Where references begin.
pub(super) const BASE: &str = "https://www.googleapis.com/compute/v1/";
/// How long an operation takes, in seconds.
const WORK: u64 = 2;
/// The zones of the region.
const ZONES: [&str; 2] = ["europe-west1-b", "europe-west1-c"];

/// The cloud. Objects are under their paths.
#[derive(Debug, Default)]
pub(super) struct Cloud {
    pub(super) objects: BTreeMap<String, Value>,
    /// The instances in each group.
    pub(super) members: BTreeMap<String, BTreeSet<String>>,
    /// Operations: a path, when it ends, what it does then, and the error that it ends with.
    operations: BTreeMap<String, FakeOperation>,
    /// Operations by the id of the request that began them.
    requests: BTreeMap<String, String>,
    given: u32,
    /// Parts of writes (method and path) that are refused, each with status and reason.
    pub(super) refusals: Vec<(&'static str, u16, &'static str)>,
    /// Parts of writes whose operations fail with a code.
    pub(super) failures: Vec<(&'static str, &'static str)>,
    /// The kind of objects of which lists have nothing yet.
    pub(super) lists_lack: Option<&'static str>,
    /// Whether the credential may read objects, and list none.
    pub(super) forbids_lists: bool,
    /// Whether operations cannot be read.
    pub(super) loses_operations: bool,
    /// The project of a shared VPC.
    pub(super) network_project: Option<&'static str>,
}

#[derive(Clone, Debug)]
struct FakeOperation {
    ends: u64,
    effect: Option<FakeEffect>,
    code: Option<&'static str>,
}

#[derive(Clone, Debug)]
enum FakeEffect {
    Put(String, Value),
    Remove(String),
    Join(String, Vec<String>),
    Leave(String, Vec<String>),
}

pub(super) fn fault(status: u16, reason: &str) -> Response {
    let error = json!({ "message": format!("it is {reason}"), "domain": "global", "reason": reason });
    reply(status, json!({ "error": { "code": status, "message": error["message"], "errors": [error] } }))
}

fn full(reference: &str) -> String {
    reference.find("projects/").map_or_else(|| reference.to_owned(), |at| format!("{BASE}{}", &reference[at..]))
}

impl Cloud {
    /// The instances `node-1` and so on, in the region's zones by turns.
    pub(super) fn path_of(number: usize) -> String {
        format!("projects/p1/zones/{}/instances/node-{number}", ZONES[number % 2])
    }

    pub(super) fn get(&self, end: &str) -> Option<&Value> {
        self.objects.iter().find(|(path, _)| path.ends_with(end)).map(|(_, it)| it)
    }

    /// The whole path of a request.
    fn path(&self, request: &Request) -> String {
        path_of(request, self.network_project.unwrap_or("p1")).join("/")
    }

    fn settle(&mut self, now: u64) {
        let ended: Vec<_> = self.operations.iter().filter(|(_, it)| it.ends <= now).map(|(it, _)| it.clone()).collect();
        for name in ended {
            let operation = self.operations.get_mut(&name).unwrap();
            if let Some(effect) = operation.effect.take().filter(|_| operation.code.is_none()) {
                self.carry_out(effect);
            }
        }
    }

    fn carry_out(&mut self, effect: FakeEffect) {
        match effect {
            FakeEffect::Put(path, value) => _ = self.objects.insert(path, value),
            FakeEffect::Remove(path) => {
                self.objects.remove(&path);
                self.members.remove(&path);
            }
            FakeEffect::Join(path, all) => self.members.entry(path).or_default().extend(all),
            FakeEffect::Leave(path, all) => {
                let members = self.members.entry(path).or_default();
                all.iter().for_each(|it| _ = members.remove(it));
            }
        }
    }

    /// Whether an object is named by another one.
    fn is_used(&self, path: &str) -> bool {
        let reference = format!("{BASE}{path}");
        let names = |shown: &Value| {
            ["target", "backendService"].iter().any(|field| shown[*field] == *reference)
                || ["healthChecks"]
                    .iter()
                    .flat_map(|field| shown[*field].as_array().into_iter().flatten())
                    .any(|it| *it == *reference)
                || shown["backends"].as_array().into_iter().flatten().any(|it| it["group"] == *reference)
        };
        self.objects.values().any(names)
    }

    fn begin(&mut self, request: &Request, path: &str, now: u64, effect: FakeEffect) -> Response {
        self.given += 1;
        let name = format!("operation-{}", self.given);
        let scope = path.split('/').collect::<Vec<_>>();
        let scope = if scope[2] == "global" { scope[..3].join("/") } else { scope[..4].join("/") };
        let line = format!("{:?} {path}", request.method).replace("Method::", "");
        let code = self.failures.iter().find(|(part, _)| line.contains(part)).map(|(_, code)| *code);
        let key = format!("{scope}/operations/{name}");
        self.operations.insert(key.clone(), FakeOperation { ends: now + WORK, effect: Some(effect), code });
        let id = request.query.iter().find(|(it, _)| it == "requestId").map(|(_, it)| it.clone());
        let id = id.expect("a write has a request id");
        assert_eq!((id.len(), id.matches('-').count()), (36, 4));
        self.requests.insert(id, key);
        reply(200, json!({ "name": name, "status": "RUNNING" }))
    }

    fn write(&mut self, request: &Request, now: u64) -> Response {
        let path = self.path(request);
        let line = format!("{:?} {path}", request.method).replace("Method::", "");
        if let Some((_, status, reason)) = self.refusals.iter().find(|(part, ..)| line.contains(part)) {
            return fault(*status, reason);
        }
        let id = request.query.iter().find(|(it, _)| it == "requestId").map(|(_, it)| it);
        if let Some(key) = id.and_then(|it| self.requests.get(it)) {
            let done = self.operations[key].ends <= now;
            let name = key.rsplit('/').next().unwrap();
            return reply(200, json!({ "name": name, "status": if done { "DONE" } else { "RUNNING" } }));
        }
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        let last = request.path.last().unwrap().as_str();
        match request.method {
            Method::Delete if !self.objects.contains_key(&path) => fault(404, "notFound"),
            Method::Delete if self.is_used(&path) => fault(400, "resourceInUseByAnotherResource"),
            Method::Delete => self.begin(request, &path, now, FakeEffect::Remove(path.clone())),
            Method::Put | Method::Patch => {
                let Some(mut shown) = self.objects.get(&path).cloned() else { return fault(404, "notFound") };
                if !shown["fingerprint"].is_null() && body["fingerprint"] != shown["fingerprint"] {
                    return fault(412, "conditionNotMet");
                }
                merge(&mut shown, &body);
                if !shown["fingerprint"].is_null() {
                    shown["fingerprint"] = json!(format!("f-{}", self.given + 100));
                }
                self.begin(request, &path, now, FakeEffect::Put(path.clone(), shown))
            }
            _ if matches!(last, "addInstances" | "removeInstances") => {
                let group = path.rsplit_once('/').unwrap().0.to_owned();
                let all = references(&body, "instances", "instance");
                let effect = if last == "addInstances" { FakeEffect::Join } else { FakeEffect::Leave };
                self.begin(request, &group, now, effect(group.clone(), all))
            }
            _ if ["Instance", "HealthCheck"].iter().any(|it| last.ends_with(it)) => {
                let pool = path.rsplit_once('/').unwrap().0.to_owned();
                let Some(mut shown) = self.objects.get(&pool).cloned() else { return fault(404, "notFound") };
                let (field, of) = if last.ends_with("Instance") {
                    ("instances", "instance")
                } else {
                    ("healthChecks", "healthCheck")
                };
                let all = references(&body, field, of);
                let list = shown[field].as_array().cloned().unwrap_or_default();
                let mut list: Vec<Value> =
                    list.into_iter().filter(|it| !all.contains(&it.as_str().unwrap().to_owned())).collect();
                if last.starts_with("add") {
                    list.extend(all.into_iter().map(Value::from));
                }
                if field == "healthChecks" && list.len() > 1 {
                    return fault(400, "invalid");
                }
                shown[field] = json!(list);
                self.begin(request, &pool, now, FakeEffect::Put(pool.clone(), shown))
            }
            _ => self.insert(request, &path, body, now),
        }
    }

    fn insert(&mut self, request: &Request, path: &str, mut body: Value, now: u64) -> Response {
        let path = format!("{path}/{}", body["name"].as_str().expect("an object has a name"));
        if self.objects.contains_key(&path) {
            return fault(409, "alreadyExists");
        }
        if body["instances"].as_array().is_some_and(|it| it.len() > 200) {
            return fault(413, "invalid");
        }
        for field in ["target", "backendService", "network", "subnetwork"] {
            if let Some(reference) = body[field].as_str().map(full) {
                let has = self.objects.contains_key(&reference[BASE.len()..]);
                if matches!(field, "target" | "backendService") && !has {
                    return fault(404, "notFound");
                }
                body[field] = json!(reference);
            }
        }
        for field in ["instances", "healthChecks"] {
            if let Some(all) = body[field].as_array() {
                let all: Vec<String> = all.iter().map(|it| full(it.as_str().unwrap())).collect();
                body[field] = json!(all);
            }
        }
        let names = |field: &str, of: Option<&str>| -> Vec<String> {
            let all = body[field].as_array().into_iter().flatten();
            all.filter_map(|it| of.map_or(it, |of| &it[of]).as_str()).map(full).collect()
        };
        let named = names("healthChecks", None).into_iter().chain(names("backends", Some("group")));
        if !named.into_iter().all(|it| self.objects.contains_key(&it[BASE.len()..])) {
            return fault(404, "notFound");
        }
        if path.contains("/backendServices/") {
            body["fingerprint"] = json!("f-1");
            for it in body["backends"].as_array_mut().unwrap() {
                it["group"] = json!(full(it["group"].as_str().unwrap()));
                it["balancingMode"] = json!("CONNECTION");
            }
        }
        if path.contains("/forwardingRules/") {
            let taken = |ip: &str| {
                self.objects.iter().any(|(it, shown)| it.contains("/forwardingRules/") && shown["IPAddress"] == *ip)
            };
            if body["IPAddress"].is_null() {
                let net = if body["loadBalancingScheme"] == "INTERNAL" { "10.132.0." } else { "203.0.113." };
                self.given += 1;
                body["IPAddress"] = json!(format!("{net}{}", self.given + 10));
            } else if taken(body["IPAddress"].as_str().unwrap()) {
                return fault(400, "invalid");
            }
            for (field, value) in [("loadBalancingScheme", "EXTERNAL"), ("networkTier", "PREMIUM")] {
                if body[field].is_null() {
                    body[field] = json!(value);
                }
            }
        }
        if path.contains("/addresses/") && body["addressType"].is_null() {
            body["addressType"] = json!("EXTERNAL");
        }
        if path.contains("/firewalls/") && body["priority"].is_null() {
            body["priority"] = json!(1000);
        }
        self.begin(request, &path, now, FakeEffect::Put(path.clone(), body))
    }

    fn read(&self, request: &Request, moment: FakeMoment) -> Response {
        let path = self.path(request);
        let query = |name: &str| request.query.iter().find(|(it, _)| it == name).map(|(_, it)| it.as_str());
        if let Some(operation) = self.operations.get(&path) {
            if self.loses_operations {
                return fault(502, "backendError");
            }
            let mut shown = json!({ "status": if operation.ends <= moment.now { "DONE" } else { "RUNNING" } });
            if let Some(code) = operation.code.filter(|_| operation.ends <= moment.now) {
                shown["error"] =
                    json!({ "errors": [{ "code": code, "message": "Quota 'FORWARDING_RULES' exceeded." }] });
            }
            return reply(200, shown);
        }
        if let Some(group) = path.strip_suffix("/listInstances") {
            if !self.objects.contains_key(group) {
                return fault(404, "notFound");
            }
            let all = self.members.get(group).into_iter().flatten();
            let items: Vec<_> = all.map(|it| json!({ "instance": it, "status": "RUNNING" })).collect();
            return reply(200, json!({ "items": items }));
        }
        match &request.path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["aggregated", "instanceGroups"] => {
                let mut scopes = serde_json::Map::new();
                for zone in ZONES {
                    let start = format!("projects/p1/zones/{zone}/instanceGroups/");
                    let here = self.objects.iter().filter(|(it, _)| it.starts_with(&start));
                    let here: Vec<_> = here
                        .map(|(_, it)| json!({ "name": it["name"], "zone": format!("{BASE}projects/p1/zones/{zone}") }))
                        .collect();
                    scopes.insert(format!("zones/{zone}"), json!({ "instanceGroups": here }));
                }
                reply(200, json!({ "items": scopes }))
            }
            [
                ..,
                "forwardingRules" | "addresses" | "firewalls" | "targetPools" | "backendServices" | "healthChecks"
                | "httpHealthChecks",
            ] if self.forbids_lists => fault(403, "forbidden"),
            [
                ..,
                list @ ("forwardingRules" | "addresses" | "firewalls" | "targetPools" | "backendServices"
                | "healthChecks" | "httpHealthChecks"),
            ] => {
                let ip = query("filter").and_then(|it| it.strip_prefix("address eq "));
                let names = query("filter").and_then(|it| it.strip_prefix("name eq \"(")?.strip_suffix(")\""));
                let is_named = |shown: &Value| {
                    self.lists_lack != Some(*list)
                        && names.is_none_or(|all| all.split('|').any(|name| shown["name"] == name))
                };
                let here = self.objects.iter().filter(|(it, _)| it.rsplit_once('/').is_some_and(|(it, _)| it == path));
                let here = here.map(|(_, it)| it).filter(|it| ip.is_none_or(|ip| it["address"] == ip) && is_named(it));
                reply(200, json!({ "items": here.collect::<Vec<_>>() }))
            }
            _ => self.objects.get(&path).map_or_else(|| fault(404, "notFound"), |it| reply(200, it)),
        }
    }
}

/// References in a body, in full.
fn references(body: &Value, field: &str, of: &str) -> Vec<String> {
    body[field].as_array().unwrap().iter().map(|it| full(it[of].as_str().unwrap())).collect()
}

fn merge(shown: &mut Value, body: &Value) {
    for (field, value) in body.as_object().unwrap() {
        shown[&**field] = match field.as_str() {
            "healthChecks" => value.as_array().unwrap().iter().map(|it| json!(full(it.as_str().unwrap()))).collect(),
            "backends" => value
                .as_array()
                .unwrap()
                .iter()
                .map(|it| json!({ "group": full(it["group"].as_str().unwrap()), "balancingMode": "CONNECTION" }))
                .collect(),
            _ => value.clone(),
        };
    }
}

impl FakeCloud for Cloud {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        self.settle(moment.now);
        if self.writes(request) { self.write(request, moment.now) } else { self.read(request, moment) }
    }

    fn objects(&self) -> Vec<CloudObject> {
        let object = |(path, shown): (&String, &Value)| {
            let (kind, name) = path.rsplit_once('/').unwrap();
            let mut body = shown.clone();
            body.as_object_mut().unwrap().remove("fingerprint");
            let kind = kind.rsplit('/').next().unwrap().to_owned();
            let kind = if kind == "forwardingRules" { "load balancer".to_owned() } else { kind };
            CloudObject { kind, id: path.clone(), name: name.to_owned(), body }
        };
        self.objects.iter().map(object).collect()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { .. } => Some(Changed::default()),
            ForeignChange::AddForeign { name } => {
                let path = format!("projects/p1/regions/europe-west1/forwardingRules/{name}");
                let rule = json!({ "name": name, "description": "by hand", "IPAddress": "203.0.113.9", "loadBalancingScheme": "EXTERNAL" });
                self.objects.insert(path.clone(), rule);
                Some(Changed { id: Some(path) })
            }
            _ => None,
        }
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("project", "p1"), ("region", "europe-west1"), ("nodeTags", "k8s-node")]
    }

    fn busy(&self, _: &Request) -> Response {
        fault(400, "resourceNotReady")
    }

    fn refused(&self, _: &Request) -> Response {
        fault(400, "invalid")
    }

    fn writes(&self, request: &Request) -> bool {
        request.method != Method::Get && request.path.last().is_none_or(|it| it != "listInstances")
    }
}
