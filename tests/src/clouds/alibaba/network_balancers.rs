//! Network Load Balancers: most of their changes are jobs.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, busy, missing, over_quota, refused, unserved};
use super::listing;
use super::pairs::{AcsPairs, has_tags, spelled_tags, tag, text, untag};
use super::published::{self, answer_part, fitting};
use super::ram::stamp;
use super::region::REGION;
use super::table::Table;
use super::world::World;
use super::{jobs, network_groups, network_listeners};

/// The kind of a load balancer in codes of refusals.
const KIND: &str = "loadBalancer";

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateLoadBalancer" => return create(world, pairs),
        "ListLoadBalancers" => return list(world, pairs),
        "ListAsynJobs" => return jobs::list(world, pairs),
        "GetJobStatus" => return jobs::get(world, pairs),
        "TagResources" | "UntagResources" => return change_tags(world, pairs),
        action if action.contains("Listener") => return network_listeners::answer(world, pairs),
        action if action.contains("ServerGroup") => return network_groups::answer(world, pairs),
        _ => {}
    }
    let id = pairs.needed("LoadBalancerId")?;
    world.network_balancer(id)?;
    if published::reads(pairs.action()) {
        world.count_read(id);
    } else {
        world.is_free(KIND, id)?;
    }
    match pairs.action() {
        "GetLoadBalancerAttribute" => Ok(Answer::ok(&attribute(world, id))),
        "DeleteLoadBalancer" => delete(world, id, pairs),
        "UpdateLoadBalancerProtection" => {
            protect(world.network_balancer(id)?, pairs)?;
            Ok(Answer::ok(&json!({})))
        }
        "EnableLoadBalancerIpv6Internet" | "DisableLoadBalancerIpv6Internet" => {
            open_ipv6(world.network_balancer(id)?, pairs.action().starts_with("Enable"))?;
            Ok(Answer::ok(&json!({})))
        }
        _ => change(world, id, pairs),
    }
}

fn protect(balancer: &mut Value, pairs: AcsPairs<'_>) -> Result<(), Refused> {
    if let Some(on) = pairs.flag("DeletionProtectionEnabled") {
        balancer["DeletionProtectionConfig"]["Enabled"] = json!(on);
    }
    if pairs.get("ModificationProtectionStatus").is_some() {
        let status = pairs.word("ModificationProtectionStatus", &["NonProtection", "ConsoleProtection"])?;
        let reason = pairs.text("ModificationProtectionReason");
        if status == "NonProtection" && !reason.is_empty() {
            return Err(bad("ModificationProtectionReason", "there is no protection"));
        }
        balancer["ModificationProtectionConfig"] = json!({ "Status": status, "Reason": reason });
    }
    Ok(())
}

/// Opens the addresses of IPv6 to the internet, or closes them. There is no job.
fn open_ipv6(balancer: &mut Value, opens: bool) -> Result<(), Refused> {
    let word = if opens { "Internet" } else { "Intranet" };
    if !text(balancer, "AddressIpVersion").eq_ignore_ascii_case("DualStack") {
        return Err(refused(400, "OperationDenied.AddressIpVersion", "The load balancer has no address of IPv6."));
    }
    if balancer["Ipv6AddressType"] == word {
        return Err(refused(400, "OperationDenied.Ipv6AddressType", "It is so already."));
    }
    balancer["Ipv6AddressType"] = json!(word);
    Ok(())
}

/// Changes that are jobs.
fn change(world: &mut World, id: &str, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let ids: Vec<Value> = pairs.list("SecurityGroupIds").into_iter().map(Value::from).collect();
    let security = world.network_balancer(id)?["SecurityGroupIds"].as_array().cloned().unwrap_or_default();
    let (name, value) = match pairs.action() {
        "LoadBalancerJoinSecurityGroup" => {
            let unknown = ids.iter().any(|it| world.security.get(it.as_str().unwrap_or_default()).is_none());
            if unknown {
                return Err(refused(404, "ResourceNotFound.SecurityGroup", "The security group does not exist."));
            }
            if ids.iter().any(|it| security.contains(it)) {
                return Err(refused(400, "ResourceAlreadyAssociated.SecurityGroup", "It is there already."));
            }
            ("SecurityGroupIds", json!([security, ids].concat()))
        }
        "LoadBalancerLeaveSecurityGroup" => {
            if ids.iter().any(|it| !security.contains(it)) {
                return Err(refused(400, "ResourceNotAssociated.SecurityGroup", "It is not there."));
            }
            ("SecurityGroupIds", security.into_iter().filter(|it| !ids.contains(it)).collect())
        }
        "AttachCommonBandwidthPackageToLoadBalancer" => {
            if !text(world.network_balancer(id)?, "BandwidthPackageId").is_empty() {
                return Err(refused(400, "ResourceAlreadyAssociated.CommonBandwidthPackage", "It is in one already."));
            }
            ("BandwidthPackageId", json!(pairs.needed("BandwidthPackageId")?))
        }
        "DetachCommonBandwidthPackageFromLoadBalancer" => {
            if text(world.network_balancer(id)?, "BandwidthPackageId") != pairs.needed("BandwidthPackageId")? {
                return Err(refused(400, "ResourceNotAssociated.CommonBandwidthPackage", "It is not in it."));
            }
            ("BandwidthPackageId", Value::Null)
        }
        "UpdateLoadBalancerAttribute" => match (pairs.flag("CrossZoneEnabled"), pairs.get("LoadBalancerName")) {
            (Some(on), _) => ("CrossZoneEnabled", json!(on)),
            (None, Some(name)) => ("LoadBalancerName", json!(name)),
            (None, None) => return Err(missing("LoadBalancerName")),
        },
        "UpdateLoadBalancerAddressTypeConfig" => ("AddressType", json!(pairs.needed("AddressType")?)),
        "UpdateLoadBalancerZones" => ("ZoneMappings", changed_zones(world, id, pairs)?),
        other => return Err(unserved(other)),
    };
    let (own, taking) = (id.to_owned(), world.behaviour.job);
    let job = world.begin_job(pairs.action(), &[id], taking, move |world, succeeded| {
        if let Some(it) = world.network_balancers.get_mut(&own).filter(|_| succeeded) {
            it[name] = value;
        }
    });
    Ok(Answer::ok(&json!({ "JobId": job })))
}

