//! Every request of `tests/golden/openstack/api.json` to the simulator: the same status, the same text of each refusal, and answers of the
//! same shape.

use std::collections::BTreeMap;
use std::time::SystemTime;

use http::Method;
use regex::Regex;
use serde_json::{Value, json};
use tests::clouds::openstack::{APPLICATION_CREDENTIAL, Kind, Options, PROJECT, Simulator, Taking, USER, User};

/// Answers of the real services.
const RECORDED: &str = include_str!("../../golden/openstack/api.json");

/// The recorded entries whose answers hold the whole object: one that has a field more differs.
const WHOLE: [usize; 6] = [0, 3, 4, 5, 6, 7];

/// The recorded entries after which the change of the load balancer has ended.
const ENDS: [usize; 10] = [2, 12, 14, 20, 21, 22, 23, 26, 39, 10];

/// Entries of which the recorder kept a part of the answer: where that part is.
const PARTS: [(usize, &str); 12] = [
    (9, "/loadbalancer"),
    (20, "/listener"),
    (21, "/listener"),
    (26, "/healthmonitor"),
    (33, "/loadbalancers_links"),
    (39, "/loadbalancer"),
    (41, "/ports"),
    (48, "/router"),
    (62, "/port"),
    (63, "/server"),
    (64, "/server"),
    (66, "/servers_links"),
];

/// A region in which the recorded requests are sent one after the other.
struct Play {
    cloud: Simulator,
    names: BTreeMap<String, String>,
}

#[tokio::test]
async fn every_recorded_answer_of_the_services_is_the_same_here() {
    let mut options = Options::default();
    options.behaviour.provisioning = Taking::Forever;
    let cloud = Simulator::start(options).await.unwrap();
    cloud.with(|world| {
        world.build_recorded();
        for number in [1, 2, 6] {
            world.add_node(number, &format!("node-{number}"), None);
        }
    });
    let mut play = Play { cloud, names: BTreeMap::new() };
    play.learn_ground();
    let recorded: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let mut wrong = Vec::new();
    for (index, entry) in recorded.iter().enumerate() {
        play.prepare(index);
        let (status, answer) = play.send(index, &entry["request"]).await;
        if index == 0 {
            play.learn_balancer(&answer);
        }
        let about = entry["about"].as_str().unwrap();
        if json!(status) != entry["status"] {
            wrong.push(format!("{index} {about}: {status} with {answer}, not {}", entry["status"]));
        } else if let Some(why) = play.differs(index, status, &entry["answer"], &answer) {
            wrong.push(format!("{index} {about}: {why}\n        {answer}"));
        }
        if ENDS.contains(&index) {
            play.cloud.with(|world| {
                let all: Vec<_> =
                    world.all(Kind::LoadBalancer).map(|it| it["id"].as_str().unwrap().to_owned()).collect();
                all.iter().for_each(|it| world.finish(it));
            });
        }
    }
    assert!(wrong.is_empty(), "\n    {}", wrong.join("\n    "));
    // What Octavia answers by size is text, and what it cannot read is no JSON of its description.
    let unlike: Vec<_> = play.cloud.take_violations().into_iter().filter(|it| !on_purpose(it)).collect();
    assert_eq!(unlike, [""; 0]);
}

/// Whether a request was recorded because the services' description does not allow it.
fn on_purpose(violation: &str) -> bool {
    ["content type \"text/plain", "default_pool", "is not JSON", "-5", "FASTEST", "11 is", "negative"]
        .iter()
        .any(|it| violation.contains(it))
        || violation.contains("/identity/v3/auth/tokens")
}

impl Play {
    fn learn_ground(&mut self) {
        let names = &mut self.names;
        self.cloud.with(|world| {
            for (kind, word) in [
                (Kind::Network, "net"),
                (Kind::Subnet, "subnet"),
                (Kind::Server, "server"),
                (Kind::Router, "router"),
                (Kind::Flavor, "flavor"),
                (Kind::Port, "port"),
            ] {
                for it in world.all(kind) {
                    let name = it["name"].as_str().unwrap();
                    names.insert(format!("<{word} {name}>"), it["id"].as_str().unwrap().to_owned());
                }
            }
        });
        names.insert("<project>".to_owned(), PROJECT.to_owned());
        names.insert("<that token>".to_owned(), "no-token-at-all".to_owned());
    }

    fn learn_balancer(&mut self, answer: &Value) {
        let whole = &answer["loadbalancer"];
        let (listener, pool) = (&whole["listeners"][0], &whole["pools"][0]);
        for (name, object) in [
            ("<lb probe>", whole),
            ("<listener>", listener),
            ("<pool>", pool),
            ("<monitor>", &pool["healthmonitor"]),
            ("<member>", &pool["members"][0]),
        ] {
            self.names.insert(name.to_owned(), object["id"].as_str().unwrap().to_owned());
        }
    }

