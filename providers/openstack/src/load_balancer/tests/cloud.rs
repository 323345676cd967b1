//! Octavia and Neutron in memory, as far as load balancers need them. Whatever Octavia is asked to change is not to be changed for some seconds.

mod neutron;

use std::collections::BTreeMap;

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{Body, FakeCloud, FakeMoment, Request, Response, reply};
use serde_json::{Value, json};

/// How long Octavia is at work on a change, in seconds.
const WORK: u64 = 3;

/// Objects of one kind by their ids.
type Objects = BTreeMap<String, Value>;

/// The cloud. What its fields hold is what the API shows.
#[derive(Debug, Default)]
pub(super) struct Cloud {
    pub(super) balancers: Objects,
    pub(super) listeners: Objects,
    pub(super) pools: Objects,
    pub(super) members: Objects,
    pub(super) monitors: Objects,
    pub(super) floating: Objects,
    pub(super) groups: Objects,
    pub(super) rules: Objects,
    pub(super) ports: Objects,
    /// Until when Octavia is at work on a load balancer.
    busy: BTreeMap<String, u64>,
    /// Load balancers that were made while lists lagged.
    late: Vec<String>,
    given: u64,
    /// The state in which creations end: ACTIVE if empty.
    pub(super) ends_in: String,
    /// Whether the driver makes one thing at a time.
    pub(super) is_serial: bool,
    /// Subnets for floating IPs that have no address left.
    pub(super) full: Vec<String>,
    /// How many lists of floating IPs show none.
    pub(super) unlisted: usize,
    /// Whether it has no external network.
    pub(super) is_closed: bool,
    /// The answer to each creation of a load balancer.
    pub(super) refuses: Option<fn() -> Response>,
    /// How many more changes Octavia calls immutable.
    held: u32,
    /// The largest body that came.
    pub(super) largest: usize,
}

