//! The conversation of aerostat with the real services, request by request, with the simulator: it answers the same, but for ids, times and
//! the order of lists. `RECORD=1 make test-openstack ONLY=recorded` records it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use http::Method;
use regex::{Captures, Regex};
use serde_json::{Value, json};
use tests::clouds::openstack::{Behaviour, Kind, Options, PROJECT, Simulator, Taking, World};

/// The flavour that the recording's ground has.
const FLAVOR: &str = "m1.tiny";

const RECORDED: &str = include_str!("../../recordings/openstack.json");

/// A word that may be another in the simulator: an id, an address.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    let words =
        r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|\d{1,3}(\.\d{1,3}){3}|([0-9a-f]{2}:){5}[0-9a-f]{2}";
    Regex::new(words).unwrap()
});

static HARDWARE: LazyLock<Regex> = LazyLock::new(|| Regex::new("^([0-9a-f]{2}:){5}[0-9a-f]{2}$").unwrap());

static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d").unwrap());

/// Members of answers that differ, by the end of their place, and why.
const MEANT: [(&str, &str); 9] = [
    ("/operating_status", "the real stack has no health manager: everything stays OFFLINE"),
    ("/floatingip/status", "the real stack has no agent for routers: floating IPs stay DOWN"),
    ("/floatingips/*/status", "the same"),
    ("/revision_number", "Neutron counts changes of its own, too: a gateway, a binding"),
    ("/standard_attr_id", "a number by which Neutron counts all that it has"),
    ("/links/*/href", "the simulator has one address for all services, with TLS"),
    ("_links/*/href", "the same"),
    ("/servers/*/image", "the simulator's machines are without an image"),
    ("/servers/*/hostId", "the simulator's machines are on no host"),
];

/// A member of an answer that differs.
struct Difference {
    /// `/servers/*/name`.
    place: String,
    what: String,
}

impl Difference {
    fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into() }
    }

    fn is_meant(&self) -> bool {
        MEANT.iter().any(|(end, _)| self.place.ends_with(end))
    }
}

/// The words of the recording for ids and addresses, and those of the simulator.
#[derive(Clone, Default)]
struct Names(BTreeMap<String, String>);

#[tokio::test]
async fn the_real_conversation_is_the_same_with_the_simulator() {
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    // Changes end when the recording says so.
    let behaviour = Behaviour { provisioning: Taking::Time(Duration::from_secs(3_600)), ..Behaviour::default() };
    let cloud = Simulator::start(Options { behaviour, ..Options::default() }).await.unwrap();
    let mut names = ground(&cloud, &recorded["ground"], gateway(&recorded));
    let mut wrong = Vec::new();
    let exchanges = recorded["exchanges"].as_array().unwrap();
    for (index, exchange) in exchanges.iter().enumerate() {
        if has_ended(exchange) {
            cloud.with(|world: &mut World| {
                let all: Vec<_> =
                    world.all(Kind::LoadBalancer).map(|it| it["id"].as_str().unwrap().to_owned()).collect();
                all.iter().for_each(|it| world.finish(it));
            });
        }
        let (status, answer) = send(&cloud, exchange, &names).await;
        let about = format!("{index} {} {}", exchange["method"], exchange["target"]);
        if json!(status) != exchange["status"] {
            wrong.push(format!("{about}: {status} with {answer}, not {}", exchange["status"]));
            continue;
        }
        let mut differences = Vec::new();
        names.compare("", &exchange["answer"], &answer, &mut differences);
        differences.retain(|it| !it.is_meant());
        wrong.extend(differences.into_iter().map(|it| format!("{about}: {} {}", it.place, it.what)));
    }
    assert!(wrong.is_empty(), "{} differences:\n    {}", wrong.len(), wrong.join("\n    "));
}

/// The address of the router outside.
fn gateway(recorded: &Value) -> &str {
    let mut routers = recorded["exchanges"].as_array().unwrap().iter().map(|it| &it["answer"]["router"]);
    let outside = routers.find_map(|it| it["external_gateway_info"]["external_fixed_ips"][0]["ip_address"].as_str());
    outside.expect("an answer shows the router")
}

