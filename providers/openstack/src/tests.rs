//! The mapping of machines, natively: what is asked, and what becomes of the answers.

mod addresses;
mod listed;
mod lookup;

use aerostat_sdk::testing::{Host, Outcome, Request, answer};
use serde_json::{Value, json};

/// A project's servers and ports, as Nova and Neutron show them.
#[derive(Clone, Default)]
struct Project {
    servers: Vec<Value>,
    ports: Vec<Value>,
    networks: Vec<Value>,
    flavors: Vec<Value>,
    /// The most objects of a page.
    page: usize,
}

/// The id of a server or port, by a number.
fn id(number: usize) -> String {
    format!("4de7ac8b-495b-4884-9a69-{number:012x}")
}

/// A server with one address in the network `k8s`.
fn server(number: usize, name: &str) -> Value {
    json!({
        "id": id(number), "name": name, "status": "ACTIVE", "tenant_id": "p", "metadata": {},
        "flavor": { "vcpus": 1, "ram": 64, "original_name": "m1.tiny", "extra_specs": {} },
        "addresses": { "k8s": [{ "version": 4, "addr": "10.6.0.11", "OS-EXT-IPS:type": "fixed" }] },
        "accessIPv4": "", "accessIPv6": "", "OS-EXT-AZ:availability_zone": "nova",
    })
}

/// A port of a server with these addresses.
fn port(number: usize, server: usize, addresses: &[&str]) -> Value {
    let fixed: Vec<Value> = addresses.iter().map(|it| json!({ "subnet_id": "s", "ip_address": it })).collect();
    json!({ "id": id(number), "device_id": id(server), "status": "ACTIVE", "network_id": "n", "fixed_ips": fixed })
}

/// A project with one server and its port.
fn one() -> Project {
    Project {
        servers: vec![server(1, "node-1")],
        ports: vec![port(101, 1, &["10.6.0.11", "fd00:6::11"])],
        page: 1_000,
        ..Project::default()
    }
}

impl Project {
    /// A host in the region RegionOne whose cloud this is.
    fn host(self) -> Host {
        Host::new().setting("region", "RegionOne").answers(move |request| self.answer(request))
    }

    fn answer(&self, request: &Request) -> Outcome {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        if request.endpoint == "compute" && path[0] == "servers" {
            let version = request.headers.iter().find(|(name, _)| name == "openstack-api-version");
            assert_eq!(version.map(|(_, value)| value.as_str()), Some("compute 2.47"));
        }
        assert!(request.query.len() <= 64, "the host refuses more pairs");
        match (&*request.endpoint, &path[..]) {
            ("compute", ["servers", "detail"]) => {
                let name = values(request, "name").first().map(|it| it.replace('\\', ""));
                let is_named = |server: &&Value| {
                    name.as_ref().is_none_or(|name| format!("^{}$", server["name"].as_str().unwrap()) == *name)
                };
                self.page("servers", self.servers.iter().filter(is_named), request)
            }
            ("compute", ["servers", id]) => match self.servers.iter().find(|it| it["id"] == *id) {
                Some(found) => answer(200, json!({ "server": found }).to_string()),
                None => {
                    answer(404, r#"{ "itemNotFound": { "code": 404, "message": "Instance could not be found." } }"#)
                }
            },
            ("compute", ["flavors"]) => self.page("flavors", self.flavors.iter(), request),
            ("network", ["ports"]) => {
                let is_asked = |port: &&Value, name: &str| {
                    let asked = values(request, name);
                    asked.is_empty() || asked.iter().any(|asked| port[name] == **asked)
                };
                let found = self.ports.iter().filter(|it| is_asked(it, "device_id") && is_asked(it, "id"));
                self.page("ports", found, request)
            }
            ("network", ["networks"]) => self.page("networks", self.networks.iter(), request),
            ("network", ["quotas", "project"]) => answer(200, r#"{ "project": { "project_id": "p-1" } }"#),
            other => panic!("{other:?}"),
        }
    }

    fn page<'a>(&self, field: &str, all: impl Iterator<Item = &'a Value>, request: &Request) -> Outcome {
        let all: Vec<&Value> = all.collect();
        let after =
            values(request, "marker").first().map(|marker| all.iter().position(|it| it["id"] == **marker).unwrap() + 1);
        let limit: usize = values(request, "limit").first().map_or(1_000, |it| it.parse().unwrap());
        let part: Vec<&Value> = all.iter().skip(after.unwrap_or(0)).take(limit.min(self.page)).copied().collect();
        let end = after.unwrap_or(0) + part.len();
        let links = if end < all.len() {
            json!([{ "rel": "previous" }, { "rel": "next", "href": "http://x/" }])
        } else {
            json!([])
        };
        answer(200, json!({ field: part, format!("{field}_links"): links }).to_string())
    }
}

fn values<'a>(request: &'a Request, name: &str) -> Vec<&'a str> {
    request.query.iter().filter(|(it, _)| it == name).map(|(_, value)| value.as_str()).collect()
}