    /// Does the same as the recorder before an entry.
    fn prepare(&self, index: usize) {
        let one = |kind| BTreeMap::from([(kind, 0)]);
        match index {
            33 => self.cloud.with(|world| {
                world.insert(
                    Kind::LoadBalancer,
                    json!({ "name": "second", "tags": [], "provisioning_status": "ACTIVE" }),
                );
            }),
            36 => self.cloud.behave(|it| it.quotas = one(Kind::LoadBalancer)),
            37 => self.cloud.behave(|it| it.quotas = one(Kind::Listener)),
            38 => self.cloud.behave(|it| it.quotas = BTreeMap::new()),
            44 => self.cloud.with(|world| {
                let network = world.named(Kind::Network, "ext");
                let taken = json!({ "floating_network_id": network, "floating_ip_address": "172.24.4.150" });
                world.insert(Kind::FloatingIp, taken);
            }),
            56 => self.set_revision(Kind::Router, "r2", 10),
            // The recorder sent a list without host bits here, and had one with them again afterwards.
            58 => self.change_routes(|all| all.retain(|it| it["destination"] != "10.99.5.7/24")),
            60 => self.change_routes(|all| all.push(json!({ "destination": "10.99.5.7/24", "nexthop": "10.6.0.11" }))),
            61 => self.set_revision(Kind::Port, "node-6", 5),
            69 => {
                for (name, password, enabled) in [("admin", "secret", true), ("off", "pw", false)] {
                    let text = str::to_owned;
                    let user = User {
                        id: text(name),
                        name: text(name),
                        password: text(password),
                        enabled,
                        project: text(PROJECT),
                    };
                    self.cloud.identity().add_user(user);
                }
            }
            75 => self.cloud.identity().change_credential(APPLICATION_CREDENTIAL, |it| it.secret = "s".to_owned()),
            77 => self
                .cloud
                .identity()
                .change_credential(APPLICATION_CREDENTIAL, |it| it.expires = Some(SystemTime::now())),
            _ => {}
        }
    }

    fn change_routes(&self, change: impl FnOnce(&mut Vec<Value>)) {
        self.cloud.with(|world| {
            let id = world.named(Kind::Router, "r2");
            change(world.get_mut(Kind::Router, &id).unwrap()["routes"].as_array_mut().unwrap());
        });
    }

    fn set_revision(&self, kind: Kind, name: &str, revision: u64) {
        self.cloud.with(|world| {
            let id = world.named(kind, name);
            world.get_mut(kind, &id).unwrap()["revision_number"] = json!(revision);
        });
    }

    async fn send(&self, index: usize, request: &Value) -> (u16, Value) {
        let base = match request["api"].as_str().unwrap() {
            "octavia" if request["path"] == json!("/") => "/load-balancer",
            "octavia" => "/load-balancer/v2/lbaas",
            "neutron" => "/network/v2.0",
            "nova" => "/compute/v2.1",
            _ => "/identity/v3",
        };
        let path = self.named(request["path"].as_str().unwrap());
        let method: Method = request["method"].as_str().unwrap().parse().unwrap();
        let url = format!("{}{base}{path}", self.cloud.base_url());
        let mut sent = self.cloud.client(&["http/1.1"]).request(method, url);
        let headers = request["headers"].as_object();
        if headers.is_none_or(|it| !it.contains_key("X-Auth-Token")) {
            sent = sent.header("X-Auth-Token", &self.cloud.token);
        }
        for (name, value) in headers.into_iter().flatten() {
            sent = sent.header(name, self.named(value.as_str().unwrap()));
        }
        if let Some(body) = self.body(index, request) {
            sent = sent.header("Content-Type", "application/json").body(self.named(&body.to_string()));
        }
        let response = sent.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(if text.is_empty() { Value::Null } else { Value::String(text) }))
    }

    /// The body of a request. Where the recorder wrote a word in its place, that.
    fn body(&self, index: usize, request: &Value) -> Option<Value> {
        let member = |number: u32| json!({ "name": format!("node-{number}"), "address": format!("10.{}.{}.1", number / 256, number % 256), "protocol_port": 30_080, "subnet_id": "<subnet k8s>" });
        match index {
            16 => Some(json!({ "members": (0..1_000).map(member).collect::<Vec<_>>() })),
            36 => Some(json!({ "loadbalancer": { "name": "q", "vip_subnet_id": "<subnet k8s>" } })),
            37 => {
                Some(json!({ "listener": { "loadbalancer_id": "<lb probe>", "protocol": "TCP", "protocol_port": 99 } }))
            }
            58 => {
                let routes = self
                    .cloud
                    .with(|world| world.all(Kind::Router).find(|it| it["name"] == "r2").unwrap()["routes"].clone());
                Some(json!({ "router": { "routes": routes } }))
            }
            72 => Some(
                serde_json::from_str(&request["body"].to_string().replace("<project>", &format!("{:032}", 1))).unwrap(),
            ),
            75..=77 => Some(
                serde_json::from_str(&request["body"].to_string().replace("<project>", APPLICATION_CREDENTIAL))
                    .unwrap(),
            ),
            _ => request.get("body").cloned(),
        }
    }

    /// A text with ids in the place of names.
    fn named(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
    }

    /// Why an answer is not as the recorded one.
    fn differs(&self, index: usize, status: u16, recorded: &Value, answer: &Value) -> Option<String> {
        if status >= 400 {
            let recorded: Value = serde_json::from_str(&self.named(&recorded.to_string())).unwrap();
            let same = sorted(&recorded) == sorted(answer);
            return (!same).then(|| format!("not {recorded}"));
        }
        match index {
            // What these show is said in words, and seen in the entries beside them.
            11 | 12 | 73 => None,
            15 => (answer["members"].as_array().map(Vec::len) != Some(2)).then(|| "not two members".to_owned()),
            22 | 23 => (answer["listener"]["allowed_cidrs"] != *recorded).then(|| "other networks".to_owned()),
            32 => (answer["loadbalancers"][0]["name"] != recorded[0]).then(|| "another list".to_owned()),
            34 => (!answer["versions"].as_array().is_some_and(|all| all.iter().any(|it| it["id"] == recorded[0])))
                .then(|| "no such version".to_owned()),
            42 => (answer["ports_links"][0]["rel"] != recorded[0]).then(|| "no such link".to_owned()),
            48 | 49 | 51 | 52 | 60 => missing_routes(recorded, &answer["router"]),
            53 | 58 => answer["router"].is_null().then(|| "no router".to_owned()),
            75 => (answer["token"]["application_credential"]["restricted"] != json!(true))
                .then(|| "not restricted".to_owned()),
            _ => {
                let part = PARTS.iter().find(|(it, _)| *it == index).map_or("", |(_, part)| part);
                fits("", recorded, answer.pointer(part).unwrap_or(&Value::Null), WHOLE.contains(&index))
            }
        }
    }
}

