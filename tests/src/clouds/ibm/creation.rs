//! A load balancer that is made, with all of its parts in one request.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::errors::{Refused, bad_field, not_found, over_quota, taken};
use super::kind::VpcKind;
use super::parts;
use super::region::{RESOURCE_GROUPS, usual_group};
use super::values::{list, name, text};
use super::world::World;

/// The most subnets of one.
const MOST_SUBNETS: usize = 15;

/// The most security groups of one.
pub(super) const MOST_GROUPS: usize = 5;

/// Profiles with their families.
const PROFILES: [(&str, &str); 3] =
    [("dynamic", "application"), ("network-fixed", "network"), ("network-private-path", "network")];

/// `POST /load_balancers`: the id of what it makes.
pub(super) fn create(world: &mut World, body: &Value) -> Result<String, Refused> {
    let name = match body["name"].as_str() {
        Some(text) => name("name", text)?,
        None => format!("lb-{}", world.next()),
    };
    let is_public = body["is_public"].as_bool().ok_or_else(|| bad_field("is_public", "it is missing"))?;
    let subnets = subnets(world, &body["subnets"])?;
    let vpc = vpc_of(world, &json!(subnets)).ok_or_else(|| bad_field("subnets", "they are not of one VPC"))?;
    if is_taken(world, &vpc, &name, None) {
        return Err(taken("A load balancer", &name));
    }
    if let Some(limit) = world.behaviour.quotas.get(&VpcKind::LoadBalancer).copied()
        && world.all(VpcKind::LoadBalancer).count() >= limit
    {
        return Err(over_quota("load balancers", limit));
    }
    let profile = body["profile"]["name"].as_str().unwrap_or("dynamic");
    let Some((profile, family)) = PROFILES.into_iter().find(|(it, _)| *it == profile) else {
        return Err(bad_field("profile", profile));
    };
    if family == "network" && subnets.len() != 1 {
        return Err(bad_field("subnets", "a network load balancer has one"));
    }
    let group = body["resource_group"]["id"].as_str().unwrap_or("rg0001");
    if RESOURCE_GROUPS.into_iter().all(|(id, _)| id != group) {
        return Err(not_found("The resource group", group));
    }
    let groups = groups(world, &vpc, body)?;
    check_parts(body, family, is_public)?;
    let [high, low] = u16::try_from(world.next() % 60_000).unwrap_or_default().to_be_bytes();
    let addresses = if is_public { json!([format!("169.48.{high}.{low}")]) } else { json!([]) };
    let id = world.insert(
        VpcKind::LoadBalancer,
        json!({
            "name": name, "is_public": is_public, "subnets": subnets, "family": family, "profile": profile, "group": group, "groups": groups,
            "operating_status": "offline", "provisioning_status": "create_pending", "public_ips": addresses, "_revision": 1,
        }),
    );
    for pool in list(body, "pools") {
        parts::insert_pool(world, &id, pool);
    }
    for listener in list(body, "listeners") {
        let named = text(&listener["default_pool"], "name");
        let pool = world.of(VpcKind::Pool, "balancer", &id).into_iter().find(|it| text(it, "name") == named);
        let pool = pool.map(|it| it["id"].clone()).unwrap_or_default();
        parts::insert_listener(world, &id, listener, &pool);
    }
    let taking = world.behaviour.creation;
    world.begin(&id, "create_pending", taking);
    Ok(id)
}

/// The ids of the security groups of a new load balancer: the VPC's own, where the body names none.
fn groups(world: &World, vpc: &str, body: &Value) -> Result<Vec<String>, Refused> {
    let named = list(body, "security_groups");
    if named.is_empty() {
        return Ok(vec![usual_group(vpc)]);
    }
    if named.len() > MOST_GROUPS {
        return Err(over_quota("security groups of a load balancer", MOST_GROUPS));
    }
    let id = |group: &Value| {
        let id = text(group, "id");
        let found = world.get(VpcKind::SecurityGroup, id).ok_or_else(|| not_found("The security group", id))?;
        if text(found, "vpc") != vpc {
            return Err(bad_field("security_groups", "one is in another VPC"));
        }
        Ok(id.to_owned())
    };
    named.iter().map(id).collect()
}

fn check_parts(body: &Value, family: &str, is_public: bool) -> Result<(), Refused> {
    let (pools, listeners) = (list(body, "pools"), list(body, "listeners"));
    for (field, all) in [("pools", pools), ("listeners", listeners)] {
        if all.len() > parts::MOST {
            return Err(over_quota(field, parts::MOST));
        }
    }
    let mut names = BTreeSet::new();
    for pool in pools {
        parts::check_pool(pool, family)?;
        if !names.insert(text(pool, "name")) {
            return Err(taken("A pool", text(pool, "name")));
        }
    }
    for (at, listener) in listeners.iter().enumerate() {
        parts::check_listener(listener, family, is_public)?;
        if listeners[..at].iter().any(|it| parts::share_a_port(it, listener)) {
            return Err(taken("A listener", &parts::ports_of(listener).0.to_string()));
        }
        let pool = &listener["default_pool"];
        if !pool.is_null() && !names.contains(text(pool, "name")) {
            return Err(not_found("The pool", text(pool, "name")));
        }
    }
    Ok(())
}

/// The ids of the subnets that a list names.
pub(super) fn subnets(world: &World, named: &Value) -> Result<Vec<String>, Refused> {
    let named = named.as_array().map(Vec::as_slice).unwrap_or_default();
    if named.is_empty() || named.len() > MOST_SUBNETS {
        return Err(bad_field("subnets", "they are not 1 to 15"));
    }
    let mut ids = Vec::new();
    for it in named {
        let id = text(it, "id");
        world.get(VpcKind::Subnet, id).ok_or_else(|| not_found("The subnet", id))?;
        if ids.iter().any(|it| it == id) {
            return Err(bad_field("subnets", "one stands there twice"));
        }
        ids.push(id.to_owned());
    }
    Ok(ids)
}

/// The VPC of subnets, by their ids; `None` if they are of several.
pub(super) fn vpc_of(world: &World, subnets: &Value) -> Option<String> {
    let ids = subnets.as_array().into_iter().flatten().filter_map(Value::as_str);
    let vpcs: BTreeSet<&str> = ids.filter_map(|id| world.get(VpcKind::Subnet, id)).map(|it| text(it, "vpc")).collect();
    let mut vpcs = vpcs.into_iter();
    vpcs.next().filter(|_| vpcs.next().is_none()).map(str::to_owned)
}

/// Whether a load balancer of the VPC, but for this one, has the name. Of one that is being deleted it stays taken.
pub(super) fn is_taken(world: &World, vpc: &str, name: &str, but: Option<&str>) -> bool {
    let mut named =
        world.all(VpcKind::LoadBalancer).filter(|it| text(it, "name") == name && Some(text(it, "id")) != but);
    named.any(|it| vpc_of(world, &it["subnets"]).as_deref() == Some(vpc))
}