/// Builds what was there before: the words for it.
fn ground(cloud: &Simulator, recorded: &Value, gateway: &str) -> Names {
    let mut names = Names::default();
    let word = |name: &str| recorded[name].as_str().unwrap().to_owned();
    cloud.with(|world: &mut World| {
        let network = world.add_network("k8s", false);
        let subnet = world.add_subnet(&network, "k8s", "10.6.0.0/24", &[]);
        world.add_subnet(&network, "k8s6", "fd00:6::/64", &[]);
        let external = world.add_network("ext", true);
        let floating = world.add_subnet(&external, "ext-a", "172.24.4.0/24", &[]);
        let second = world.add_subnet(&external, "ext-b", "172.24.5.0/24", &["public", "blue"]);
        let router = world.add_router("r1", &external, &[&subnet]);
        let flavor = world.add_flavor(FLAVOR);
        if let Some(it) = world.get_mut(Kind::Flavor, &flavor) {
            (it["ram"], it["disk"], it["vcpus"]) = (json!(64), json!(1), json!(1));
        }
        if let Some(it) = world.get_mut(Kind::Router, &router) {
            // Neutron takes it from either.
            let subnet = if gateway.starts_with("172.24.5.") { &second } else { &floating };
            it["external_gateway_info"]["external_fixed_ips"] = json!([{ "subnet_id": subnet, "ip_address": gateway }]);
        }
        let default = json!({ "name": "default", "description": "Default security group" });
        let default = world.insert(Kind::SecurityGroup, default);
        for (number, id) in recorded["nodes"].as_array().unwrap().iter().enumerate() {
            let server = world.add_server(&format!("node-{}", number + 1), &flavor);
            let address = format!("10.6.0.{}", 11 + number);
            let name = format!("node-{}", number + 1);
            let port = world.add_port(&name, (&server, "compute:nova"), &[(&subnet, Some(&address))]);
            if let Some(it) = world.get_mut(Kind::Port, &port) {
                it["security_groups"] = json!([default]);
            }
            if let Some(it) = world.get_mut(Kind::Server, &server) {
                it["security_groups"] = json!([{ "name": "default" }]);
            }
            names.0.insert(id.as_str().unwrap().to_owned(), server);
            names.0.insert(address.clone(), address);
        }
        for (name, id) in [
            ("network", network),
            ("subnet", subnet),
            ("external", external),
            ("floating", floating),
            ("router", router),
            ("project", PROJECT.to_owned()),
        ] {
            names.0.insert(word(name), id);
        }
    });
    names
}

/// Whether a recorded answer tells that no load balancer was changing any more.
fn has_ended(exchange: &Value) -> bool {
    let (answer, target) = (&exchange["answer"], exchange["target"].as_str().unwrap());
    let is_about_balancers = exchange["service"] == "load-balancer" && target.contains("/lbaas/");
    let status = answer["loadbalancer"]["provisioning_status"].as_str().unwrap_or_default();
    let is_read = exchange["method"] == "GET";
    is_about_balancers
        && (is_read && (status == "ACTIVE" || exchange["status"] == 404) || !is_read && exchange["status"] != 409)
}

/// Sends a recorded request: the status and the answer.
async fn send(cloud: &Simulator, exchange: &Value, names: &Names) -> (u16, Value) {
    let base = match exchange["service"].as_str().unwrap() {
        "compute" => "/compute",
        "network" => "/network",
        _ => "/load-balancer",
    };
    let target = names.named(exchange["target"].as_str().unwrap());
    let method: Method = exchange["method"].as_str().unwrap().parse().unwrap();
    let url = format!("{}{base}{target}", cloud.base_url());
    let mut sent = cloud.client(&["http/1.1"]).request(method, url);
    sent = sent.header("X-Auth-Token", &cloud.token).header("OpenStack-API-Version", "compute 2.47");
    if !exchange["body"].is_null() {
        let body = names.named(&exchange["body"].to_string());
        sent = sent.header("Content-Type", "application/json").body(body);
    }
    let answer = sent.send().await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default())
}

impl Names {
    /// A text in the words of the simulator.
    fn named(&self, text: &str) -> String {
        let own = |word: &Captures<'_>| self.0.get(&word[0]).map_or_else(|| word[0].to_owned(), Clone::clone);
        WORD.replace_all(text, own).into_owned()
    }

