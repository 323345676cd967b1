//! A router and ports in memory, as Neutron keeps them.

use std::cell::RefCell;
use std::rc::Rc;

use aerostat_sdk::testing::{Body, Outcome, Request, answer};
use serde_json::{Value, json};

pub(super) type SharedNeutron = Rc<RefCell<Neutron>>;

/// A router between the network n and others, with the machines 10.6.0.11 to 10.6.0.14 on it. The port of the last has no port security.
pub(super) struct Neutron {
    /// Its routes.
    pub(super) router: Option<Vec<Value>>,
    pub(super) revision: u64,
    ports: Vec<Value>,
    /// Whether there are `add_extraroutes` and `remove_extraroutes`.
    pub(super) takes_parts: bool,
    pub(super) max_routes: usize,
    /// A port whose changes are answered so.
    pub(super) refuses: Option<(&'static str, u16)>,
    /// Somebody else changes this before each write.
    pub(super) is_changing: bool,
}

impl Neutron {
    pub(super) fn new(routes: &[(&str, &str)]) -> Self {
        let route = |(to, via): &(&str, &str)| json!({ "destination": to, "nexthop": via });
        let port = |number: u64| {
            json!({
                "id": format!("p-{number}"), "network_id": "n", "allowed_address_pairs": [], "port_security_enabled": number != 14,
                "revision_number": number,
                "fixed_ips": [
                    { "subnet_id": "s4", "ip_address": format!("10.6.0.{number}") }, { "subnet_id": "s6", "ip_address": format!("fd00:6::{number}") },
                ],
            })
        };
        Self {
            router: Some(routes.iter().map(route).collect()),
            revision: 7,
            ports: (11..=14).map(port).collect(),
            takes_parts: true,
            max_routes: 30,
            refuses: None,
            is_changing: false,
        }
    }

    pub(super) fn shared(self) -> SharedNeutron {
        Rc::new(RefCell::new(self))
    }

    fn port_at(&mut self, address: &str) -> &mut Value {
        let has = |it: &&mut Value| it["fixed_ips"].as_array().unwrap().iter().any(|it| it["ip_address"] == address);
        self.ports.iter_mut().find(has).unwrap()
    }

    /// Writes pairs into the port with this address, with the port's own MAC as Neutron does.
    pub(super) fn let_through(&mut self, address: &str, networks: &[&str]) {
        let pairs: Vec<Value> =
            networks.iter().map(|it| json!({ "ip_address": it, "mac_address": "fa:16:3e:10:9f:ee" })).collect();
        self.port_at(address)["allowed_address_pairs"] = json!(pairs);
    }

    /// A further port, in another subnet of the network, which the router is not connected with.
    pub(super) fn add_port(&mut self, address: &str, subnet: &str) {
        self.ports.push(json!({
            "id": "p-x", "network_id": "n", "allowed_address_pairs": [], "port_security_enabled": true, "revision_number": 1,
            "fixed_ips": [{ "subnet_id": subnet, "ip_address": address }],
        }));
    }

