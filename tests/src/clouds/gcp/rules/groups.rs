//! Unmanaged instance groups: a machine may be in many, and in one only that balances load.

use serde_json::{Value, json};

use super::fields::{refer, resolved};
use crate::clouds::gcp::called::{Called, parsed};
use crate::clouds::gcp::collection::Collection;
use crate::clouds::gcp::errors::{self, Refusal};
use crate::clouds::gcp::place::{Place, link, path_of, referred};
use crate::clouds::gcp::world::{World, target, text, texts};
use crate::simulator::Recorded;

/// How many machines a group may have.
const MOST: usize = 1_000;

pub(super) fn prepare(world: &World, place: &Place, body: &mut Value) -> Result<(), Refusal> {
    refer(world, place, body, "network", &[Collection::Networks])?;
    body["_members"] = json!([]);
    Ok(())
}

pub(super) fn call(world: &mut World, called: &Called<'_>, verb: &str) -> Result<(), Refusal> {
    let asked = parsed(called.request)?;
    let path = called.path();
    let named: Vec<_> = asked["instances"].as_array().into_iter().flatten().map(|it| text(it, "instance")).collect();
    if named.is_empty() {
        return Err(errors::required("instances"));
    }
    let mut members = members(world, &path);
    for instance in named {
        match verb {
            "addInstances" => {
                let instance =
                    resolved(world, called.place, instance, "instances[].instance", &[Collection::Instances])?;
                if !instance.starts_with(&format!("{}/", called.place)) {
                    return Err(errors::invalid("instances[].instance", &instance, "The instance is in another zone."));
                }
                if members.contains(&instance) {
                    return Err(errors::member("memberAlreadyExists", &instance, &path));
                }
                members.push(instance);
            }
            "removeInstances" => {
                let instance = referred(instance, &called.place.project).unwrap_or_default();
                let Some(at) = members.iter().position(|it| *it == instance) else {
                    return Err(errors::member("memberNotFound", &instance, &path));
                };
                members.remove(at);
            }
            _ => return Err(errors::not_found(&path)),
        }
    }
    if members.len() > MOST {
        return Err(errors::invalid("instances", &members.len().to_string(), &format!("A group has at most {MOST}.")));
    }
    if balances(world, &path) {
        check_members(world, &path, &members, &[])?;
    }
    let network = members.first().and_then(|it| world.get(it)).map(|it| it["networkInterfaces"][0].clone());
    if let Some(it) = world.get_mut(&path) {
        it["_members"] = members.iter().map(|it| link(it)).collect();
        // The first machine decides, and the group keeps it.
        if let Some(nic) = network.filter(|_| it["network"].is_null()) {
            (it["network"], it["subnetwork"]) = (nic["network"].clone(), nic["subnetwork"].clone());
        }
    }
    Ok(())
}

/// `POST …/listInstances`.
pub(super) fn list(world: &World, request: &Recorded, path: &str) -> Result<Value, Refusal> {
    if world.get(path).is_none() {
        return Err(errors::not_found(path));
    }
    let asked = if request.body.is_empty() { json!({}) } else { parsed(request)? };
    let only_running = text(&asked, "instanceState") == "RUNNING";
    let state = |it: &str| world.get(it).map_or("TERMINATED", |it| text(it, "status")).to_owned();
    let members = members(world, path).into_iter().map(|it| (state(&it), it));
    let shown = members.filter(|(state, _)| !only_running || state == "RUNNING");
    let items: Vec<_> = shown.map(|(state, it)| json!({ "instance": link(&it), "status": state })).collect();
    let mut answer = json!({
        "kind": "compute#instanceGroupsListInstances", "id": format!("{path}/listInstances"),
        "selfLink": link(&format!("{path}/listInstances")),
    });
    if !items.is_empty() {
        answer["items"] = json!(items);
    }
    Ok(answer)
}

/// Refuses a group of which a machine is in another one that balances load, or will be together with it.
pub(super) fn check_alone(world: &World, group: &str, beside: &[String]) -> Result<(), Refusal> {
    check_members(world, group, &members(world, group), beside)
}

fn check_members(world: &World, group: &str, of: &[String], beside: &[String]) -> Result<(), Refusal> {
    let others = world.all(Collection::InstanceGroups).map(|(path, _)| path);
    let others = others.filter(|it| *it != group && (balances(world, it) || beside.iter().any(|one| one == it)));
    for other in others {
        let theirs = members(world, other);
        if let Some(instance) = of.iter().find(|it| theirs.contains(it)) {
            return Err(errors::second_group(instance, other));
        }
    }
    Ok(())
}

/// Whether a backend service has this group.
fn balances(world: &World, group: &str) -> bool {
    let has = |it: &Value| it["backends"].as_array().into_iter().flatten().any(|it| target(it, "group") == group);
    world.all(Collection::BackendServices).any(|(_, it)| has(it))
}

fn members(world: &World, group: &str) -> Vec<String> {
    let group = world.get(group);
    group.into_iter().flat_map(|it| texts(it, "_members")).map(|it| path_of(it).to_owned()).collect()
}
