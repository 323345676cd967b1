//! Security groups: their rules, and what they guard. A load balancer always has one.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::simulator::{Answer, Recorded};

use super::errors::{Refused, bad_field, busy, not_found, over_quota, refused, taken};
use super::kind::VpcKind;
use super::values::{is_address, list, name, number, parsed, text, word};
use super::world::World;
use super::{creation, presented};

/// Answers a request whose path is this, below `/v1/security_groups`, but for the list and one group.
pub(super) fn answer(world: &mut World, request: &Recorded, path: &[&str]) -> Result<Answer, Refused> {
    match (&request.method, path) {
        (&Method::POST, []) => {
            let id = create(world, &parsed(request)?)?;
            shown(world, &id, StatusCode::CREATED)
        }
        (&Method::DELETE, [id]) => delete(world, id),
        (&Method::GET, [id, "rules"]) => Ok(Answer::ok(
            &json!({ "rules": presented::one(world, VpcKind::SecurityGroup, found(world, id)?)["rules"] }),
        )),
        (&Method::POST, [id, "rules"]) => add_rule(world, id, &parsed(request)?),
        (&Method::DELETE, [id, "rules", rule]) => remove_rule(world, id, rule),
        (&Method::PUT, [id, "targets", balancer]) => attach(world, id, balancer),
        (&Method::DELETE, [id, "targets", balancer]) => detach(world, id, balancer),
        _ => Err(not_found("The path", &request.path)),
    }
}

fn create(world: &mut World, body: &Value) -> Result<String, Refused> {
    let vpc = text(&body["vpc"], "id").to_owned();
    world.get(VpcKind::Vpc, &vpc).ok_or_else(|| not_found("The VPC", &vpc))?;
    let own = match body["name"].as_str() {
        Some(text) => name("name", text)?,
        None => format!("group-{}", world.next()),
    };
    let there = world.of(VpcKind::SecurityGroup, "vpc", &vpc);
    if there.iter().any(|it| text(it, "name") == own) {
        return Err(taken("A security group", &own));
    }
    if let Some(limit) = world.behaviour.quotas.get(&VpcKind::SecurityGroup).copied()
        && there.len() >= limit
    {
        return Err(over_quota("security groups of a VPC", limit));
    }
    let group = body["resource_group"]["id"].as_str().unwrap_or("rg0001").to_owned();
    let mut rules = Vec::new();
    for rule in list(body, "rules") {
        rules.push(made(world, rule)?);
    }
    Ok(world.insert(VpcKind::SecurityGroup, json!({ "name": own, "vpc": vpc, "group": group, "rules": rules })))
}

/// A rule with an id of its own.
fn made(world: &mut World, rule: &Value) -> Result<Value, Refused> {
    word(rule, "direction", &["inbound", "outbound"])?;
    let has_ports = ["tcp", "udp"].contains(&text(rule, "protocol"));
    word(rule, "protocol", &["any", "icmp", "icmp_tcp_udp", "tcp", "udp"])?;
    for field in ["port_min", "port_max"] {
        match rule[field].is_null() {
            true => {}
            false if !has_ports => return Err(bad_field(field, "this protocol has no ports")),
            false => drop(number(rule, field, 1, 65_535)?),
        }
    }
    let remote = match rule["remote"]["address"].as_str() {
        Some(address) if is_address(address) => json!({ "address": address }),
        Some(other) => return Err(bad_field("remote", other)),
        None => {
            let network = rule["remote"]["cidr_block"].as_str().unwrap_or("0.0.0.0/0");
            super::routes::destination(network)?;
            json!({ "cidr_block": network })
        }
    };
    let id = format!("r006-rule-{}", world.next());
    let own = match rule["name"].as_str() {
        Some(text) => name("name", text)?,
        None => id.clone(),
    };
    let mut made = json!({
        "id": id, "name": own, "direction": rule["direction"], "protocol": rule["protocol"], "ip_version": "ipv4", "remote": remote,
    });
    for field in ["port_min", "port_max"] {
        if !rule[field].is_null() {
            made[field] = rule[field].clone();
        }
    }
    Ok(made)
}

