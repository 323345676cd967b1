//! Scale sets, and the machines of uniform ones.

use serde_json::{Value, json};

use crate::clouds::azure::change::Change;
use crate::clouds::azure::errors::{self, Refusal};
use crate::clouds::azure::id::parent_of;
use crate::clouds::azure::kind::Kind;
use crate::clouds::azure::references::pools_of_model;
use crate::clouds::azure::world::{World, elements, parts, parts_mut, text};

use super::balancers;

pub(super) fn prepare(world: &World, change: &Change<'_>, body: &mut Value) -> Result<(), Refusal> {
    if change.kind == Kind::ScaleSet {
        if body["properties"]["orchestrationMode"].is_null() {
            body["properties"]["orchestrationMode"] = json!("Uniform");
        }
        return balancers::check_pools(world, change.id, pools_of_model(&body["properties"]));
    }
    if change.before.is_none() {
        return Err(errors::not_allowed(format!("{} is made by its scale set alone.", change.id)));
    }
    let pools = configurations(body).flat_map(|(_, it)| parts(it, "loadBalancerBackendAddressPools"));
    balancers::check_pools(world, change.id, pools.map(|it| text(it, "id")))
}

/// Carries the pools that a machine names over to its interfaces.
pub(super) fn follow(world: &mut World, id: &str) {
    let Some(body) = world.get(id).cloned() else { return };
    for (interface, configuration) in configurations(&body) {
        let name = text(configuration, "name");
        let pools = &configuration["properties"]["loadBalancerBackendAddressPools"];
        let at = format!("{id}/networkInterfaces/{interface}");
        let mut touched: Vec<String> = elements(pools).map(|it| parent_of(text(it, "id")).to_owned()).collect();
        if let Some(there) = world.get_mut(&at) {
            for it in parts_mut(there, "ipConfigurations") {
                if text(it, "name").eq_ignore_ascii_case(name) {
                    let properties = &mut it["properties"];
                    touched.extend(
                        elements(&properties["loadBalancerBackendAddressPools"])
                            .map(|it| parent_of(text(it, "id")).to_owned()),
                    );
                    properties["loadBalancerBackendAddressPools"] =
                        if pools.is_null() { json!([]) } else { pools.clone() };
                }
            }
        }
        world.mark(&at);
        touched.iter().for_each(|it| world.mark(it));
    }
}

/// The configurations of a machine's interfaces, with the interface's name.
fn configurations(body: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = elements(&body["properties"]["networkProfileConfiguration"]["networkInterfaceConfigurations"]);
    all.flat_map(|it| parts(it, "ipConfigurations").map(move |one| (text(it, "name"), one)))
}
