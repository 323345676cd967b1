//! Resources as Azure shows them: with what follows from others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::id::key;
use super::kind::Kind;
use super::ongoing::Stored;
use super::references::{References, Tie};
use super::world::{World, elements, parts, parts_mut, referred, text};

/// The fields of parts and resources that follow from others, and are never stored.
pub(super) const DERIVED: [(Kind, &str, &[&str]); 9] = [
    (
        Kind::LoadBalancer,
        "frontendIPConfigurations",
        &["loadBalancingRules", "outboundRules", "inboundNatRules", "inboundNatPools"],
    ),
    (
        Kind::LoadBalancer,
        "backendAddressPools",
        &["loadBalancingRules", "outboundRules", "inboundNatRules", "backendIPConfigurations", "outboundRule"],
    ),
    (Kind::LoadBalancer, "probes", &["loadBalancingRules"]),
    (Kind::Network, "subnets", &["ipConfigurations", "purpose"]),
    (Kind::PublicIp, "", &["ipConfiguration"]),
    (Kind::SecurityGroup, "", &["networkInterfaces", "subnets"]),
    (Kind::RouteTable, "", &["subnets"]),
    (Kind::PublicIpPrefix, "", &["publicIPAddresses"]),
    (Kind::AvailabilitySet, "", &["virtualMachines"]),
];

/// How much of a machine is shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Views {
    /// Whether with the view of the instance.
    pub(super) instance: bool,
}

/// A resource as an answer has it.
pub(super) fn shown(world: &World, references: &References, stored: &Stored, views: Views) -> Value {
    let mut body = stored.body.clone();
    let id = text(&stored.body, "id");
    match stored.kind {
        Kind::LoadBalancer => balancer(references, &mut body),
        Kind::PublicIp => {
            // An address that is being made is not known.
            if world.work_on(id).is_some()
                && text(&body["properties"], "provisioningState") == "Updating"
                && is_new(world, id)
            {
                remove(&mut body["properties"], "ipAddress");
            }
            if let Some(user) = references.first(Tie::Address, id) {
                body["properties"]["ipConfiguration"] = json!({ "id": user });
            }
        }
        Kind::PublicIpPrefix => put_list(&mut body, "publicIPAddresses", references.shown(Tie::OfPrefix, id)),
        Kind::SecurityGroup => {
            put_list(&mut body, "networkInterfaces", references.shown(Tie::InterfaceRules, id));
            put_list(&mut body, "subnets", references.shown(Tie::SubnetRules, id));
        }
        Kind::RouteTable => put_list(&mut body, "subnets", references.shown(Tie::Table, id)),
        Kind::AvailabilitySet => put_list(&mut body, "virtualMachines", references.shown(Tie::InSet, id)),
        Kind::Network => {
            for it in parts_mut(&mut body, "subnets") {
                let users = references.shown(Tie::InSubnet, text(it, "id"));
                put_list(it, "ipConfigurations", users);
            }
        }
        Kind::Interface => {
            if let Some(machine) = references.first(Tie::Interface, id) {
                body["properties"]["virtualMachine"] = json!({ "id": machine });
            }
        }
        Kind::Disk => {
            let machine = references.first(Tie::Disk, id);
            body["properties"]["diskState"] = json!(if machine.is_some() { "Attached" } else { "Unattached" });
            if let Some(machine) = machine {
                body["managedBy"] = json!(machine);
            }
        }
        Kind::Machine | Kind::ScaleSetMachine if !views.instance => remove(&mut body["properties"], "instanceView"),
        _ => {}
    }
    body
}

/// Whether the first operation on a resource is at work.
fn is_new(world: &World, id: &str) -> bool {
    let target = key(id);
    world.operations.values().filter(|it| it.target == target && !it.removes).count() == 1
}

/// Shows which rules have a load balancer's frontends, pools and probes.
fn balancer(references: &References, body: &mut Value) {
    let users = users_of_parts(body);
    for (part, _) in PARTS_OF_RULES {
        for it in parts_mut(body, part) {
            let id = text(it, "id").to_owned();
            for list in RULES.into_iter().filter(|list| part != "probes" || *list == "loadBalancingRules") {
                let ids = users.get(&(list, key(&id))).into_iter().flatten();
                put_list(it, list, ids.map(|id| json!({ "id": id })).collect());
            }
            if part == "backendAddressPools" {
                put_list(it, "backendIPConfigurations", references.shown(Tie::Member, &id));
            }
        }
    }
}

/// The lists of rules of a load balancer.
const RULES: [&str; 3] = ["loadBalancingRules", "outboundRules", "inboundNatRules"];
/// Its parts that rules name, and the fields in which they do.
const PARTS_OF_RULES: [(&str, &str); 3] = [
    ("frontendIPConfigurations", "frontendIPConfiguration"),
    ("backendAddressPools", "backendAddressPool"),
    ("probes", "probe"),
];

/// The ids of rules by their list and by the id, as it compares, of a part that they name.
fn users_of_parts(body: &Value) -> BTreeMap<(&'static str, String), Vec<String>> {
    let mut users = BTreeMap::<_, Vec<String>>::new();
    for list in RULES {
        for rule in parts(body, list) {
            let properties = &rule["properties"];
            let one = PARTS_OF_RULES.iter().map(|(_, field)| referred(properties, field));
            let several = PARTS_OF_RULES.iter().flat_map(|(_, field)| elements(&properties[format!("{field}s")]));
            let named: BTreeSet<String> = one.chain(several.map(|it| text(it, "id"))).map(key).collect();
            for it in named {
                users.entry((list, it)).or_default().push(text(rule, "id").to_owned());
            }
        }
    }
    users
}

/// Shows a list that is not empty.
fn put_list(body: &mut Value, field: &str, list: Value) {
    if list.as_array().is_some_and(|it| !it.is_empty()) {
        body["properties"][field] = list;
    }
}

fn remove(body: &mut Value, field: &str) {
    body.as_object_mut().map(|it| it.remove(field));
}

/// Takes out of a body what follows from others, however it was sent.
pub(super) fn without_derived(kind: Kind, body: &mut Value) {
    for (_, part, fields) in DERIVED.iter().filter(|(of, ..)| *of == kind) {
        let take = |properties: &mut Value| fields.iter().for_each(|it| remove(properties, it));
        if part.is_empty() {
            take(&mut body["properties"]);
            continue;
        }
        for it in parts_mut(body, part) {
            take(&mut it["properties"]);
        }
    }
    if kind == Kind::Interface {
        remove(&mut body["properties"], "virtualMachine");
    }
    if kind == Kind::Disk {
        remove(body, "managedBy");
        remove(&mut body["properties"], "diskState");
    }
}

impl World {
    /// All resources of a kind as answers have them, with views of instances.
    #[must_use]
    pub fn shown(&self, kind: Kind) -> Vec<Value> {
        let references = self.references();
        let all = self.everything().filter(|(_, it)| it.kind == kind);
        all.map(|(_, it)| shown(self, &references, it, Views { instance: true })).collect()
    }
}
