//! Routers of Neutron, and their extra routes.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::objects::{found, wanted, write};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, shown, text};

/// `PUT /routers/{id}/add_extraroutes`.
pub(super) fn add(world: &mut World, request: &Recorded, id: &str, body: &Value) -> Result<Answer, Refused> {
    atomic(world)?;
    let mut routes = routes(found(world, Kind::Router, id)?);
    for route in self::routes(wanted(body, Kind::Router)?) {
        if !routes.contains(&route) {
            routes.push(route);
        }
    }
    checked(world, id, &routes)?;
    write_routes(world, request, id, routes)
}

/// `PUT /routers/{id}/remove_extraroutes`: what is not there is no error.
pub(super) fn remove(world: &mut World, request: &Recorded, id: &str, body: &Value) -> Result<Answer, Refused> {
    atomic(world)?;
    let gone = routes(wanted(body, Kind::Router)?);
    let mut routes = routes(found(world, Kind::Router, id)?);
    // By its spelling: a route with host bits stays where its network is named.
    routes.retain(|it| !gone.contains(it));
    write_routes(world, request, id, routes)
}

/// Writes the list of routes. The answer tells more of the router than any other does.
fn write_routes(world: &mut World, request: &Recorded, id: &str, routes: Vec<Value>) -> Result<Answer, Refused> {
    write(world, Some(request), (Kind::Router, id), &[("routes", Value::Array(routes))])?;
    let mut router = shown(found(world, Kind::Router, id)?);
    for (key, value) in [
        ("distributed", json!(false)),
        ("enable_default_route_bfd", json!(false)),
        ("enable_default_route_ecmp", json!(false)),
        ("enable_snat", json!(true)),
        ("gw_port_id", json!(uuid::Uuid::nil().to_string())),
        ("ha", json!(false)),
        ("ha_vr_id", json!(0)),
    ] {
        router[key] = value;
    }
    Ok(Answer::ok(&json!({ "router": router })))
}

/// `PUT /routers/{id}`: the whole list of routes, among others.
pub(super) fn update(world: &mut World, request: &Recorded, id: &str, body: &Value) -> Result<Answer, Refused> {
    let change = wanted(body, Kind::Router)?;
    found(world, Kind::Router, id)?;
    if change.get("routes").is_some() {
        let routes = routes(change);
        for route in &routes {
            let destination = text(route, "destination");
            if destination.parse::<IpNet>().ok().is_none_or(|it| it.trunc() != it) {
                let message = format!("Invalid input for routes. Reason: '{destination}' is not a valid CIDR.");
                return Err(errors::neutron(400, "HTTPBadRequest", &message));
            }
        }
        checked(world, id, &routes)?;
    }
    let fields: Vec<_> =
        change.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value.clone())).collect();
    write(world, Some(request), (Kind::Router, id), &fields)
}

/// Refuses the calls of an extension that this Neutron has not.
fn atomic(world: &World) -> Result<(), Refused> {
    match world.behaviour.extensions.contains("extraroute-atomic") {
        true => Ok(()),
        false => Err(super::objects::no_path()),
    }
}

fn routes(object: &Value) -> Vec<Value> {
    object["routes"].as_array().cloned().unwrap_or_default()
}

/// Checks a whole list of routes: one bad entry refuses all, and the message names all.
fn checked(world: &World, router: &str, routes: &[Value]) -> Result<(), Refused> {
    if routes.len() > world.behaviour.routes {
        return Err(errors::neutron(409, "OverQuota", "Quota exceeded for resources: ['router_route']."));
    }
    let ports: Vec<&Value> = world.with(Kind::Port, "device_id", router).collect();
    let fixed = || ports.iter().flat_map(|it| it["fixed_ips"].as_array().into_iter().flatten());
    let networks: Vec<IpNet> = fixed()
        .filter_map(|it| world.get(Kind::Subnet, text(it, "subnet_id")))
        .filter_map(|it| text(it, "cidr").parse().ok())
        .collect();
    for route in routes {
        let next = text(route, "nexthop");
        let why = match next.parse::<IpAddr>() {
            Ok(address) if fixed().any(|it| text(it, "ip_address") == address.to_string()) => {
                "the nexthop is used by router"
            }
            Ok(address) if networks.iter().any(|it| it.contains(&address)) => continue,
            _ => "the nexthop is not connected with router",
        };
        let message = format!("Invalid format for routes: {}, {why}", written(routes));
        return Err(errors::neutron(400, "InvalidRoutes", &message));
    }
    Ok(())
}

/// Routes as Python writes them.
fn written(routes: &[Value]) -> String {
    let one =
        |it: &Value| format!("{{'destination': '{}', 'nexthop': '{}'}}", text(it, "destination"), text(it, "nexthop"));
    format!("[{}]", Vec::from_iter(routes.iter().map(one)).join(", "))
}

/// The router that leads from a subnet to an external network.
pub(super) fn between(world: &World, subnet: &str, external: &str) -> Option<String> {
    let leads = |router: &&Value| {
        let interface = |port: &Value| {
            port["fixed_ips"].as_array().is_some_and(|all| all.iter().any(|it| it["subnet_id"] == json!(subnet)))
        };
        router["external_gateway_info"]["network_id"] == json!(external)
            && world.with(Kind::Port, "device_id", text(router, "id")).any(interface)
    };
    world.all(Kind::Router).find(leads).map(|it| text(it, "id").to_owned())
}
