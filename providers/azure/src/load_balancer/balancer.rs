//! The object of a load balancer, edited for Services that are on it, and for those that leave it. A pure function: everything that
//! others have made goes back as it came.

use aerostat_sdk::IpFamily;
use serde_json::{Value, json};

use super::cloud::BALANCER_MARK;
use super::goal::{RuleGoal, ServiceGoal};
use super::names::{SHARED_PROBE, base_in, is_of, pool};
use super::placement::{PlacedFrontend, Placement};
use super::probes::ProbeGoal;
use super::tree::{part, parts, put, remove};
use crate::api::fields::{items, text};
use crate::id::{ResourceId, same};
use crate::settings::balancers::AzureBalancerSettings;

const FRONTENDS: &str = "frontendIPConfigurations";
const RULES: &str = "loadBalancingRules";
const PROBES: &str = "probes";
const POOLS: &str = "backendAddressPools";

/// A Service on a load balancer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BalancerMember<'a> {
    pub(crate) goal: &'a ServiceGoal,
    pub(crate) place: &'a Placement,
}

/// The Services that an edit is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct BalancerMembers<'a> {
    /// Those that are on it.
    pub(crate) present: Vec<BalancerMember<'a>>,
    /// Those that leave it, by the base of their names, and the name of a pool of their own.
    pub(crate) leaving: Vec<(&'a str, String)>,
}

/// The outcome of an edit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BalancerEdit {
    /// It is as desired.
    Same,
    /// It is to be written so.
    Put(Value),
    /// It has no frontend left.
    Delete,
}

/// Edits a load balancer, or makes one. `zones` are those of the region.
pub(crate) fn edited(
    settings: &AzureBalancerSettings,
    id: &ResourceId,
    shown: Option<&Value>,
    members: &BalancerMembers<'_>,
    zones: &[String],
) -> BalancerEdit {
    let fresh = || json!({ "location": settings.account.location, "sku": { "name": "Standard" }, "properties": {} });
    let mut tree = shown.cloned().unwrap_or_else(fresh);
    for (base, own_pool) in &members.leaving {
        leave(&mut tree, base, own_pool);
    }
    for it in &members.present {
        join(settings, id, &mut tree, *it, zones);
    }
    let is_probed =
        parts(&tree, RULES).iter().any(|it| is_shared_probe(crate::id::last_of(text(it, "/properties/probe/id"))));
    if !is_probed {
        remove(&mut tree, PROBES, |it| is_shared_probe(text(it, "/name")));
    }
    match shown {
        Some(shown) if *shown == tree => BalancerEdit::Same,
        None if members.present.is_empty() => BalancerEdit::Same,
        Some(_) if parts(&tree, FRONTENDS).is_empty() => BalancerEdit::Delete,
        _ => {
            if !tree["tags"].is_object() {
                tree["tags"] = json!({});
            }
            tree["tags"][BALANCER_MARK] = json!(settings.cluster_uid);
            BalancerEdit::Put(tree)
        }
    }
}

fn is_shared_probe(name: &str) -> bool {
    name == SHARED_PROBE || name == format!("{SHARED_PROBE}-IPv6")
}

/// Takes away what is a Service's. A frontend that others' rules use stays.
fn leave(tree: &mut Value, base: &str, own_pool: &str) {
    let former = frontends_of_rules(tree, base);
    remove(tree, RULES, |it| is_of(base, text(it, "/name")));
    remove(tree, PROBES, |it| is_of(base, text(it, "/name")));
    remove_frontends(tree, base, &former, &[]);
    let is_own = |entry: &Value| {
        [IpFamily::Ipv4, IpFamily::Ipv6].iter().any(|family| same(text(entry, "/name"), &pool(own_pool, *family)))
    };
    let is_used: Vec<String> = parts(tree, RULES)
        .iter()
        .map(|it| text(it, "/properties/backendAddressPool/id").to_ascii_lowercase())
        .collect();
    remove(tree, POOLS, |it| is_own(it) && !is_used.contains(&text(it, "/id").to_ascii_lowercase()));
}

/// Frontends that rules of a Service are on, if they are called as those of Services: one that shares another's is the last to use it when
/// that is gone.
fn frontends_of_rules(tree: &Value, base: &str) -> Vec<String> {
    let rules = parts(tree, RULES).iter().filter(|it| is_of(base, text(it, "/name")));
    let frontends = rules.map(|it| crate::id::last_of(text(it, "/properties/frontendIPConfiguration/id")));
    frontends.filter(|it| base_in("", it).is_some()).map(str::to_owned).collect()
}

