//! Floating IPs of Neutron, and addresses of subnets.

use std::collections::HashSet;
use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::objects::{create as create_object, found, over_quota, wanted, write};
use super::routers::between;
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, text};

/// How many addresses of a subnet are given away at most.
const POOL: usize = 60_000;

/// `POST /floatingips`.
pub(super) fn create(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::FloatingIp)?;
    let network = found(world, Kind::Network, text(asked, "floating_network_id"))?.clone();
    let network_id = text(&network, "id");
    if network["router:external"] != json!(true) {
        let message = format!("Bad floatingip request: Network {network_id} is not a valid external network.");
        return Err(errors::neutron(400, "BadRequest", &message));
    }
    if !world.allows(Kind::FloatingIp, 1) {
        return Err(over_quota("floatingip"));
    }
    let address = match asked["floating_ip_address"].as_str() {
        Some(_) if !world.behaviour.chosen_addresses => {
            let message =
                "((rule:create_floatingip and rule:create_floatingip:floating_ip_address)) is disallowed by policy";
            return Err(errors::neutron(403, "PolicyNotAuthorized", message));
        }
        Some(address) => chosen(world, network_id, address)?,
        None => {
            let subnets = subnets(world, network_id, asked["subnet_id"].as_str());
            let address = subnets.iter().find_map(|it| free_address(world, it));
            address.ok_or_else(|| {
                let message = format!("No more IP addresses available on network {network_id}.");
                errors::neutron(409, "IpAddressGenerationFailure", &message)
            })?
        }
    };
    let mut made = json!({
        "floating_network_id": network_id,
        "floating_ip_address": address,
        "description": text(asked, "description"),
    });
    for (key, value) in
        associated(world, None, network_id, asked["port_id"].as_str(), asked["fixed_ip_address"].as_str())?
    {
        made[key] = value;
    }
    if let Some(tags) = asked.get("tags") {
        made["tags"] = tags.clone();
    }
    Ok(create_object(world, Kind::FloatingIp, made))
}

impl World {
    /// Adds a floating IP as this request's object says. Answers its address.
    ///
    /// # Panics
    ///
    /// Panics if Neutron would refuse it.
    pub fn build_floating_ip(&mut self, asked: &Value) -> String {
        let made = create(self, &json!({ "floatingip": asked })).expect("the test asks for a floating IP that can be");
        let made: Value = serde_json::from_slice(&made.body).expect("answers are JSON");
        text(&made["floatingip"], "floating_ip_address").to_owned()
    }
}

/// `PUT /floatingips/{id}`: the port that it leads to, or none.
pub(super) fn update(world: &mut World, request: &Recorded, id: &str, body: &Value) -> Result<Answer, Refused> {
    let change = wanted(body, Kind::FloatingIp)?;
    let floating = found(world, Kind::FloatingIp, id)?;
    let mut fields = Vec::new();
    if let Some(port) = change.get("port_id") {
        let network = text(floating, "floating_network_id");
        fields = associated(world, Some(id), network, port.as_str(), change["fixed_ip_address"].as_str())?;
    }
    if let Some(description) = change.get("description") {
        fields.push(("description", description.clone()));
    }
    write(world, Some(request), (Kind::FloatingIp, id), &fields)
}

/// `DELETE /floatingips/{id}`.
pub(super) fn delete(world: &mut World, id: &str) -> Result<Answer, Refused> {
    found(world, Kind::FloatingIp, id)?;
    world.remove(Kind::FloatingIp, id);
    Ok(Answer::no_content())
}

