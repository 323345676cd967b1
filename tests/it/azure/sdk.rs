//! Microsoft's own clients drive the simulator: azure-mgmt-network and azure-mgmt-compute make, list and delete one of each kind, with tokens
//! that azure-identity gets with each kind of credential.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::azure::{
    CLIENT, FEDERATED, GROUP, IDENTITY_HEADER, LOCATION, Options, SECRET, SUBSCRIPTION, Simulator, TENANT, Taking,
    World, id,
};
use tests::folder::Folder;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// How long the client may take for all calls.
const PATIENCE: Duration = Duration::from_secs(180);

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The results of these calls.
async fn called(cloud: &Simulator, credential: &Value, calls: &[Value]) -> Vec<Value> {
    let python = folder("../target/azure/bin/python");
    assert!(python.exists(), "Microsoft's clients are not installed. Next step: make azure");
    let mut child = Command::new(python)
        .args([folder("azure/call.py"), PathBuf::from(cloud.base_url()), cloud.ca_file()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let asked = json!({ "subscription": SUBSCRIPTION, "credential": credential, "calls": calls });
    input.write_all(asked.to_string().as_bytes()).await.unwrap();
    drop(input);
    let output =
        tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("the client ends in time").unwrap();
    assert!(output.status.success(), "the client failed, see above");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A call of one resource's method, with the names between the group and the body.
fn call(client: &str, group: &str, method: &str, names: &[&str], body: Option<&Value>) -> Value {
    let arguments: Vec<Value> = [GROUP].iter().chain(names).map(|it| json!(it)).chain(body.cloned()).collect();
    json!({ "client": client, "group": group, "method": method, "arguments": arguments })
}

/// A kind of resource: client, operations, and a body.
fn all() -> Vec<(&'static str, &'static str, Value)> {
    let n = |rest: &str| json!({ "id": id(&format!("Microsoft.Network/{rest}")) });
    let of = |properties: Value| json!({ "location": LOCATION, "properties": properties });
    let balancer = "loadBalancers/sdk";
    let standard = |mut body: Value| {
        body["sku"] = json!({ "name": "Standard" });
        body
    };
    vec![
        ("network", "application_security_groups", of(json!({}))),
        (
            "network",
            "network_security_groups",
            of(json!({ "securityRules": [{ "name": "web", "properties": {
                "priority": 500, "direction": "Inbound", "access": "Allow", "protocol": "Tcp", "sourcePortRange": "*",
                "sourceAddressPrefix": "Internet", "destinationAddressPrefix": "20.50.0.11", "destinationPortRanges": ["80", "443"],
            } }] })),
        ),
        (
            "network",
            "route_tables",
            of(json!({ "routes": [{ "name": "node-1____102441024", "properties": {
                "addressPrefix": "10.244.1.0/24", "nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.240.0.4",
            } }] })),
        ),
        (
            "network",
            "virtual_networks",
            of(json!({
                "addressSpace": { "addressPrefixes": ["10.50.0.0/16"] },
                "subnets": [{ "name": "s", "properties": {
                    "addressPrefix": "10.50.0.0/24", "networkSecurityGroup": n("networkSecurityGroups/sdk"),
                    "routeTable": n("routeTables/sdk"), "privateLinkServiceNetworkPolicies": "Disabled",
                } }],
            })),
        ),
        ("network", "public_ip_prefixes", standard(of(json!({ "prefixLength": 30 })))),
        (
            "network",
            "public_ip_addresses",
            standard(of(json!({ "publicIPAllocationMethod": "Static", "publicIPPrefix": n("publicIPPrefixes/sdk") }))),
        ),
        (
            "network",
            "load_balancers",
            standard(of(json!({
                "frontendIPConfigurations": [
                    { "name": "f", "properties": { "publicIPAddress": n("publicIPAddresses/sdk") } },
                    { "name": "i", "properties": { "subnet": n("virtualNetworks/sdk/subnets/s") } },
                ],
                "backendAddressPools": [{ "name": "b", "properties": {} }],
                "probes": [{ "name": "h", "properties": {
                    "protocol": "Http", "port": 31000, "requestPath": "/healthz", "intervalInSeconds": 5, "probeThreshold": 2,
                } }],
                "loadBalancingRules": [{ "name": "r", "properties": {
                    "protocol": "Tcp", "frontendPort": 80, "backendPort": 80, "enableFloatingIP": true, "idleTimeoutInMinutes": 4,
                    "frontendIPConfiguration": n(&format!("{balancer}/frontendIPConfigurations/f")),
                    "backendAddressPool": n(&format!("{balancer}/backendAddressPools/b")), "probe": n(&format!("{balancer}/probes/h")),
                } }],
            }))),
        ),
        (
            "network",
            "private_link_services",
            of(json!({
                "loadBalancerFrontendIpConfigurations": [n(&format!("{balancer}/frontendIPConfigurations/i"))],
                "ipConfigurations": [{ "name": "c", "properties": {
                    "primary": true, "subnet": n("virtualNetworks/sdk/subnets/s"), "privateIPAllocationMethod": "Dynamic",
                } }],
            })),
        ),
        (
            "network",
            "network_interfaces",
            of(json!({ "ipConfigurations": [{ "name": "c", "properties": {
                "primary": true, "subnet": n("virtualNetworks/sdk/subnets/s"),
                "loadBalancerBackendAddressPools": [n(&format!("{balancer}/backendAddressPools/b"))],
            } }] })),
        ),
        ("compute", "availability_sets", of(json!({}))),
        ("compute", "disks", of(json!({ "diskSizeGB": 4, "creationData": { "createOption": "Empty" } }))),
        (
            "compute",
            "virtual_machine_scale_sets",
            of(json!({ "orchestrationMode": "Flexible", "platformFaultDomainCount": 1 })),
        ),
        (
            "compute",
            "virtual_machines",
            of(json!({
                "hardwareProfile": { "vmSize": "Standard_D2s_v5" },
                "networkProfile": { "networkInterfaces": [{ "id": n("networkInterfaces/sdk")["id"] }] },
                "availabilitySet": { "id": id("Microsoft.Compute/availabilitySets/sdk") },
                "storageProfile": { "dataDisks": [{
                    "lun": 0, "createOption": "Attach", "managedDisk": { "id": id("Microsoft.Compute/disks/sdk") },
                }] },
            })),
        ),
    ]
}

/// Availability sets are made and deleted at once.
fn verb(group: &str, verb: &str) -> String {
    if group == "availability_sets" { verb.to_owned() } else { format!("begin_{verb}") }
}

fn secret() -> Value {
    json!({ "kind": "secret", "tenant": TENANT, "client": CLIENT, "secret": SECRET })
}

async fn ground() -> Simulator {
    let mut options = Options::default();
    options.behaviour.operations = Taking::Time(Duration::from_millis(50));
    options.behaviour.retry_after = Some(0);
    options.behaviour.largest_page = 2;
    let cloud = Simulator::start(options).await.unwrap();
    cloud.with(World::build_plain);
    cloud
}

#[tokio::test]
async fn microsofts_own_clients_make_list_and_delete_each_kind() {
    let cloud = ground().await;
    cloud.with(|world| {
        world.add_scale_set("pool1");
        (0..3).for_each(|it| drop(world.add_instance("pool1", it)));
    });
    let all = all();
    let mut calls = Vec::new();
    for (client, group, body) in &all {
        calls.push(call(client, group, &verb(group, "create_or_update"), &["sdk"], Some(body)));
        calls.push(call(client, group, "get", &["sdk"], None));
        // Disks of a group have a method of another name.
        let list = if *group == "disks" { "list_by_resource_group" } else { "list" };
        calls.push(call(client, group, list, &[], None));
    }
    let address = call("network", "public_ip_addresses", "begin_delete", &["sdk"], None);
    let mut stale = calls[3].clone();
    stale["named"] = json!({ "if_match": "W/\"stale\"" });
    let special = [
        (address, "PublicIPAddressCannotBeDeleted"),
        (stale, "PreconditionFailed"),
        (call("network", "subnets", "get", &["sdk", "none"], None), "NotFound"),
        (
            call(
                "network",
                "routes",
                "begin_create_or_update",
                &["sdk", "r"],
                Some(&json!({ "properties": {
            "addressPrefix": "10.244.2.0/24", "nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.240.0.5",
        } })),
            ),
            "",
        ),
        (call("network", "routes", "begin_delete", &["sdk", "r"], None), ""),
        (call("network", "load_balancer_backend_address_pools", "list", &["sdk"], None), ""),
        (
            call(
                "network",
                "network_interfaces",
                "list_virtual_machine_scale_set_network_interfaces",
                &["pool1"],
                None,
            ),
            "",
        ),
        (call("compute", "virtual_machine_scale_set_vms", "list", &["pool1"], None), ""),
        (call("compute", "virtual_machine_scale_set_vms", "begin_deallocate", &["pool1", "1"], None), ""),
        (call("compute", "virtual_machine_scale_set_vms", "get_instance_view", &["pool1", "1"], None), ""),
        (call("compute", "virtual_machines", "instance_view", &["sdk"], None), ""),
    ];
    calls.extend(special.iter().map(|(it, _)| it.clone()));
    for (client, group, _) in all.iter().rev() {
        calls.push(call(client, group, &verb(group, "delete"), &["sdk"], None));
        calls.push(call(client, group, "get", &["sdk"], None));
    }
    let done = called(&cloud, &secret(), &calls).await;
    let mut wrong = Vec::new();
    let made = 3 * all.len();
    for (index, (call, became)) in calls.iter().zip(&done).enumerate() {
        let is_last = index >= made + special.len();
        let is_good = match call["method"].as_str().unwrap() {
            _ if (made..made + special.len()).contains(&index) => {
                let code = special[index - made].1;
                if code.is_empty() { became.get("ok").is_some() } else { became["error"]["code"] == code }
            }
            "get" if is_last => became["error"]["code"] == "ResourceNotFound",
            // Availability sets have no state.
            "get" if call["group"] == "availability_sets" => became.get("ok").is_some(),
            "get" => became["ok"]["properties"]["provisioningState"] == "Succeeded",
            "list" | "list_by_resource_group" => {
                became["ok"]["names"].as_array().is_some_and(|it| it.contains(&json!("sdk")))
            }
            _ => became.get("ok").is_some(),
        };
        if !is_good {
            wrong.push(format!("{call}: {became}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let instances = &done[made + 7]["ok"]["names"];
    assert_eq!(instances, &json!(["0", "1", "2"]), "in two pages");
    assert_eq!(done[made + 9]["ok"]["statuses"][1]["code"], "PowerState/deallocated");
    let tokens = cloud.requests_to("POST", &format!("/{TENANT}/oauth2/v2.0/token"));
    assert_eq!(tokens.iter().filter_map(|it| it.status).collect::<Vec<_>>(), [200], "one token for both clients");
    cloud.assert_valid();
}

#[tokio::test]
async fn microsofts_own_client_gets_tokens_with_each_credential() {
    let cloud = ground().await;
    let files = Folder::new();
    let encoded = |part: Value| {
        use base64::Engine as _;
        base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(part.to_string())
    };
    let (issuer, subject) = FEDERATED;
    let claims =
        json!({ "iss": issuer, "sub": subject, "aud": "api://AzureADTokenExchange", "exp": 4_102_444_800_u64 });
    let token = files.write("token", format!("{}.{}.AA", encoded(json!({ "alg": "RS256" })), encoded(claims)));
    let list = [call("network", "load_balancers", "list", &[], None)];
    let with = |kind: &str, more: Value| {
        let mut it = json!({ "kind": kind, "tenant": TENANT, "client": CLIENT });
        it.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        it
    };
    let file = json!({ "file": folder("azure/client.pem") });
    for (credential, refusal) in [
        (secret(), None),
        (with("secret", json!({ "secret": "wrong" })), Some("AADSTS7000215")),
        (with("certificate", file.clone()), None),
        (with("chain", file), None),
        (with("federated", json!({ "file": token })), None),
        (with("managed", json!({ "client": null })), None),
        (with("managed", json!({})), None),
        (with("endpoint", json!({ "header": IDENTITY_HEADER, "client": null })), None),
    ] {
        let became = called(&cloud, &credential, &list).await;
        match refusal {
            None => assert_eq!(became[0]["ok"]["names"], json!([]), "{credential}: {}", became[0]),
            Some(code) => assert!(became[0]["error"]["message"].as_str().unwrap().contains(code), "{}", became[0]),
        }
    }
    cloud.assert_valid();
}
