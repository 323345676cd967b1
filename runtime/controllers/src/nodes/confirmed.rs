//! What the cloud itself said of the instances behind nodes: what a kubelet writes on its Node proves nothing.

use std::collections::HashMap;
use std::sync::Arc;

use cloud_provider::{Address, Instance};

/// What the cloud said of one node's instance.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Confirmed {
    /// The instance's addresses. Empty if the cloud tells none.
    pub addresses: Vec<Address>,
    /// The instance's zone.
    pub zone: Option<String>,
    /// The instance's region.
    pub region: Option<String>,
}

/// The confirmed instances, by the provider id of their nodes.
#[derive(Debug, Default)]
pub(super) struct Instances {
    by_provider_id: HashMap<String, Arc<Confirmed>>,
}

impl Instances {
    /// What the cloud said of the instance with this provider id.
    pub(super) fn get(&self, provider_id: &str) -> Option<Arc<Confirmed>> {
        self.by_provider_id.get(provider_id).cloned()
    }

    /// Takes note of what the cloud said.
    pub(super) fn confirm(&mut self, provider_id: &str, instance: &Instance) {
        let confirmed = Confirmed {
            addresses: instance.addresses.clone(),
            zone: instance.zone.clone(),
            region: instance.region.clone(),
        };
        self.by_provider_id.insert(provider_id.to_owned(), Arc::new(confirmed));
    }
}
