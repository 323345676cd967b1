//! Load balancers of Octavia: how they come to be, with everything in them, and change.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{claimed, found, over_quota, unsupported, wanted, write};
use super::values::{fields, over};
use super::{listeners, members, monitors, pools, presented};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::network::free_address;
use crate::clouds::openstack::world::{World, text};

/// The fields of a request that are places of other objects.
const PLACES: [&str; 3] = ["listeners", "pools", "additional_vips"];

/// The kinds of objects that a creation adds, which must go again if it is refused.
const ADDED: [Kind; 6] =
    [Kind::LoadBalancer, Kind::Listener, Kind::Pool, Kind::Member, Kind::HealthMonitor, Kind::Port];

/// `POST /loadbalancers`.
pub(super) fn create(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::LoadBalancer)?;
    let driver = asked["provider"].as_str().unwrap_or("amphora");
    if !world.behaviour.drivers.contains(driver) {
        return Err(errors::octavia(400, &format!("Provider '{driver}' is not enabled.")));
    }
    if let Some(flavor) = asked["flavor_id"].as_str()
        && world.get(Kind::LoadBalancerFlavor, flavor).is_none()
    {
        return Err(errors::octavia_validation("Invalid flavor_id."));
    }
    if let Some(zone) = asked["availability_zone"].as_str()
        && world.with(Kind::AvailabilityZone, "name", zone).next().is_none()
    {
        return Err(errors::octavia_validation("Invalid availability zone."));
    }
    if !world.allows(Kind::LoadBalancer, 1) {
        return Err(over_quota(Kind::LoadBalancer));
    }
    let parts = |key: &str| asked[key].as_array().is_some_and(|it| !it.is_empty());
    if !world.behaviour.nested && (parts("listeners") || parts("pools")) {
        return Err(unsupported(driver));
    }
    let before = ADDED.map(|kind| world.ids(kind, |_| true));
    let made = build(world, asked, driver);
    if made.is_err() {
        // A refused creation leaves nothing behind.
        for (kind, before) in ADDED.into_iter().zip(before) {
            for id in world.ids(kind, |it| !before.iter().any(|old| old == text(it, "id"))) {
                world.remove(kind, &id);
            }
        }
    }
    let id = made?;
    world.begin(&id, "PENDING_CREATE");
    let made = found(world, Kind::LoadBalancer, &id)?;
    Ok(Answer::created(&json!({ "loadbalancer": presented::whole(world, made) })))
}

impl World {
    /// Adds a load balancer with all that is in this request's object, done already. Answers its id.
    ///
    /// # Panics
    ///
    /// Panics if Octavia would refuse it.
    pub fn build_balancer(&mut self, asked: &Value) -> String {
        let driver = asked["provider"].as_str().unwrap_or("amphora");
        let id = build(self, asked, driver).expect("the test asks for a load balancer that can be");
        self.begin(&id, "PENDING_CREATE");
        self.finish(&id);
        id
    }
}

/// `PUT /loadbalancers/{id}`.
pub(super) fn update(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::LoadBalancer)?;
    claimed(world, Kind::LoadBalancer, id)?;
    let answer = write(world, Kind::LoadBalancer, id, fields(asked, &PLACES))?;
    world.begin(id, "PENDING_UPDATE");
    Ok(answer)
}

fn build(world: &mut World, asked: &Value, driver: &str) -> Result<String, Refused> {
    let id = uuid::Uuid::new_v4().to_string();
    let vip = vip(world, asked, &id)?;
    let stamp = world.stamp();
    let defaults = json!({
        "id": id, "name": "", "description": "", "provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE",
        "admin_state_up": true, "created_at": stamp, "updated_at": null, "vip_sg_ids": [], "flavor_id": null,
        "vip_qos_policy_id": null, "tags": [], "availability_zone": null, "vip_vnic_type": "normal", "additional_vips": [],
    });
    let mut made = over(defaults, fields(asked, &PLACES));
    made["provider"] = json!(driver);
    // Whatever it is called later.
    made["_first"] = made["name"].clone();
    vip.into_iter().for_each(|(key, value)| made[key] = value);
    world.insert(Kind::LoadBalancer, made);
    for pool in asked["pools"].as_array().into_iter().flatten() {
        with_members(world, &id, pool)?;
    }
    for listener in asked["listeners"].as_array().into_iter().flatten() {
        if !world.allows(Kind::Listener, 1) {
            return Err(over_quota(Kind::Listener));
        }
        let made = listeners::add(world, &id, listener)?;
        let default = &listener["default_pool"];
        if default.is_object() {
            let named = || default["name"].as_str().filter(|_| default["protocol"].is_null());
            let pool = match named() {
                Some(name) => world
                    .with(Kind::Pool, "_balancer", &id)
                    .find(|it| text(it, "name") == name)
                    .map(|it| text(it, "id").to_owned()),
                None => Some(with_members(world, &id, default)?),
            };
            if let Some(it) = world.get_mut(Kind::Listener, &made) {
                it["default_pool_id"] = json!(pool);
            }
        }
    }
    Ok(id)
}

