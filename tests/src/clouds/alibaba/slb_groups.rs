//! Groups of the machines that listeners of Classic Load Balancers send to.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors::{Refused, bad, over_quota, refused, unserved};
use super::pairs::{AcsPairs, text};
use super::published::{answer_part, fitting};
use super::world::World;

/// The most machines in the request that makes a group, and in any other.
const FIRST: usize = 20;
const BATCH: usize = 40;
/// The code of a change of groups while an earlier one is carried out.
const CONFIGURING: &str = "BackendServer.configuring";

/// Answers a request.
pub(super) fn answer(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    match pairs.action() {
        "CreateVServerGroup" => return create(world, pairs),
        "DescribeVServerGroups" => {
            let balancer = pairs.needed("LoadBalancerId")?;
            world.balancer(balancer)?;
            world.count_read(balancer);
            let shown = |(_, it): (&str, &Value)| {
                let count = it["Servers"].as_array().map_or(0, Vec::len);
                json!({ "VServerGroupId": it["VServerGroupId"], "VServerGroupName": it["VServerGroupName"], "ServerCount": count })
            };
            let groups: Vec<Value> = world.groups.of("LoadBalancerId", balancer).map(shown).collect();
            return Ok(Answer::ok(&json!({ "VServerGroups": { "VServerGroup": groups } })));
        }
        _ => {}
    }
    let id = pairs.needed("VServerGroupId")?;
    let unknown = || refused(404, "InvalidVServerGroupId.NotFound", "The specified VServerGroupId does not exist.");
    let group = world.groups.get(id).cloned().ok_or_else(unknown)?;
    let balancer = text(&group, "LoadBalancerId").to_owned();
    if pairs.action() == "DescribeVServerGroupAttribute" {
        world.count_read(&balancer);
        return Ok(shown(pairs.action(), &group));
    }
    world.is_configurable(&balancer, CONFIGURING)?;
    if pairs.action() == "DeleteVServerGroup" {
        if world.listeners.of("VServerGroupId", id).next().is_some() {
            return Err(refused(400, "RspoolVipExist", "The VServer group is in use by a listener."));
        }
        world.groups.remove(id);
        world.configure(&balancer);
        return Ok(Answer::ok(&json!({})));
    }
    let servers = change(world, &group, pairs)?;
    let group = world.groups.get_mut(id).expect("it was found");
    group["Servers"] = json!(servers);
    let answer = shown(pairs.action(), group);
    world.configure(&balancer);
    Ok(answer)
}

/// The machines of a group after a change.
fn change(world: &World, group: &Value, pairs: AcsPairs<'_>) -> Result<Vec<Value>, Refused> {
    let mut servers = group["Servers"].as_array().cloned().unwrap_or_default();
    let written = servers_of(world, pairs, BATCH)?;
    let is = |one: &Value, other: &Value| one["ServerId"] == other["ServerId"] && one["Port"] == other["Port"];
    match pairs.action() {
        "AddVServerGroupBackendServers" => {
            if written.iter().any(|it| servers.iter().any(|own| is(own, it))) {
                return Err(refused(400, "ObtainIpFail", "A backend server is in the group already."));
            }
            servers.extend(written);
            if servers.len() > world.behaviour.most_servers {
                return Err(over_quota("InstanceBackendServerNumberOverLimit", "machines of a load balancer"));
            }
        }
        "RemoveVServerGroupBackendServers" => servers.retain(|own| !written.iter().any(|it| is(own, it))),
        "SetVServerGroupAttribute" => {
            for it in written {
                let own = servers.iter_mut().find(|own| is(own, &it));
                *own.ok_or_else(|| bad("BackendServers", "one is not in the group"))? = it;
            }
        }
        other => return Err(unserved(other)),
    }
    Ok(servers)
}

fn create(world: &mut World, pairs: AcsPairs<'_>) -> Result<Answer, Refused> {
    let balancer = pairs.needed("LoadBalancerId")?;
    world.balancer(balancer)?;
    world.is_configurable(balancer, CONFIGURING)?;
    let name = pairs.needed("VServerGroupName")?;
    if name.len() > 80 {
        return Err(bad("VServerGroupName", "it is longer than 80 characters"));
    }
    let servers = if pairs.get("BackendServers").is_some() { servers_of(world, pairs, FIRST)? } else { Vec::new() };
    let id = world.put_group(balancer, name, servers);
    world.configure(balancer);
    Ok(shown(pairs.action(), world.groups.get(&id).expect("it was made")))
}

impl World {
    /// Adds a group of machines to a Classic Load Balancer. Answers its id.
    pub fn put_group(&mut self, balancer: &str, name: &str, servers: Vec<Value>) -> String {
        let (id, made) = (self.next("rsp-bp"), self.time());
        let body = json!({
            "VServerGroupId": id, "VServerGroupName": name, "LoadBalancerId": balancer, "Servers": servers,
        });
        self.groups.put(&id, made, body);
        id
    }
}

/// The machines that a request names: `ServerId` and `serverId` are the same.
fn servers_of(world: &World, pairs: AcsPairs<'_>, most: usize) -> Result<Vec<Value>, Refused> {
    let written: Vec<Value> = serde_json::from_str(pairs.needed("BackendServers")?)
        .map_err(|error| bad("BackendServers", &format!("no JSON array: {error}")))?;
    if written.is_empty() || written.len() > most {
        return Err(bad("BackendServers", &format!("{} are not between 1 and {most}", written.len())));
    }
    let server = |one: &Value| {
        let field = |name: &str| {
            let small = format!("{}{}", name[..1].to_lowercase(), &name[1..]);
            if one[name].is_null() { one[&small].clone() } else { one[name].clone() }
        };
        let number = |name: &str| {
            let value = field(name);
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        let id = field("ServerId");
        // One that is gone can be taken out.
        let leaves = pairs.action().starts_with("Remove");
        if !leaves && world.instances.get(id.as_str().unwrap_or_default()).is_none() {
            return Err(refused(400, "ObtainIpFail", &format!("The backend server {id} does not exist.")));
        }
        let port = number("Port").filter(|it| (1..=65_535).contains(it));
        let port = port.ok_or_else(|| bad("BackendServers", &format!("{one} has no port")))?;
        let weight = number("Weight").unwrap_or(100);
        if weight > 100 || field("Description").as_str().is_some_and(|it| it.len() > 80) {
            return Err(bad("BackendServers", &format!("{one} is no server")));
        }
        Ok(json!({
            "ServerId": id, "Port": port, "Weight": weight, "Type": field("Type").as_str().unwrap_or("ecs"),
            "Description": field("Description").as_str().unwrap_or_default(),
        }))
    };
    written.iter().map(server).collect()
}

/// A group, as an action answers it.
fn shown(action: &str, group: &Value) -> Answer {
    let path = format!("/slb/{action}");
    let server = answer_part(&path, &["BackendServers", "BackendServer", "*"]);
    let servers = group["Servers"].as_array().into_iter().flatten().map(|it| fitting(server, it));
    let mut body = fitting(answer_part(&path, &[]), group);
    body["BackendServers"] = json!({ "BackendServer": servers.collect::<Vec<_>>() });
    Answer::ok(&body)
}