fn add_rule(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    found(world, id)?;
    let rule = made(world, body)?;
    let same = |other: &Value| {
        ["direction", "protocol", "remote", "port_min", "port_max"].iter().all(|field| other[*field] == rule[*field])
    };
    if list(found(world, id)?, "rules").iter().any(same) {
        return Err(refused(409, "security_group_rule_exists", "There is such a rule already"));
    }
    if list(found(world, id)?, "rules").iter().any(|it| it["name"] == rule["name"]) {
        return Err(taken("A rule", text(&rule, "name")));
    }
    let own = text(&rule, "id").to_owned();
    if let Some(rules) = rules(world, id) {
        rules.push(rule);
    }
    let shown = presented::one(world, VpcKind::SecurityGroup, found(world, id)?);
    let rule = list(&shown, "rules").iter().find(|it| text(it, "id") == own).cloned().unwrap_or_default();
    Ok(Answer::json(StatusCode::CREATED, &rule))
}

fn remove_rule(world: &mut World, id: &str, rule: &str) -> Result<Answer, Refused> {
    if !list(found(world, id)?, "rules").iter().any(|it| text(it, "id") == rule) {
        return Err(not_found("The rule", rule));
    }
    if let Some(rules) = rules(world, id) {
        rules.retain(|it| text(it, "id") != rule);
    }
    Ok(Answer::no_content())
}

fn rules<'a>(world: &'a mut World, id: &str) -> Option<&'a mut Vec<Value>> {
    let group = world.get_mut(VpcKind::SecurityGroup, id)?;
    if group["rules"].is_null() {
        group["rules"] = json!([]);
    }
    group["rules"].as_array_mut()
}

/// One that a load balancer has, or a VPC by itself, stays.
fn delete(world: &mut World, id: &str) -> Result<Answer, Refused> {
    let is_usual = super::region::usual_group(text(found(world, id)?, "vpc")) == id;
    let has = |it: &Value| list(it, "groups").iter().any(|it| it == id);
    if is_usual || world.all(VpcKind::LoadBalancer).any(has) {
        return Err(refused(409, "security_group_in_use", &format!("The security group {id} is in use")));
    }
    world.remove(id);
    Ok(Answer::no_content())
}

/// The ids of the groups of a load balancer that takes changes, which is in the VPC of this group.
fn groups_of(world: &World, id: &str, balancer: &str) -> Result<Vec<Value>, Refused> {
    let live = world.get(VpcKind::LoadBalancer, balancer).ok_or_else(|| not_found("The load balancer", balancer))?;
    let vpc = creation::vpc_of(world, &live["subnets"]);
    if vpc.as_deref() != Some(text(found(world, id)?, "vpc")) {
        return Err(bad_field("target", "it is in another VPC"));
    }
    match text(live, "provisioning_status") {
        "active" => Ok(list(live, "groups").to_vec()),
        status => Err(busy(balancer, status)),
    }
}

fn set_groups(world: &mut World, balancer: &str, groups: Vec<Value>) {
    if let Some(it) = world.get_mut(VpcKind::LoadBalancer, balancer) {
        it["groups"] = json!(groups);
    }
    let taking = world.behaviour.change;
    world.begin(balancer, "update_pending", taking);
}

fn attach(world: &mut World, id: &str, balancer: &str) -> Result<Answer, Refused> {
    let mut groups = groups_of(world, id, balancer)?;
    if !groups.iter().any(|it| it == id) {
        if groups.len() >= creation::MOST_GROUPS {
            return Err(over_quota("security groups of a load balancer", creation::MOST_GROUPS));
        }
        groups.push(json!(id));
        set_groups(world, balancer, groups);
    }
    let shown = presented::one(world, VpcKind::SecurityGroup, found(world, id)?);
    let target = list(&shown, "targets").iter().find(|it| text(it, "id") == balancer).cloned();
    Ok(Answer::json(StatusCode::CREATED, &target.unwrap_or_default()))
}

fn detach(world: &mut World, id: &str, balancer: &str) -> Result<Answer, Refused> {
    let mut groups = groups_of(world, id, balancer)?;
    if !groups.iter().any(|it| it == id) {
        return Err(not_found("The target", balancer));
    }
    if groups.len() == 1 {
        return Err(refused(409, "target_needs_security_group", "A load balancer has at least one security group"));
    }
    groups.retain(|it| it != id);
    set_groups(world, balancer, groups);
    Ok(Answer::no_content())
}

fn found<'a>(world: &'a World, id: &str) -> Result<&'a Value, Refused> {
    world.get(VpcKind::SecurityGroup, id).ok_or_else(|| not_found("The security group", id))
}

fn shown(world: &World, id: &str, status: StatusCode) -> Result<Answer, Refused> {
    Ok(Answer::json(status, &presented::one(world, VpcKind::SecurityGroup, found(world, id)?)))
}