    /// Compares an answer, and learns the words that are new in it.
    fn compare(&mut self, place: &str, recorded: &Value, own: &Value, differences: &mut Vec<Difference>) {
        match (recorded, own) {
            (Value::Object(recorded), Value::Object(own)) => {
                for key in own.keys().filter(|it| !recorded.contains_key(*it)) {
                    differences.push(Difference::new(format!("{place}/{key}"), "is not there in truth"));
                }
                for (key, value) in recorded {
                    match own.get(key) {
                        None => {
                            differences.push(Difference::new(format!("{place}/{key}"), format!("is missing: {value}")))
                        }
                        Some(other) => self.compare(&format!("{place}/{key}"), value, other, differences),
                    }
                }
            }
            (Value::Array(recorded), Value::Array(own)) => self.compare_lists(place, recorded, own, differences),
            (Value::String(recorded), Value::String(own)) if self.is_same(recorded, own) => {}
            (recorded, own) if recorded != own => {
                differences.push(Difference::new(place, format!("is {own}, not {recorded}")))
            }
            _ => {}
        }
    }

    /// Each element is compared with the one that differs least, in whatever order, and of several with the one for which the fewest words
    /// have to be learnt.
    fn compare_lists(&mut self, place: &str, recorded: &[Value], own: &[Value], differences: &mut Vec<Difference>) {
        if recorded.len() != own.len() {
            differences
                .push(Difference::new(place, format!("has {} elements, not {}: {own:?}", own.len(), recorded.len())));
            return;
        }
        // Ids alone do not tell which is which.
        let is_bare = |it: &Value| it.as_object().is_some_and(|it| it.len() == 1 && it.contains_key("id"));
        let is_known = |it: &Value| it["id"].as_str().is_some_and(|it| self.0.contains_key(it));
        if recorded.len() > 1 && recorded.iter().all(is_bare) && !recorded.iter().all(is_known) {
            return;
        }
        let mut left: Vec<&Value> = own.iter().collect();
        for one in recorded {
            let tried = left.iter().enumerate().map(|(index, other)| {
                let (mut names, mut found) = (self.clone(), Vec::new());
                names.compare(&format!("{place}/*"), one, other, &mut found);
                let differing = found.iter().filter(|it| !it.is_meant()).count();
                ((differing, names.0.len()), index, names, found)
            });
            let (_, index, names, found) = tried.min_by_key(|it| it.0).expect("as many are left");
            *self = names;
            differences.extend(found);
            left.remove(index);
        }
    }

    /// Whether two texts are the same in both words. Words that are new are learnt, each for one other.
    fn is_same(&mut self, recorded: &str, own: &str) -> bool {
        if recorded == own || self.named(recorded) == own || is_time(recorded) && is_time(own) {
            return true;
        }
        let both = |is: fn(&str) -> bool| is(recorded) && is(own);
        let is_free = !self.0.contains_key(recorded) && self.0.values().all(|it| it != own);
        let is_new = is_free && (both(is_id) || both(is_address) || both(is_hardware));
        if is_new {
            self.0.insert(recorded.to_owned(), own.to_owned());
        }
        is_new
    }
}

fn is_id(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok()
}

fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok()
}

fn is_hardware(text: &str) -> bool {
    HARDWARE.is_match(text)
}

fn is_time(text: &str) -> bool {
    TIME.is_match(text)
}

#[test]
fn a_node_is_not_taken_for_its_router_in_any_order() {
    let id = |number: u8| format!("{number:08x}-0d11-4c9e-8f3b-2f5a3d4f7a11");
    let port = |number: u8, address: &str, revision: u8| json!({ "id": id(number), "fixed_ips": [{ "ip_address": address }], "revision_number": revision });
    let (node, router) = (port(1, "10.6.0.12", 5), port(2, "10.6.0.254", 3));
    let (own_node, own_router) = (port(3, "10.6.0.12", 1), port(4, "10.6.0.1", 3));
    for recorded in [[&node, &router], [&router, &node]] {
        for own in [[&own_node, &own_router], [&own_router, &own_node]] {
            let mut names = Names(BTreeMap::from([("10.6.0.12".to_owned(), "10.6.0.12".to_owned())]));
            let mut differences = Vec::new();
            names.compare("/ports", &json!(recorded), &json!(own), &mut differences);
            assert!(differences.iter().all(Difference::is_meant));
            assert_eq!([1, 2].map(|it| names.named(&id(it))), [id(3), id(4)]);
        }
    }
}
