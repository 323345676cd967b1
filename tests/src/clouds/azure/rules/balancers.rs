//! Load balancers: frontends, pools, probes and the rules between them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::key;
use crate::clouds::azure::references::{References, Tie};
use crate::clouds::azure::world::{World, elements, parts, parts_mut, referred, text};

use super::networks;

/// The fields of a rule that refer to parts of its load balancer.
const WITHIN: [&str; 3] = ["frontendIPConfiguration", "backendAddressPool", "probe"];

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    for part in ["inboundNatRules", "inboundNatPools", "outboundRules"] {
        if body["properties"][part].is_null() {
            body["properties"][part] = json!([]);
        }
    }
    if body["sku"].is_null() {
        body["sku"] = json!({ "name": "Basic" });
    }
    for it in parts_mut(body, "probes") {
        check_probe(it)?;
        if it["properties"]["numberOfProbes"].is_null() {
            it["properties"]["numberOfProbes"] = json!(1);
        }
    }
    frontends(world, change, body)?;
    pools(world, change, body)?;
    rules(world, change, body)?;
    check_gone(change, body)
}

fn check_probe(probe: &Value) -> Result<(), Refusal> {
    let (name, properties) = (text(probe, "name"), &probe["properties"]);
    let is_http = text(properties, "protocol").to_lowercase().starts_with("http");
    if is_http && text(properties, "requestPath").is_empty() {
        return Err(errors::invalid("ProbeRequestPathMissing", format!("Probe {name} has no request path.")));
    }
    if properties["intervalInSeconds"].as_u64().is_some_and(|it| it < 5) {
        let why = format!("Probe {name} has an interval of less than 5 seconds.");
        return Err(errors::invalid("ProbeIntervalOutOfRange", why));
    }
    Ok(())
}

/// Frontends have a public address, or one of a subnet.
fn frontends(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    let sku = text(&body["sku"], "name").to_owned();
    let mut taken = BTreeSet::new();
    let mut addresses = BTreeSet::new();
    let before = change.before.clone().unwrap_or_default();
    for it in parts_mut(body, "frontendIPConfigurations") {
        let name = text(it, "name").to_owned();
        let id = format!("{}/frontendIPConfigurations/{name}", change.id);
        let properties = &mut it["properties"];
        if properties["privateIPAllocationMethod"].is_null() {
            properties["privateIPAllocationMethod"] = json!("Dynamic");
        }
        let public = referred(properties, "publicIPAddress").to_owned();
        let subnet = referred(properties, "subnet").to_owned();
        if !public.is_empty() {
            let there = change.need(world, &public)?;
            if !text(&there["sku"], "name").eq_ignore_ascii_case(&sku) {
                let why =
                    format!("{sku} sku load balancer {} cannot reference publicIP {public} of another sku.", change.id);
                return Err(errors::invalid("LoadBalancerAndPublicIPSkuMismatch", why));
            }
            let other = change.references.of(Tie::Address, &public).iter().find(|it| key(it) != key(&id));
            let is_ours = other.is_some_and(|it| key(it).starts_with(&format!("{}/", key(change.id))));
            if let Some(by) = other.filter(|_| !is_ours)
                && !public.is_empty()
            {
                let why = format!(
                    "Resource {id} is referencing public IP address {public} that is already allocated to resource {by}."
                );
                return Err(errors::invalid("PublicIPAddressInUse", why));
            }
            if !taken.insert(key(&public)) {
                let why = format!(
                    "Public IP address {public} is referenced by two frontends of load balancer {}.",
                    change.id
                );
                return Err(errors::invalid("PublicIPAddressReferencedByMultipleIPConfigs", why));
            }
        } else if !subnet.is_empty() {
            let earlier =
                parts(&before, "frontendIPConfigurations").find(|it| text(it, "name").eq_ignore_ascii_case(&name));
            let used = networks::used(world, &subnet, &id).into_iter().chain(addresses.iter().cloned()).collect();
            networks::give_address(world, change, properties, earlier, &used, 101)?;
            addresses.insert(text(properties, "privateIPAddress").to_owned());
        } else if referred(properties, "publicIPPrefix").is_empty() {
            let why = format!("Frontend {id} has neither a subnet nor a public IP address.");
            return Err(errors::invalid("FrontendIPConfigurationMustHaveSubnetOrPublicIP", why));
        }
    }
    Ok(())
}

/// Pools of addresses name their network.
fn pools(world: &World, change: &Change<'_>, body: &Value) -> Result<(), Refusal> {
    for pool in parts(body, "backendAddressPools") {
        let own = referred(&pool["properties"], "virtualNetwork");
        let mut names = BTreeSet::new();
        for it in parts(pool, "loadBalancerBackendAddresses") {
            let properties = &it["properties"];
            // One that stands for an interface names none.
            if text(properties, "ipAddress").is_empty() {
                continue;
            }
            let network = Some(referred(properties, "virtualNetwork")).filter(|it| !it.is_empty()).unwrap_or(own);
            let subnet = referred(properties, "subnet");
            if network.is_empty() && subnet.is_empty() {
                let why = format!(
                    "Backend address {} of pool {} has no virtual network.",
                    text(it, "name"),
                    text(pool, "name")
                );
                return Err(errors::invalid("LoadBalancerBackendAddressMissingVirtualNetwork", why));
            }
            if !network.is_empty() {
                change.need(world, network)?;
            }
            if !names.insert(text(it, "name").to_lowercase()) {
                let why = format!("Pool {} has two backend addresses named {}.", text(pool, "name"), text(it, "name"));
                return Err(errors::invalid("DuplicateLoadBalancerBackendAddressName", why));
            }
        }
    }
    Ok(())
}

