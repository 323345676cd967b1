//! Every request that the vendor's own manager was seen to make: the simulator answers it with the recorded status, and is left with what
//! the recorded one was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use http::Method;
use regex::{Captures, Regex};
use serde_json::{Value, json};
use tests::azure_vendor::entries::{entries, parts, state};
use tests::clouds::azure::{CLIENT, Kind, LOCATION, SECRET, id};

use crate::asked::{Answered, Asked};

/// A story: its folder, and the steps of each part in their order. Others came between, of which nothing is known.
const STORIES: [(&str, &[&str]); 10] = [
    ("vm", &["nodes-join", "nodes-tainted"]),
    ("vm", &["external-create", "external-second", "external-restart", "external-delete", "external-delete-last"]),
    ("vm", &["internal-create", "internal-second", "internal-ha-ports", "internal-pls"]),
    (
        "vm",
        &[
            "options-udp",
            "options-mixed",
            "options-local",
            "options-sources-affinity",
            "options-probes",
            "options-dns-tags",
            "options-named-pip",
            "options-pip-by-ip",
            "options-tags-deny",
            "options-refused",
        ],
    ),
    ("vm", &["routes-create", "routes-steady", "routes-node-leaves"]),
    ("vm", &["machines-gone"]),
    (
        "scale-set",
        &["external-create", "external-second", "external-restart", "external-delete", "external-delete-last"],
    ),
    (
        "flexible",
        &["external-create", "external-second", "external-restart", "external-delete", "external-delete-last"],
    ),
    ("node-ip", &["external-create", "external-second", "external-restart", "external-delete", "external-delete-last"]),
    (
        "several",
        &["multi-first", "multi-second", "multi-named", "multi-local", "multi-internal", "multi-move", "multi-unknown"],
    ),
];

fn read(folder: &str, step: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/azure/{folder}/{step}.json"));
    serde_json::from_str(&named(&fs::read_to_string(file).unwrap())).unwrap()
}

/// The text with names and numbers in the place of what stands for them.
fn named(text: &str) -> String {
    let hex = |it: &str| it.bytes().fold(7_u128, |sum, it| (sum ^ u128::from(it)).wrapping_mul(1 << 88 | 0x13b));
    let names = Regex::new(r"LB\(([^)]*)\)").unwrap();
    let text = names.replace_all(text, |it: &Captures<'_>| format!("a{:031x}", hex(&it[1]) >> 4));
    let ports = Regex::new(r#""(?:HC|NODEPORT)\(([^)]*)\)""#).unwrap();
    let text = ports.replace_all(&text, |it: &Captures<'_>| format!("{}", 30_000 + hex(&it[1]) % 2_700));
    text.replace("RG/", &id(""))
}

/// A recorded request, played.
struct Played<'a> {
    asked: &'a Asked,
    /// Where the last operation is.
    operation: String,
}

impl Played<'_> {
    /// `GET RG/Microsoft.Network/loadBalancers {"$expand": "…"} -> 200`, or a write.
    async fn play(&mut self, entry: &Value) -> (String, Answered, u16) {
        let (line, status, body) = match entry.as_str() {
            Some(line) => {
                let (ask, status) = line.rsplit_once(" -> ").unwrap();
                (ask.to_owned(), status.parse().unwrap(), None)
            }
            None => {
                let status = u16::try_from(entry["status"].as_u64().unwrap()).unwrap();
                (entry["ask"].as_str().unwrap().to_owned(), status, Some(entry))
            }
        };
        let (method, rest) = line.split_once(' ').unwrap();
        let method: Method = method.parse().unwrap();
        let (path, query) = rest.split_once(' ').map_or((rest, None), |(path, query)| (path, Some(query)));
        let mut query: BTreeMap<String, String> = query.map(|it| serde_json::from_str(it).unwrap()).unwrap_or_default();
        if let Some(version) = version(path, body) {
            query.insert("api-version".to_owned(), version);
        }
        let pairs = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&query).finish();
        let target = match path.ends_with("/operations/OP") {
            true => self.operation.clone(),
            false => format!("{path}?{pairs}"),
        };
        let told = match body {
            Some(write) if write.get("form").is_some() => self.form(path, write).await,
            Some(write) => self.write(&method, path, &target, write).await,
            None => {
                let own = [("x-identity-header", tests::clouds::azure::IDENTITY_HEADER), ("authorization", "")];
                let headers: &[(&str, &str)] = if path.starts_with("/subscriptions") { &[] } else { &own };
                self.asked.send(&method, &target, headers, None).await
            }
        };
        if !told.header("azure-asyncoperation").is_empty() {
            told.header("azure-asyncoperation").clone_into(&mut self.operation);
        }
        (line, told, status)
    }

    /// A write: what is there, with the entries that the recording says that it sets and unsets.
    async fn write(&self, method: &Method, path: &str, target: &str, write: &Value) -> Answered {
        let changes = &write["body"];
        if changes.is_null() {
            return self.asked.send(method, target, &[], None).await;
        }
        let there = self.asked.send(&Method::GET, target, &[], None).await;
        let etag = there.body["etag"].as_str().unwrap_or_default().to_owned();
        let headers = [("if-match", if write["if-match"] == json!(true) { etag.as_str() } else { "" })];
        let kind = Kind::ALL.into_iter().find(|it| path.rsplit('/').nth(1) == Some(it.many()) && !is_part(path));
        let body = match kind {
            Some(kind) => {
                let mut all = if there.status == 200 { entries(kind, &there.body) } else { BTreeMap::new() };
                all.extend(changes["set"].as_object().unwrap().iter().map(|(id, it)| (id.clone(), it.clone())));
                for gone in changes["unset"].as_array().unwrap() {
                    all.remove(gone.as_str().unwrap());
                }
                whole(kind, path, &all)
            }
            None => changes["set"][path].clone(),
        };
        self.asked.send(method, target, &headers, Some(&body)).await
    }

    /// A request for a token.
    async fn form(&self, path: &str, write: &Value) -> Answered {
        let form = write["form"].as_str().unwrap().replace('…', SECRET);
        assert!(form.contains(CLIENT));
        let client = self.asked.cloud.client(&["http/1.1"]);
        let request = client.post(format!("{}{path}", self.asked.cloud.base_url()));
        let response =
            request.header("content-type", "application/x-www-form-urlencoded").body(form).send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answered { status, headers, body: serde_json::from_slice(&response.bytes().await.unwrap()).unwrap() }
    }
}