/// Every recorded route must be there; the recorder left out others.
fn missing_routes(recorded: &Value, router: &Value) -> Option<String> {
    let all = router["routes"].as_array()?;
    let missing = recorded["routes"].as_array()?.iter().find(|it| !all.contains(it))?;
    Some(format!("no route {missing}"))
}

/// The first place at which an answer has another shape.
fn fits(place: &str, recorded: &Value, answer: &Value, whole: bool) -> Option<String> {
    match (recorded, answer) {
        (Value::Null, _) | (_, Value::Null) if !place.is_empty() => None,
        (Value::Object(recorded), Value::Object(answer)) => {
            let more = answer.keys().find(|it| whole && !recorded.contains_key(*it));
            let inner = || {
                recorded.iter().find_map(|(key, value)| match answer.get(key) {
                    None => Some(format!("{place}/{key} is missing")),
                    Some(other) => fits(&format!("{place}/{key}"), value, other, whole),
                })
            };
            more.map(|key| format!("{place}/{key} is not there in truth")).or_else(inner)
        }
        (Value::Array(recorded), Value::Array(answer)) => match (recorded.first(), answer.first()) {
            (Some(one), Some(other)) => fits(&format!("{place}/0"), one, other, whole),
            (Some(_), None) => Some(format!("{place} is empty")),
            _ => None,
        },
        (one, other) => {
            let kind = |it: &Value| std::mem::discriminant(it);
            (kind(one) != kind(other)).then(|| format!("{place} is {other}, not {one}"))
        }
    }
}

/// A refusal whose list of routes has no order, as in truth.
fn sorted(refusal: &Value) -> (String, Vec<String>) {
    let text = refusal.to_string();
    let route = Regex::new(r"\{'destination[^}]*\}").unwrap();
    let mut routes: Vec<String> = route.find_iter(&text).map(|it| it.as_str().to_owned()).collect();
    routes.sort();
    (route.replace_all(&text, "route").into_owned(), routes)
}

#[tokio::test]
async fn a_token_of_the_simulated_keystone_opens_its_services() {
    let cloud = Simulator::start(Options::default()).await.unwrap();
    let client = cloud.client(&["http/1.1"]);
    let auth = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": { "id": USER, "password": tests::clouds::openstack::PASSWORD } } },
        "scope": { "project": { "id": PROJECT } },
    } });
    let given = client
        .post(format!("{}/auth/tokens", cloud.keystone()))
        .header("Content-Type", "application/json")
        .body(auth.to_string())
        .send()
        .await
        .unwrap();
    let token = given.headers()["x-subject-token"].to_str().unwrap().to_owned();
    let body: Value = serde_json::from_slice(&given.bytes().await.unwrap()).unwrap();
    let url =
        body["token"]["catalog"].as_array().unwrap().iter().find(|it| it["type"] == "network").unwrap()["endpoints"][0]
            ["url"]
            .clone();
    let ask =
        || client.get(format!("{}/v2.0/quotas/project", url.as_str().unwrap())).header("X-Auth-Token", &token).send();
    let project: Value = serde_json::from_slice(&ask().await.unwrap().bytes().await.unwrap()).unwrap();
    assert_eq!(project["project"]["project_id"], json!(PROJECT));
    cloud.identity().revoke_all();
    assert_eq!(ask().await.unwrap().status(), 401);
}
