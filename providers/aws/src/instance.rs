//! An instance of EC2, or a pod of Fargate, as an instance of the contract.

use aerostat_sdk::{Address, Instance, IpFamily, Node, State};

use crate::api::ec2::instances::Ec2Instance;
use crate::api::ec2::interfaces::NetworkInterface;
use crate::machine;
use crate::settings::MachineSettings;

/// The key under which an instance's security groups come back with its node: ids with commas between them.
pub(crate) const GROUPS: &str = "security-groups";
/// The node label with the id of the zone, which is the same in all accounts.
pub(crate) const ZONE_ID: &str = "topology.k8s.aws/zone-id";

/// Whether it exists. One without a state is as good as gone, as the vendor's controller has it.
pub(crate) fn exists(it: &Ec2Instance) -> bool {
    !matches!(&*it.state, "" | "terminated")
}

/// The instance with these further labels.
pub(crate) fn instance(it: &Ec2Instance, settings: &MachineSettings, labels: Vec<(String, String)>) -> Instance {
    let zone = it.zone.as_deref().unwrap_or_default();
    let instance = Instance::new(node_name(it), machine::provider_id(zone, &it.id))
        .state(state(&it.state))
        .region(&*settings.cluster.region)
        .addresses(settings.families.iter().flat_map(|family| addresses(it, *family)));
    let instance = Instance { machine_type: it.machine_type.clone(), zone: it.zone.clone(), ..instance };
    let instance = match it.groups.is_empty() {
        true => instance,
        false => instance.extra(GROUPS, it.groups.join(",")),
    };
    labels.into_iter().fold(instance, |it, (key, value)| it.label(key, value))
}

/// The name that its kubelet registers: its private DNS name, made of its address or of its id, as its subnet says.
pub(crate) fn node_name(it: &Ec2Instance) -> String {
    it.private_dns.as_deref().unwrap_or(&it.id).to_ascii_lowercase()
}

/// The node of a pod of Fargate. The pod is there, so that the node runs.
pub(crate) fn fargate(node: &Node, id: &str, it: &NetworkInterface, settings: &MachineSettings) -> Instance {
    let zone = it.zone.as_deref().unwrap_or_default();
    let provider_id = node.provider_id.clone().unwrap_or_else(|| machine::provider_id(zone, id));
    let instance = Instance::new(&*node.name, provider_id)
        .region(&*settings.cluster.region)
        .addresses([Address::internal_ip(&*it.address)])
        .addresses(it.private_dns.as_deref().map(Address::internal_dns));
    let instance = Instance { zone: it.zone.clone(), ..instance };
    match &it.zone_id {
        Some(id) => instance.label(ZONE_ID, id),
        None => instance,
    }
}

/// Only `stopped` is: a stopped node loses its pods.
fn state(state: &str) -> State {
    match state {
        "stopped" => State::Stopped,
        _ => State::Running,
    }
}

/// As the vendor's controller orders them. An IPv6 address is an InternalIP, also where the world can reach it.
fn addresses(it: &Ec2Instance, family: IpFamily) -> Vec<Address> {
    match family {
        IpFamily::Ipv4 => {
            let internal = it.interfaces.iter().flat_map(|it| &it.ipv4).map(Address::internal_ip);
            let private_dns = it.private_dns.as_ref();
            internal
                .chain(it.public_ip.as_ref().map(Address::external_ip))
                .chain(private_dns.map(Address::internal_dns))
                .chain(private_dns.map(Address::hostname))
                .chain(it.public_dns.as_ref().map(Address::external_dns))
                .collect()
        }
        IpFamily::Ipv6 => it.interfaces.iter().filter_map(|it| it.ipv6.first()).map(Address::internal_ip).collect(),
    }
}
