//! Classic Load Balancers.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, missing, over_quota, refused, unserved};
use super::listing;
use super::pairs::{AcsPairs, has_tags, tag, text, untag};
use super::published::{answer_part, fitting};
use super::ram::stamp;
use super::region::REGION;
use super::world::World;
use super::{published, slb_access, slb_domains, slb_groups, slb_listeners};

/// The code of a change of what carries out an earlier one.
pub(super) const CONFIGURING: &str = "ServiceIsConfiguring";
/// The words of switches.
const SWITCH: [&str; 2] = ["off", "on"];

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateLoadBalancer" => return create(world, pairs),
        "DescribeLoadBalancers" => return list(world, pairs),
        "DescribeLoadBalancerListeners" => return slb_listeners::list(world, pairs),
        action if action.contains("AccessControlList") => return slb_access::answer(world, pairs),
        action if action.contains("DomainExtension") => return slb_domains::answer(world, pairs),
        action if action.contains("VServerGroup") => return slb_groups::answer(world, pairs),
        "TagResources" | "UntagResources" => return change_tags(world, pairs),
        _ => {}
    }
    let id = pairs.needed("LoadBalancerId")?;
    world.balancer(id)?;
    if published::reads(pairs.action()) {
        world.count_read(id);
    } else {
        world.is_configurable(id, CONFIGURING)?;
    }
    if pairs.action().contains("Listener") {
        return slb_listeners::answer(world, id, pairs);
    }
    match pairs.action() {
        "DescribeLoadBalancerAttribute" => return Ok(Answer::ok(&attribute(world, id, pairs))),
        "DeleteLoadBalancer" => {
            if world.balancer(id)?["DeleteProtection"] == "on" {
                let message = "The operation is not allowed because of DeleteProtection.";
                return Err(refused(400, "OperationDenied.DeleteProtectionIsOn", message));
            }
            world.take_away(id);
        }
        _ => change(world, id, pairs)?,
    }
    Ok(Answer::ok(&json!({})))
}

/// The changes that are about the load balancer alone.
fn change(world: &mut World, id: &str, pairs: AcsPairs<'_>) -> Result<(), Refused> {
    let balancer = world.balancer(id)?;
    match pairs.action() {
        "SetLoadBalancerName" => balancer["LoadBalancerName"] = json!(name(pairs.needed("LoadBalancerName")?)?),
        "SetLoadBalancerDeleteProtection" => {
            balancer["DeleteProtection"] = json!(pairs.word("DeleteProtection", &SWITCH)?)
        }
        "SetLoadBalancerModificationProtection" => protect(balancer, pairs)?,
        "ModifyLoadBalancerInternetSpec" => charge(balancer, pairs)?,
        "ModifyLoadBalancerInstanceSpec" => {
            if balancer["InstanceChargeType"] != "PayBySpec" {
                return Err(bad("LoadBalancerSpec", "the load balancer is not paid for by it"));
            }
            balancer["LoadBalancerSpec"] = json!(pairs.needed("LoadBalancerSpec")?);
        }
        other => return Err(unserved(other)),
    }
    Ok(())
}

fn name(text: &str) -> Result<&str, Refused> {
    let is_right = text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-/._".contains(&it));
    if is_right && (1..=80).contains(&text.len()) { Ok(text) } else { Err(bad("LoadBalancerName", "it is no name")) }
}

fn protect(balancer: &mut Value, pairs: AcsPairs<'_>) -> Result<(), Refused> {
    let status = pairs.word("ModificationProtectionStatus", &["NonProtection", "ConsoleProtection"])?;
    let reason = pairs.text("ModificationProtectionReason");
    if status == "NonProtection" && !reason.is_empty() {
        return Err(bad("ModificationProtectionReason", "there is no protection"));
    }
    balancer["ModificationProtectionStatus"] = json!(status);
    balancer["ModificationProtectionReason"] = json!(reason);
    Ok(())
}

