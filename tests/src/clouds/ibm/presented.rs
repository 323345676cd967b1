//! Objects as answers show them: whole, as the vendor's models have them.

use serde_json::{Map, Value, json};

use super::kind::VpcKind;
use super::region::{REGION, RESOURCE_GROUPS, usual_group, usual_table};
use super::values::text;
use super::world::World;

/// The URL of something in the API, at the public host.
pub(super) fn href(path: &str) -> String {
    format!("https://{REGION}.iaas.cloud.ibm.com/v1/{path}")
}

/// An object.
pub(super) fn one(world: &World, kind: VpcKind, it: &Value) -> Value {
    let own = match kind {
        VpcKind::Vpc => vpc(world, it),
        VpcKind::Subnet => subnet(world, it),
        VpcKind::Instance => instance(world, it),
        VpcKind::FloatingIp => floating_ip(world, it),
        VpcKind::Volume => volume(world, it),
        VpcKind::SecurityGroup => security_group(world, it),
        VpcKind::Route => route(it),
        VpcKind::LoadBalancer => balancer(world, it),
        VpcKind::Listener => listener(world, it),
        VpcKind::Pool => pool(world, it),
        VpcKind::Member => member(world, it),
    };
    let mut shown = json!({ "id": it["id"], "href": href(&path(kind, it)), "created_at": it["_stamp"] });
    merge(&mut shown, own);
    shown
}

