//! A VPC in memory, as far as load balancers need it: each change leaves a load balancer that takes no other one for some seconds.

use aerostat_sdk::Method;
use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{Body, FakeActions, FakeCloud, FakeMoment, FakeObjects, Request, Response, reply};
use serde_json::{Value, json};

/// How long a creation and a change last, in seconds.
const CREATION: u64 = 9;
const CHANGE: u64 = 4;

/// A subnet of another VPC.
pub(super) const OTHER_VPC: &str = "0717-of-another-vpc";

/// The cloud.
#[derive(Debug)]
pub(super) struct FakeVpc {
    machines: Vec<String>,
    pub(super) balancers: FakeObjects,
    actions: FakeActions,
    /// Security groups that are there beside the six that somebody made.
    pub(super) groups: Vec<Value>,
    /// Load balancers that were made, changed or deleted, each with the word for what lasts.
    at_work: Vec<(String, &'static str)>,
    given: u64,
    /// The answer to each creation.
    pub(super) refuses: Option<fn() -> Response>,
    /// The status in which creations end.
    pub(super) ends_in: &'static str,
    /// Whether load balancers say whether they take UDP.
    pub(super) tells_of_udp: bool,
    /// The most rules of a security group.
    pub(super) most_rules: usize,
    /// The ids and the names of the account's resource groups.
    pub(super) resource_groups: Vec<(&'static str, &'static str)>,
}

impl Default for FakeVpc {
    fn default() -> Self {
        Self {
            machines: Vec::new(),
            balancers: FakeObjects::new("load balancer", "lb-"),
            actions: FakeActions::default(),
            groups: Vec::new(),
            at_work: Vec::new(),
            given: 0,
            refuses: None,
            ends_in: "active",
            tells_of_udp: true,
            most_rules: 250,
            resource_groups: Vec::new(),
        }
    }
}

pub(super) fn error(status: u16, code: &str) -> Response {
    let error =
        json!({ "code": code, "message": format!("it is {code}"), "more_info": "https://cloud.ibm.com/docs/vpc" });
    reply(status, json!({ "errors": [error], "trace": "1" }))
}

impl FakeVpc {
    /// The status of a load balancer at this moment.
    fn status(&self, id: &str, moment: FakeMoment) -> &'static str {
        let last = self.at_work.iter().rev().find(|(it, _)| it == id).map(|(_, word)| *word);
        match last {
            Some(word) if self.actions.is_busy(id, moment) => word,
            _ => self.ends_in,
        }
    }

    fn begin(&mut self, id: &str, word: &'static str, seconds: u64, moment: FakeMoment) {
        self.at_work.push((id.to_owned(), word));
        self.actions.begin(id, seconds, moment);
    }