/// Adds a pool with its members and its monitor. Answers its id.
fn with_members(world: &mut World, balancer: &str, asked: &Value) -> Result<String, Refused> {
    if !world.allows(Kind::Pool, 1) {
        return Err(over_quota(Kind::Pool));
    }
    let pool = pools::add(world, balancer, asked)?;
    for member in asked["members"].as_array().into_iter().flatten() {
        members::check(world, member)?;
        if !world.allows(Kind::Member, 1) {
            return Err(over_quota(Kind::Member));
        }
        members::insert(world, balancer, &pool, member);
    }
    if asked["healthmonitor"].is_object() {
        if !world.allows(Kind::HealthMonitor, 1) {
            return Err(over_quota(Kind::HealthMonitor));
        }
        monitors::add(world, balancer, &pool, &asked["healthmonitor"])?;
    }
    Ok(pool)
}

/// The virtual address of a load balancer: its port in Neutron is made here, unless the request names one.
fn vip(world: &mut World, asked: &Value, balancer: &str) -> Result<Vec<(&'static str, Value)>, Refused> {
    if let Some(port) = asked["vip_port_id"].as_str() {
        let missing = || errors::octavia(400, &format!("Port {port} not found."));
        let found =
            world.get(Kind::Port, port).filter(|it| text(it, "project_id") == world.project).ok_or_else(missing)?;
        let place = &found["fixed_ips"][0];
        return Ok(vec![
            ("vip_port_id", json!(port)),
            ("vip_address", place["ip_address"].clone()),
            ("vip_subnet_id", place["subnet_id"].clone()),
            ("vip_network_id", found["network_id"].clone()),
            ("_own_port", json!(false)),
        ]);
    }
    let subnet = match (asked["vip_subnet_id"].as_str(), asked["vip_network_id"].as_str()) {
        (Some(subnet), _) => subnet.to_owned(),
        (None, Some(network)) => {
            let missing = || errors::octavia(400, &format!("Network {network} not found."));
            let network = world.get(Kind::Network, network).ok_or_else(missing)?;
            let first =
                world.with(Kind::Subnet, "network_id", text(network, "id")).min_by_key(|it| it["ip_version"].as_u64());
            let missing = || errors::octavia_validation("Supplied network does not contain a subnet.");
            text(first.ok_or_else(missing)?, "id").to_owned()
        }
        (None, None) => {
            let message = "VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id.";
            return Err(errors::octavia_validation(message));
        }
    };
    let mut places = vec![address(world, &subnet, asked["vip_address"].as_str())?];
    for more in asked["additional_vips"].as_array().into_iter().flatten() {
        places.push(address(world, text(more, "subnet_id"), more["ip_address"].as_str())?);
    }
    let network = world.get(Kind::Subnet, &subnet).map_or(Value::Null, |it| it["network_id"].clone());
    let borrowed: Vec<(&str, Option<&str>)> =
        places.iter().map(|(subnet, it)| (subnet.as_str(), Some(it.as_str()))).collect();
    let port = world.add_port(&format!("octavia-lb-{balancer}"), (&format!("lb-{balancer}"), "Octavia"), &borrowed);
    // Nothing is bound to it: the address is another port's pair.
    if let Some(it) = world.get_mut(Kind::Port, &port) {
        it["status"] = json!("DOWN");
        it["admin_state_up"] = json!(false);
    }
    let more = places[1..]
        .iter()
        .map(|(subnet, address)| json!({ "subnet_id": subnet, "ip_address": address, "port_id": port }));
    Ok(vec![
        ("vip_port_id", json!(port)),
        ("vip_address", json!(places[0].1)),
        ("vip_subnet_id", json!(subnet)),
        ("vip_network_id", network),
        ("additional_vips", more.collect()),
        ("_own_port", json!(true)),
    ])
}

/// A subnet with an address in it: the wanted one, or a free one.
fn address(world: &World, subnet: &str, wanted: Option<&str>) -> Result<(String, String), Refused> {
    let missing = || errors::octavia(400, &format!("Subnet {subnet} not found."));
    world.get(Kind::Subnet, subnet).ok_or_else(missing)?;
    let Some(wanted) = wanted else {
        let full = || errors::octavia(409, &format!("No more IP addresses available on subnet {subnet}."));
        return Ok((subnet.to_owned(), free_address(world, subnet).ok_or_else(full)?));
    };
    let has = |port: &Value| {
        port["fixed_ips"].as_array().is_some_and(|all| all.iter().any(|it| it["ip_address"] == json!(wanted)))
    };
    if world.all(Kind::Port).any(has) {
        let message = format!("IP address {wanted} already allocated in subnet {subnet}");
        return Err(errors::octavia(409, &message));
    }
    Ok((subnet.to_owned(), wanted.to_owned()))
}
