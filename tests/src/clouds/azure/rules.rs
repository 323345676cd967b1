//! Rules of each kind: what a resource must be, what it gets, and what stands against its end.

mod addresses;
mod balancers;
mod interfaces;
mod links;
mod machines;
mod networks;
mod scale_sets;
mod security;

use std::collections::BTreeSet;

use serde_json::Value;

use super::change::Change;
use super::errors::{self, Refusal};
use super::kind::Kind;
use super::references::{References, Tie};
use super::world::{World, parts, text};

/// Judges what a resource is to be, and gives it what Azure gives.
pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    check_names(change, body)?;
    match change.kind {
        Kind::LoadBalancer => balancers::prepare(world, change, body),
        Kind::PublicIp => addresses::prepare(world, change, body),
        Kind::PublicIpPrefix => addresses::prepare_prefix(world, change, body),
        Kind::Interface | Kind::ScaleSetInterface => interfaces::prepare(world, change, body),
        Kind::SecurityGroup => security::prepare(world, change, body),
        Kind::RouteTable => networks::prepare_table(world, change, body),
        Kind::Network => networks::prepare(world, change, body),
        Kind::PrivateLinkService => links::prepare(world, change, body),
        Kind::ScaleSet | Kind::ScaleSetMachine => scale_sets::prepare(world, change, body),
        Kind::Machine => machines::prepare(world, change, body),
        Kind::ApplicationSecurityGroup | Kind::AvailabilitySet | Kind::Disk => Ok(()),
    }
}

/// Does what else a write does, once its resource is stored.
pub(super) fn follow(world: &mut World, id: &str, kind: Kind) {
    match kind {
        Kind::LoadBalancer => world.forget_pools(id),
        Kind::ScaleSetMachine => scale_sets::follow(world, id),
        _ => {}
    }
}

/// Whether a resource may go.
pub(super) fn check_deletion(world: &World, references: &References, id: &str, kind: Kind) -> Result<(), Refusal> {
    let Some(body) = world.get(id) else { return Ok(()) };
    let used = |tie: Tie, code: &'static str| match references.first(tie, id) {
        Some(by) => Err(errors::in_use(code, id, by)),
        None => Ok(()),
    };
    match kind {
        Kind::LoadBalancer => balancers::check_deletion(references, body),
        Kind::PublicIp => match references.first(Tie::Address, id) {
            Some(by) => Err(errors::address_in_use(id, by)),
            None => Ok(()),
        },
        Kind::PublicIpPrefix => used(Tie::OfPrefix, "PublicIPPrefixInUseCannotBeDeleted"),
        Kind::Interface => used(Tie::Interface, "NicInUse"),
        Kind::SecurityGroup => {
            used(Tie::InterfaceRules, "InUseNetworkSecurityGroupCannotBeDeleted")?;
            used(Tie::SubnetRules, "InUseNetworkSecurityGroupCannotBeDeleted")
        }
        Kind::RouteTable => used(Tie::Table, "InUseRouteTableCannotBeDeleted"),
        Kind::Network => parts(body, "subnets").try_for_each(|it| networks::check_subnet(references, it)),
        Kind::PrivateLinkService => links::check_deletion(body),
        Kind::AvailabilitySet => match references.first(Tie::InSet, id) {
            Some(by) => {
                Err(errors::not_allowed(format!("Availability Set '{id}' cannot be deleted: it contains {by}.")))
            }
            None => Ok(()),
        },
        Kind::Disk => match references.first(Tie::Disk, id) {
            Some(by) => Err(errors::not_allowed(format!("Disk {id} is attached to VM {by}."))),
            None => Ok(()),
        },
        Kind::ApplicationSecurityGroup
        | Kind::ScaleSet
        | Kind::ScaleSetMachine
        | Kind::ScaleSetInterface
        | Kind::Machine => Ok(()),
    }
}

/// The names of parts are there, and each once.
fn check_names(change: &Change<'_>, body: &Value) -> Result<(), Refusal> {
    if body["location"].as_str().is_none_or(str::is_empty) {
        return Err(errors::invalid("LocationRequired", "The location property is required for this definition."));
    }
    for part in change.kind.parts() {
        let mut names = BTreeSet::new();
        for it in parts(body, part) {
            let name = text(it, "name");
            if name.is_empty() {
                return Err(errors::required(&format!("properties.{part}.name")));
            }
            if name.len() > 80 {
                let why = format!("Resource name {name} is invalid. The name can be up to 80 characters long.");
                return Err(errors::invalid("InvalidResourceName", why));
            }
            if !names.insert(name.to_lowercase()) {
                let why = format!("Resource {} has two child resources with the same name ({name}).", change.id);
                return Err(errors::invalid("DuplicateResourceName", why));
            }
        }
    }
    Ok(())
}
