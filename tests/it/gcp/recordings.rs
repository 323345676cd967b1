//! Every request that Google's own manager was seen to make: the simulator answers it with the recorded status.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use http::Method;
use regex::{Captures, Regex};
use serde_json::Value;
use tests::clouds::gcp::{Collection, PROJECT, Place, REGION};

use crate::asked::Asked;

/// The steps of each part, in their order. Others came between: what they left is in `state`.
const STORIES: [&[&str]; 4] = [
    &["nodes-join", "nodes-unknown"],
    &[
        "external-create",
        "external-second",
        "external-udp",
        "external-range",
        "external-local",
        "external-static-ip",
        "external-refused",
        "external-elsewhere",
        "external-class",
        "external-restart",
    ],
    &[
        "internal-create",
        "internal-second",
        "internal-six-ports",
        "internal-local",
        "internal-udp",
        "internal-class",
        "internal-restart",
        "internal-delete",
    ],
    &["routes-create", "routes-steady", "routes-node-leaves", "machines-stopped", "machines-gone"],
];

/// The requests of a recorded step: method, path with the query, body, status.
fn requests(step: &str) -> Vec<(Method, String, Option<Value>, u16)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/gcp/manager/{step}.json"));
    let text = named(&fs::read_to_string(file).unwrap());
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let read = |entry: &Value| match entry.as_str() {
        Some(line) => {
            let (ask, status) = line.rsplit_once(" -> ").unwrap();
            let (method, target) = asked(ask);
            (method, target, None, status.parse().unwrap())
        }
        None => {
            let (method, target) = asked(entry["ask"].as_str().unwrap());
            let status = u16::try_from(entry["status"].as_u64().unwrap()).unwrap();
            (method, target, entry.get("body").filter(|it| !it.is_null()).cloned(), status)
        }
    };
    recorded["requests"].as_array().into_iter().flatten().map(read).collect()
}

/// `GET /compute/v1/projects/p1/zones {"filter": "…"}`.
fn asked(line: &str) -> (Method, String) {
    let (method, rest) = line.split_once(' ').unwrap();
    let (path, query) = rest.split_once(' ').map_or((rest, None), |(path, query)| (path, Some(query)));
    let query: BTreeMap<String, String> = query.map(|it| serde_json::from_str(it).unwrap()).unwrap_or_default();
    let pairs = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&query).finish();
    let path = path.strip_prefix("/compute/v1/").unwrap();
    (method.parse().unwrap(), if pairs.is_empty() { path.to_owned() } else { format!("{path}?{pairs}") })
}

/// The text with names in the place of what stands for them.
fn named(text: &str) -> String {
    let hex = |it: &str| it.bytes().fold(7_u128, |sum, it| sum.wrapping_mul(1_000_003) ^ u128::from(it));
    let names = Regex::new(r"LB\(([^)]*)\)").unwrap();
    let text = names.replace_all(text, |it: &Captures<'_>| format!("a{:031x}", hex(&it[1]) >> 4));
    let uids = Regex::new(r"UID\(([^)]*)\)").unwrap();
    let text = uids.replace_all(&text, |it: &Captures<'_>| format!("{:032x}", hex(&it[1])));
    let ports = Regex::new(r#""?(?:HC|NODEPORT)\([^)]*\)"?"#).unwrap();
    // In a firewall, ports are texts.
    let text = ports.replace_all(&text, "31000");
    let in_lists = Regex::new(r"(\[\s*)31000(\s*\])").unwrap();
    let text = in_lists.replace_all(&text, "$1\"31000\"$2");
    text.replace("URL/", "https://www.googleapis.com/compute/v1/")
}

#[tokio::test]
async fn recorded_requests_get_their_recorded_status() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for story in STORIES {
        let asked = Asked::instant().await;
        for step in story {
            before(&asked, step);
            for (method, target, body, status) in requests(step) {
                let (got, answer) = asked.send(&method, &target, body.as_ref()).await;
                count += 1;
                if got != status {
                    wrong.push(format!("{step}: {method} {target} got {got}, not {status}: {answer}"));
                }
            }
        }
    }
    assert!(count > 300, "{count} requests");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Does what a person or the cloud did before a step.
fn before(asked: &Asked, step: &str) {
    let machine = Place::zone(PROJECT, &format!("{REGION}-c")).path(Collection::Instances, "node-2");
    match step {
        "machines-gone" => asked.cloud.with(|world| drop(world.remove(&machine))),
        "machines-stopped" => asked.cloud.with(|world| {
            world.get_mut(&machine).unwrap()["status"] = "TERMINATED".into();
        }),
        _ => {}
    }
}
