//! Rules of the collections: defaults, references, and what may not be.

mod addresses;
mod backends;
mod checks;
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
        Collection::Disks => machines::disk(place, body),
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
        (Collection::Instances, verb) => machines::call(world, called, verb),
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
    let leads = |body: &Value, key: &str| target(body, key) == path;
    let lists = |body: &Value, key: &str| texts(body, key).any(|it| path_of(it) == path);
    let nics = |body: &Value, key: &str| {
        body["networkInterfaces"].as_array().into_iter().flatten().any(|it| target(it, key) == path)
    };
    let (collection, users): (Collection, Box<dyn Fn(Collection, &Value) -> bool>) = match Collection::of(path)? {
        it @ Collection::Networks => (
            it,
            Box::new(move |of, body| match of {
                Collection::Instances => nics(body, "network"),
                Collection::BackendServices | Collection::Addresses => false,
                _ => leads(body, "network"),
            }),
        ),
        it @ Collection::Subnetworks => (
            it,
            Box::new(move |of, body| match of {
                Collection::Instances => nics(body, "subnetwork"),
                _ => leads(body, "subnetwork"),
            }),
        ),
        it @ (Collection::HttpHealthChecks | Collection::HealthChecks) => {
            (it, Box::new(move |_, body| lists(body, "healthChecks")))
        }
        it @ Collection::TargetPools => (it, Box::new(move |_, body| leads(body, "target"))),
        it @ Collection::BackendServices => (it, Box::new(move |_, body| leads(body, "backendService"))),
        it @ Collection::InstanceGroups => (
            it,
            Box::new(move |_, body| {
                body["backends"].as_array().into_iter().flatten().any(|it| target(it, "group") == path)
            }),
        ),
        it @ Collection::Disks => (
            it,
            Box::new(move |_, body| {
                body["disks"].as_array().into_iter().flatten().any(|it| target(it, "source") == path)
            }),
        ),
        // A static address that is let go stays with its rule, as an ephemeral one.
        Collection::Firewalls
        | Collection::Routes
        | Collection::Addresses
        | Collection::ForwardingRules
        | Collection::Instances => return None,
    };
    let others = Collection::ALL.into_iter().filter(|it| *it != collection);
    others
        .flat_map(|it| world.all(it).map(move |(path, body)| (it, path, body)))
        .find_map(|(it, path, body)| users(it, body).then(|| path.to_owned()))
}
