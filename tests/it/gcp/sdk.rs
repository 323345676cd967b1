//! Google's own clients drive the simulator: google-cloud-compute makes, lists and deletes one of each kind, with tokens that google-auth
//! gets from the simulator's token endpoint by a service account's key.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::gcp::{PROJECT, Place, REGION};
use tests::published::gcp;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// How long the client may take for all calls.
const PATIENCE: Duration = Duration::from_secs(180);

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The results of these calls.
async fn called(url: &str, calls: &[Value]) -> Vec<Value> {
    let python = folder("../target/google/bin/python");
    assert!(python.exists(), "Google's clients are not installed. Next step: make google");
    let mut child = Command::new(python)
        .args([folder("google/call.py"), PathBuf::from(url), folder("google/key.json")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(Value::from(calls).to_string().as_bytes()).await.unwrap();
    drop(input);
    let output =
        tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("the client ends in time").unwrap();
    assert!(output.status.success(), "the client failed, see above");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A kind of resource: the client, the place of it in requests, the name of the body and of one, and the body without its name.
struct Made {
    client: &'static str,
    place: Value,
    resource: &'static str,
    one: &'static str,
    body: Value,
}

fn made(client: &'static str, place: &Value, resource: &'static str, one: &'static str, body: Value) -> Made {
    Made { client, place: place.clone(), resource, one, body }
}

/// One of each kind, in an order in which each finds what it refers to.
fn all() -> Vec<Made> {
    let global = json!({ "project": PROJECT });
    let region = json!({ "project": PROJECT, "region": REGION });
    let zone = json!({ "project": PROJECT, "zone": format!("{REGION}-b") });
    let here = |rest: &str| format!("projects/{PROJECT}/{rest}");
    let (r, z) = (format!("regions/{REGION}"), format!("zones/{REGION}-b"));
    vec![
        made("Networks", &global, "network_resource", "network", json!({ "auto_create_subnetworks": false })),
        made(
            "Subnetworks",
            &region,
            "subnetwork_resource",
            "subnetwork",
            json!({
                "ip_cidr_range": "10.200.0.0/24", "network": here("global/networks/sdk"),
            }),
        ),
        made("Disks", &zone, "disk_resource", "disk", json!({ "size_gb": 20 })),
        made(
            "Instances",
            &zone,
            "instance_resource",
            "instance",
            json!({
                "machine_type": format!("{z}/machineTypes/e2-small"), "disks": [{ "source": here(&format!("{z}/disks/sdk")), "boot": true }],
                "network_interfaces": [{ "network": here("global/networks/default") }],
            }),
        ),
        made("Addresses", &region, "address_resource", "address", json!({ "description": "d" })),
        made(
            "Firewalls",
            &global,
            "firewall_resource",
            "firewall",
            json!({
                "network": here("global/networks/default"), "allowed": [{ "I_p_protocol": "tcp", "ports": ["80"] }],
                "source_ranges": ["0.0.0.0/0"], "target_tags": ["t"],
            }),
        ),
        made(
            "Routes",
            &global,
            "route_resource",
            "route",
            json!({
                "network": here("global/networks/default"), "dest_range": "10.9.0.0/24", "priority": 1000,
                "next_hop_instance": here(&format!("{z}/instances/node-1")),
            }),
        ),
        made(
            "HealthChecks",
            &global,
            "health_check_resource",
            "health_check",
            json!({
                "type_": "HTTP", "http_health_check": { "port": 10256, "request_path": "/healthz" }, "check_interval_sec": 8,
            }),
        ),
        made("InstanceGroups", &zone, "instance_group_resource", "instance_group", json!({})),
        made(
            "TargetPools",
            &region,
            "target_pool_resource",
            "target_pool",
            json!({
                "instances": [here(&format!("{z}/instances/node-1"))],
            }),
        ),
        made(
            "RegionBackendServices",
            &region,
            "backend_service_resource",
            "backend_service",
            json!({
                "protocol": "TCP", "load_balancing_scheme": "INTERNAL", "health_checks": [here("global/healthChecks/sdk")],
                "backends": [{ "group": here(&format!("{z}/instanceGroups/sdk")), "balancing_mode": "CONNECTION" }],
            }),
        ),
        made(
            "ForwardingRules",
            &region,
            "forwarding_rule_resource",
            "forwarding_rule",
            json!({
                "backend_service": here(&format!("{r}/backendServices/sdk")), "load_balancing_scheme": "INTERNAL", "ports": ["80"],
                "network": here("global/networks/default"), "subnetwork": here(&format!("{r}/subnetworks/default")),
                "I_p_protocol": "TCP",
            }),
        ),
    ]
}

fn asked(it: &Made, method: &str, more: &[(&str, Value)]) -> Value {
    let mut arguments = it.place.clone();
    more.iter().for_each(|(key, value)| arguments[*key] = value.clone());
    json!({ "client": it.client, "method": method, "arguments": arguments })
}

#[tokio::test]
async fn googles_own_client_makes_lists_and_deletes_each_kind() {
    let served = gcp::serve(0, Some(Duration::from_millis(50))).await.unwrap();
    served.simulator.with(|world| {
        world.add_machine(&Place::zone(PROJECT, &format!("{REGION}-b")), 1, "node-1");
    });
    let all = all();
    let mut calls = Vec::new();
    for it in &all {
        let mut body = it.body.clone();
        body["name"] = json!("sdk");
        calls.push(asked(it, "insert", &[(it.resource, body)]));
        calls.push(asked(it, "get", &[(it.one, json!("sdk"))]));
        calls.push(asked(it, "list", &[("max_results", json!(1)), ("filter", json!("name eq sdk"))]));
    }
    let checks = &all[7];
    calls.push(asked(checks, "delete", &[(checks.one, json!("sdk"))]));
    for it in all.iter().rev() {
        calls.push(asked(it, "delete", &[(it.one, json!("sdk"))]));
        calls.push(asked(it, "get", &[(it.one, json!("sdk"))]));
    }
    calls.push(json!({ "client": "Instances", "method": "aggregated_list", "arguments": { "project": PROJECT, "max_results": 1 } }));
    let done = called(&served.url, &calls).await;
    let mut wrong = Vec::new();
    for (call, became) in calls.iter().zip(&done) {
        let is_kept = call == &asked(checks, "delete", &[(checks.one, json!("sdk"))]);
        let is_good = match call["method"].as_str().unwrap() {
            "insert" => became["ok"]["operation"] == "DONE",
            "delete" if is_kept => {
                became["ok"]["operation"] == "DONE" || became["error"]["reason"] == "resourceInUseByAnotherResource"
            }
            "delete" => became["ok"]["operation"] == "DONE",
            "list" => became["ok"]["names"] == json!(["sdk"]),
            "get" => became["ok"]["name"] == "sdk" || became["error"]["reason"] == "notFound",
            _ => became["ok"]["names"] == json!([format!("zones/{REGION}-b/node-1")]),
        };
        if !is_good {
            wrong.push(format!("{call}: {became}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Once deleted, nothing is found.
    let gone = done[calls.len() - 1 - 2 * all.len()..].iter().filter(|it| it["error"]["status"] == 404).count();
    assert_eq!(gone, all.len());
    assert_eq!(done[3 * all.len()]["error"]["reason"], "resourceInUseByAnotherResource");
    let tokens = served.simulator.requests_to("POST", "/token");
    assert_eq!(tokens.iter().filter_map(|it| it.status).collect::<Vec<_>>(), [200], "one token for all calls");
    served.simulator.assert_valid();
}
