//! The API of the VPC: which request is about what.

use http::Method;
use serde_json::Value;

use crate::simulator::{Answer, Recorded};

use super::balancers;
use super::errors::{Refused, not_found, refused};
use super::groups;
use super::kind::VpcKind;
use super::listing;
use super::presented;
use super::routes;
use super::values::text;
use super::world::World;

/// Answers a request whose path is this, below `/v1`.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    let has = |name: &str, is_good: &dyn Fn(&str) -> bool| request.query_value(name).is_some_and(is_good);
    if !has("version", &|it| it >= "2019-01-01") || !has("generation", &|it| it == "2") {
        return Err(refused(400, "missing_version", "The query has no version and generation=2"));
    }
    if let ["load_balancers", path @ ..] = path {
        return balancers::answer(world, request, path);
    }
    match (path, &request.method) {
        (["vpcs", vpc, "routing_tables", table, "routes", path @ ..], _) => {
            return routes::answer(world, request, [vpc, table], path);
        }
        (["security_groups", path @ ..], method) if path.len() > 1 || method != Method::GET => {
            return groups::answer(world, request, path);
        }
        (["instances", machine, "network_interfaces", interface], &Method::PATCH) => {
            return routes::change_interface(world, request, Some(machine), interface);
        }
        (["virtual_network_interfaces", interface], &Method::PATCH) => {
            return routes::change_interface(world, request, None, interface);
        }
        _ => {}
    }
    let kinds = [
        VpcKind::Vpc,
        VpcKind::Subnet,
        VpcKind::SecurityGroup,
        VpcKind::Instance,
        VpcKind::FloatingIp,
        VpcKind::Volume,
    ];
    let kind = kinds.into_iter().find(|it| path.first() == Some(&it.many()));
    let (Some(kind), &Method::GET) = (kind, &request.method) else {
        return Err(not_found("The path", &request.path));
    };
    match path {
        [_] => listing::page(world, request, kind, |it| is_asked(world, request, kind, it)),
        [_, id] => {
            let found = world.get(kind, id).ok_or_else(|| not_found(kind.one(), id))?;
            Ok(Answer::ok(&presented::one(world, kind, found)))
        }
        _ => Err(not_found("The path", &request.path)),
    }
}

/// Whether the filters of a list pass an object.
fn is_asked(world: &World, request: &Recorded, kind: VpcKind, it: &Value) -> bool {
    let is = |name: &str, value: &str| request.query_value(name).is_none_or(|asked| asked == value);
    let vpc = world.get(VpcKind::Vpc, text(it, "vpc")).map_or("", |vpc| text(vpc, "name"));
    let target = if it["target"].is_null() { "" } else { text(it, "target") };
    !it["_unlisted"].as_bool().unwrap_or_default()
        && is("vpc.id", text(it, "vpc"))
        && is("vpc.name", vpc)
        && is("zone.name", text(it, "zone"))
        && (kind == VpcKind::Subnet || is("name", text(it, "name")))
        && is("target.id", target)
        && (kind != VpcKind::SecurityGroup || world.is_listed(it))
}
