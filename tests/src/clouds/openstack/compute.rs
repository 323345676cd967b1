//! Nova: servers and flavors, by microversion.

use std::collections::BTreeMap;

use http::Method;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{self, Refused};
use super::kind::Kind;
use super::listing::Listing;
use super::world::{World, shown, text};

/// The newest microversion, as the recordings saw it.
const NEWEST: u32 = 104;

/// Answers a request whose path is this, below `/compute`.
pub(super) fn answer(world: &World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    if path == [""] || path.is_empty() {
        return Ok(versions());
    }
    let minor = microversion(request)?;
    let answer = match (&request.method, path) {
        (&Method::GET, ["v2.1", ""] | ["v2.1"]) => Ok(Answer::ok(&json!({ "version": version() }))),
        (&Method::GET, ["v2.1", "servers"]) => servers(world, request, minor, false),
        (&Method::GET, ["v2.1", "servers", "detail"]) => servers(world, request, minor, true),
        (&Method::GET, ["v2.1", "servers", id]) => {
            let server = found(world, Kind::Server, id, &format!("Instance {id} could not be found."))?;
            Ok(Answer::ok(&json!({ "server": server_of(&AddressCache::of(world), request, server, minor, true) })))
        }
        (&Method::GET, ["v2.1", "flavors", "detail"]) => Ok(Answer::ok(
            &json!({ "flavors": Vec::from_iter(world.all(Kind::Flavor).map(|it| flavor(request, it, minor))) }),
        )),
        (&Method::GET, ["v2.1", "flavors"]) => {
            let brief =
                |it: &Value| json!({ "id": it["id"], "name": it["name"], "links": links(request, "flavors", it) });
            Ok(Answer::ok(&json!({ "flavors": Vec::from_iter(world.all(Kind::Flavor).map(brief)) })))
        }
        (&Method::GET, ["v2.1", "flavors", id]) => {
            let found = found(world, Kind::Flavor, id, &format!("Flavor {id} could not be found."))?;
            Ok(Answer::ok(&json!({ "flavor": flavor(request, found, minor) })))
        }
        _ => Err(errors::nova(404, "itemNotFound", "The resource could not be found.")),
    };
    let show = |mut answer: Box<Answer>| {
        answer.set("openstack-api-version", &format!("compute 2.{minor}"));
        answer.set("x-openstack-nova-api-version", &format!("2.{minor}"));
        answer.set("vary", "OpenStack-API-Version, X-OpenStack-Nova-API-Version");
        answer
    };
    answer.map(|it| *show(Box::new(it))).map_err(show)
}

/// The minor version of a request: the header's, or the first.
fn microversion(request: &Recorded) -> Result<u32, Refused> {
    let header = |name: &str| request.headers.get(name).and_then(|it| it.to_str().ok());
    let asked = header("openstack-api-version").and_then(|it| it.strip_prefix("compute "));
    let Some(asked) = asked.or_else(|| header("x-openstack-nova-api-version")) else { return Ok(1) };
    let minor = asked.trim().strip_prefix("2.").and_then(|it| it.parse().ok());
    match minor {
        _ if asked.trim() == "latest" => Ok(NEWEST),
        Some(minor) if (1..=NEWEST).contains(&minor) => Ok(minor),
        _ => {
            let message =
                format!("Version {asked} is not supported by the API. Minimum is 2.1 and maximum is 2.{NEWEST}.");
            let mut refused = errors::nova(406, "computeFault", &message);
            refused.set("openstack-api-version", &format!("compute {asked}"));
            refused.set("x-openstack-nova-api-version", asked);
            Err(refused)
        }
    }
}

fn servers(world: &World, request: &Recorded, minor: u32, detail: bool) -> Result<Answer, Refused> {
    let most = world.behaviour.largest_page;
    let listing = Listing::new(request, most).always_paged(most);
    let name = request.query_value("name").map(regex::Regex::new).transpose();
    let name = name.map_err(|error| errors::nova(400, "badRequest", &format!("Invalid filter: {error}")))?;
    let is_so = |server: &&Value| {
        let has = |key: &str, at: &str| request.query_value(key).is_none_or(|value| text(server, at) == value);
        let tags: Vec<_> = request.query_value("tags").into_iter().flat_map(|tags| tags.split(',')).collect();
        name.as_ref().is_none_or(|name| name.is_match(text(server, "name")))
            && has("status", "status")
            && has("uuid", "id")
            && tags.iter().all(|tag| server["tags"].as_array().is_some_and(|all| all.contains(&json!(tag))))
    };
    let ours = |it: &&Value| text(it, "project_id") == world.project && it["_unlisted"] != json!(true);
    let all = world.all(Kind::Server).filter(ours).filter(is_so).collect();
    let brief = |it: &Value| json!({ "id": it["id"], "name": it["name"], "links": links(request, "servers", it) });
    let cache = AddressCache::of(world);
    let show = |it: &Value| if detail { server_of(&cache, request, it, minor, false) } else { brief(it) };
    let (page, next) = listing
        .page(all, show)
        .map_err(|marker| errors::nova(400, "badRequest", &format!("marker [{marker}] not found")))?;
    let mut body = json!({ "servers": page });
    if let Some(marker) = next.next {
        body["servers_links"] = json!([listing.link("next", Some(&marker), None)]);
    }
    Ok(Answer::ok(&body))
}