fn delete(world: &mut World, id: &str, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    if world.network_balancer(id)?["DeletionProtectionConfig"]["Enabled"] == true {
        return Err(busy("OperationDenied.DeletionProtection", id));
    }
    let (own, taking) = (id.to_owned(), world.behaviour.job);
    let job = world.begin_job(pairs.action(), &[id], taking, move |world, succeeded| {
        if succeeded {
            world.take_network_away(&own);
        }
    });
    Ok(Answer::ok(&json!({ "JobId": job })))
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let token = pairs.text("ClientToken");
    let earlier = world.made_with("nlb CreateLoadBalancer", token).map(str::to_owned);
    if let Some(id) = earlier.filter(|it| world.network_balancers.get(it).is_some()) {
        return Ok(Answer::ok(&json!({ "LoadbalancerId": id, "OrderId": 1 })));
    }
    if world.network_balancers.count() >= world.behaviour.most_balancers {
        return Err(over_quota("QuotaExceeded.LoadBalancersNum", "load balancers"));
    }
    let name = pairs.text("LoadBalancerName");
    if !name.is_empty() && !(2..=128).contains(&name.len()) {
        return Err(bad("LoadBalancerName", "it has 2 to 128 characters"));
    }
    let zones = zones(world, pairs)?;
    if pairs.needed("VpcId")? != super::region::VPC {
        return Err(refused(404, "ResourceNotFound.vpc", "The specified resource vpc is not found."));
    }
    let address_type = pairs.needed("AddressType")?.to_lowercase();
    if !["internet", "intranet"].contains(&&*address_type) {
        return Err(bad("AddressType", &address_type));
    }
    let status = pairs.get("ModificationProtectionConfig.Status").unwrap_or("NonProtection");
    let body = json!({
        "LoadBalancerName": name, "AddressType": format!("{}{}", address_type[..1].to_uppercase(), &address_type[1..]),
        "AddressIpVersion": pairs.get("AddressIpVersion").unwrap_or("Ipv4"), "Tags": pairs.tags()?, "ZoneMappings": zones,
        "LoadBalancerStatus": "Provisioning",
        "DeletionProtectionConfig": { "Enabled": pairs.flag("DeletionProtectionConfig.Enabled") == Some(true) },
        "ModificationProtectionConfig": { "Status": status, "Reason": pairs.text("ModificationProtectionConfig.Reason") },
    });
    let id = world.put_network_balancer(body);
    world.remember("nlb CreateLoadBalancer", token, &id);
    let (own, taking) = (id.clone(), world.behaviour.creation);
    world.begin_job("CreateLoadBalancer", &[&id], taking, move |world, succeeded| {
        if let Some(it) = world.network_balancers.get_mut(&own) {
            it["LoadBalancerStatus"] = json!(if succeeded { "Active" } else { "CreateFailed" });
        }
    });
    Ok(Answer::ok(&json!({ "LoadbalancerId": id, "OrderId": 1 })))
}

/// The zones that a request gives: at least two, each once, with a vSwitch in it.
fn zones(world: &World, pairs: AcsPairs<'_>) -> Result<Vec<Value>, Refused> {
    let zones = pairs.members("ZoneMappings");
    let is_once = |it: &Value| zones.iter().filter(|other| other["ZoneId"] == it["ZoneId"]).count() == 1;
    if zones.len() < 2 || !zones.iter().all(is_once) {
        return Err(bad("ZoneMappings", "there are at least two zones, each once"));
    }
    let is_known =
        |it: &Value| world.switches.get(text(it, "VSwitchId")).is_some_and(|switch| switch["ZoneId"] == it["ZoneId"]);
    if !zones.iter().all(is_known) {
        return Err(refused(404, "ResourceNotFound.vSwitch", "The specified resource vSwitch is not found."));
    }
    Ok(zones)
}