fn fault(status: u16, words: &str) -> Response {
    reply(status, json!({ "faultcode": "Client", "faultstring": words, "debuginfo": null }))
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

impl Cloud {
    /// An id as OpenStack gives it.
    fn id(&mut self) -> String {
        self.given += 1;
        format!("00000000-0000-4000-8000-{:012}", self.given)
    }

    /// A node's port, and its server's id.
    pub(super) fn server(&mut self, number: u8) -> String {
        let server = format!("server-{number}");
        let port = json!({
            "id": format!("port-{number}"), "device_id": server, "security_groups": ["default"],
            "port_security_enabled": true, "revision_number": 1,
            "fixed_ips": [
                { "subnet_id": "k8s", "ip_address": format!("10.6.0.{number}") },
                { "subnet_id": "k8s6", "ip_address": format!("fd00:6::{number}") },
            ],
        });
        self.ports.insert(format!("port-{number}"), port);
        server
    }

    /// Lets the next changes be refused, as if another had changed the load balancer in between.
    pub(super) fn hold(&mut self, changes: u32) {
        self.held = changes;
    }

    fn octavia(&mut self, request: &Request, body: &Value, moment: FakeMoment) -> Response {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let path = path.get(2..).unwrap_or_default();
        self.settle(moment.now);
        match (request.method, path) {
            (Method::Get, []) => reply(200, json!({ "versions": [{ "id": "v2.0" }, { "id": "v2.30" }] })),
            (Method::Get, ["loadbalancers"]) => {
                let shown = |(id, _): &(&String, &Value)| !(moment.lists_lag && self.late.contains(id));
                let named = |shown: &Value| {
                    let has_tag = |tag: &str| shown["tags"].as_array().unwrap().iter().any(|it| it == tag);
                    query(request, "name").is_none_or(|name| text(shown, "name") == name)
                        && query(request, "provider").is_none_or(|driver| text(shown, "provider") == driver)
                        && query(request, "tags").is_none_or(has_tag)
                };
                let all: Vec<_> =
                    self.balancers.iter().filter(shown).map(|(_, it)| it).filter(|it| named(it)).collect();
                reply(200, json!({ "loadbalancers": all }))
            }
            (Method::Get, ["loadbalancers", id]) => match self.balancers.get(*id) {
                Some(it) => reply(200, json!({ "loadbalancer": it })),
                None => fault(404, "Load Balancer not found."),
            },
            (Method::Get, ["loadbalancers", id, "status"]) => reply(200, self.status(id)),
            (Method::Get, ["listeners"]) => reply(200, json!({ "listeners": of(request, &self.listeners) })),
            (Method::Get, ["pools"]) => {
                let mut pools = of(request, &self.pools);
                for pool in &mut pools {
                    let id = text(pool, "id").to_owned();
                    let ids = |(_, it): (&String, &Value)| (it["pool"] == *id).then(|| json!({ "id": it["id"] }));
                    pool["members"] = self.members.iter().filter_map(ids).collect();
                    let users =
                        |(_, it): (&String, &Value)| (it["default_pool_id"] == *id).then(|| json!({ "id": it["id"] }));
                    pool["listeners"] = self.listeners.iter().filter_map(users).collect();
                }
                reply(200, json!({ "pools": pools }))
            }
            (Method::Get, ["pools", id, "members"]) => {
                let members: Vec<_> = self.members.values().filter(|it| it["pool"] == **id).collect();
                reply(200, json!({ "members": members }))
            }
            (Method::Get, ["healthmonitors"]) => {
                reply(200, json!({ "healthmonitors": self.monitors.values().collect::<Vec<_>>() }))
            }
            _ => self.octavia_write(request, path, body, moment),
        }
    }

    fn status(&self, id: &str) -> Value {
        let pool = |of: &Value| {
            let members: Vec<_> = self.members.values().filter(|it| it["pool"] == *of).collect();
            json!({ "id": of, "members": members })
        };
        let of_balancer = self.listeners.values().filter(|it| it["loadbalancers"][0]["id"] == *id);
        let listeners: Vec<_> =
            of_balancer.map(|it| json!({ "id": it["id"], "pools": [pool(&it["default_pool_id"])] })).collect();
        json!({ "statuses": { "loadbalancer": { "id": id, "listeners": listeners } } })
    }

    /// Changes that have taken their time are done.
    fn settle(&mut self, now: u64) {
        let done: Vec<_> = self.busy.iter().filter(|(_, end)| **end <= now).map(|(id, _)| id.clone()).collect();
        for id in done {
            self.busy.remove(&id);
            let Some(balancer) = self.balancers.get_mut(&id) else { continue };
            let end = if self.ends_in.is_empty() { "ACTIVE" } else { &self.ends_in };
            match text(balancer, "provisioning_status") {
                "PENDING_DELETE" => self.delete_balancer(&id),
                "PENDING_CREATE" => balancer["provisioning_status"] = json!(end),
                _ => balancer["provisioning_status"] = json!("ACTIVE"),
            }
        }
    }

    pub(super) fn delete_balancer(&mut self, id: &str) {
        let Some(balancer) = self.balancers.remove(id) else { return };
        for floating in self.floating.values_mut().filter(|it| it["port_id"] == balancer["vip_port_id"]) {
            floating["port_id"] = Value::Null;
        }
        self.listeners.retain(|_, it| it["loadbalancers"][0]["id"] != *id);
        let gone: Vec<_> = self.pools.values().filter(|it| it["loadbalancers"][0]["id"] == *id).cloned().collect();
        gone.iter().for_each(|it| self.delete_pool(text(it, "id")));
    }

    fn delete_pool(&mut self, id: &str) {
        self.pools.remove(id);
        self.members.retain(|_, it| it["pool"] != *id);
        self.monitors.retain(|_, it| it["pools"][0]["id"] != *id);
        for listener in self.listeners.values_mut().filter(|it| it["default_pool_id"] == *id) {
            listener["default_pool_id"] = Value::Null;
        }
    }

    fn octavia_write(&mut self, request: &Request, path: &[&str], body: &Value, moment: FakeMoment) -> Response {
        if (request.method, path) == (Method::Post, &["loadbalancers"]) {
            return match self.refuses {
                Some(answer) => answer(),
                None => self.make_balancer(&body["loadbalancer"], moment),
            };
        }
        let balancer = match path {
            ["loadbalancers", id] => Some((*id).to_owned()),
            ["listeners"] => body["listener"]["loadbalancer_id"].as_str().map(str::to_owned),
            ["listeners", id] => parent(&self.listeners, id),
            ["pools"] => parent(&self.listeners, text(&body["pool"], "listener_id")),
            ["pools", id, ..] => parent(&self.pools, id),
            ["healthmonitors"] => parent(&self.pools, text(&body["healthmonitor"], "pool_id")),
            ["healthmonitors", id] => {
                self.monitors.get(*id).and_then(|it| parent(&self.pools, text(&it["pools"][0], "id")))
            }
            _ => None,
        };
        let Some(balancer) = balancer.filter(|it| self.balancers.contains_key(it)) else {
            return fault(404, "it is not found.");
        };
        let is_held = self.held > 0;
        self.held = self.held.saturating_sub(1);
        if is_held || self.busy.contains_key(&balancer) {
            return fault(409, &format!("Load Balancer {balancer} is immutable and cannot be updated."));
        }
        let response = self.change(request, path, body, &balancer);
        if response.status < 300 {
            let state = if text(&self.balancers[&balancer], "provisioning_status") == "PENDING_DELETE" {
                "PENDING_DELETE"
            } else {
                "PENDING_UPDATE"
            };
            self.balancers.get_mut(&balancer).unwrap()["provisioning_status"] = json!(state);
            self.busy.insert(balancer, moment.now + WORK);
        }
        response
    }

    fn change(&mut self, request: &Request, path: &[&str], body: &Value, balancer: &str) -> Response {
        let is_additive = query(request, "additive_only").is_some();
        match (request.method, path) {
            (Method::Delete, ["loadbalancers", id]) => {
                let has_parts = self.listeners.values().any(|it| it["loadbalancers"][0]["id"] == **id);
                if has_parts && query(request, "cascade").is_none() {
                    return fault(400, "it has listeners");
                }
                self.balancers.get_mut(*id).unwrap()["provisioning_status"] = json!("PENDING_DELETE");
                reply(204, "")
            }
            (Method::Put, ["loadbalancers", id]) => merge(&mut self.balancers, id, &body["loadbalancer"]),
            (Method::Post, ["listeners"]) => self.make_listener(&body["listener"], balancer),
            (Method::Put, ["listeners", id]) => merge(&mut self.listeners, id, &body["listener"]),
            (Method::Delete, ["listeners", id]) => gone(self.listeners.remove(*id).is_some()),
            (Method::Post, ["pools"]) => {
                let id = self.make_pool(&body["pool"], balancer);
                let listener = text(&body["pool"], "listener_id");
                self.listeners.get_mut(listener).unwrap()["default_pool_id"] = json!(id);
                reply(201, json!({ "pool": self.pools[&id] }))
            }
            (Method::Put, ["pools", id]) => merge(&mut self.pools, id, &body["pool"]),
            (Method::Delete, ["pools", id]) => {
                let was_there = self.pools.contains_key(*id);
                self.delete_pool(id);
                gone(was_there)
            }
            (Method::Put, ["pools", _, "members"]) if self.is_serial => fault(501, "not implemented by the driver"),
            (Method::Put, ["pools", id, "members"]) => {
                let wanted = body["members"].as_array().unwrap();
                if !is_additive {
                    let is_wanted = |member: &Value| {
                        wanted.iter().any(|other| {
                            other["address"] == member["address"] && other["protocol_port"] == member["protocol_port"]
                        })
                    };
                    self.members.retain(|_, it| it["pool"] != **id || is_wanted(it));
                }
                wanted.iter().for_each(|it| self.make_member(it, id));
                reply(202, "")
            }
            (Method::Post, ["pools", id, "members"]) => {
                self.make_member(&body["member"], id);
                reply(201, json!({ "member": body["member"] }))
            }
            (Method::Delete, ["pools", _, "members", id]) => gone(self.members.remove(*id).is_some()),
            (Method::Post, ["healthmonitors"]) => {
                let pool = text(&body["healthmonitor"], "pool_id").to_owned();
                self.make_monitor(&body["healthmonitor"], &pool);
                reply(201, json!({ "healthmonitor": body["healthmonitor"] }))
            }
            (Method::Put, ["healthmonitors", id]) => merge(&mut self.monitors, id, &body["healthmonitor"]),
            (Method::Delete, ["healthmonitors", id]) => {
                let pool = self.monitors.remove(*id).map(|it| text(&it["pools"][0], "id").to_owned());
                if let Some(pool) = pool.as_ref().and_then(|it| self.pools.get_mut(it)) {
                    pool["healthmonitor_id"] = Value::Null;
                }
                gone(pool.is_some())
            }
            _ => panic!("{:?} {path:?}", request.method),
        }
    }

    fn make_balancer(&mut self, asked: &Value, moment: FakeMoment) -> Response {
        let listeners = asked["listeners"].as_array().cloned().unwrap_or_default();
        if self.is_serial && !listeners.is_empty() {
            return fault(501, "the driver does not make it at once");
        }
        let id = self.id();
        let mut shown = asked.clone();
        shown.as_object_mut().unwrap().remove("listeners");
        shown["id"] = json!(id);
        shown["provisioning_status"] = json!("PENDING_CREATE");
        shown["vip_port_id"] = json!(format!("vip-{id}"));
        shown["vip_address"] = match asked["vip_subnet_id"].as_str() {
            _ if asked["vip_address"].is_string() => asked["vip_address"].clone(),
            Some("k8s6") => json!("fd00:6::aaaa"),
            _ => json!(format!("10.6.1.{}", self.given)),
        };
        if shown["vip_subnet_id"].is_null() {
            shown["vip_subnet_id"] = json!("k8s");
        }
        for vip in shown["additional_vips"].as_array_mut().into_iter().flatten() {
            vip["ip_address"] = json!("fd00:6::bbbb");
        }
        self.balancers.insert(id.clone(), shown.clone());
        for listener in &listeners {
            let pool = &listener["default_pool"];
            let pool_id = self.make_pool(pool, &id);
            for member in pool["members"].as_array().into_iter().flatten() {
                self.make_member(member, &pool_id);
            }
            if pool["healthmonitor"].is_object() {
                self.make_monitor(&pool["healthmonitor"], &pool_id);
            }
            let mut body = listener.clone();
            body.as_object_mut().unwrap().remove("default_pool");
            body["default_pool_id"] = json!(pool_id);
            self.make_listener(&body, &id);
        }
        if moment.lists_lag {
            self.late.push(id.clone());
        }
        self.busy.insert(id, moment.now + WORK);
        reply(201, json!({ "loadbalancer": shown }))
    }

    pub(super) fn make_listener(&mut self, asked: &Value, balancer: &str) -> Response {
        let transport = |shown: &Value| {
            if matches!(text(shown, "protocol"), "UDP" | "SCTP") {
                text(shown, "protocol").to_owned()
            } else {
                "TCP".to_owned()
            }
        };
        let is_taken = |shown: &&Value| {
            shown["loadbalancers"][0]["id"] == *balancer
                && shown["protocol_port"] == asked["protocol_port"]
                && transport(shown) == transport(asked)
        };
        if self.listeners.values().any(|it| is_taken(&it)) {
            return fault(409, "Another Listener on this Load Balancer is already using this port");
        }
        let id = self.id();
        let mut shown = asked.clone();
        shown["id"] = json!(id);
        shown["loadbalancers"] = json!([{ "id": balancer }]);
        shown["provisioning_status"] = json!("ACTIVE");
        if shown["allowed_cidrs"].is_null() {
            shown["allowed_cidrs"] = Value::Null;
        }
        self.listeners.insert(id.clone(), shown);
        reply(201, json!({ "listener": self.listeners[&id] }))
    }

    pub(super) fn make_pool(&mut self, asked: &Value, balancer: &str) -> String {
        let id = self.id();
        let mut shown = asked.clone();
        for field in ["members", "healthmonitor", "listener_id"] {
            shown.as_object_mut().unwrap().remove(field);
        }
        shown["id"] = json!(id);
        shown["loadbalancers"] = json!([{ "id": balancer }]);
        shown["provisioning_status"] = json!("ACTIVE");
        self.pools.insert(id.clone(), shown);
        id
    }

    fn make_member(&mut self, asked: &Value, pool: &str) {
        let is_it = |shown: &Value| {
            shown["pool"] == *pool
                && shown["address"] == asked["address"]
                && shown["protocol_port"] == asked["protocol_port"]
        };
        let there = self.members.iter().find(|(_, it)| is_it(it)).map(|(id, _)| id.clone());
        let id = there.unwrap_or_else(|| self.id());
        let mut shown = asked.clone();
        shown["id"] = json!(id);
        shown["pool"] = json!(pool);
        shown["weight"] = asked.get("weight").cloned().unwrap_or(json!(1));
        self.members.insert(id, shown);
    }

    fn make_monitor(&mut self, asked: &Value, pool: &str) {
        let id = self.id();
        let mut shown = asked.clone();
        shown["id"] = json!(id);
        shown["pools"] = json!([{ "id": pool }]);
        self.pools.get_mut(pool).unwrap()["healthmonitor_id"] = json!(id);
        self.monitors.insert(id, shown);
    }
}

/// The value of a filter.
fn query<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    request.query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
}

