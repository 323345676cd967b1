//! The service's refusals, word by word.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::certificates::Certificates;
use super::super::droplets::Droplets;
use super::super::vpcs::Vpcs;
use super::{Attributes, ForwardingRule, HealthCheck, StickySessions};

/// Ports that the service listens on itself.
const RESERVED: std::ops::RangeInclusive<u32> = 50_053..=50_055;

/// How many characters the name of a cookie has.
const COOKIE_NAME: std::ops::RangeInclusive<usize> = 2..=40;

/// The objects that a load balancer may refer to.
#[derive(Clone, Copy)]
pub(crate) struct Neighbours<'a> {
    pub(crate) droplets: &'a Droplets,
    pub(crate) certificates: &'a Certificates,
    pub(crate) vpcs: &'a Vpcs,
}

/// Checks what can be said of a load balancer without looking at the others of the account.
///
/// # Errors
///
/// Fails with the service's sentence on the first thing that is wrong.
pub(crate) fn check(attributes: &Attributes, neighbours: Neighbours<'_>) -> Result<(), String> {
    name(&attributes.name)?;
    one_of("type", &attributes.kind, &["REGIONAL", "REGIONAL_NETWORK"])?;
    one_of("network", &attributes.network, &["EXTERNAL", "INTERNAL"])?;
    one_of("network_stack", &attributes.network_stack, &["IPV4", "DUALSTACK"])?;
    one_of("algorithm", &attributes.algorithm, &["round_robin", "least_connections"])?;
    one_of("tls_cipher_policy", &attributes.tls_cipher_policy, &["DEFAULT", "STRONG"])?;
    if attributes.network == "INTERNAL" && attributes.network_stack == "DUALSTACK" {
        return Err("internal load balancers do not support the network stack DUALSTACK".to_owned());
    }
    within("size_unit", attributes.size_unit, 1, 100)?;
    within("http_idle_timeout_seconds", attributes.http_idle_timeout_seconds, 30, 600)?;
    forwarding_rules(attributes, neighbours.certificates)?;
    if attributes.redirect_http_to_https && !speaks_tls(&attributes.forwarding_rules, 443) {
        return Err("redirect_http_to_https needs a forwarding rule for https or http2 on port 443".to_owned());
    }
    health_check(&attributes.health_check)?;
    sticky_sessions(&attributes.sticky_sessions)?;
    for rule in attributes.firewall.allow.iter().chain(&attributes.firewall.deny) {
        firewall_rule(rule)?;
    }
    vpc(attributes, neighbours.vpcs)?;
    if !attributes.tag.is_empty() && !attributes.droplet_ids.is_empty() {
        return Err("droplet_ids and tag are mutually exclusive".to_owned());
    }
    droplets(attributes, &attributes.droplet_ids, neighbours.droplets)
}

/// Checks that these droplets can be targets of the load balancer.
///
/// # Errors
///
/// Fails with the service's sentence.
pub(crate) fn droplets(attributes: &Attributes, ids: &[u64], droplets: &Droplets) -> Result<(), String> {
    for id in ids {
        let vpc = droplets.vpc(*id).ok_or_else(|| format!("droplet {id} was not found"))?;
        if vpc != attributes.vpc_uuid {
            return Err(format!("droplet {id} is not in the VPC {} of the load balancer", attributes.vpc_uuid));
        }
    }
    Ok(())
}

fn name(name: &str) -> Result<(), String> {
    let ends = [name.bytes().next(), name.bytes().next_back()];
    let good = (1..=255).contains(&name.len())
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'.' || it == b'-')
        && ends[0].is_some_and(|it| it.is_ascii_alphanumeric())
        && ends[1] != Some(b'-');
    if good { Ok(()) } else { Err(format!("name {name:?} is invalid")) }
}

fn forwarding_rules(attributes: &Attributes, certificates: &Certificates) -> Result<(), String> {
    let rules = &attributes.forwarding_rules;
    if rules.is_empty() {
        return Err("forwarding_rules must have at least one rule".to_owned());
    }
    for (index, rule) in rules.iter().enumerate() {
        forwarding_rule(&attributes.kind, rule, certificates)?;
        let entry = |it: &ForwardingRule| (it.entry_port, matches!(it.entry_protocol.as_str(), "udp" | "http3"));
        if rules[..index].iter().any(|it| entry(it) == entry(rule)) {
            return Err(format!("forwarding rules must have unique entry ports: {} is used twice", rule.entry_port));
        }
        if rule.entry_protocol == "http3" && !speaks_tls(rules, rule.entry_port) {
            return Err(format!("http3 on port {0} needs a rule for https or http2 on port {0}", rule.entry_port));
        }
    }
    Ok(())
}

/// Whether HTTP with TLS over TCP is served on a port.
fn speaks_tls(rules: &[ForwardingRule], port: u32) -> bool {
    rules.iter().any(|it| it.entry_port == port && matches!(it.entry_protocol.as_str(), "https" | "http2"))
}