/// The zones that a load balancer has after a request: those that the request gives, and no others. One that keeps its vSwitch keeps the addresses
/// that the request does not name.
fn changed_zones(world: &mut World, id: &str, pairs: AcsPairs<'_>) -> Result<Value, Refused> {
    let given = zones(world, pairs)?;
    let live = world.network_balancer(id)?["ZoneMappings"].as_array().cloned().unwrap_or_default();
    let after = |mapping: &Value| {
        let is_same = |own: &&Value| own["ZoneId"] == mapping["ZoneId"] && own["VSwitchId"] == mapping["VSwitchId"];
        live.iter().find(is_same).map_or_else(|| mapping.clone(), |own| listing::with(own.clone(), mapping))
    };
    Ok(given.iter().map(after).collect())
}

impl World {
    /// The Network Load Balancer with this id.
    pub(super) fn network_balancer(&mut self, id: &str) -> Result<&mut Value, Refused> {
        let unknown =
            || refused(404, "ResourceNotFound.loadBalancer", "The specified resource loadBalancer is not found.");
        self.network_balancers.get_mut(id).ok_or_else(unknown)
    }

    /// Adds a Network Load Balancer. What is not said of it is as usual.
    pub fn put_network_balancer(&mut self, body: Value) -> String {
        let (id, made) = (self.next("nlb-bp"), self.time());
        let usual = json!({
            "LoadBalancerId": id, "LoadBalancerType": "Network", "DNSName": format!("{id}.{REGION}.nlb.aliyuncs.example"),
            "VpcId": super::region::VPC, "RegionId": REGION, "LoadBalancerStatus": "Active", "AddressType": "Internet",
            "LoadBalancerBusinessStatus": "Normal", "AddressIpVersion": "Ipv4", "ResourceGroupId": "rg-default",
            "SecurityGroupIds": [], "CrossZoneEnabled": true, "CreateTime": stamp(made), "Tags": [], "ZoneMappings": [],
            "DeletionProtectionConfig": { "Enabled": false }, "ModificationProtectionConfig": { "Status": "NonProtection" },
        });
        self.network_balancers.put(&id, made, listing::with(usual, &body));
        id
    }

    /// Takes a Network Load Balancer away with its listeners. Its groups stay.
    pub fn take_network_away(&mut self, id: &str) {
        self.network_balancers.remove(id);
        self.network_listeners.remove_all(|it| it["LoadBalancerId"] == *id);
    }
}

/// A load balancer as an action shows it, in a part of its answer; tags are spelled in two ways.
fn shown(world: &World, part: &Value, balancer: &Value) -> Value {
    let id = text(balancer, "LoadBalancerId");
    let mut shown = fitting(part, balancer);
    if world.jobs.is_busy(id) && shown["LoadBalancerStatus"] == "Active" {
        shown["LoadBalancerStatus"] = json!("Configuring");
    }
    let zones = balancer["ZoneMappings"].as_array().into_iter().flatten();
    let zone = |mapping: &Value| {
        let addresses = fitting(&part["ZoneMappings"][0]["LoadBalancerAddresses"][0], mapping);
        json!({ "ZoneId": mapping["ZoneId"], "VSwitchId": mapping["VSwitchId"], "Status": "Active", "LoadBalancerAddresses": [addresses] })
    };
    shown["ZoneMappings"] = json!(zones.map(zone).collect::<Vec<_>>());
    shown["Tags"] = json!(spelled_tags(&part["Tags"][0], balancer));
    shown
}

fn attribute(world: &World, id: &str) -> Value {
    let own = world.network_balancers.get(id).unwrap_or(&Value::Null);
    shown(world, answer_part("/nlb/GetLoadBalancerAttribute", &[]), own)
}

fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (asked, ids, names) = (pairs.tags()?, pairs.list("LoadBalancerIds"), pairs.list("LoadBalancerNames"));
    let is_asked = |balancer: &Value| {
        has_tags(balancer, &asked)
            && (ids.is_empty() || ids.contains(&text(balancer, "LoadBalancerId")))
            && (names.is_empty() || names.contains(&text(balancer, "LoadBalancerName")))
    };
    let found = world.listed(|it| &it.network_balancers, is_asked);
    found.iter().for_each(|it| world.count_read(text(it, "LoadBalancerId")));
    let part = answer_part("/nlb/ListLoadBalancers", &["LoadBalancers", "*"]);
    let page =
        listing::by_token(pairs, found.iter().map(|it| shown(world, part, it)).collect(), "MaxResults", (20, 100))?;
    Ok(listing::plain("LoadBalancers", page))
}

fn change_tags(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (tags, keys) = (pairs.tags()?, pairs.list("TagKey"));
    let kind = pairs.needed("ResourceType")?;
    for id in pairs.list("ResourceId") {
        let table: Option<&mut Table> = match kind {
            "loadbalancer" => Some(&mut world.network_balancers),
            "servergroup" => Some(&mut world.network_groups),
            _ => None,
        };
        let found = table.and_then(|it| it.get_mut(id));
        let found = found.ok_or_else(|| refused(404, "ResourceNotFound.Resource", "The resource does not exist."))?;
        tag(found, tags.clone());
        untag(found, &keys);
    }
    Ok(Answer::ok(&json!({})))
}