    /// Those whose deletion is over go.
    fn settle(&mut self, moment: FakeMoment) {
        let is_over = |it: &&(String, &'static str)| it.1 == "delete_pending" && !self.actions.is_busy(&it.0, moment);
        let over: Vec<String> = self.at_work.iter().filter(is_over).map(|(id, _)| id.clone()).collect();
        for id in over {
            self.balancers.remove(&id);
        }
    }

    fn id(&mut self, prefix: &str) -> String {
        self.given += 1;
        format!("{prefix}-{}", self.given)
    }

    fn with_members(&mut self, mut pool: Value) -> Value {
        let members = pool["members"].take();
        let mut made = Vec::new();
        for mut member in members.as_array().cloned().unwrap_or_default() {
            member["id"] = self.id("member").into();
            made.push(member);
        }
        pool["members"] = made.into();
        pool
    }

    fn make(&mut self, mut body: Value, moment: FakeMoment) -> String {
        let mut pools = Vec::new();
        for mut pool in body["pools"].as_array().cloned().unwrap_or_default() {
            pool["id"] = self.id("pool").into();
            pools.push(self.with_members(pool));
        }
        let mut listeners = Vec::new();
        for mut listener in body["listeners"].as_array().cloned().unwrap_or_default() {
            listener["id"] = self.id("listener").into();
            with_port(&mut listener);
            let pool = pools
                .iter()
                .find(|it| it["name"] == listener["default_pool"]["name"])
                .expect("its pool is made beside it");
            listener["default_pool"] = json!({ "id": pool["id"], "name": pool["name"] });
            listeners.push(listener);
        }
        (body["pools"], body["listeners"]) = (pools.into(), listeners.into());
        let name = body["name"].as_str().unwrap().to_owned();
        let id = self.balancers.make(name, body, moment);
        self.begin(&id, "create_pending", CREATION, moment);
        id
    }

    fn shown(&self, id: &str, moment: FakeMoment) -> Option<Value> {
        let object = self.balancers.get(id)?;
        let status = self.status(id, moment);
        let name_of = |id: &Value| {
            let own = self.groups.iter().find(|it| it["id"] == *id);
            own.map_or_else(|| json!("somebodys"), |it| it["name"].clone())
        };
        let groups: Vec<Value> =
            self.groups_of(id).iter().map(|it| json!({ "id": it["id"], "name": name_of(&it["id"]) })).collect();
        let is_network = object.body["profile"]["name"] == "network-fixed";
        let refer = |it: &Value, keys: &[&str]| -> Value {
            let one =
                |part: &Value| -> Value { keys.iter().map(|key| ((*key).to_owned(), part[key].clone())).collect() };
            it.as_array().into_iter().flatten().map(one).collect()
        };
        let mut shown = json!({
            "id": id, "name": object.name, "hostname": format!("{id}.lb.appdomain.example"), "is_public": object.body["is_public"],
            "operating_status": if status == "create_pending" { "offline" } else { "online" }, "provisioning_status": status,
            "profile": { "family": if is_network { "network" } else { "application" } }, "udp_supported": is_network, "security_groups": groups,
            "public_ips": [{ "address": format!("169.48.0.{}", id.trim_start_matches("lb-")) }],
            "subnets": object.body["subnets"], "listeners": refer(&object.body["listeners"], &["id"]),
            "pools": refer(&object.body["pools"], &["id", "name"]),
        });
        if !self.tells_of_udp {
            shown.as_object_mut().unwrap().remove("udp_supported");
        }
        Some(shown)
    }

    /// The ids and the rules of security groups that were made here.
    pub(super) fn rules(&self) -> Vec<String> {
        let text = |it: &Value, key: &str| it[key].as_str().unwrap().to_owned();
        let rule = |rule: &Value| {
            format!("{} {} {}", text(rule, "direction"), text(rule, "protocol"), text(&rule["remote"], "cidr_block"))
        };
        self.groups.iter().flat_map(|it| it["rules"].as_array().unwrap()).map(rule).collect()
    }

    /// The ids of a load balancer's groups.
    pub(super) fn groups_of(&self, id: &str) -> Vec<Value> {
        let named = self.balancers.get(id).map(|it| it.body["security_groups"].clone());
        match named {
            Some(Value::Array(groups)) => groups,
            _ => vec![json!({ "id": "r006-usual" })],
        }
    }

    fn change_groups(&mut self, method: Method, path: &[&str], mut body: Value, moment: FakeMoment) -> Response {
        let at = self.groups.iter().position(|it| path.first().is_some_and(|id| it["id"] == **id));
        match (method, path, at) {
            (Method::Post, [], _) => {
                if self.groups.iter().any(|it| it["name"] == body["name"]) {
                    return error(409, "not_unique");
                }
                body["id"] = self.id("r006-own").into();
                body["late"] = moment.lists_lag.into();
                for rule in body["rules"].as_array_mut().unwrap() {
                    self.given += 1;
                    rule["id"] = format!("rule-{}", self.given).into();
                }
                self.groups.push(body.clone());
                reply(201, body)
            }
            (Method::Put | Method::Delete, [group, "targets", id], _) => {
                let status = self.status(id, moment);
                if status != "active" {
                    return error(409, "load_balancer_update_conflict");
                }
                let mut groups = self.groups_of(id);
                groups.retain(|it| it["id"] != **group);
                if method == Method::Put {
                    groups.push(json!({ "id": group }));
                }
                assert!(!groups.is_empty(), "a load balancer has a group");
                self.balancers.get_mut(id).unwrap().body["security_groups"] = groups.into();
                self.begin(id, "update_pending", CHANGE, moment);
                if method == Method::Put { reply(200, json!({ "id": id })) } else { reply(204, "") }
            }
            (_, _, None) => error(404, "security_group_not_found"),
            (Method::Get, [_], Some(at)) => reply(200, self.groups[at].clone()),
            (Method::Delete, [id], Some(at)) => {
                let has = |it: &str| self.groups_of(it).iter().any(|it| it["id"] == **id);
                if self.balancers.all().any(|(it, _)| has(it)) {
                    return error(409, "security_group_in_use");
                }
                self.groups.remove(at);
                reply(204, "")
            }
            (Method::Post, [_, "rules"], Some(at)) => {
                if self.groups[at]["rules"].as_array().unwrap().len() >= self.most_rules {
                    return error(400, "over_quota");
                }
                let has_name = |it: &Value| it["name"].is_string() && it["name"] == body["name"];
                if self.groups[at]["rules"].as_array().unwrap().iter().any(has_name) {
                    return error(409, "not_unique");
                }
                body["id"] = self.id("rule").into();
                self.groups[at]["rules"].as_array_mut().unwrap().push(body.clone());
                reply(201, body)
            }
            (Method::Delete, [_, "rules", rule], Some(at)) => {
                self.groups[at]["rules"].as_array_mut().unwrap().retain(|it| it["id"] != **rule);
                reply(204, "")
            }
            other => panic!("{other:?}"),
        }
    }

    /// Whether a load balancer of this VPC has the name: in another it may be there once more.
    fn has_name(&self, name: &Value) -> bool {
        self.balancers.all().any(|(_, it)| *name == *it.name && it.body["subnets"][0]["id"] != OTHER_VPC)
    }

    /// A change of one that takes changes, or of its parts.
    fn change_parts(&mut self, id: &str, method: Method, path: &[&str], body: Value, moment: FakeMoment) -> Response {
        let status = self.status(id, moment);
        if status != "active" {
            return error(409, "load_balancer_update_conflict");
        }
        let mut live = self.balancers.get(id).unwrap().body.clone();
        let find = |parts: &Value, own: &str| parts.as_array().unwrap().iter().position(|it| it["id"] == own);
        let answer = match (method, path) {
            (Method::Patch, []) => {
                if self.has_name(&body["name"]) {
                    return error(409, "not_unique");
                }
                body["name"].as_str().unwrap().clone_into(&mut self.balancers.get_mut(id).unwrap().name);
                reply(200, self.shown(id, moment).unwrap())
            }
            (Method::Post, ["pools"]) => {
                let mut pool = self.with_members(body);
                pool["id"] = self.id("pool").into();
                live["pools"].as_array_mut().unwrap().push(pool.clone());
                reply(201, pool)
            }
            (Method::Post, ["listeners"]) => {
                let (port, first) = (&body["port"], &body["port_min"]);
                let port = port.as_u64().or(first.as_u64());
                let takes = |other: &Value| {
                    (other["port"].as_u64()..=other["port_max"].as_u64().or(other["port"].as_u64())).contains(&port)
                };
                if live["listeners"].as_array().unwrap().iter().any(takes) {
                    return error(409, "load_balancer_listener_not_unique");
                }
                let mut listener = body;
                listener["id"] = self.id("listener").into();
                with_port(&mut listener);
                let pool = find(&live["pools"], listener["default_pool"]["id"].as_str().unwrap()).unwrap();
                listener["default_pool"]["name"] = live["pools"][pool]["name"].clone();
                live["listeners"].as_array_mut().unwrap().push(listener.clone());
                reply(201, listener)
            }
            (Method::Patch, [part, own]) => {
                let Some(at) = find(&live[*part], own) else { return error(404, "not_found") };
                merge(&mut live[*part][at], &body);
                if *part == "pools" {
                    let name = live["pools"][at]["name"].clone();
                    for listener in live["listeners"].as_array_mut().unwrap() {
                        if listener["default_pool"]["id"] == *own {
                            listener["default_pool"]["name"] = name.clone();
                        }
                    }
                }
                reply(200, live[*part][at].clone())
            }
            (Method::Put, ["pools", own, "members"]) => {
                let Some(at) = find(&live["pools"], own) else { return error(404, "not_found") };
                let members = self.with_members(body)["members"].take();
                assert!(members.as_array().unwrap().len() <= 50);
                live["pools"][at]["members"] = members.clone();
                reply(202, json!({ "members": members }))
            }
            (Method::Delete, [part, own]) => {
                let Some(at) = find(&live[*part], own) else { return error(404, "not_found") };
                let listens = |it: &Value| it["default_pool"]["id"] == *own;
                if *part == "pools" && live["listeners"].as_array().unwrap().iter().any(listens) {
                    return error(409, "pool_in_use");
                }
                live[*part].as_array_mut().unwrap().remove(at);
                reply(202, "")
            }
            other => panic!("{other:?}"),
        };
        self.balancers.get_mut(id).unwrap().body = live;
        self.begin(id, "update_pending", CHANGE, moment);
        answer
    }
}

impl FakeCloud for FakeVpc {
    const BASE_PATH: &'static str = "/v1";

    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        self.settle(moment);
        let query = |name: &str| request.query.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str());
        if request.endpoint == "resource-manager" {
            assert_eq!((&request.path[..], query("account_id")), (&["resource_groups".to_owned()][..], Some("acc")));
            let shown = self.resource_groups.iter().map(|(id, name)| json!({ "id": id, "name": name }));
            return reply(200, json!({ "resources": shown.collect::<Vec<_>>() }));
        }
        crate::tests::published::check(request);
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match (request.method, &path[..]) {
            (Method::Get, ["instances"]) => {
                let named =
                    self.machines.iter().enumerate().filter(|(_, it)| query("name").is_none_or(|name| name == **it));
                let shown: Vec<Value> = named
                    .map(|(number, name)| {
                        let mut shown = crate::tests::instance(number + 1);
                        shown["name"] = name.as_str().into();
                        shown
                    })
                    .collect();
                reply(200, json!({ "instances": shown }))
            }
            (Method::Get, ["floating_ips"]) => reply(200, json!({ "floating_ips": [] })),
            (Method::Get, ["subnets"]) => {
                assert_eq!(query("vpc.id"), Some("r006-1"));
                reply(200, json!({ "subnets": subnets() }))
            }
            (Method::Get, ["security_groups"]) => {
                assert_eq!(query("vpc.id"), Some("r006-1"));
                let mut groups: Vec<Value> =
                    (1..=6).map(|it| json!({ "id": format!("r006-g{it}"), "name": format!("clients-{it}") })).collect();
                groups.extend(self.groups.iter().filter(|it| !(moment.lists_lag && it["late"] == true)).cloned());
                reply(200, json!({ "security_groups": groups }))
            }
            (Method::Get, ["vpcs", _]) => {
                reply(200, json!({ "id": "r006-1", "crn": "", "default_security_group": { "id": "r006-usual" } }))
            }
            (method, ["security_groups", path @ ..]) => self.change_groups(method, path, body, moment),
            (Method::Get, ["load_balancers"]) => {
                let ids: Vec<&str> = self.balancers.listed(moment).map(|(id, _)| id).collect();
                let shown: Vec<Value> = ids.into_iter().filter_map(|it| self.shown(it, moment)).collect();
                reply(200, json!({ "load_balancers": shown }))
            }
            (Method::Post, ["load_balancers"]) => {
                if let Some(refusal) = self.refuses {
                    return refusal();
                }
                if self.has_name(&body["name"]) {
                    return error(400, "load_balancer_name_not_unique");
                }
                let id = self.make(body, moment);
                reply(201, self.shown(&id, moment).unwrap())
            }
            (_, ["load_balancers", id, ..]) if self.balancers.get(id).is_none() => {
                error(404, "load_balancer_not_found")
            }
            (Method::Get, ["load_balancers", id]) => reply(200, self.shown(id, moment).unwrap()),
            (Method::Get, ["load_balancers", id, part]) => {
                reply(200, json!({ *part: self.balancers.get(id).unwrap().body[*part] }))
            }
            (Method::Get, ["load_balancers", id, "pools", pool, "members"]) => {
                let pools = &self.balancers.get(id).unwrap().body["pools"];
                let found = pools.as_array().unwrap().iter().find(|it| it["id"] == *pool);
                found.map_or_else(|| error(404, "pool_not_found"), |it| reply(200, json!({ "members": it["members"] })))
            }
            (Method::Delete, ["load_balancers", id]) => {
                if !["active", "failed"].contains(&self.status(id, moment)) {
                    return error(409, "load_balancer_update_conflict");
                }
                self.begin(id, "delete_pending", CREATION, moment);
                reply(202, "")
            }
            (method, ["load_balancers", id, parts @ ..]) => self.change_parts(id, method, parts, body, moment),
            other => panic!("{other:?}"),
        }
    }

    /// Those whose deletion has begun are no more.
    fn objects(&self) -> Vec<CloudObject> {
        let deleted = |id: &str| self.at_work.iter().any(|(it, word)| it == id && *word == "delete_pending");
        self.balancers.shown().into_iter().filter(|it| !deleted(&it.id)).collect()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                self.machines.push(name.clone());
                Some(Changed::default())
            }
            ForeignChange::AddForeign { name } => {
                let body = json!({ "is_public": true, "subnets": [{ "id": "0717-s1" }], "listeners": [], "pools": [] });
                let id = self.balancers.make(name.clone(), body, FakeMoment::default());
                Some(Changed { id: Some(id) })
            }
            _ => None,
        }
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("accountID", "acc"),
            ("clusterID", "c1"),
            ("region", "us-south"),
            ("vpcID", "r006-1"),
            ("g2VpcSubnetNames", "sub-10,sub-20"),
        ]
    }

    fn busy(&self, _request: &Request) -> Response {
        error(409, "load_balancer_update_conflict")
    }

    fn refused(&self, _request: &Request) -> Response {
        error(400, "bad_field")
    }
}

/// Changes an object as RFC 7396 has it: fields that a change does not name stay, in objects inside of it, too.
fn merge(live: &mut Value, change: &Value) {
    let Some(fields) = change.as_object() else {
        live.clone_from(change);
        return;
    };
    for (key, value) in fields {
        merge(&mut live[key], value);
    }
}

/// A listener of several ports shows the first of them as its port.
fn with_port(listener: &mut Value) {
    if listener["port"].is_null() {
        listener["port"] = listener["port_min"].clone();
    }
}

/// The subnets of the VPC.
fn subnets() -> Value {
    json!([
        { "id": "0717-s1", "name": "sub-10", "ipv4_cidr_block": "10.240.0.0/24", "zone": { "name": "us-south-1" } },
        { "id": "0727-s2", "name": "sub-20", "ipv4_cidr_block": "10.240.1.0/24", "zone": { "name": "us-south-2" } },
        { "id": "0717-s4", "name": "sub-1", "ipv4_cidr_block": "10.240.4.0/24", "zone": { "name": "us-south-1" } },
    ])
}