fn is_part(path: &str) -> bool {
    path.contains("/subnets/") || path.contains("/backendAddressPools/")
}

/// The version of a request: reads are recorded without.
fn version(path: &str, write: Option<&Value>) -> Option<String> {
    let recorded = write.and_then(|it| it["api-version"].as_str());
    let usual = match path {
        it if it.ends_with("/providers/Microsoft.Compute") => "2021-04-01",
        it if it.contains("Microsoft.Compute") => "2025-04-01",
        it if it.starts_with("/subscriptions") => "2025-05-01",
        "/msi/token" => "2019-08-01",
        "/common/discovery/instance" => "1.1",
        _ => return None,
    };
    Some(recorded.unwrap_or(usual).to_owned())
}

/// A body of entries.
fn whole(kind: Kind, id: &str, all: &BTreeMap<String, Value>) -> Value {
    let mut body = all.get(id).cloned().unwrap_or_else(|| json!({ "properties": {} }));
    for part in parts(kind) {
        let prefix = format!("{id}/{part}/");
        let of_part = all.range(prefix.clone()..).take_while(|(it, _)| it.starts_with(&prefix));
        let list: Vec<Value> = of_part
            .map(|(it, entry)| {
                let mut entry = entry.clone();
                entry["name"] = json!(it.rsplit('/').next().unwrap());
                entry
            })
            .collect();
        body["properties"][*part] = json!(list);
    }
    body
}

/// An entry in which each address that Azure chose is like any other.
fn without_addresses(value: &Value) -> Value {
    let chosen = Regex::new(r"20\.50\.0\.\d+|10\.24[01]\.0\.1\d\d").unwrap();
    serde_json::from_str(&chosen.replace_all(&value.to_string(), "ADDRESS")).unwrap()
}

#[tokio::test]
async fn recorded_requests_get_their_recorded_status() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (folder, steps) in STORIES {
        let asked = Asked::instant().await;
        ground(&asked, folder);
        let mut played = Played { asked: &asked, operation: String::new() };
        for step in steps {
            before(&asked, step);
            let recorded = read(folder, step);
            for entry in recorded["requests"].as_array().into_iter().flatten() {
                let (line, told, status) = played.play(entry).await;
                count += 1;
                if told.status != status {
                    wrong.push(format!("{folder}/{step}: {line} got {}, not {status}: {}", told.short(), told.body));
                }
            }
            let state = state(asked.cloud.account());
            for (id, entry) in recorded["cloud"]["set"].as_object().into_iter().flatten() {
                let is = state.get(id).map(without_addresses).unwrap_or_default();
                if is != without_addresses(entry) && !LEFT.iter().any(|it| id.ends_with(it)) {
                    wrong.push(format!("{folder}/{step}: {id} is {is}, not {entry}"));
                }
            }
            for id in recorded["cloud"]["unset"].as_array().into_iter().flatten() {
                if state.contains_key(id.as_str().unwrap()) {
                    wrong.push(format!("{folder}/{step}: {id} is there"));
                }
            }
        }
        asked.cloud.assert_valid();
    }
    assert!(count > 800, "{count} requests");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Entries that are not compared: the recorded interfaces began without `primary`.
const LEFT: [&str; 2] = ["/networkInterfaces/node-1-nic", "/networkInterfaces/node-2-nic"];

/// The machines that a story begins with.
fn ground(asked: &Asked, folder: &str) {
    asked.cloud.with(|world| match folder {
        "scale-set" => {
            for machine in ["node-1", "node-2"] {
                world.remove(&id(&format!("Microsoft.Compute/virtualMachines/{machine}")));
                world.remove(&id(&format!("Microsoft.Network/networkInterfaces/{machine}-nic")));
            }
            world.add_scale_set("pool1");
            world.add_instance("pool1", 0);
            world.add_instance("pool1", 1);
        }
        "flexible" => {
            world.add_flexible_machine("flex1", 1, "node-1");
            world.add_flexible_machine("flex1", 2, "node-2");
        }
        _ => {}
    });
}

/// Does what a person or the cloud did before a step.
fn before(asked: &Asked, step: &str) {
    let address = |name: &str, ip: &str| {
        let body = json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": {
            "publicIPAllocationMethod": "Static", "publicIPAddressVersion": "IPv4", "ipAddress": ip, "idleTimeoutInMinutes": 4,
        } });
        asked.cloud.with(|world| {
            world.insert(Kind::PublicIp, &id(&format!("Microsoft.Network/publicIPAddresses/{name}")), body)
        });
    };
    match step {
        "options-named-pip" => address("mine", "20.60.0.1"),
        "options-pip-by-ip" => address("byip", "20.60.0.2"),
        "machines-gone" => asked.cloud.with(|world| {
            world.remove(&id("Microsoft.Compute/virtualMachines/node-2"));
        }),
        _ => {}
    }
}
