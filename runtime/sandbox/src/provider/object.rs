use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cloud_provider::{DesiredVolume, KnownVolume, LoadBalancer, Node, PodNetwork, RouteChange, Volume};

use crate::call::Function;
use crate::untrusted::printable;

/// An object as far as a call concerns it: a Service whose `ensure` crashes can still be deleted.
pub(super) type ObjectKey = (Function, String);

/// The subject of a call: whose fault a crash can be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    /// No object in the cluster: a crash is the provider's own.
    Nothing,
    /// One object, which may have made it crash.
    One(&'a Object),
    /// Several objects that are asked about together: a crash says nothing of any of them until each was asked about alone.
    Several,
}

/// The object in the cluster that a call is about.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) key: ObjectKey,
    /// For people: "node worker-1".
    pub(super) name: String,
    /// The remedy that a person has against a crash.
    pub(super) next: &'static str,
    /// Texts that show whose something is that is made in the cloud for it.
    pub(super) marks: Vec<String>,
}

impl Object {
    /// A node: its kubelet writes what a provider sees of it.
    pub(super) fn node(machine: &Node) -> Self {
        Self {
            key: (Function::Get, machine.name.clone()),
            name: format!("node {}", machine.name),
            next: "tell the provider's vendor, and look at what is unusual about the node",
            marks: Vec::new(),
        }
    }

    /// A pod network whose next hop is asked for.
    pub(super) fn pod_network(network: &PodNetwork) -> Self {
        Self {
            key: (Function::NextHops, format!("{} {}", network.node.name, network.destination)),
            name: format!("pod network {} of node {}", network.destination, network.node.name),
            next: "tell the provider's vendor, and look at what is unusual about the node",
            marks: Vec::new(),
        }
    }

    /// A route that is to be changed.
    pub(super) fn route(change: &RouteChange) -> Self {
        Self {
            key: (Function::Apply { deletes: 0 }, change.destination.clone()),
            name: format!("the route for {}", change.destination),
            next: "tell the provider's vendor, and look at what is unusual about the route",
            marks: Vec::new(),
        }
    }

    /// A PersistentVolume whose volume is asked about. Whoever may create one can choose any name, also that of another's: it
    /// is the same object only if everything is the same that a provider sees of it.
    pub(super) fn volume(volume: &Volume) -> Self {
        let Volume { name, source, handle, attributes } = volume;
        let mut hasher = DefaultHasher::new();
        (name, source, handle, attributes).hash(&mut hasher);
        Self {
            key: (Function::GetTopology, format!("{:016x}", hasher.finish())),
            name: format!("PersistentVolume {}", volume.name),
            next: "tell the provider's vendor, and look at what is unusual about the PersistentVolume",
            marks: Vec::new(),
        }
    }

    /// A claim whose volume is created, or abandoned.
    pub(super) fn desired_volume(function: Function, claim: &DesiredVolume) -> Self {
        let owner = &claim.owner;
        Self {
            key: (function, owner.uid.clone()),
            name: format!("PersistentVolumeClaim {}/{}", owner.namespace, owner.name),
            next: "change the claim's class, or tell the provider's vendor",
            marks: vec![owner.uid.clone(), claim.name.clone()],
        }
    }

    /// A volume that Kubernetes has. It is the same object only if everything is the same that a provider sees of it.
    pub(super) fn known_volume(function: Function, volume: &KnownVolume) -> Self {
        let KnownVolume { handle, name, attributes, memo: _, is_block } = volume;
        let mut hasher = DefaultHasher::new();
        (handle, name, attributes, is_block).hash(&mut hasher);
        let title = if name.is_empty() {
            format!("volume {}", printable(handle, 128))
        } else {
            format!("PersistentVolume {name}")
        };
        Self {
            key: (function, format!("{:016x}", hasher.finish())),
            name: title,
            next: "nothing is forgotten meanwhile; tell the provider's vendor",
            marks: Vec::new(),
        }
    }

    /// A Service whose load balancer is ensured.
    pub(super) fn ensured(service: &LoadBalancer) -> Self {
        Self {
            key: (Function::Ensure, service.owner.uid.clone()),
            name: title(service),
            next: "change the Service, or tell the provider's vendor",
            marks: vec![service.owner.uid.clone(), service.name.clone()],
        }
    }

    /// A Service whose load balancer is deleted.
    pub(super) fn deleted(service: &LoadBalancer) -> Self {
        Self {
            key: (Function::Delete, service.owner.uid.clone()),
            name: title(service),
            next: "nothing is forgotten meanwhile; tell the provider's vendor",
            marks: Vec::new(),
        }
    }
}

fn title(service: &LoadBalancer) -> String {
    format!("Service {}/{}", service.owner.namespace, service.owner.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_another_one_with_another_handle() {
        let volume = |name: &str, handle: &str, attributes: &[(&str, &str)]| Volume {
            name: name.to_owned(),
            source: "csi.example.com".to_owned(),
            handle: handle.to_owned(),
            attributes: attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        };
        let key = |it: &Volume| Object::volume(it).key;
        let one = volume("pv-1", "v-1", &[]);
        assert_eq!(key(&one), key(&one.clone()));
        for other in [
            volume("pv-1", "v-2", &[]),
            volume("pv-2", "v-1", &[]),
            volume("pv-1", "v-1", &[("a", "b")]),
            Volume { source: "awsElasticBlockStore".to_owned(), ..one.clone() },
        ] {
            assert_ne!(key(&other), key(&one), "{other:?}");
        }
        assert!(key(&volume(&"x".repeat(1 << 20), "v-1", &[])).1.len() < 100, "it is remembered");
    }
}