fn forwarding_rule(kind: &str, rule: &ForwardingRule, certificates: &Certificates) -> Result<(), String> {
    let (entry, target) = (rule.entry_protocol.as_str(), rule.target_protocol.as_str());
    one_of("entry_protocol", entry, &["http", "https", "http2", "http3", "tcp", "udp"])?;
    one_of("target_protocol", target, &["http", "https", "http2", "tcp", "udp"])?;
    within("entry_port", rule.entry_port, 1, 65_535)?;
    within("target_port", rule.target_port, 1, 65_535)?;
    if RESERVED.contains(&rule.entry_port) {
        return Err(format!("entry_port {} is reserved", rule.entry_port));
    }
    if (entry == "udp") != (target == "udp") {
        return Err("udp can be forwarded to udp only".to_owned());
    }
    if kind == "REGIONAL_NETWORK" && (!matches!(entry, "tcp" | "udp") || entry != target) {
        return Err(format!("network load balancers forward tcp to tcp and udp to udp, not {entry} to {target}"));
    }
    let certificate = !rule.certificate_id.is_empty();
    match entry {
        "https" | "http2" if certificate == rule.tls_passthrough => {
            return Err(format!("{entry} takes either certificate_id or tls_passthrough"));
        }
        "http3" if !certificate || rule.tls_passthrough => return Err("http3 takes a certificate_id".to_owned()),
        "http" | "tcp" | "udp" if certificate || rule.tls_passthrough => {
            return Err(format!("{entry} takes neither certificate_id nor tls_passthrough"));
        }
        _ => {}
    }
    if certificate && certificates.get(&rule.certificate_id).is_none() {
        return Err(format!("certificate {} was not found", rule.certificate_id));
    }
    Ok(())
}

fn health_check(check: &HealthCheck) -> Result<(), String> {
    one_of("health_check.protocol", &check.protocol, &["http", "https", "tcp"])?;
    within("health_check.port", check.port, 1, 65_535)?;
    within("health_check.check_interval_seconds", check.check_interval_seconds, 3, 300)?;
    within("health_check.response_timeout_seconds", check.response_timeout_seconds, 3, 300)?;
    within("health_check.unhealthy_threshold", check.unhealthy_threshold, 2, 10)?;
    within("health_check.healthy_threshold", check.healthy_threshold, 2, 10)?;
    match check.protocol.as_str() {
        "tcp" if !check.path.is_empty() => Err("health_check.path cannot be set with the protocol tcp".to_owned()),
        "http" | "https" if !check.path.starts_with('/') => {
            Err(format!("health_check.path {:?} must begin with /", check.path))
        }
        _ => Ok(()),
    }
}

fn sticky_sessions(sticky: &StickySessions) -> Result<(), String> {
    one_of("sticky_sessions.type", &sticky.kind, &["none", "cookies"])?;
    let complete = sticky.cookie_name.as_ref().is_some_and(|it| !it.is_empty())
        && sticky.cookie_ttl_seconds.is_some_and(|it| it > 0);
    if sticky.kind != "cookies" {
        return Ok(());
    }
    if !complete {
        return Err("sticky_sessions with cookies take a cookie_name and cookie_ttl_seconds".to_owned());
    }
    let characters = sticky.cookie_name.iter().flat_map(|it| it.chars()).count();
    if COOKIE_NAME.contains(&characters) {
        return Ok(());
    }
    let (least, most) = (COOKIE_NAME.start(), COOKIE_NAME.end());
    Err(format!("sticky_sessions.cookie_name must have {least} to {most} characters, not {characters}"))
}

fn firewall_rule(rule: &str) -> Result<(), String> {
    let good = match rule.split_once(':') {
        Some(("ip", address)) => address.parse::<IpAddr>().is_ok(),
        Some(("cidr", range)) => range.parse::<IpNet>().is_ok(),
        _ => false,
    };
    if good { Ok(()) } else { Err(format!("firewall rule {rule:?} is invalid")) }
}

fn vpc(attributes: &Attributes, vpcs: &Vpcs) -> Result<(), String> {
    let known = super::super::region::REGIONS.iter().any(|(slug, _)| *slug == attributes.region);
    if !known {
        return Err(format!("region {} is not available", attributes.region));
    }
    match vpcs.get(&attributes.vpc_uuid) {
        None => Err(format!("VPC {} was not found", attributes.vpc_uuid)),
        Some(vpc) if vpc.region != attributes.region => {
            Err(format!("VPC {} is in the region {}", attributes.vpc_uuid, vpc.region))
        }
        Some(_) => Ok(()),
    }
}

fn one_of(attribute: &str, value: &str, allowed: &[&str]) -> Result<(), String> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(format!("{attribute} {value:?} is not one of {}", allowed.join(", ")))
}

fn within(attribute: &str, value: u32, least: u32, most: u32) -> Result<(), String> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(format!("{attribute} must be between {least} and {most}, not {value}"))
}