fn rules(world: &World, change: &Change<'_>, body: &Value) -> Result<(), Refusal> {
    let count = parts(body, "loadBalancingRules").count() + parts(body, "inboundNatRules").count();
    if count > world.behaviour.rules {
        let why = format!(
            "Number of rules on load balancer {} exceeds the limit of {} rules per load balancer.",
            change.id, world.behaviour.rules
        );
        return Err(errors::invalid("RulesPerLoadBalancerLimitReached", why));
    }
    let there: BTreeSet<String> = ["frontendIPConfigurations", "backendAddressPools", "probes"]
        .into_iter()
        .flat_map(|part| parts(body, part).map(move |it| key(&format!("{}/{part}/{}", change.id, text(it, "name")))))
        .collect();
    let mut fronts = BTreeMap::new();
    let mut backs = BTreeMap::new();
    for rule in parts(body, "loadBalancingRules") {
        let (name, properties) = (text(rule, "name"), &rule["properties"]);
        let id = format!("{}/loadBalancingRules/{name}", change.id);
        for field in WITHIN {
            let target = referred(properties, field);
            if !target.is_empty() && !there.contains(&key(target)) {
                return Err(errors::nothing_there(target, &id));
            }
        }
        let protocol = text(properties, "protocol").to_lowercase();
        let front = key(referred(properties, "frontendIPConfiguration"));
        let ports = (properties["frontendPort"].to_string(), properties["backendPort"].to_string());
        if let Some(other) = fronts.insert((front, protocol.clone(), ports.0), name) {
            let why = format!(
                "Load balancing rules {id} and {other} with the same protocol use the same frontend port {} and frontend.",
                properties["frontendPort"]
            );
            return Err(errors::invalid("RulesUseSameFrontendPortProtocolAndIPConfig", why));
        }
        let floats = properties["enableFloatingIP"] == json!(true);
        let pool = key(referred(properties, "backendAddressPool"));
        if !floats && let Some(other) = backs.insert((pool, protocol, ports.1), name) {
            let why = format!(
                "Load balancing rules {id} and {other} with floating IP disabled use the same backend port {} and pool.",
                properties["backendPort"]
            );
            return Err(errors::invalid("RulesUseSameBackendPortProtocolAndPool", why));
        }
        if let Some(idle) = properties["idleTimeoutInMinutes"].as_u64()
            && !(4..=100).contains(&idle)
        {
            let why = format!("Rule {id} has an idle timeout of {idle} minutes. It must be between 4 and 100.");
            return Err(errors::invalid("IdleTimeoutOutOfRange", why));
        }
    }
    Ok(())
}

/// A frontend to which a Private Link service leads stays, and so does a pool that a scale set's model names.
fn check_gone(change: &Change<'_>, body: &Value) -> Result<(), Refusal> {
    let Some(before) = &change.before else { return Ok(()) };
    for (part, tie, code) in [
        ("frontendIPConfigurations", Tie::Linked, "LoadBalancerInUseByPrivateLinkService"),
        ("backendAddressPools", Tie::Model, "LoadBalancerInUseByVirtualMachineScaleSet"),
    ] {
        for it in parts(before, part) {
            let stays = parts(body, part).any(|now| text(now, "name").eq_ignore_ascii_case(text(it, "name")));
            if let Some(by) = change.references.first(tie, text(it, "id")).filter(|_| !stays) {
                return Err(errors::in_use(code, text(it, "id"), by));
            }
        }
    }
    Ok(())
}

/// A load balancer goes when no scale set has one of its pools, and no Private Link service one of its frontends.
pub(super) fn check_deletion(references: &References, body: &Value) -> Result<(), Refusal> {
    let id = text(body, "id");
    for pool in parts(body, "backendAddressPools").map(|it| text(it, "id")) {
        let of_machine =
            references.of(Tie::Member, pool).iter().find(|it| key(it).contains("/virtualmachinescalesets/"));
        if let Some(by) = references.first(Tie::Model, pool).or(of_machine.map(String::as_str)) {
            let why = format!(
                "Cannot delete load balancer {id} since its child resources {pool} are in use by virtual machine scale set {by}."
            );
            return Err(errors::invalid("LoadBalancerInUseByVirtualMachineScaleSet", why));
        }
    }
    for it in parts(body, "frontendIPConfigurations").map(|it| text(it, "id")) {
        if let Some(by) = references.first(Tie::Linked, it) {
            return Err(errors::in_use("LoadBalancerInUseByPrivateLinkService", it, by));
        }
    }
    Ok(())
}

/// Refuses pools of load balancers that are not there.
pub(super) fn check_pools<'a>(world: &World, user: &str, pools: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    for pool in pools {
        let balancer = world.get(crate::clouds::azure::id::parent_of(pool));
        let has =
            |it: &Value| elements(&it["properties"]["backendAddressPools"]).any(|it| key(text(it, "id")) == key(pool));
        if !balancer.is_some_and(has) {
            return Err(errors::nothing_there(pool, user));
        }
    }
    Ok(())
}
