//! Groups of the machines that listeners of Network Load Balancers send to.

use serde_json::{Map, Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, busy, over_quota, refused, unserved};
use super::job_list::JobEnd;
use super::listing;
use super::pairs::{AcsPairs, has_tags, spelled_tags, text};
use super::published::{answer_part, fitting};
use super::region::VPC;
use super::world::World;

/// The most machines in one request.
const BATCH: usize = 200;
/// Parameters that are no fields of a group.
const NO_FIELDS: [&str; 3] = ["ClientToken", "RegionId", "ServerGroupId"];
/// A health check, unless a request says something else.
const CHECK: [(&str, &str); 7] = [
    ("HealthCheckEnabled", "true"),
    ("HealthCheckType", "TCP"),
    ("HealthCheckConnectPort", "0"),
    ("HealthyThreshold", "2"),
    ("UnhealthyThreshold", "2"),
    ("HealthCheckConnectTimeout", "5"),
    ("HealthCheckInterval", "10"),
];

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateServerGroup" => return create(world, pairs),
        "ListServerGroups" => return list(world, pairs),
        _ => {}
    }
    let id = pairs.needed("ServerGroupId")?;
    let unknown = || refused(404, "ResourceNotFound.serverGroup", "The specified resource serverGroup is not found.");
    let group = world.network_groups.get(id).cloned().ok_or_else(unknown)?;
    if pairs.action() == "ListServerGroupServers" {
        world.count_read(id);
        let part = answer_part("/nlb/ListServerGroupServers", &["Servers", "*"]);
        let servers = group["Servers"].as_array().into_iter().flatten().map(|it| fitting(part, it)).collect();
        return Ok(listing::plain("Servers", listing::by_token(pairs, servers, "MaxResults", (20, 100))?));
    }
    world.is_free("serverGroup", id)?;
    let end = change(world, id, &group, pairs)?;
    let status = if pairs.action() == "DeleteServerGroup" { "Deleting" } else { "Configuring" };
    if let Some(it) = world.network_groups.get_mut(id) {
        it["ServerGroupStatus"] = json!(status);
    }
    let (own, taking) = (id.to_owned(), world.behaviour.job);
    let job = world.begin_job(pairs.action(), &[id], taking, move |world, succeeded| {
        if let Some(it) = world.network_groups.get_mut(&own) {
            it["ServerGroupStatus"] = json!("Available");
        }
        end(world, succeeded);
    });
    let answer = json!({ "JobId": job, "ServerGroupId": id });
    Ok(Answer::ok(&fitting(answer_part(&format!("/nlb/{}", pairs.action()), &[]), &answer)))
}

/// Begins a change of a group: what becomes of it at its end.
fn change(world: &mut World, id: &str, group: &Value, pairs: AcsPairs<'_>) -> Result<JobEnd<World>, Refused> {
    let own = id.to_owned();
    let before = group["Servers"].clone();
    let mut servers = before.as_array().cloned().unwrap_or_default();
    let is = |one: &Value, other: &Value| one["ServerId"] == other["ServerId"] && one["Port"] == other["Port"];
    let written = servers_of(world, pairs)?;
    let meanwhile = match pairs.action() {
        "DeleteServerGroup" => {
            if world.network_listeners.of("ServerGroupId", id).next().is_some() {
                return Err(busy("ResourceInUse.serverGroup", id));
            }
            return Ok(Box::new(move |world, succeeded| {
                if succeeded {
                    world.network_groups.remove(&own);
                }
            }));
        }
        "UpdateServerGroupAttribute" => {
            let body = listing::with(group.clone(), &Value::Object(fields(pairs, &group["HealthCheck"])));
            return Ok(Box::new(move |world, succeeded| {
                if let Some(it) = world.network_groups.get_mut(&own).filter(|_| succeeded) {
                    *it = listing::with(body, &json!({ "ServerGroupStatus": "Available" }));
                }
            }));
        }
        "AddServersToServerGroup" => {
            if written.iter().any(|it| servers.iter().any(|own| is(own, it))) {
                return Err(refused(400, "ResourceAlreadyExist.BackendServer", "One is in the group already."));
            }
            if servers.len() + written.len() > world.behaviour.most_servers {
                return Err(over_quota("QuotaExceeded.ServersNum", "machines of a group"));
            }
            let mut meanwhile = servers.clone();
            meanwhile.extend(written.iter().map(|it| listing::with(it.clone(), &json!({ "Status": "Adding" }))));
            servers.extend(written);
            meanwhile
        }
        "RemoveServersFromServerGroup" => {
            let is_leaving = |own: &Value| written.iter().any(|it| is(own, it));
            let leaving = json!({ "Status": "Removing" });
            let meanwhile =
                servers.iter().map(|it| if is_leaving(it) { listing::with(it.clone(), &leaving) } else { it.clone() });
            let meanwhile: Vec<Value> = meanwhile.collect();
            servers.retain(|it| !is_leaving(it));
            meanwhile
        }
        "UpdateServerGroupServersAttribute" => {
            let meanwhile = servers.clone();
            for it in written {
                let unknown = || refused(404, "ResourceNotFound.BackendServer", "One is not in the group.");
                let own = servers.iter_mut().find(|own| is(own, &it)).ok_or_else(unknown)?;
                *own = it;
            }
            meanwhile
        }
        other => return Err(unserved(other)),
    };
    if let Some(it) = world.network_groups.get_mut(id) {
        it["Servers"] = json!(meanwhile);
    }
    Ok(Box::new(move |world, succeeded| {
        if let Some(it) = world.network_groups.get_mut(&own) {
            it["Servers"] = if succeeded { json!(servers) } else { before };
        }
    }))
}