/// The fields of a floating IP that leads to a port, or to none.
fn associated(
    world: &World,
    own: Option<&str>,
    network: &str,
    port: Option<&str>,
    fixed: Option<&str>,
) -> Result<Vec<(&'static str, Value)>, Refused> {
    let Some(port) = port else {
        let empty = ["port_id", "fixed_ip_address", "router_id", "port_details"];
        let status = [("status", json!("DOWN"))];
        return Ok(empty.into_iter().map(|key| (key, Value::Null)).chain(status).collect());
    };
    let port = found(world, Kind::Port, port)?;
    let all = || port["fixed_ips"].as_array().into_iter().flatten();
    let ipv4 = |it: &&Value| !text(it, "ip_address").contains(':');
    let wanted = |it: &&Value| fixed.is_none_or(|fixed| text(it, "ip_address") == fixed);
    let Some(place) = all().filter(ipv4).find(wanted) else {
        let message = format!(
            "Bad floatingip request: Cannot add floating IP to port {} that has no fixed IPv4 addresses.",
            text(port, "id")
        );
        return Err(errors::neutron(400, "BadRequest", &message));
    };
    let (port_id, subnet, address) = (text(port, "id"), text(place, "subnet_id"), text(place, "ip_address"));
    let other = |floating: &&Value| {
        text(floating, "port_id") == port_id
            && own != floating["id"].as_str()
            && text(floating, "fixed_ip_address") == address
    };
    if let Some(other) = world.all(Kind::FloatingIp).find(other) {
        let message = format!(
            "Cannot associate floating IP {} ({}) with port {port_id} using fixed IP {address}, as that fixed IP already has a \
             floating IP on external network {network}.",
            text(other, "floating_ip_address"),
            text(other, "id"),
        );
        return Err(errors::neutron(409, "FloatingIPPortAlreadyAssociated", &message));
    }
    let Some(router) = between(world, subnet, network) else {
        let message = format!(
            "External network {network} is not reachable from subnet {subnet}.  Therefore, cannot associate Port {port_id} with a \
             Floating IP."
        );
        return Err(errors::neutron(404, "ExternalGatewayForFloatingIPNotFound", &message));
    };
    let details = ["name", "network_id", "mac_address", "admin_state_up", "status", "device_id", "device_owner"];
    let details: serde_json::Map<String, Value> =
        details.iter().map(|key| ((*key).to_owned(), port[*key].clone())).collect();
    Ok(vec![
        ("port_id", json!(port_id)),
        ("fixed_ip_address", json!(address)),
        ("router_id", json!(router)),
        ("port_details", Value::Object(details)),
        ("status", json!("ACTIVE")),
    ])
}

/// An address that a request asks for by itself.
fn chosen(world: &World, network: &str, address: &str) -> Result<String, Refused> {
    let parsed: Option<IpAddr> = address.parse().ok();
    let subnet = subnets(world, network, None).into_iter().find(|id| {
        let cidr = world.get(Kind::Subnet, id).and_then(|it| text(it, "cidr").parse::<IpNet>().ok());
        cidr.zip(parsed).is_some_and(|(cidr, address)| cidr.contains(&address))
    });
    let Some(subnet) = subnet else {
        let message =
            format!("IP address {address} is not a valid IP for any of the subnets on the specified network.");
        return Err(errors::neutron(400, "InvalidIpForNetwork", &message));
    };
    if taken(world).contains(address) {
        let message = format!("IP address {address} already allocated in subnet {subnet}");
        return Err(errors::neutron(409, "IpAddressAlreadyAllocated", &message));
    }
    Ok(address.to_owned())
}

/// The subnets of a network for IPv4, or one of them.
fn subnets(world: &World, network: &str, only: Option<&str>) -> Vec<String> {
    let all = world.with(Kind::Subnet, "network_id", network).filter(|it| it["ip_version"] == json!(4));
    all.map(|it| text(it, "id")).filter(|id| only.is_none_or(|only| only == *id)).map(str::to_owned).collect()
}

/// An address of a subnet that nothing has.
pub(crate) fn free_address(world: &World, subnet: &str) -> Option<String> {
    let subnet = world.get(Kind::Subnet, subnet)?;
    let pools = subnet["allocation_pools"].as_array().cloned().unwrap_or_default();
    let taken = taken(world);
    pools.iter().find_map(|pool| {
        let (start, end): (IpAddr, IpAddr) = (text(pool, "start").parse().ok()?, text(pool, "end").parse().ok()?);
        let after = |address: &IpAddr| match address {
            IpAddr::V4(address) => address.to_bits().checked_add(1).map(|bits| IpAddr::V4(bits.into())),
            IpAddr::V6(address) => address.to_bits().checked_add(1).map(|bits| IpAddr::V6(bits.into())),
        };
        let all = std::iter::successors(Some(start), after).take_while(|it| *it <= end).take(POOL);
        all.map(|it| it.to_string()).find(|it| !taken.contains(it.as_str()))
    })
}

/// All addresses that something has.
fn taken(world: &World) -> HashSet<&str> {
    let ports = world.all(Kind::Port).flat_map(|it| it["fixed_ips"].as_array().into_iter().flatten());
    let fixed = ports.map(|it| text(it, "ip_address"));
    let gateways = world.all(Kind::Subnet).map(|it| text(it, "gateway_ip"));
    fixed.chain(gateways).chain(world.all(Kind::FloatingIp).map(|it| text(it, "floating_ip_address"))).collect()
}
