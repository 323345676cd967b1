//! The node-ipam-controller, by the flags.

use std::sync::Arc;

use ::controllers::node_ipam::Family;
use ::controllers::{Context, Task, node_ipam};
use cloud_provider::Cloud;
use ipnet::IpNet;
use tracing::warn;

use crate::flags::{NodeIpam, RunSettings};
use crate::leader::{Leader, Leadership};

/// The Leases that have to be held while the controller writes.
pub(super) struct HeldLeases {
    may_write: Arc<dyn Fn() -> bool + Send + Sync>,
    /// Whether the one before it gave the last of them back, which is the one that another owner would hold.
    follows_clean_end: bool,
}

impl HeldLeases {
    /// All of these.
    pub(super) fn all(leaders: &[&Leader]) -> Self {
        let follows_clean_end = leaders.last().is_some_and(|it| it.was_free());
        let leaderships: Vec<_> = leaders.iter().map(|it| it.leadership()).collect();
        Self { may_write: Arc::new(move || leaderships.iter().all(Leadership::may_write)), follows_clean_end }
    }
}

/// The controller, if it is asked for. It writes only while the Leases are held.
pub(super) fn task(settings: &RunSettings, held: HeldLeases, context: &Context, cloud: &Cloud) -> Option<Task> {
    let HeldLeases { may_write, follows_clean_end } = held;
    match settings.node_ipam.clone()? {
        NodeIpam::Range { clusters, services } => {
            let options = node_ipam::Options { clusters, services, follows_clean_end, may_write };
            let task = node_ipam::new(context, options);
            // The flags were checked.
            task.inspect_err(|refused| warn!("{refused}")).ok()
        }
        NodeIpam::Cloud { clusters, services } => {
            let family = |it: &IpNet| if matches!(it, IpNet::V4(_)) { Family::V4 } else { Family::V6 };
            let families = services.iter().map(family).collect();
            let options = node_ipam::CloudOptions { families, clusters, services, may_write };
            node_ipam::new_from_cloud(context, cloud, options)
        }
    }
}
