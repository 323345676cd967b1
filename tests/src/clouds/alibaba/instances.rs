//! Machines of ECS, and their network interfaces.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, refused, unserved};
use super::listing::{self, TokenPage};
use super::pairs::{AcsPairs, text};
use super::world::World;

/// `DescribeInstances`: the parameters that are not looked at are refused.
pub(super) fn list(world: &World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    const KNOWN: [&str; 8] = [
        "AdditionalAttributes.1",
        "InstanceIds",
        "InstanceNetworkType",
        "MaxResults",
        "NextToken",
        "PrivateIpAddresses",
        "RegionId",
        "VpcId",
    ];
    if let Some((name, _)) = pairs.all().find(|(it, _)| !KNOWN.contains(it) && *it != "DryRun") {
        return Err(unserved(&format!("DescribeInstances with {name}")));
    }
    let (ids, addresses) = (pairs.json_list("InstanceIds", 100)?, pairs.json_list("PrivateIpAddresses", 100)?);
    if addresses.is_some() && pairs.text("InstanceNetworkType") != "vpc" {
        return Err(bad("InstanceNetworkType", "PrivateIpAddresses needs vpc"));
    }
    let vpc = pairs.get("VpcId");
    let is_asked = |machine: &Value| {
        let private = machine["VpcAttributes"]["PrivateIpAddress"]["IpAddress"][0].as_str().unwrap_or_default();
        // One that lists lack is there for those who know its id.
        (ids.is_some() || machine["_unlisted"].is_null())
            && ids.as_ref().is_none_or(|ids| ids.iter().any(|id| id == text(machine, "InstanceId")))
            && addresses.as_ref().is_none_or(|all| all.iter().any(|it| it == private))
            && vpc.is_none_or(|vpc| machine["VpcAttributes"]["VpcId"] == *vpc)
    };
    let mut found: Vec<Value> =
        world.instances.all().filter(|(_, it)| is_asked(it)).map(|(_, it)| it.clone()).collect();
    // A mark of the simulation, which no answer shows.
    found.iter_mut().filter_map(Value::as_object_mut).for_each(|it| drop(it.remove("_unlisted")));
    let page = listing::by_token(pairs, found, "MaxResults", (10, 100))?;
    Ok(paged("Instances", "Instance", page))
}

/// A page with a list in its wrapper, as ECS shows it.
pub(super) fn paged(wrapper: &str, field: &str, page: TokenPage) -> Answer {
    let TokenPage { items, next, size, total } = page;
    let answer = json!({ "NextToken": next, "PageNumber": 1, "PageSize": size, "TotalCount": total });
    Answer::ok(&listing::with(answer, &json!({ wrapper: { field: items } })))
}

/// Actions on network interfaces.
pub(super) fn interfaces(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "DescribeNetworkInterfaces" => {
            let ids = pairs.list("NetworkInterfaceId");
            if ids.len() > 100 {
                return Err(bad("NetworkInterfaceId", "there are more than 100"));
            }
            let is = |it: &Value, name: &str| pairs.get(name).is_none_or(|asked| it[name] == *asked);
            let is_named = |it: &Value| ids.is_empty() || ids.contains(&text(it, "NetworkInterfaceId"));
            let is_asked = |it: &Value| is_named(it) && is(it, "Type") && is(it, "VpcId");
            let found = world.interfaces.all().filter(|(_, it)| is_asked(it)).map(|(_, it)| it.clone()).collect();
            let page = listing::by_token(pairs, found, "MaxResults", (10, 500))?;
            Ok(paged("NetworkInterfaceSets", "NetworkInterfaceSet", page))
        }
        "ModifyNetworkInterfaceAttribute" => {
            let id = pairs.needed("NetworkInterfaceId")?;
            let checks = pairs.flag("SourceDestCheck");
            let found = world.interfaces.get_mut(id);
            let found = found.ok_or_else(|| refused(404, "InvalidEniId.NotFound", "The interface does not exist."))?;
            if let Some(checks) = checks {
                found["SourceDestCheck"] = json!(checks);
            }
            Ok(Answer::ok(&json!({})))
        }
        other => Err(unserved(other)),
    }
}
