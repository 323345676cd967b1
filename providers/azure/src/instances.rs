//! The machine of a node: machines of scale sets and others, each with its interfaces, which are lists of their own.

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Result};
use serde_json::Value;

use crate::api::AzureApi;
use crate::api::fields::text;
use crate::api::lists;
use crate::id::{ResourceId, same};
use crate::instance::{self, AzureInterfaces, node_name, public_addresses};
use crate::machine::MachineId;
use crate::machines::{self, INSTANCE_VIEW, MachinesPlace};
use crate::provider::Azure;
use crate::settings::AccountSettings;

/// The label of nodes whose machines are nobody's here, if it is "false".
pub(crate) const MANAGED: &str = "kubernetes.azure.com/managed";
/// The label with the resource group of a node's machine, if it is not the cluster's.
pub(crate) const GROUP: &str = "kubernetes.azure.com/resource-group";

impl Instances for Azure {
    fn get(node: &Node) -> Result<Option<Instance>> {
        if label(node, MANAGED) == Some("false") {
            return Ok(Some(instance::unmanaged(node)));
        }
        let settings = AccountSettings::read()?;
        match &node.provider_id {
            Some(id) => by_id(&MachineId::parse(id)?, &settings),
            None => by_name(node, &settings),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let settings = AccountSettings::read()?;
        machines::page(&settings, &MachinesPlace::parse(cursor)?, limit)
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        MachineId::parse(provider_id).map(|it| it.canonical())
    }
}

fn label<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.labels.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
}

/// The machine with this id, and what hangs on it.
fn by_id(id: &MachineId, settings: &AccountSettings) -> Result<Option<Instance>> {
    let machine: Option<Value> = AzureApi::Compute.get(&id.id).query(INSTANCE_VIEW.0, INSTANCE_VIEW.1).find()?;
    let Some(machine) = machine.filter(|it| instance::exists(it, id)) else { return Ok(None) };
    let set: Option<Value> = match id.set() {
        Some(set) => AzureApi::Compute.get(&set).find()?,
        None => flexible_set(&machine)?,
    };
    shown(&machine, id, set.as_ref(), settings).map(Some)
}

/// The scale set of a machine that has an id of its own.
fn flexible_set(machine: &Value) -> Result<Option<Value>> {
    let set = ResourceId::parse(text(machine, "/properties/virtualMachineScaleSet/id"));
    set.map_or(Ok(None), |it| AzureApi::Compute.get(&it).find())
}

/// A machine with its primary interface and that interface's public addresses, each read by itself.
fn shown(machine: &Value, id: &MachineId, set: Option<&Value>, settings: &AccountSettings) -> Result<Instance> {
    let mut interfaces = AzureInterfaces::default();
    let all =
        machine["properties"]["networkProfile"]["networkInterfaces"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(it) = instance::primary(all).and_then(|it| ResourceId::parse(text(it, "/id"))) {
        interfaces.add(AzureApi::Network.get(&it).find::<Value>()?);
    }
    let public: Vec<ResourceId> =
        interfaces.primary(machine).into_iter().flat_map(public_addresses).filter_map(ResourceId::parse).collect();
    for it in public {
        let address: Option<Value> = AzureApi::Network.get(&settings.spelled(it)).find()?;
        interfaces.add_addresses(address.as_slice());
    }
    Ok(instance::instance(machine, id, set, &interfaces))
}

/// The machine whose kubelet registers as this node: by its computer's name, in any case.
fn by_name(node: &Node, settings: &AccountSettings) -> Result<Option<Instance>> {
    let group = label(node, GROUP).filter(|it| crate::id::is_group(it)).unwrap_or(&settings.group);
    let own = settings;
    let settings = AccountSettings { group: group.to_owned(), ..settings.clone() };
    let mut found: Vec<MachineId> = Vec::new();
    let mut take = |machines: &[Value], id: &dyn Fn(&Value) -> Option<MachineId>| {
        let named =
            machines.iter().filter(|it| same(&node_name(it), &node.name) || same(text(it, "/name"), &node.name));
        found.extend(named.filter_map(id).collect::<Vec<_>>());
    };
    let machines = lists::all(AzureApi::Compute, &settings.compute(&["virtualMachines"]), &[INSTANCE_VIEW])?;
    take(&machines, &|it| MachineId::of(text(it, "/id")));
    for set in machines::uniform_sets(&settings)? {
        let machines = lists::all(AzureApi::Compute, &set.id.child(&["virtualMachines"]), &[INSTANCE_VIEW])?;
        let named: Vec<Value> = machines.into_iter().filter(|it| same(&node_name(it), &node.name)).collect();
        take(&named, &|it| Some(MachineId::in_set(&set.id, text(it, "/instanceId"))));
    }
    match &found[..] {
        [] => Ok(None),
        [one] => by_id(one, own),
        [one, another, ..] => Err(Error::invalid(format_args!(
            "machines {} and {} are both called {}, and either could be this node: rename one of them",
            one.id, another.id, node.name
        ))),
    }
}