/// The machines that a request names.
fn servers_of(world: &World, pairs: AcsPairs<'_>) -> Result<Vec<Value>, Refused> {
    let written = pairs.members("Servers");
    if written.len() > BATCH || written.is_empty() && pairs.action().contains("Servers") {
        return Err(bad("Servers", &format!("there are {}", written.len())));
    }
    let server = |one: &Value| {
        // One that is gone can be taken out.
        let gone = (pairs.action() == "RemoveServersFromServerGroup").then_some(&Value::Null);
        let machine = world.instances.get(text(one, "ServerId")).or(gone);
        let machine = machine.filter(|_| one["ServerType"] == "Ecs");
        let unknown = || refused(404, "ResourceNotFound.BackendServer", "There is no such server.");
        let machine = machine.ok_or_else(unknown)?;
        let has_port = text(one, "Port").parse::<u16>().is_ok_and(|it| it > 0);
        let weight = one["Weight"].as_str().unwrap_or("100");
        if !has_port || !weight.parse::<u8>().is_ok_and(|it| it <= 100) || text(one, "Description").len() > 256 {
            return Err(bad("Servers", &format!("{one} is no server")));
        }
        let usual = json!({ "Weight": weight, "Status": "Available", "ZoneId": machine["ZoneId"], "ServerIp": "" });
        Ok(listing::with(usual, one))
    };
    written.iter().map(server).collect()
}

/// The fields that a request writes.
fn fields(pairs: AcsPairs<'_>, check: &Value) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut check = check.clone();
    for (name, value) in pairs.all().filter(|(it, _)| !NO_FIELDS.contains(it)) {
        match name.split('.').collect::<Vec<_>>()[..] {
            [name] => _ = fields.insert(name.to_owned(), json!(value)),
            ["HealthCheckConfig", name] => check[name] = json!(value),
            ["HealthCheckConfig", name, _] => check[name] = json!(pairs.list(&format!("HealthCheckConfig.{name}"))),
            _ => {}
        }
    }
    fields.insert("HealthCheck".to_owned(), check);
    fields
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let token = pairs.text("ClientToken");
    let earlier = world.made_with("CreateServerGroup", token).map(str::to_owned);
    if let Some(id) = earlier.filter(|it| world.network_groups.get(it).is_some()) {
        return Ok(Answer::ok(&json!({ "ServerGroupId": id })));
    }
    let name = pairs.needed("ServerGroupName")?;
    if !(2..=128).contains(&name.len()) {
        return Err(bad("ServerGroupName", "it has 2 to 128 characters"));
    }
    if pairs.needed("VpcId")? != VPC {
        return Err(refused(404, "ResourceNotFound.vpc", "The specified resource vpc is not found."));
    }
    pairs.word("Protocol", &["TCP", "UDP", "TCPSSL"])?;
    let check = CHECK.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let own = listing::with(Value::Object(fields(pairs, &Value::Object(check))), &json!({ "Tags": pairs.tags()? }));
    let id = world.put_network_group(listing::with(own, &json!({ "ServerGroupStatus": "Creating" })));
    world.remember("CreateServerGroup", token, &id);
    let (own, taking) = (id.clone(), world.behaviour.job);
    let job = world.begin_job("CreateServerGroup", &[&id], taking, move |world, succeeded| {
        if !succeeded {
            world.network_groups.remove(&own);
        } else if let Some(it) = world.network_groups.get_mut(&own) {
            it["ServerGroupStatus"] = json!("Available");
        }
    });
    Ok(Answer::ok(&json!({ "ServerGroupId": id, "JobId": job })))
}

impl World {
    /// Adds a group of machines, in texts as requests write them. Answers its id.
    pub fn put_network_group(&mut self, body: Value) -> String {
        let (id, made) = (self.next("sgp-bp"), self.time());
        let usual = json!({
            "ServerGroupId": id, "VpcId": VPC, "ServerGroupType": "Instance", "AddressIPVersion": "ipv4", "Scheduler": "Wrr",
            "ConnectionDrainEnabled": "false", "ConnectionDrainTimeout": "10", "PreserveClientIpEnabled": "true",
            "AnyPortEnabled": "false", "ServerGroupStatus": "Available", "Tags": [], "Servers": [],
        });
        self.network_groups.put(&id, made, listing::with(usual, &body));
        id
    }
}

fn list(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let (asked, ids) = (pairs.tags()?, pairs.list("ServerGroupIds"));
    let is_asked = |it: &Value| has_tags(it, &asked) && (ids.is_empty() || ids.contains(&text(it, "ServerGroupId")));
    let found = world.listed(|it| &it.network_groups, is_asked);
    found.iter().for_each(|it| world.count_read(text(it, "ServerGroupId")));
    let part = answer_part("/nlb/ListServerGroups", &["ServerGroups", "*"]);
    let shown = |group: &Value| {
        let mut shown = fitting(part, group);
        let own = world.network_listeners.of("ServerGroupId", text(group, "ServerGroupId"));
        shown["RelatedLoadBalancerIds"] = own.map(|(_, it)| it["LoadBalancerId"].clone()).collect();
        shown["HealthCheck"] = fitting(&part["HealthCheck"], &group["HealthCheck"]);
        shown["Tags"] = json!(spelled_tags(&part["Tags"][0], group));
        shown["ServerCount"] = json!(group["Servers"].as_array().map_or(0, Vec::len));
        shown
    };
    let shown = found.iter().map(shown).collect();
    Ok(listing::plain("ServerGroups", listing::by_token(pairs, shown, "MaxResults", (20, 100))?))
}