/// How the internet is paid for.
fn charge(balancer: &mut Value, pairs: AcsPairs<'_>) -> Result<(), Refused> {
    if balancer["AddressType"] != "internet" {
        return Ok(());
    }
    let charge = pairs.word("InternetChargeType", &["paybytraffic", "paybybandwidth"])?;
    let bandwidth = match charge {
        "paybybandwidth" => pairs.needed_number("Bandwidth", (1, 5_120))?,
        _ => 5_120,
    };
    (balancer["InternetChargeType"], balancer["Bandwidth"]) = (json!(charge), json!(bandwidth));
    Ok(())
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let token = pairs.text("ClientToken");
    let earlier = world.made_with("CreateLoadBalancer", token).map(str::to_owned);
    if let Some(id) = earlier.filter(|it| world.balancers.get(it).is_some()) {
        return Ok(made(world, &id));
    }
    if world.balancers.count() >= world.behaviour.most_balancers {
        return Err(over_quota("QuotaExceeded.LoadBalancer", "load balancers"));
    }
    let address_type = pairs.word("AddressType", &["internet", "intranet"])?;
    let switch = pairs.get("VSwitchId");
    match (address_type, switch) {
        ("intranet", None) => return Err(missing("VSwitchId")),
        ("internet", Some(_)) => return Err(bad("VSwitchId", "one of the internet is in none")),
        _ => {}
    }
    if let Some(switch) = switch {
        if world.switches.get(switch).is_none_or(|it| pairs.get("VpcId").is_some_and(|vpc| it["VpcId"] != *vpc)) {
            return Err(refused(404, "InvalidVSwitchId.NotFound", "The specified VSwitch does not exist."));
        }
        if world.behaviour.full_switches.contains(switch) {
            let message = "There is no idle IP in the specified VSwitch.";
            return Err(refused(400, "VSwitchAvailableIpNotExist", message));
        }
    }
    let instance_charge = pairs.word("InstanceChargeType", &["PayByCLCU", "PayBySpec"])?;
    if instance_charge == "PayByCLCU" && pairs.get("LoadBalancerSpec").is_some() {
        return Err(bad("LoadBalancerSpec", "the load balancer is not paid for by it"));
    }
    let mut body = json!({
        "LoadBalancerName": name(pairs.get("LoadBalancerName").unwrap_or("auto_named_slb"))?, "AddressType": address_type,
        "AddressIPVersion": pairs.word("AddressIPVersion", &["ipv4", "ipv6"])?, "InstanceChargeType": instance_charge,
        "LoadBalancerSpec": pairs.text("LoadBalancerSpec"), "DeleteProtection": pairs.word("DeleteProtection", &SWITCH)?,
        "ResourceGroupId": pairs.get("ResourceGroupId").unwrap_or("rg-default"), "Tags": pairs.tags()?,
        "MasterZoneId": pairs.get("MasterZoneId").unwrap_or("cn-hangzhou-b"),
        "SlaveZoneId": pairs.get("SlaveZoneId").unwrap_or("cn-hangzhou-g"),
    });
    protect(&mut body, pairs)?;
    charge(&mut body, pairs)?;
    if let (Some(switch), Some(vpc)) = (switch, pairs.get("VpcId")) {
        (body["VSwitchId"], body["VpcId"]) = (json!(switch), json!(vpc));
    }
    if let Some(address) = pairs.get("Address") {
        body["Address"] = json!(address);
    }
    let id = world.put_balancer(body);
    world.remember("CreateLoadBalancer", token, &id);
    world.configure(&id);
    Ok(made(world, &id))
}

fn made(world: &World, id: &str) -> Answer {
    let part = answer_part("/slb/CreateLoadBalancer", &[]);
    Answer::ok(&fitting(part, world.balancers.get(id).unwrap_or(&Value::Null)))
}

impl World {
    /// The Classic Load Balancer with this id.
    pub(super) fn balancer(&mut self, id: &str) -> Result<&mut Value, Refused> {
        let unknown = || refused(404, "InvalidLoadBalancerId.NotFound", "The specified LoadBalancerId does not exist.");
        self.balancers.get_mut(id).ok_or_else(unknown)
    }

