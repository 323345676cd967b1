//! An instance as the host knows it.

use aerostat_sdk::{Address, Instance, State};

use crate::api::instances::GceInstance;
use crate::machine::region_of;
use crate::settings::ProjectSettings;

/// The key of a node's `extra` with the network tag by which firewalls choose it.
pub(crate) const TAG: &str = "tag";
/// The key of a node's `extra` with the name of its subnet.
pub(crate) const SUBNET: &str = "subnet";
/// The key of a node's `extra` that says that its instance drops packets of pods.
pub(crate) const NO_FORWARDING: &str = "noIpForward";

/// The instance behind the node with this name.
pub(crate) fn shown(instance: &GceInstance, node: &str, settings: &ProjectSettings) -> Instance {
    let GceInstance { place, status, machine_type, interfaces, .. } = instance;
    let state = match &**status {
        "TERMINATED" | "STOPPED" | "SUSPENDED" => State::Stopped,
        _ => State::Running,
    };
    let mut shown = Instance::new(node, place.provider_id(&settings.project))
        .state(state)
        .zone(&*place.zone)
        .region(region_of(&place.zone))
        .addresses(addresses(instance, node, settings));
    if !machine_type.is_empty() {
        shown = shown.machine_type(machine_type);
    }
    // Without tags of the operator, a firewall chooses a node by its longest tag that its name begins with.
    if let Some(tag) = tag_of(instance) {
        shown = shown.extra(TAG, tag);
    }
    if let Some(subnet) = interfaces.first().and_then(|it| it.subnet.as_ref()) {
        shown = shown.extra(SUBNET, subnet);
    }
    if !instance.can_ip_forward {
        shown = shown.extra(NO_FORWARDING, "true");
    }
    shown
}

/// The longest network tag that the name of the instance begins with.
pub(crate) fn tag_of(instance: &GceInstance) -> Option<&str> {
    let tags = instance.tags.iter().filter(|it| instance.place.name.starts_with(&***it));
    tags.max_by_key(|it| it.len()).map(String::as_str)
}

/// Addresses of each interface in the API's order, those of one family first, and then the names.
fn addresses(instance: &GceInstance, node: &str, settings: &ProjectSettings) -> Vec<Address> {
    let (mut first, mut then) = (Vec::new(), Vec::new());
    for it in &instance.interfaces {
        first.extend(it.internal.iter().map(Address::internal_ip));
        first.extend(it.external.iter().map(Address::external_ip));
        then.extend(it.ipv6.iter().map(Address::internal_ip));
    }
    if settings.ipv6_first {
        std::mem::swap(&mut first, &mut then);
    }
    first.append(&mut then);
    first.push(Address::internal_dns(dns_name(instance, &settings.project)));
    first.push(Address::hostname(node));
    first
}

/// The name of an instance in the zone's DNS. A project of a domain has its parts the other way around there.
fn dns_name(instance: &GceInstance, project: &str) -> String {
    let project =
        project.split_once(':').map_or_else(|| project.to_owned(), |(domain, name)| format!("{name}.{domain}"));
    format!("{}.{}.c.{project}.internal", instance.place.name, instance.place.zone)
}
