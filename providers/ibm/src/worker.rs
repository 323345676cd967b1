//! Workers of IBM's Kubernetes service: their nodes have labels that say all, and their machines are in IBM's account.

use std::net::IpAddr;

use aerostat_sdk::{Address, Error, Instance, Node, Result};

use crate::machine::{IbmMachineId, is_worker};
use crate::settings::{self, IbmAccountSettings};

macro_rules! label {
    ($name:literal) => {
        concat!("ibm-cloud.kubernetes.io/", $name)
    };
}

const INTERNAL_IP: &str = label!("internal-ip");
const EXTERNAL_IP: &str = label!("external-ip");
const WORKER_ID: &str = label!("worker-id");
const MACHINE_TYPE: &str = label!("machine-type");
const ZONE: &str = label!("zone");
const REGION: &str = label!("region");

/// The labels that the provider reads.
pub(crate) const LABELS: [&str; 6] = [EXTERNAL_IP, INTERNAL_IP, MACHINE_TYPE, REGION, WORKER_ID, ZONE];

/// The first of the five labels that a worker's node has and this one lacks; `None` if it has all.
pub(crate) fn missing(node: &Node) -> Option<&'static str> {
    [INTERNAL_IP, WORKER_ID, MACHINE_TYPE, ZONE, REGION].into_iter().find(|it| label(node, it).is_none())
}

/// The worker of a node with all five labels; `None` without one of them, or with the id of no worker.
///
/// # Errors
///
/// `invalid`, if an address is none.
pub(crate) fn of_labels(node: &Node, settings: &IbmAccountSettings) -> Result<Option<Instance>> {
    let id = label(node, WORKER_ID).filter(|it| is_worker(it)).and_then(settings::id);
    let values = [INTERNAL_IP, MACHINE_TYPE, ZONE, REGION].map(|it| label(node, it));
    let (Some(id), [Some(_), Some(kind), Some(zone), Some(region)]) = (id, values) else { return Ok(None) };
    let internal = address(node, INTERNAL_IP)?;
    // The vendor's controller takes the internal address where there is none, and some labels say the same.
    let external = address(node, EXTERNAL_IP)?.filter(|it| Some(it) != internal.as_ref());
    let instance = Instance::new(&*node.name, IbmMachineId::Worker(id).provider_id(settings))
        .machine_type(kind)
        .zone(zone)
        .region(region)
        .addresses(internal.map(Address::internal_ip))
        .addresses(external.map(Address::external_ip))
        .addresses([Address::hostname(&*node.name)]);
    Ok(Some(instance))
}

/// A worker of which nothing is known but that nobody can say that it is gone.
pub(crate) fn unseen(node: &Node) -> Instance {
    Instance { provider_id: node.provider_id.clone(), ..Instance::new(&*node.name, "") }
}

fn label<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    let value = node.labels.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str());
    value.filter(|it| !it.is_empty())
}

fn address(node: &Node, key: &str) -> Result<Option<String>> {
    let Some(text) = label(node, key) else { return Ok(None) };
    match text.parse::<IpAddr>() {
        Ok(_) => Ok(Some(text.to_owned())),
        Err(_) => Err(Error::invalid(format_args!("label {key} of node {}: {text:?} is no address", node.name))),
    }
}
