//! IBM's own client drives the simulator: the official SDK of the VPC, with tokens that its authenticators get from the simulator's IAM and
//! metadata service. Its models refuse answers that lack a required field.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::ibm::{API_KEY, IbmMetadata, TRUSTED_PROFILE, VPC, VpcKind, machine_id};
use tests::folder::Folder;
use tests::published::ibm;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// How long the client may take for all calls.
const PATIENCE: Duration = Duration::from_secs(120);

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The results of these calls.
async fn called(arguments: &[&str], calls: &[Value]) -> Vec<Value> {
    let python = folder("../target/ibm/bin/python");
    assert!(python.exists(), "IBM's client is not installed. Next step: make ibm");
    let mut child = Command::new(python)
        .arg(folder("ibm/call.py"))
        .args(arguments)
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

fn call(method: &str, arguments: Value) -> Value {
    json!({ "method": method, "arguments": arguments })
}

/// The id in the answer to the call with this number.
fn of(call: usize) -> Value {
    json!({ "of": call, "key": "id" })
}

#[tokio::test]
async fn ibms_own_client_sends_what_is_recorded_of_it() {
    let mut command = Command::new(folder("../target/ibm/bin/python"));
    let recorder = command.arg("-B").arg(folder("ibm/record.py")).kill_on_drop(true).output();
    let output = tokio::time::timeout(PATIENCE, recorder).await.expect("the client ends in time").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let recorded = std::fs::read(folder("golden/ibm-vpc-sdk.json")).unwrap();
    assert!(output.stdout == recorded, "Next step: write it again, as tests/ibm/record.py says");
}

#[tokio::test]
async fn ibms_own_client_makes_changes_and_deletes_a_load_balancer() {
    let served = ibm::serve(0, Some(Duration::ZERO)).await.unwrap();
    let monitor = json!({ "delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp", "port": 30_080 });
    let http =
        json!({ "delay": 5, "max_retries": 2, "timeout": 2, "type": "http", "port": 31_000, "url_path": "/healthz" });
    let member = |last: u8| json!({ "port": 30_080, "target": { "address": format!("10.240.0.{last}") } });
    let pool = |name: &str| json!({ "name": name, "protocol": "tcp", "algorithm": "round_robin", "health_monitor": monitor, "members": [member(11)] });
    let with = |more: Value| {
        let mut arguments = json!({ "load_balancer_id": of(0) });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let calls = [
        call(
            "create_load_balancer",
            json!({
                "is_public": true, "name": "sdk", "subnets": [{ "id": "0717-s1" }, { "id": "0727-s2" }], "pools": [pool("tcp-80-30080")],
                "listeners": [{ "port": 80, "protocol": "tcp", "default_pool": { "name": "tcp-80-30080" } }],
            }),
        ),
        call("get_load_balancer", json!({ "id": of(0) })),
        call("list_load_balancers", json!({})),
        call("list_load_balancer_listeners", with(json!({}))),
        call("list_load_balancer_pools", with(json!({}))),
        call("create_load_balancer_pool", {
            let mut arguments = pool("tcp-443-30443");
            arguments["load_balancer_id"] = of(0);
            arguments
        }),
        call(
            "create_load_balancer_listener",
            with(json!({ "protocol": "tcp", "port": 443, "default_pool": { "id": of(5) } })),
        ),
        call(
            "update_load_balancer_pool",
            with(
                json!({ "id": of(5), "load_balancer_pool_patch": { "health_monitor": http, "proxy_protocol": "v1" } }),
            ),
        ),
        call(
            "replace_load_balancer_pool_members",
            with(json!({ "pool_id": of(5), "members": [member(12), member(13)] })),
        ),
        call("list_load_balancer_pool_members", with(json!({ "pool_id": of(5) }))),
        call(
            "update_load_balancer_listener",
            with(json!({ "id": of(6), "load_balancer_listener_patch": { "idle_connection_timeout": 90 } })),
        ),
        call("delete_load_balancer_pool", with(json!({ "id": of(5) }))),
        call("delete_load_balancer_listener", with(json!({ "id": of(6) }))),
        call("delete_load_balancer_pool", with(json!({ "id": of(5) }))),
        call("delete_load_balancer", json!({ "id": of(0) })),
        call("get_load_balancer", json!({ "id": of(0) })),
    ];
    let done = called(&[&served.url, API_KEY], &calls).await;
    for (at, (call, became)) in calls.iter().zip(&done).enumerate() {
        let expected = match at {
            11 => json!({ "status": 409, "code": "pool_in_use" }),
            15 => json!({ "status": 404, "code": "not_found" }),
            _ => Value::Null,
        };
        assert_eq!(became["error"], expected, "{call}: {became}");
    }
    assert_eq!(done[4]["ok"]["pools"][0]["members"].as_array().unwrap().len(), 1);
    assert_eq!(done[7]["ok"]["health_monitor"]["url_path"], "/healthz");
    let members = done[9]["ok"]["members"].as_array().unwrap();
    assert_eq!(members.iter().map(|it| &it["target"]["address"]).collect::<Vec<_>>(), ["10.240.0.12", "10.240.0.13"]);
    assert!(done[1]["etag"].as_str().is_some_and(|it| it.starts_with("W/")), "{}", done[1]);
    assert_eq!(served.simulator.requests_to("POST", "/identity/token").len(), 1, "one token for all calls");
    served.simulator.assert_valid();
}

#[tokio::test]
async fn ibms_own_client_makes_leads_and_deletes_a_route() {
    let served = ibm::serve(0, Some(Duration::ZERO)).await.unwrap();
    served.simulator.with(|world| (1..=2).for_each(|it| _ = world.add_machine(it, &format!("node-{it}"))));
    let with = |more: Value| {
        let mut arguments =
            json!({ "vpc_id": VPC, "routing_table_id": { "of": 0, "key": "default_routing_table.id" } });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let made = |zone: &str, address: &str| {
        with(json!({
            "destination": "10.244.1.0/24", "zone": { "name": zone }, "action": "deliver", "next_hop": { "address": address },
            "name": format!("pods-{zone}"),
        }))
    };
    let open = json!({ "allow_ip_spoofing": true });
    let calls = [
        call("get_vpc", json!({ "id": VPC })),
        call("create_vpc_routing_table_route", made("us-south-1", "10.240.0.11")),
        call("create_vpc_routing_table_route", made("us-south-2", "10.240.0.11")),
        call("create_vpc_routing_table_route", made("us-south-2", "10.240.0.11")),
        call(
            "update_vpc_routing_table_route",
            with(json!({ "id": of(1), "route_patch": { "next_hop": { "address": "10.240.0.12" } } })),
        ),
        call("list_vpc_routing_table_routes", with(json!({ "limit": 1 }))),
        call("VpcRoutingTableRoutesPager", with(json!({ "limit": 1 }))),
        call(
            "update_instance_network_interface",
            json!({ "instance_id": machine_id(1), "id": "0717-nic-1", "network_interface_patch": open }),
        ),
        call(
            "update_virtual_network_interface",
            json!({ "id": "0717-nic-2", "virtual_network_interface_patch": open }),
        ),
        call("delete_vpc_routing_table_route", with(json!({ "id": of(2) }))),
        call("get_vpc_routing_table_route", with(json!({ "id": of(2) }))),
    ];
    let done = called(&[&served.url, API_KEY], &calls).await;
    for (at, (call, became)) in calls.iter().zip(&done).enumerate() {
        let expected = match at {
            3 => json!({ "status": 409, "code": "not_unique" }),
            10 => json!({ "status": 404, "code": "not_found" }),
            _ => Value::Null,
        };
        assert_eq!(became["error"], expected, "{call}: {became}");
    }
    assert_eq!(done[4]["ok"]["next_hop"]["address"], "10.240.0.12");
    assert_eq!((&done[5]["ok"]["total_count"], done[6]["ok"].as_array().map(Vec::len)), (&json!(2), Some(2)));
    assert!([7, 8].iter().all(|it| done[*it]["ok"]["allow_ip_spoofing"] == json!(true)), "{done:#?}");
    served.simulator.assert_valid();
}

#[tokio::test]
async fn ibms_own_client_makes_and_gives_a_security_group() {
    let served = ibm::serve(0, Some(Duration::ZERO)).await.unwrap();
    let balancer = served.simulator.with(|world| world.add_foreign(VPC, "web"));
    let rule = |direction: &str, protocol: &str, network: &str| json!({ "direction": direction, "protocol": protocol, "remote": { "cidr_block": network } });
    let target = |group: Value| json!({ "security_group_id": group, "id": balancer });
    let usual = json!({ "of": 0, "key": "default_security_group.id" });
    let added =
        json!({ "security_group_id": of(1), "security_group_rule_prototype": rule("inbound", "tcp", "192.0.2.0/24") });
    let calls = [
        call("get_vpc", json!({ "id": VPC })),
        call(
            "create_security_group",
            json!({
                "vpc": { "id": VPC }, "name": "clients",
                "rules": [rule("inbound", "tcp", "10.0.0.0/8"), rule("outbound", "any", "0.0.0.0/0")],
            }),
        ),
        call("create_security_group", json!({ "vpc": { "id": VPC }, "name": "clients" })),
        call("create_security_group_rule", added.clone()),
        call("create_security_group_rule", added),
        call("create_security_group_target_binding", target(of(1))),
        call("delete_security_group_target_binding", target(usual)),
        call("delete_security_group_target_binding", target(of(1))),
        call("delete_security_group_rule", json!({ "security_group_id": of(1), "id": of(3) })),
        call("delete_security_group", json!({ "id": of(1) })),
        call("get_security_group", json!({ "id": of(1) })),
        call("get_load_balancer", json!({ "id": balancer })),
        call("delete_load_balancer", json!({ "id": balancer })),
        call("delete_security_group", json!({ "id": of(1) })),
        call("get_security_group", json!({ "id": of(1) })),
    ];
    let done = called(&[&served.url, API_KEY], &calls).await;
    for (at, (call, became)) in calls.iter().zip(&done).enumerate() {
        let expected = match at {
            2 => json!({ "status": 409, "code": "not_unique" }),
            4 => json!({ "status": 409, "code": "security_group_rule_exists" }),
            7 => json!({ "status": 409, "code": "target_needs_security_group" }),
            9 => json!({ "status": 409, "code": "security_group_in_use" }),
            14 => json!({ "status": 404, "code": "not_found" }),
            _ => Value::Null,
        };
        assert_eq!(became["error"], expected, "{call}: {became}");
    }
    assert_eq!(done[10]["ok"]["rules"].as_array().map(Vec::len), Some(2), "{}", done[10]);
    assert_eq!(done[11]["ok"]["security_groups"][0]["name"], "clients");
    served.simulator.assert_valid();
}

#[tokio::test]
async fn ibms_own_client_makes_ranges_of_ports_and_a_way_out() {
    let served = ibm::serve(0, Some(Duration::ZERO)).await.unwrap();
    let range = |first: u16, last: u16| json!({ "port_min": first, "port_max": last });
    let listener = |ports: Value| {
        let mut arguments = json!({ "load_balancer_id": of(0), "protocol": "tcp" });
        arguments.as_object_mut().unwrap().extend(ports.as_object().unwrap().clone());
        arguments
    };
    let rule = |name: &str, address: &str| {
        let rule = json!({
            "name": name, "direction": "outbound", "protocol": "tcp", "remote": { "address": address }, "port_min": 443, "port_max": 443,
        });
        json!({ "security_group_id": format!("{VPC}-sg"), "security_group_rule_prototype": rule })
    };
    let calls = [
        call(
            "create_load_balancer",
            json!({
                "is_public": true, "name": "sdk", "subnets": [{ "id": "0717-s1" }], "profile": { "name": "network-fixed" },
                "listeners": [{ "port_min": 80, "port_max": 90, "protocol": "tcp" }],
            }),
        ),
        call("list_load_balancer_listeners", json!({ "load_balancer_id": of(0) })),
        call("create_load_balancer_listener", listener(range(91, 99))),
        call("create_load_balancer_listener", listener(range(85, 86))),
        call(
            "update_load_balancer_listener",
            json!({ "load_balancer_id": of(0), "id": of(2), "load_balancer_listener_patch": range(91, 95) }),
        ),
        call("create_load_balancer_listener", listener(json!({ "port": 96 }))),
        call("create_security_group_rule", rule("web-443", "192.0.2.1")),
        call("create_security_group_rule", rule("web-443-again", "192.0.2.1")),
        call("create_security_group_rule", rule("web-443", "192.0.2.2")),
        call("get_security_group", json!({ "id": format!("{VPC}-sg") })),
    ];
    let done = called(&[&served.url, API_KEY], &calls).await;
    for (at, (call, became)) in calls.iter().zip(&done).enumerate() {
        let expected = match at {
            3 | 8 => json!({ "status": 409, "code": "not_unique" }),
            7 => json!({ "status": 409, "code": "security_group_rule_exists" }),
            _ => Value::Null,
        };
        assert_eq!(became["error"], expected, "{call}: {became}");
    }
    let first = &done[1]["ok"]["listeners"][0];
    assert_eq!((&first["port"], &first["port_max"]), (&json!(80), &json!(90)));
    assert_eq!((&done[4]["ok"]["port_max"], &done[5]["ok"]["port_max"]), (&json!(95), &json!(96)));
    let rules = &done[9]["ok"]["rules"];
    assert_eq!((rules.as_array().map(Vec::len), &rules[0]["name"]), (Some(1), &json!("web-443")));
    served.simulator.assert_valid();
}

#[tokio::test]
async fn ibms_own_client_reads_what_a_cluster_stands_on() {
    let served = ibm::serve(0, None).await.unwrap();
    let volume = served.simulator.with(|world| {
        (1..=5).for_each(|it| _ = world.add_machine(it, &format!("node-{it}")));
        for (machine, address) in [(1, "169.48.0.1"), (2, "169.48.0.2")] {
            world.add_floating_ip(machine, address);
        }
        world.insert(VpcKind::Volume, json!({ "name": "data", "zone": "us-south-2" }))
    });
    let calls = [
        call("InstancesPager", json!({ "limit": 2, "vpc_id": VPC })),
        call("get_instance", json!({ "id": machine_id(2) })),
        call("list_floating_ips", json!({ "limit": 100 })),
        call("SubnetsPager", json!({ "limit": 1, "vpc_id": VPC })),
        call("get_vpc", json!({ "id": VPC })),
        call("get_volume", json!({ "id": volume })),
        call("get_instance", json!({ "id": "0717_nobody" })),
    ];
    let metadata = async |older| IbmMetadata::start(Arc::clone(served.simulator.iam()), older).await;
    let (newer, older) = (metadata(false).await, metadata(true).await);
    let files = Folder::new();
    // The client sends the whole file.
    let token = files.write("cr-token", served.simulator.iam().token_of_pod(600));
    for arguments in [
        &[&*served.url, API_KEY][..],
        &[&served.url, "metadata", &older.url(), "2022-03-01"],
        &[&served.url, "metadata", &newer.url(), "2025-08-26"],
        &[&served.url, "container", token.to_str().unwrap(), TRUSTED_PROFILE.1],
    ] {
        let done = called(arguments, &calls).await;
        assert!(done[..6].iter().all(|it| it["error"].is_null()), "{done:#?}");
        assert_eq!(done[0]["ok"], json!((1..=5).map(machine_id).collect::<Vec<_>>()));
        assert_eq!(done[1]["ok"]["primary_network_attachment"]["primary_ip"]["address"], "10.240.0.12");
        assert_eq!(done[2]["ok"]["floating_ips"][0]["address"], "169.48.0.1");
        assert_eq!(done[3]["ok"].as_array().unwrap().len(), 4);
        assert_eq!(done[6]["error"], json!({ "status": 404, "code": "not_found" }));
    }
    let refused = called(&[&served.url, "no-key-of-anybody"], &calls[..1]).await;
    assert_eq!(refused[0]["error"]["status"], 400, "{refused:?}");
    served.simulator.assert_valid();
}