    pub(super) fn pairs(&self, address: &str) -> Vec<String> {
        let has = |it: &&Value| it["fixed_ips"].as_array().unwrap().iter().any(|it| it["ip_address"] == address);
        let port = self.ports.iter().find(has).unwrap();
        let pairs = port["allowed_address_pairs"].as_array().unwrap();
        pairs.iter().map(|it| it["ip_address"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) fn routes(&self) -> Vec<(String, String)> {
        let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
        self.router.iter().flatten().map(|it| (text(it, "destination"), text(it, "nexthop"))).collect()
    }

    pub(super) fn answer(&mut self, request: &Request) -> Outcome {
        assert!(request.query.len() <= 64, "the host refuses more pairs");
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let values = |name: &str| -> Vec<&str> {
            request.query.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str()).collect()
        };
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        match (format!("{:?}", request.method).to_lowercase().contains("put"), &path[..]) {
            (false, ["routers", "r-1"]) => match &self.router {
                Some(routes) => answer(200, self.shown(routes)),
                None => refusal(404, "RouterNotFound", "Router r-1 could not be found"),
            },
            (false, ["ports"]) if values("device_id") == ["r-1"] => {
                let own = json!({ "id": "p-r", "network_id": "n", "fixed_ips": [
                    { "subnet_id": "s4", "ip_address": "10.6.0.1" }, { "subnet_id": "s6", "ip_address": "fd00:6::1" } ] });
                answer(200, json!({ "ports": [own], "ports_links": [] }).to_string())
            }
            (false, ["ports"]) => {
                assert_eq!(values("network_id"), ["n"]);
                let asked: Vec<_> =
                    values("fixed_ips").iter().map(|it| it.strip_prefix("ip_address=").unwrap().to_owned()).collect();
                let has = |port: &&Value| {
                    let mut fixed = port["fixed_ips"].as_array().unwrap().iter();
                    asked.is_empty() || fixed.any(|it| asked.iter().any(|asked| it["ip_address"] == **asked))
                };
                let mut found: Vec<_> = self.ports.iter().filter(has).cloned().collect();
                if asked.iter().any(|it| it == "10.6.0.1") {
                    let fixed = json!([{ "subnet_id": "s4", "ip_address": "10.6.0.1" }]);
                    found.push(json!({ "id": "p-r", "network_id": "n", "fixed_ips": fixed }));
                }
                answer(200, json!({ "ports": found, "ports_links": [] }).to_string())
            }
            (true, ["ports", id]) => self.allow(id, request, &body),
            (true, ["routers", "r-1", action]) if self.takes_parts => {
                let given = body["router"]["routes"].as_array().unwrap().clone();
                let now = self.router.clone().unwrap();
                let kept = now.into_iter().filter(|it| !given.contains(it));
                let routes =
                    if *action == "add_extraroutes" { kept.chain(given.clone()).collect() } else { kept.collect() };
                self.write(routes, None)
            }
            (true, ["routers", "r-1", _]) => refusal(404, "HTTPNotFound", "The resource could not be found."),
            (true, ["routers", "r-1"]) => {
                let revision = header(request).unwrap();
                self.write(body["router"]["routes"].as_array().unwrap().clone(), Some(&revision))
            }
            other => panic!("{other:?}"),
        }
    }

    fn shown(&self, routes: &[Value]) -> String {
        json!({ "router": { "id": "r-1", "routes": routes, "revision_number": self.revision } }).to_string()
    }

    fn write(&mut self, routes: Vec<Value>, revision: Option<&str>) -> Outcome {
        if self.is_changing {
            self.revision += 1;
        }
        if revision.is_some_and(|it| it != format!("revision_number={}", self.revision)) {
            return refusal(412, "RevisionNumberConstraintFailed", "Constrained to another");
        }
        let is_bad = |it: &Value| it["destination"] == "10.244.66.0/24" || it["nexthop"] == "10.6.0.1";
        if routes.iter().any(is_bad) {
            return refusal(
                400,
                "InvalidRoutes",
                "Invalid format for routes: [], the nexthop is not connected with router",
            );
        }
        if routes.len() > self.max_routes {
            return refusal(409, "OverQuota", "Quota exceeded for resources: ['router_route'].");
        }
        self.revision += 1;
        self.router = Some(routes);
        answer(200, self.shown(self.router.as_ref().unwrap()))
    }

    fn allow(&mut self, id: &str, request: &Request, body: &Value) -> Outcome {
        if let Some((refused, status)) = self.refuses.filter(|(refused, _)| *refused == id) {
            return refusal(status, "PolicyNotAuthorized", refused);
        }
        let is_changing = self.is_changing;
        let port = self.ports.iter_mut().find(|it| it["id"] == id).unwrap();
        let revision = port["revision_number"].as_u64().unwrap() + u64::from(is_changing);
        if header(request) != Some(format!("revision_number={revision}")) {
            return refusal(412, "RevisionNumberConstraintFailed", "Constrained to another");
        }
        port["allowed_address_pairs"] = body["port"]["allowed_address_pairs"].clone();
        port["revision_number"] = json!(revision + 1);
        let shown = json!({ "port": port.clone() }).to_string();
        answer(200, shown)
    }
}

fn header(request: &Request) -> Option<String> {
    request.headers.iter().find(|(name, _)| name == "if-match").map(|(_, value)| value.clone())
}

fn refusal(status: u16, kind: &str, message: &str) -> Outcome {
    answer(status, json!({ "NeutronError": { "type": kind, "message": message, "detail": "" } }).to_string())
}
