//! A machine as the host knows it, from what Azure shows of it.

use aerostat_sdk::{Address, Instance, Node, SortedMap, State};
use serde_json::Value;

use crate::api::fields::{items, tag, text, word};
use crate::id::last_of;
use crate::machine::MachineId;

/// In a node's `extra`: the configuration of its primary interface, by which it is a member of pools.
pub(crate) const INTERFACE: &str = "interface";
/// In a node's `extra`: the name of its scale set or availability set, in lower case.
pub(crate) const SCALE_SET: &str = "scale-set";

/// Tags with the prefix lengths of pod networks, and what they become in `extra`.
const MASKS: [(&str, &str); 2] =
    [("kubernetesNodeCIDRMaskIPV4", "node-ipam.mask-ipv4"), ("kubernetesNodeCIDRMaskIPV6", "node-ipam.mask-ipv6")];

/// Labels that the vendor's node manager gives, and where an instance view has them.
const LABELS: [(&str, &str); 2] = [
    ("topology.kubernetes.azure.com/sub-fault-domain", "/properties/instanceView/platformSubFaultDomain"),
    ("topology.kubernetes.azure.com/interconnect-group", "/properties/instanceView/interconnectGroupId"),
];

/// Interfaces and public addresses by their ids in lower case.
#[derive(Debug, Default)]
pub(crate) struct AzureInterfaces {
    pub(crate) interfaces: SortedMap<String, Value>,
    pub(crate) addresses: SortedMap<String, String>,
}

impl AzureInterfaces {
    /// Adds interfaces of a list, or one alone.
    pub(crate) fn add(&mut self, shown: impl IntoIterator<Item = Value>) {
        for it in shown {
            self.interfaces.insert(text(&it, "/id").to_ascii_lowercase(), it);
        }
    }

    /// Adds public addresses of a list, or one alone.
    pub(crate) fn add_addresses(&mut self, shown: &[Value]) {
        for it in shown {
            if let Some(ip) = word(it, "/properties/ipAddress") {
                self.addresses.insert(text(it, "/id").to_ascii_lowercase(), ip.to_owned());
            }
        }
    }

    /// The primary interface of a machine.
    pub(crate) fn primary<'v>(&'v self, machine: &'v Value) -> Option<&'v Value> {
        let known = |it: &Value| self.interfaces.get(&text(it, "/id").to_ascii_lowercase());
        primary(items(machine, "/properties/networkProfile/networkInterfaces")).and_then(known)
    }
}

/// The primary one of a machine's interfaces, or of an interface's configurations: the one that says so, or the only one.
pub(crate) fn primary(all: &[Value]) -> Option<&Value> {
    match all {
        [one] => Some(one),
        _ => all.iter().find(|it| it["properties"]["primary"] == true),
    }
}

/// The ids of public addresses of a machine's primary interface.
pub(crate) fn public_addresses(interface: &Value) -> impl Iterator<Item = &str> {
    items(interface, "/properties/ipConfigurations").iter().filter_map(|it| word(it, "/properties/publicIPAddress/id"))
}

/// The name that a machine's kubelet registers.
pub(crate) fn node_name(machine: &Value) -> String {
    word(machine, "/properties/osProfile/computerName").unwrap_or_else(|| text(machine, "/name")).to_ascii_lowercase()
}

/// Whether a machine exists: one of a scale set that is being deleted counts as gone.
pub(crate) fn exists(machine: &Value, id: &MachineId) -> bool {
    id.set().is_none() || !text(machine, "/properties/provisioningState").eq_ignore_ascii_case("Deleting")
}

