//! Rules of the collections: defaults, references, and what may not be.

mod addresses;
mod backends;
mod checks;
mod disks;
mod fields;
mod forwarding;
mod groups;
mod machines;
mod network;
mod pools;
mod ranges;

use serde_json::{Value, json};

use crate::simulator::Recorded;

use super::called::{Called, parsed};
use super::collection::Collection;
use super::errors::{self, Refusal};
use super::place::{Place, path_of};
use super::world::{World, target, texts};

/// Completes a new or a changed resource: with defaults, and with references as the API writes them.
pub(super) fn prepare(
    world: &mut World,
    place: &Place,
    collection: Collection,
    body: &mut Value,
) -> Result<(), Refusal> {
    match collection {
        Collection::Networks => network::network(body),
        Collection::Subnetworks => network::subnetwork(world, place, body),
        Collection::Firewalls => network::firewall(world, place, body),
        Collection::Routes => network::route(world, place, body),
        Collection::HttpHealthChecks => checks::http(body),
        Collection::HealthChecks => checks::any(body),
        Collection::Addresses => addresses::prepare(world, place, body),
        Collection::ForwardingRules => forwarding::prepare(world, place, body),
        Collection::TargetPools => pools::prepare(world, place, body),
        Collection::BackendServices => backends::prepare(world, place, body),
        Collection::Instances => machines::instance(world, place, body),
        Collection::InstanceGroups => groups::prepare(world, place, body),
        Collection::Disks => disks::prepare(place, body),
    }
}

/// Whether a resource may be changed so.
pub(super) fn check_change(collection: Collection, earlier: &Value, body: &Value) -> Result<(), Refusal> {
    let fixed: &[&str] = match collection {
        Collection::ForwardingRules => &[
            "IPAddress",
            "IPProtocol",
            "portRange",
            "ports",
            "allPorts",
            "target",
            "backendService",
            "subnetwork",
            "network",
            "loadBalancingScheme",
            "networkTier",
        ],
        Collection::BackendServices => &["loadBalancingScheme", "network"],
        Collection::Firewalls => &["network", "direction"],
        _ => &[],
    };
    let changed = fixed.iter().find(|key| body.get(key).is_some_and(|it| path_text(it) != path_text(&earlier[key])));
    changed.map_or(Ok(()), |key| {
        Err(errors::invalid(&format!("resource.{key}"), &path_text(&body[key]), "Field cannot be changed."))
    })
}

fn path_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |it| it.rsplit('/').next().unwrap_or(it).to_owned())
}

/// Calls a verb of a resource.
pub(super) fn call(world: &mut World, called: &Called<'_>, verb: &str) -> Result<(), Refusal> {
    match (called.collection, verb) {
        (it, "setLabels") if it.has_labels() => set_labels(world, called),
        (Collection::ForwardingRules, "setTarget") => forwarding::set_target(world, called),
        (Collection::TargetPools, verb) => pools::call(world, called, verb),
        (Collection::InstanceGroups, verb) => groups::call(world, called, verb),
        (Collection::Instances, "attachDisk") => disks::attach(world, called),
        (Collection::Instances, "detachDisk") => disks::detach(world, called),
        (Collection::Instances, verb) => machines::call(world, called, verb),
        (Collection::Disks, "resize") => disks::resize(world, called),
        _ => Err(errors::not_found(&called.path())),
    }
}

/// The machines of a group: `POST …/listInstances`.
pub(super) fn list_members(world: &World, request: &Recorded, path: &str) -> Result<Value, Refusal> {
    groups::list(world, request, path)
}

fn set_labels(world: &mut World, called: &Called<'_>) -> Result<(), Refusal> {
    let asked = parsed(called.request)?;
    let Some(it) = world.get_mut(&called.path()) else { return Ok(()) };
    if asked["labelFingerprint"] != it["labelFingerprint"] {
        return Err(errors::stale("Labels fingerprint either invalid or resource labels have changed"));
    }
    it["labels"] = asked.get("labels").cloned().unwrap_or_else(|| json!({}));
    Ok(())
}

/// The path of a resource that does not work without this one.
pub(super) fn use_of(world: &World, path: &str) -> Option<String> {
    let used = Collection::of(path)?;
    let others = Collection::ALL.into_iter().filter(|it| *it != used);
    let mut all = others.flat_map(|user| world.all(user).map(move |(of, body)| (user, of, body)));
    all.find(|(user, _, body)| uses(*user, body, used, path)).map(|(_, of, _)| of.to_owned())
}

/// Whether a resource of one collection does not work without this one of another.
fn uses(user: Collection, body: &Value, used: Collection, path: &str) -> bool {
    let leads = |key: &str| target(body, key) == path;
    let parts = |list: &str, key: &str| body[list].as_array().into_iter().flatten().any(|it| target(it, key) == path);
    match used {
        Collection::Networks => match user {
            Collection::Instances => parts("networkInterfaces", "network"),
            // They follow from their machines and rules.
            Collection::BackendServices | Collection::Addresses | Collection::InstanceGroups => false,
            _ => leads("network"),
        },
        Collection::Subnetworks => match user {
            Collection::Instances => parts("networkInterfaces", "subnetwork"),
            Collection::InstanceGroups => false,
            _ => leads("subnetwork"),
        },
        Collection::HttpHealthChecks | Collection::HealthChecks => {
            texts(body, "healthChecks").any(|it| path_of(it) == path)
        }
        Collection::TargetPools => leads("target"),
        Collection::BackendServices => leads("backendService"),
        Collection::InstanceGroups => parts("backends", "group"),
        Collection::Disks => parts("disks", "source"),
        // A static address that is let go stays with its rule, as an ephemeral one.
        Collection::Firewalls
        | Collection::Routes
        | Collection::Addresses
        | Collection::ForwardingRules
        | Collection::Instances => false,
    }
}
