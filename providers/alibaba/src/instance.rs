//! An instance as the host knows it.

use aerostat_sdk::{Address, Instance, State};

use crate::api::instances::EcsInstance;
use crate::machine;
use crate::settings::VpcSettings;

/// The node labels that the vendor's controller writes, too.
const CHARGE_TYPE: &str = "node.alibabacloud.com/instance-charge-type";
const SPOT_STRATEGY: &str = "node.alibabacloud.com/spot-strategy";
const NODE_POOL: &str = "node.alibabacloud.com/nodepool-id";

/// The instance. A host name is not told: the host keeps that of the kubelet.
pub(crate) fn shown(it: &EcsInstance, settings: &VpcSettings) -> Instance {
    let state = match &*it.status {
        "Stopped" => State::Stopped,
        _ => State::Running,
    };
    let region = if it.region.is_empty() { &settings.region } else { &it.region };
    let mut shown = Instance::new(node_name(it), machine::provider_id(&settings.region, &it.id))
        .state(state)
        .region(region)
        .addresses(addresses(it, settings));
    if !it.machine_type.is_empty() {
        shown = shown.machine_type(&*it.machine_type);
    }
    if !it.zone.is_empty() {
        shown = shown.zone(&*it.zone);
    }
    let labels = [
        (CHARGE_TYPE, Some(&it.charge_type)),
        (SPOT_STRATEGY, Some(&it.spot_strategy)),
        (NODE_POOL, it.node_pool.as_ref()),
    ];
    let labels = labels.into_iter().filter_map(|(key, value)| Some((key, value.filter(|it| !it.is_empty())?)));
    labels.fold(shown, |shown, (key, value)| shown.label(key, &**value))
}

/// The name that its kubelet registers, unless somebody has told it another one.
pub(crate) fn node_name(it: &EcsInstance) -> String {
    let name = if it.host_name.is_empty() { &it.name } else { &it.host_name };
    name.to_ascii_lowercase()
}

/// A machine of which nothing is said but that it is there: its node keeps what it has.
pub(crate) fn unknown(node: &str, provider_id: &str) -> Instance {
    Instance::new(node, provider_id)
}

/// In the order of the vendor's controller.
fn addresses(it: &EcsInstance, settings: &VpcSettings) -> Vec<Address> {
    let eip = Some(&it.eip).filter(|it| !it.is_empty());
    let outer = it.public.iter().chain(eip).map(Address::external_ip);
    let inner = it.inner.iter().chain(&it.private).map(Address::internal_ip);
    let ipv6 = it.ipv6.iter().filter(|_| settings.is_dual_stack).map(Address::internal_ip);
    outer.chain(inner).chain(ipv6).collect()
}