/// A machine as Azure shows it, with its scale set if it is a member of one.
pub(crate) fn instance(machine: &Value, id: &MachineId, set: Option<&Value>, interfaces: &AzureInterfaces) -> Instance {
    let name = node_name(machine);
    let region = text(machine, "/location").to_ascii_lowercase().replace(' ', "");
    let size = word(machine, "/properties/hardwareProfile/vmSize").or_else(|| word(machine, "/sku/name"));
    let zone = match items(machine, "/zones").first().and_then(Value::as_str) {
        Some(zone) => Some(format!("{region}-{zone}")),
        None => machine["properties"]["instanceView"]["platformFaultDomain"].as_u64().map(|it| it.to_string()),
    };
    let mut instance = Instance::new(name.clone(), id.provider_id()).state(state(machine));
    instance = size.iter().fold(instance, |it, size| it.machine_type(*size));
    instance = zone.into_iter().fold(instance, Instance::zone);
    instance = instance.region(region);
    if let Some(interface) = interfaces.primary(machine) {
        instance = instance.addresses(addresses(interface, interfaces));
        let configuration = primary(items(interface, "/properties/ipConfigurations"));
        if let Some(id) = configuration.and_then(|it| word(it, "/id")) {
            instance = instance.extra(INTERFACE, id);
        }
    }
    instance = instance.addresses([Address::hostname(name)]);
    for (label, place) in LABELS {
        let shown = machine.pointer(place);
        let shown =
            shown.and_then(|it| it.as_str().map(str::to_owned).or_else(|| it.as_u64().map(|it| it.to_string())));
        instance = shown.into_iter().filter(|it| !it.is_empty()).fold(instance, |it, shown| it.label(label, shown));
    }
    if let Some(set) = set_of(machine, id) {
        instance = instance.extra(SCALE_SET, set);
    }
    for (name, key) in MASKS {
        let mask = set.and_then(|it| tag(it, name)).or_else(|| tag(machine, name));
        let mask = mask.filter(|it| it.parse::<u8>().is_ok_and(|it| (1..=128).contains(&it)));
        instance = mask.iter().fold(instance, |it, mask| it.extra(key, *mask));
    }
    instance
}

/// The name of the set that a machine is in, in lower case: a scale set of either kind, or an availability set.
fn set_of(machine: &Value, id: &MachineId) -> Option<String> {
    let shown = ["/properties/virtualMachineScaleSet/id", "/properties/availabilitySet/id"];
    let named = || shown.iter().find_map(|it| word(machine, it)).map(|it| last_of(it).to_owned());
    id.set().map(|it| it.name().to_owned()).or_else(named).map(|it| it.to_ascii_lowercase())
}

/// The addresses of a machine's primary interface: the primary private one, those of other families, then public ones.
fn addresses(interface: &Value, interfaces: &AzureInterfaces) -> Vec<Address> {
    let configurations = items(interface, "/properties/ipConfigurations");
    let main = primary(configurations).or_else(|| configurations.first());
    let family = |it: &Value| text(it, "/properties/privateIPAddressVersion").eq_ignore_ascii_case("IPv6");
    let others = configurations.iter().filter(|it| main.is_some_and(|main| family(main) != family(it)));
    let shown: Vec<&Value> = main.into_iter().chain(others).collect();
    let private = shown.iter().filter_map(|it| word(it, "/properties/privateIPAddress")).map(Address::internal_ip);
    let public = shown.iter().filter_map(|it| word(it, "/properties/publicIPAddress/id"));
    let public = public.filter_map(|it| interfaces.addresses.get(&it.to_ascii_lowercase())).map(Address::external_ip);
    let mut addresses: Vec<Address> = private.collect();
    addresses.extend(public);
    addresses
}

/// Whether a machine was shut down. One that is stopping is not yet, nor is one that something else is being done to.
fn state(machine: &Value) -> State {
    let statuses = items(machine, "/properties/instanceView/statuses").iter().map(|it| text(it, "/code"));
    let power = statuses.filter_map(|it| it.split_once('/')).find(|(kind, _)| kind.eq_ignore_ascii_case("PowerState"));
    let is_off =
        power.is_some_and(|(_, it)| matches!(&*it.to_ascii_lowercase(), "stopped" | "deallocated" | "deallocating"));
    let is_at_rest = text(machine, "/properties/provisioningState").eq_ignore_ascii_case("Succeeded");
    if is_off && is_at_rest { State::Stopped } else { State::Running }
}

/// The machine of a node that is not Azure's to look after: it exists as far as can be told.
pub(crate) fn unmanaged(node: &Node) -> Instance {
    Instance { provider_id: node.provider_id.clone(), ..Instance::new(&*node.name, "") }
}