fn path(kind: VpcKind, it: &Value) -> String {
    let (id, balancer) = (text(it, "id"), text(it, "balancer"));
    match kind {
        VpcKind::Listener | VpcKind::Pool => format!("load_balancers/{balancer}/{}/{id}", kind.many()),
        VpcKind::Member => format!("load_balancers/{balancer}/pools/{}/members/{id}", text(it, "pool")),
        VpcKind::Route => format!("vpcs/{}/routing_tables/{}/routes/{id}", text(it, "vpc"), text(it, "table")),
        _ => format!("{}/{id}", kind.many()),
    }
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

/// The name in all of the cloud of something of this kind: `load-balancer`.
fn crn(world: &World, kind: &str, id: &str) -> String {
    format!("crn:v1:bluemix:public:is:{REGION}:a/{}::{kind}:{id}", world.account)
}

/// A reference to something that has a CRN.
fn reference(world: &World, kind: &str, list: &str, id: &str, name: &str) -> Value {
    json!({ "id": id, "name": name, "href": href(&format!("{list}/{id}")), "crn": crn(world, kind, id) })
}

/// The same with its type.
fn typed(world: &World, kind: &str, list: &str, id: &str, name: &str) -> Value {
    let mut made = reference(world, kind, list, id, name);
    made["resource_type"] = json!(kind.replace('-', "_"));
    made
}

fn zone(name: &str) -> Value {
    json!({ "name": name, "href": href(&format!("regions/{REGION}/zones/{name}")) })
}

fn group(id: &str) -> Value {
    let name = RESOURCE_GROUPS.into_iter().find(|it| it.0 == id).map_or("", |it| it.1);
    json!({ "id": id, "name": name, "href": format!("https://resource-controller.cloud.ibm.com/v2/resource_groups/{id}") })
}

/// A reference to an object of a kind, by its id.
fn named(world: &World, kind: VpcKind, word: &str, id: &str) -> Value {
    let name = world.get(kind, id).map_or("", |it| text(it, "name"));
    typed(world, word, kind.many(), id, name)
}

fn vpc(world: &World, it: &Value) -> Value {
    let id = text(it, "id");
    let table = typed(world, "routing-table", &format!("vpcs/{id}/routing_tables"), &usual_table(id), "table");
    json!({
        "name": it["name"], "crn": crn(world, "vpc", id), "classic_access": false, "cse_source_ips": [],
        "default_network_acl": reference(world, "network-acl", "network_acls", &format!("{id}-acl"), "acl"),
        "default_routing_table": table,
        "default_security_group": reference(world, "security-group", "security_groups", &usual_group(id), "group"),
        "dns": {
            "enable_hub": false, "resolution_binding_count": 0,
            "resolver": { "type": "system", "servers": [{ "address": "161.26.0.10" }], "configuration": "default" },
        },
        "health_reasons": [], "health_state": "ok", "public_address_ranges": [], "resource_group": group("rg0001"),
        "resource_type": "vpc", "status": "available",
    })
}

fn subnet(world: &World, it: &Value) -> Value {
    let (id, vpc) = (text(it, "id"), text(it, "vpc"));
    let table = typed(world, "routing-table", &format!("vpcs/{vpc}/routing_tables"), &usual_table(vpc), "table");
    json!({
        "name": it["name"], "crn": crn(world, "subnet", id), "zone": zone(text(it, "zone")), "vpc": named(world, VpcKind::Vpc, "vpc", vpc),
        "ipv4_cidr_block": it["cidr"], "ip_version": "ipv4", "status": "available", "available_ipv4_address_count": 200,
        "total_ipv4_address_count": 256, "resource_group": group("rg0001"), "resource_type": "subnet", "routing_table": table,
        "network_acl": reference(world, "network-acl", "network_acls", &format!("{vpc}-acl"), "acl"),
    })
}

fn reserved(it: &Value) -> Value {
    let (subnet, address) = (text(it, "subnet"), text(it, "address"));
    let id = format!("{subnet}-ip-{}", address.replace('.', "-"));
    json!({
        "id": id, "name": "primary", "address": address, "href": href(&format!("subnets/{subnet}/reserved_ips/{id}")),
        "resource_type": "subnet_reserved_ip",
    })
}

/// The interface of a machine, of the kind that has no attachment.
fn interface(world: &World, it: &Value) -> Value {
    let (id, nic) = (text(it, "id"), text(it, "nic"));
    json!({
        "id": nic, "name": "eth0", "href": href(&format!("instances/{id}/network_interfaces/{nic}")), "primary_ip": reserved(it),
        "resource_type": "network_interface", "subnet": named(world, VpcKind::Subnet, "subnet", text(it, "subnet")),
    })
}

fn instance(world: &World, it: &Value) -> Value {
    let id = text(it, "id");
    let mut shown = json!({
        "name": it["name"], "crn": crn(world, "instance", id), "status": it["status"], "status_reasons": [], "lifecycle_state": "stable",
        "lifecycle_reasons": [], "health_state": "ok", "health_reasons": [], "zone": zone(text(it, "zone")),
        "vpc": named(world, VpcKind::Vpc, "vpc", text(it, "vpc")), "resource_group": group("rg0001"), "resource_type": "instance",
        "profile": {
            "name": it["profile"], "resource_type": "instance_profile",
            "href": href(&format!("instance/profiles/{}", text(it, "profile"))),
        },
        "availability": { "class": "standard" }, "availability_policy": { "host_failure": "restart", "preemption": "stop" }, "bandwidth": 8_000,
        "boot_volume_attachment": {
            "id": format!("{id}-boot"), "name": "boot", "href": href(&format!("instances/{id}/volume_attachments/{id}-boot")),
        },
        "cluster_network_attachments": [], "confidential_compute_mode": "disabled", "disks": [], "enable_secure_boot": false,
        "memory": 16, "metadata_service": { "enabled": true, "protocol": "http", "response_hop_limit": 1 },
        "network_attachments": [], "network_interfaces": [interface(world, it)], "primary_network_interface": interface(world, it),
        "reservation_affinity": { "policy": "disabled", "pool": [] }, "software_attachments": [], "startable": true,
        "threads_per_core": 2, "total_network_bandwidth": 6_000, "total_volume_bandwidth": 2_000,
        "vcpu": { "architecture": "amd64", "count": 4, "manufacturer": "intel", "percentage": 100 }, "volume_attachments": [],
        "volume_bandwidth_qos_mode": "weighted",
    });
    // The newer kind has both; the interface of the attachment stands for it.
    if it["is_attached"] == json!(true) {
        let attached = json!({
            "id": format!("{id}-att"), "name": "attached", "href": href(&format!("instances/{id}/network_attachments/{id}-att")),
            "primary_ip": reserved(it), "resource_type": "instance_network_attachment",
            "subnet": named(world, VpcKind::Subnet, "subnet", text(it, "subnet")),
            "virtual_network_interface":
                typed(world, "virtual-network-interface", "virtual_network_interfaces", text(it, "nic"), "vni"),
        });
        shown["network_attachments"] = json!([attached]);
        shown["primary_network_attachment"] = attached;
    }
    shown
}

/// The primary interface of a machine whole, as a change of it is answered: of either kind.
pub(super) fn changed_interface(world: &World, machine: &Value) -> Value {
    let mut shown = interface(world, machine);
    let guard = usual_group(text(machine, "vpc"));
    let own = json!({
        "allow_ip_spoofing": machine["allow_ip_spoofing"].as_bool().unwrap_or_default(), "created_at": machine["_stamp"],
        "security_groups": [reference(world, "security-group", "security_groups", &guard, "group")],
    });
    merge(&mut shown, own);
    let more = match machine["is_attached"] == json!(true) {
        false => json!({ "floating_ips": [], "port_speed": 1_000, "status": "available", "type": "primary" }),
        true => {
            let id = text(machine, "nic");
            json!({
                "href": href(&format!("virtual_network_interfaces/{id}")), "crn": crn(world, "virtual-network-interface", id),
                "resource_type": "virtual_network_interface", "auto_delete": true, "enable_infrastructure_nat": true,
                "ips": [reserved(machine)], "lifecycle_state": "stable", "mac_address": "02:00:04:00:C4:6A",
                "protocol_state_filtering_mode": "auto", "resource_group": group("rg0001"),
                "vpc": named(world, VpcKind::Vpc, "vpc", text(machine, "vpc")), "zone": zone(text(machine, "zone")),
            })
        }
    };
    merge(&mut shown, more);
    shown
}

fn security_group(world: &World, it: &Value) -> Value {
    let (id, vpc) = (text(it, "id"), text(it, "vpc"));
    let balancers = world.all(VpcKind::LoadBalancer);
    let has = |balancer: &&Value| balancer["groups"].as_array().is_some_and(|it| it.iter().any(|it| it == id));
    let target = |balancer: &Value| {
        let (id, name) = (text(balancer, "id"), text(balancer, "name"));
        typed(world, "load-balancer", "load_balancers", id, name)
    };
    json!({
        "name": it["name"], "crn": crn(world, "security-group", id), "resource_group": group(it["group"].as_str().unwrap_or("rg0001")),
        "rules": it["rules"].as_array().into_iter().flatten().map(|it| rule(id, it)).collect::<Vec<_>>(),
        "targets": balancers.filter(has).map(target).collect::<Vec<_>>(), "vpc": named(world, VpcKind::Vpc, "vpc", vpc),
    })
}

/// A rule of a security group. The side that is guarded is all that the group is given to.
fn rule(group: &str, it: &Value) -> Value {
    let mut shown = it.clone();
    let own = json!({
        "href": href(&format!("security_groups/{group}/rules/{}", text(it, "id"))), "local": { "cidr_block": "0.0.0.0/0" },
        "resource_type": "security_group_rule",
    });
    merge(&mut shown, own);
    shown
}

fn route(it: &Value) -> Value {
    json!({
        "name": it["name"], "destination": it["destination"], "zone": zone(text(it, "zone")), "action": it["action"],
        "next_hop": { "address": it["hop"] }, "priority": it["priority"], "origin": it["origin"], "advertise": false,
        "lifecycle_state": it["lifecycle"].as_str().unwrap_or("stable"),
    })
}

fn floating_ip(world: &World, it: &Value) -> Value {
    let id = text(it, "id");
    let mut shown = json!({
        "name": it["name"], "crn": crn(world, "floating-ip", id), "address": it["address"], "status": "available",
        "zone": zone(text(it, "zone")), "resource_group": group("rg0001"),
    });
    let target = text(it, "target");
    if let Some(machine) = world.all(VpcKind::Instance).find(|it| text(it, "nic") == target) {
        shown["target"] = match machine["is_attached"] == json!(true) {
            true => {
                let mut made = typed(world, "virtual-network-interface", "virtual_network_interfaces", target, "vni");
                made["primary_ip"] = reserved(machine);
                made["subnet"] = named(world, VpcKind::Subnet, "subnet", text(machine, "subnet"));
                made
            }
            false => {
                let mut made = interface(world, machine);
                made.as_object_mut().map(|it| it.remove("subnet"));
                made
            }
        };
    }
    shown
}

fn volume(world: &World, it: &Value) -> Value {
    let id = text(it, "id");
    json!({
        "name": it["name"], "crn": crn(world, "volume", id), "zone": zone(text(it, "zone")), "active": true,
        "adjustable_capacity_states": ["attached"], "adjustable_iops_states": ["attached"], "attachment_state": "unattached",
        "bandwidth": 1_000, "busy": false, "capacity": 10, "encryption": "provider_managed", "health_reasons": [],
        "health_state": "ok", "iops": 3_000, "resource_group": group("rg0001"), "resource_type": "volume", "status": "available",
        "profile": { "name": "general-purpose", "href": href("volume/profiles/general-purpose") }, "software_attachments": [],
        "status_reasons": [], "storage_generation": 1, "user_tags": [], "volume_attachments": [],
    })
}

fn balancer(world: &World, it: &Value) -> Value {
    let id = text(it, "id");
    let is_public = it["is_public"] == json!(true);
    let is_network = text(it, "family") == "network";
    let short = |part: &Value, keys: &[&str]| -> Map<String, Value> {
        keys.iter().map(|key| ((*key).to_owned(), part[key].clone())).collect()
    };
    let parts = |kind: VpcKind, keys: &[&str]| -> Vec<Map<String, Value>> {
        world.of(kind, "balancer", id).into_iter().map(|part| short(&one(world, kind, part), keys)).collect()
    };
    let subnets = it["subnets"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let subnets: Vec<Value> = subnets.map(|subnet| named(world, VpcKind::Subnet, "subnet", subnet)).collect();
    let groups = it["groups"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let groups: Vec<Value> = groups
        .map(|id| {
            let name = world.get(VpcKind::SecurityGroup, id).map_or("", |it| text(it, "name"));
            reference(world, "security-group", "security_groups", id, name)
        })
        .collect();
    let addresses: Vec<Value> =
        it["public_ips"].as_array().into_iter().flatten().map(|address| json!({ "address": address })).collect();
    json!({
        "name": it["name"], "crn": crn(world, "load-balancer", id), "is_public": is_public, "is_private_path": false,
        "hostname": hostname(id), "operating_status": it["operating_status"], "provisioning_status": it["provisioning_status"],
        "subnets": subnets, "private_ips": [], "public_ips": addresses, "listeners": parts(VpcKind::Listener, &["id", "href"]),
        "pools": parts(VpcKind::Pool, &["id", "href", "name"]), "resource_group": group(text(it, "group")), "resource_type": "load_balancer",
        "profile": {
            "family": it["family"], "name": it["profile"],
            "href": href(&format!("load_balancer/profiles/{}", text(it, "profile"))),
        },
        "security_groups": groups, "logging": { "datapath": { "active": false } }, "route_mode": false, "security_groups_supported": true,
        "udp_supported": is_network, "advanced_health_checks_supported": false, "asymmetric_routing_supported": false,
        "fqdn_pool_members_supported": false, "mtls_supported": false, "source_ip_session_persistence_supported": true,
        "instance_groups_supported": true, "access_mode": if is_public { "public" } else { "private" },
        "availability": if is_network { "subnet" } else { "region" }, "attached_load_balancer_pool_members": [],
        "failsafe_policy_actions": ["fail", "forward"],
    })
}

/// The name under which a load balancer is reached.
fn hostname(id: &str) -> String {
    format!("{}-{REGION}.lb.appdomain.example", id.split('-').nth(1).unwrap_or_default())
}

/// The status of a part, by that of its load balancer.
fn at(world: &World, it: &Value) -> String {
    let status =
        world.get(VpcKind::LoadBalancer, text(it, "balancer")).map_or("", |it| text(it, "provisioning_status"));
    let is_shared = ["create_pending", "update_pending", "delete_pending", "failed"].contains(&status);
    if is_shared { status.to_owned() } else { "active".to_owned() }
}

fn listener(world: &World, it: &Value) -> Value {
    let mut shown = json!({
        "port": it["port"], "port_min": it["port"], "port_max": it["port_max"].as_u64().or(it["port"].as_u64()),
        "protocol": it["protocol"],
        "connection_limit": it["connection_limit"], "idle_connection_timeout": it["idle_connection_timeout"],
        "accept_proxy_protocol": it["accept_proxy_protocol"], "provisioning_status": at(world, it), "policies": [],
    });
    if let Some(pool) = world.get(VpcKind::Pool, text(it, "pool")) {
        shown["default_pool"] =
            json!({ "id": pool["id"], "name": pool["name"], "href": href(&path(VpcKind::Pool, pool)) });
    }
    shown
}

fn pool(world: &World, it: &Value) -> Value {
    let mut monitor = it["health_monitor"].clone();
    if text(&monitor, "type") != "tcp" {
        monitor["request"] = json!({ "method": "get" });
        monitor["response"] = json!({ "codes": ["200"] });
        if monitor["url_path"].is_null() {
            monitor["url_path"] = json!("/");
        }
    }
    let members: Vec<Value> = world
        .of(VpcKind::Member, "pool", text(it, "id"))
        .into_iter()
        .map(|member| json!({ "id": member["id"], "href": href(&path(VpcKind::Member, member)) }))
        .collect();
    json!({
        "name": it["name"], "protocol": it["protocol"], "algorithm": it["algorithm"], "proxy_protocol": it["proxy_protocol"],
        "health_monitor": monitor, "members": members, "provisioning_status": at(world, it),
        "failsafe_policy": { "action": "fail", "healthy_member_threshold_count": 0 },
    })
}

fn member(world: &World, it: &Value) -> Value {
    json!({
        "port": it["port"], "target": { "address": it["address"] }, "weight": it["weight"].as_u64().unwrap_or(50), "health": "ok",
        "provisioning_status": at(world, it),
    })
}