    /// Adds a Classic Load Balancer. What is not said of it is as usual.
    pub fn put_balancer(&mut self, body: Value) -> String {
        let id = body["LoadBalancerId"].as_str().map_or_else(|| self.next("lb-bp"), str::to_owned);
        let (made, number) = (self.time(), self.number() % 60_000);
        let [high, low] = u16::try_from(number).unwrap_or_default().to_be_bytes();
        let is_open = body["AddressType"] == "internet";
        let address = if is_open { format!("47.96.{high}.{low}") } else { format!("10.0.{}.{low}", 200 + high % 50) };
        let usual = json!({
            "LoadBalancerId": id, "Address": address, "AddressIPVersion": "ipv4", "Bandwidth": 5_120, "RegionId": REGION,
            "NetworkType": if is_open { "classic" } else { "vpc" }, "VpcId": "", "VSwitchId": "", "InternetChargeType": "paybytraffic",
            "LoadBalancerStatus": "active", "PayType": "PayOnDemand", "DeleteProtection": "off", "LoadBalancerSpec": "",
            "ModificationProtectionStatus": "NonProtection", "InstanceChargeType": "PayByCLCU", "CreateTime": stamp(made),
            "RegionIdAlias": REGION, "Tags": [],
        });
        self.balancers.put(&id, made, listing::with(usual, &body));
        id
    }

    /// Takes a Classic Load Balancer away with all that is in it.
    pub fn take_away(&mut self, id: &str) {
        self.balancers.remove(id);
        self.listeners.remove_all(|it| it["LoadBalancerId"] == *id);
        self.groups.remove_all(|it| it["LoadBalancerId"] == *id);
        self.domains.remove_all(|it| it["LoadBalancerId"] == *id);
    }
}

/// As an action shows it that is about it alone.
fn attribute(world: &World, id: &str, pairs: AcsPairs<'_>) -> Value {
    let own = world.balancers.get(id).unwrap_or(&Value::Null);
    let ports: Vec<&Value> = world.listeners.of("LoadBalancerId", id).map(|(_, it)| it).collect();
    let port = |it: &Value| slb_listeners::number(it, "ListenerPort");
    let protocol = |it: &&Value| json!({ "ListenerPort": port(it), "ListenerProtocol": it["ListenerProtocol"] });
    let mut shown = fitting(answer_part(&format!("/slb/{}", pairs.action()), &[]), own);
    shown["Tags"] = json!({ "Tag": own["Tags"] });
    shown["BackendServers"] = json!({ "BackendServer": [] });
    shown["ListenerPorts"] = json!({ "ListenerPort": ports.iter().map(|it| port(it)).collect::<Vec<_>>() });
    shown["ListenerPortsAndProtocol"] =
        json!({ "ListenerPortAndProtocol": ports.iter().map(protocol).collect::<Vec<_>>() });
    shown
}

fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let mut asked: Vec<Value> = match pairs.get("Tags") {
        None => Vec::new(),
        Some(text) => serde_json::from_str(text).map_err(|error| bad("Tags", &format!("no JSON array: {error}")))?,
    };
    asked.extend(pairs.tags()?);
    let (name, ids) = (pairs.get("LoadBalancerName"), pairs.get("LoadBalancerId"));
    let is_asked = |balancer: &Value| {
        has_tags(balancer, &asked)
            && name.is_none_or(|name| balancer["LoadBalancerName"] == *name)
            && ids.is_none_or(|ids| ids.split(',').any(|id| balancer["LoadBalancerId"] == *id))
    };
    let part = answer_part("/slb/DescribeLoadBalancers", &["LoadBalancers", "LoadBalancer", "*"]);
    let found = world.listed(|it| &it.balancers, is_asked);
    found.iter().for_each(|it| world.count_read(text(it, "LoadBalancerId")));
    let shown = |balancer: &Value| {
        let mut shown = fitting(part, balancer);
        shown["Tags"] = json!({ "Tag": balancer["Tags"] });
        shown["InternetChargeTypeAlias"] = balancer["InternetChargeType"].clone();
        shown["InternetChargeType"] = json!(if balancer["InternetChargeType"] == "paybytraffic" { "4" } else { "3" });
        shown
    };
    let (items, counts) = listing::by_number(pairs, found.iter().map(shown).collect(), 100)?;
    Ok(Answer::ok(&listing::with(json!({ "LoadBalancers": { "LoadBalancer": items } }), &counts)))
}

fn change_tags(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    pairs.word("ResourceType", &["instance"])?;
    let (tags, keys) = (pairs.tags()?, pairs.list("TagKey"));
    for id in pairs.list("ResourceId") {
        let balancer = world.balancer(id)?;
        tag(balancer, tags.clone());
        untag(balancer, &keys);
    }
    Ok(Answer::ok(&json!({})))
}