/// The objects of one load balancer, or of all.
fn of(request: &Request, objects: &Objects) -> Vec<Value> {
    let wanted = query(request, "loadbalancer_id");
    let is = |it: &&Value| wanted.is_none_or(|id| it["loadbalancers"][0]["id"] == *id);
    objects.values().filter(is).cloned().collect()
}

fn parent(objects: &Objects, id: &str) -> Option<String> {
    Some(text(&objects.get(id)?["loadbalancers"][0], "id").to_owned())
}

/// Puts the members of a body into an object.
fn merge(objects: &mut Objects, id: &str, body: &Value) -> Response {
    let Some(object) = objects.get_mut(id) else { return fault(404, "it is not found.") };
    for (name, value) in body.as_object().unwrap() {
        object[name] = value.clone();
    }
    reply(200, json!({}))
}

fn gone(was_there: bool) -> Response {
    if was_there { reply(204, "") } else { fault(404, "it is not found.") }
}

impl FakeCloud for Cloud {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        let bytes = match &request.body {
            Some(Body::Bytes(bytes)) => bytes.clone(),
            _ => b"null".to_vec(),
        };
        self.largest = self.largest.max(bytes.len());
        if bytes.len() > 114_688 {
            return reply(413, json!({ "title": "Request Entity Too Large", "message": "Request is too large." }));
        }
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        match &*request.endpoint {
            "load-balancer" => self.octavia(request, &body, moment),
            "network" => self.neutron(request, &body),
            other => panic!("{other}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        let kinds = [
            ("load balancer", &self.balancers),
            ("load balancer listener", &self.listeners),
            ("load balancer pool", &self.pools),
            ("member", &self.members),
            ("monitor", &self.monitors),
            ("floating IP", &self.floating),
            ("security group", &self.groups),
        ];
        let object = |kind: &str, (id, body): (&String, &Value)| {
            let mut body = body.clone();
            body["provisioning_status"] = Value::Null;
            CloudObject { kind: kind.to_owned(), id: id.clone(), name: text(&body, "name").to_owned(), body }
        };
        kinds.iter().flat_map(|(kind, objects)| objects.iter().map(|it| object(kind, it))).collect()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                let number = name.strip_prefix("web-")?.parse().ok()?;
                self.server(number);
                Some(Changed { id: None })
            }
            // Another cluster's, which has the Service's name in another cluster.
            ForeignChange::AddForeign { .. } => {
                let id = self.id();
                let name = "kube_service_other_default_web";
                let foreign = json!({
                    "id": id, "name": name, "tags": [name], "provisioning_status": "ACTIVE", "vip_port_id": "foreign", "vip_address": "10.6.9.9",
                });
                self.balancers.insert(id.clone(), foreign);
                Some(Changed { id: Some(id) })
            }
            _ => None,
        }
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("region", "RegionOne"),
            ("loadBalancers.floatingNetworkID", "ext"),
            ("loadBalancers.manageSecurityGroups", "true"),
            ("loadBalancers.createMonitor", "true"),
        ]
    }

    fn busy(&self, request: &Request) -> Response {
        match &*request.endpoint {
            "load-balancer" => fault(409, "Load Balancer x is immutable and cannot be updated."),
            _ => reply(503, "busy"),
        }
    }

    fn refused(&self, _: &Request) -> Response {
        fault(400, "this cannot be had here")
    }
}
