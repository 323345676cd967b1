use cloud_provider::{LoadBalancer, Node};

use super::quarantine::Key;
use crate::call::Function;

/// The object in the cluster that a call is about.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) key: Key,
    /// For people: "node worker-1".
    pub(super) name: String,
    /// What a person can do about a crash.
    pub(super) next: &'static str,
}

impl Object {
    /// A node: its kubelet writes what a provider sees of it.
    pub(super) fn node(machine: &Node) -> Self {
        Self {
            key: (Function::Get, machine.name.clone()),
            name: format!("node {}", machine.name),
            next: "tell the provider's vendor, and look at what is unusual about the node",
        }
    }

    /// A Service whose load balancer is ensured.
    pub(super) fn ensured(service: &LoadBalancer) -> Self {
        Self {
            key: (Function::Ensure, service.owner.uid.clone()),
            name: title(service),
            next: "change the Service, or tell the provider's vendor",
        }
    }

    /// A Service whose load balancer is deleted.
    pub(super) fn deleted(service: &LoadBalancer) -> Self {
        Self {
            key: (Function::Delete, service.owner.uid.clone()),
            name: title(service),
            next: "nothing is forgotten meanwhile; tell the provider's vendor",
        }
    }
}

fn title(service: &LoadBalancer) -> String {
    format!("Service {}/{}", service.owner.namespace, service.owner.name)
}