/// Takes away frontends of a Service, and those that its rules were on, that are not among `kept`, and that nothing uses.
fn remove_frontends(tree: &mut Value, base: &str, former: &[String], kept: &[&str]) {
    let users = ["loadBalancingRules", "inboundNatRules", "inboundNatPools", "outboundRules"];
    let mut used: Vec<String> = Vec::new();
    for user in users.iter().flat_map(|it| parts(tree, it)) {
        used.push(text(user, "/properties/frontendIPConfiguration/id").to_ascii_lowercase());
        let several = items(user, "/properties/frontendIPConfigurations").iter();
        used.extend(several.map(|it| text(it, "/id").to_ascii_lowercase()));
    }
    let is_used = |it: &Value| used.iter().any(|user| same(crate::id::last_of(user), text(it, "/name")));
    remove(tree, FRONTENDS, |entry| {
        let name = text(entry, "/name");
        let is_own = is_of(base, name) || former.iter().any(|entry| same(entry, name));
        is_own && !kept.iter().any(|entry| same(entry, name)) && !is_used(entry)
    });
}

/// Puts a Service there, and takes away what it does not need any more.
fn join(
    settings: &AzureBalancerSettings,
    id: &ResourceId,
    tree: &mut Value,
    member: BalancerMember<'_>,
    zones: &[String],
) {
    let BalancerMember { goal, place } = member;
    let base = &goal.names.base;
    let rules: Vec<&str> = goal.rules.iter().map(|it| it.name.as_str()).collect();
    let probes: Vec<&str> = goal.probes.iter().map(|it| it.name.as_str()).collect();
    let has = |names: &[&str], it: &Value| names.iter().any(|name| same(name, text(it, "/name")));
    let former = frontends_of_rules(tree, base);
    remove(tree, RULES, |it| is_of(base, text(it, "/name")) && !has(&rules, it));
    remove(tree, PROBES, |it| is_of(base, text(it, "/name")) && !has(&probes, it));
    for frontend in &place.frontends {
        if !frontend.is_shared || part(tree, FRONTENDS, &frontend.name).is_none() {
            put_frontend(tree, frontend, zones);
        }
        let pool = goal.pool(settings, frontend.family);
        if part(tree, POOLS, &pool).is_none() {
            put(tree, POOLS, json!({ "name": pool, "properties": {} }), &[]);
        }
    }
    for probe in &goal.probes {
        put(tree, PROBES, probe_body(probe), &["requestPath"]);
    }
    for rule in &goal.rules {
        let Some(frontend) = place.frontends.iter().find(|it| it.family == rule.family) else { continue };
        let pool = goal.pool(settings, rule.family);
        put(tree, RULES, rule_body(id, rule, &frontend.name, &pool), &["probe", "enableTcpReset"]);
    }
    let kept: Vec<&str> = place.frontends.iter().map(|it| it.name.as_str()).collect();
    remove_frontends(tree, base, &former, &kept);
}

fn put_frontend(tree: &mut Value, frontend: &PlacedFrontend, zones: &[String]) {
    let mut body = json!({ "name": frontend.name, "properties": {} });
    if let Some(public) = &frontend.public {
        body["properties"]["publicIPAddress"] = json!({ "id": public });
    }
    if let Some(subnet) = &frontend.subnet {
        body["properties"]["subnet"] = json!({ "id": subnet, "name": crate::id::last_of(subnet) });
        body["properties"]["privateIPAllocationMethod"] =
            json!(if frontend.ip.is_some() { "Static" } else { "Dynamic" });
        if let Some(ip) = &frontend.ip {
            body["properties"]["privateIPAddress"] = json!(ip);
        }
        if frontend.family == IpFamily::Ipv6 {
            body["properties"]["privateIPAddressVersion"] = json!("IPv6");
        }
        if !zones.is_empty() {
            body["zones"] = json!(zones);
        }
    }
    put(tree, FRONTENDS, body, &[]);
}

fn probe_body(probe: &ProbeGoal) -> Value {
    let mut properties = json!({
        "protocol": probe.protocol.word(), "port": probe.port, "intervalInSeconds": probe.interval, "probeThreshold": probe.count,
    });
    if let Some(path) = &probe.path {
        properties["requestPath"] = json!(path);
    }
    json!({ "name": probe.name, "properties": properties })
}

fn rule_body(id: &ResourceId, rule: &RuleGoal, frontend: &str, pool: &str) -> Value {
    let reference = |kind: &str, name: &str| json!({ "id": id.child(&[kind, name]).to_string() });
    let mut properties = json!({
        "protocol": rule.protocol,
        "frontendPort": rule.port,
        "backendPort": rule.backend_port,
        "enableFloatingIP": rule.is_floating,
        "idleTimeoutInMinutes": rule.idle_minutes,
        "loadDistribution": if rule.by_source { "SourceIP" } else { "Default" },
        "disableOutboundSnat": rule.no_outbound,
        "frontendIPConfiguration": reference(FRONTENDS, frontend),
        "backendAddressPool": reference(POOLS, pool),
    });
    if let Some(reset) = rule.reset {
        properties["enableTcpReset"] = json!(reset);
    }
    if let Some(probe) = &rule.probe {
        properties["probe"] = reference(PROBES, probe);
    }
    json!({ "name": rule.name, "properties": properties })
}