/// A server as this microversion shows it.
fn server_of(cache: &AddressCache<'_>, request: &Recorded, server: &Value, minor: u32, alone: bool) -> Value {
    let mut shown = shown(server);
    let flavor_id = text(server, "_flavor");
    let flavor = cache.world.get(Kind::Flavor, flavor_id).cloned().unwrap_or(Value::Null);
    shown["flavor"] = if minor >= 47 {
        json!({
            "vcpus": flavor["vcpus"], "ram": flavor["ram"], "disk": flavor["disk"], "ephemeral": 0, "swap": 0,
            "original_name": flavor["name"], "extra_specs": {},
        })
    } else {
        json!({ "id": flavor_id, "links": [link(request, "bookmark", "flavors", flavor_id)] })
    };
    shown["links"] = links(request, "servers", server);
    if let Some(all) = shown.as_object_mut() {
        all.remove("project_id");
        let since = [("locked", 9), ("description", 19), ("tags", 26), ("trusted_image_certificates", 63)];
        since.iter().filter(|(_, first)| minor < *first).for_each(|(key, _)| drop(all.remove(*key)));
        if minor >= 71 && alone {
            all.insert("server_groups".to_owned(), json!([]));
        }
        // Nova has no floating address of its own: what is beside a fixed one is known to Neutron.
        all.insert("addresses".to_owned(), cache.addresses(text(server, "id")));
    }
    shown
}

/// Neutron's ports and floating IPs, as Nova remembers them for each server.
struct AddressCache<'w> {
    world: &'w World,
    by_server: BTreeMap<&'w str, Vec<&'w Value>>,
    by_port: BTreeMap<&'w str, Vec<&'w Value>>,
}

impl<'w> AddressCache<'w> {
    fn of(world: &'w World) -> Self {
        let sorted = |kind: Kind, key: &str| {
            let mut sorted: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
            world.all(kind).for_each(|it| sorted.entry(text(it, key)).or_default().push(it));
            sorted
        };
        let by_port = sorted(Kind::FloatingIp, "port_id");
        AddressCache { world, by_server: sorted(Kind::Port, "device_id"), by_port }
    }

    /// The addresses of a server, by the network's name, fixed and floating.
    fn addresses(&self, server: &str) -> Value {
        let mut all = json!({});
        for port in self.by_server.get(server).into_iter().flatten() {
            let network = self.world.get(Kind::Network, text(port, "network_id"));
            let name = network.map_or("unknown", |it| text(it, "name"));
            let mut add = |address: &str, kind: &str| {
                let version = if address.contains(':') { 6 } else { 4 };
                let one = json!({
                    "addr": address, "version": version, "OS-EXT-IPS:type": kind, "OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
                });
                match all[name].as_array_mut() {
                    Some(list) => list.push(one),
                    None => all[name] = json!([one]),
                }
            };
            for fixed in port["fixed_ips"].as_array().into_iter().flatten() {
                add(text(fixed, "ip_address"), "fixed");
            }
            for floating in self.by_port.get(text(port, "id")).into_iter().flatten() {
                add(text(floating, "floating_ip_address"), "floating");
            }
        }
        all
    }
}

fn flavor(request: &Recorded, flavor: &Value, minor: u32) -> Value {
    let mut shown = json!({
        "id": flavor["id"], "name": flavor["name"], "ram": flavor["ram"], "disk": flavor["disk"], "vcpus": flavor["vcpus"],
        "swap": if minor >= 75 { json!(0) } else { json!("") },
        "OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true,
        "rxtx_factor": 1.0, "links": links(request, "flavors", flavor),
    });
    if minor >= 55 {
        shown["description"] = Value::Null;
    }
    if minor >= 61 {
        shown["extra_specs"] = json!({});
    }
    shown
}

fn links(request: &Recorded, list: &str, object: &Value) -> Value {
    let id = text(object, "id");
    json!([link(request, "self", &format!("v2.1/{list}"), id), link(request, "bookmark", list, id)])
}

fn link(request: &Recorded, rel: &str, list: &str, id: &str) -> Value {
    let host = request.headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or("localhost");
    json!({ "rel": rel, "href": format!("https://{host}/compute/{list}/{id}") })
}

fn found<'a>(world: &'a World, kind: Kind, id: &str, message: &str) -> Result<&'a Value, Refused> {
    let found = world.get(kind, id).filter(|it| kind == Kind::Flavor || text(it, "project_id") == world.project);
    found.ok_or_else(|| errors::nova(404, "itemNotFound", message))
}

fn versions() -> Answer {
    Answer::ok(&json!({ "versions": [version()] }))
}

fn version() -> Value {
    json!({
        "id": "v2.1", "status": "CURRENT", "version": format!("2.{NEWEST}"), "min_version": "2.1",
        "updated": "2013-07-23T11:33:21Z", "links": [],
    })
}
