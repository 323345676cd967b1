//! The controllers' options, out of the settings.

use controllers::{ClusterFacts, node, node_lifecycle, route, service, volume_provisioner};

use crate::flags::{ControllerName, LoadBalancerFlags, NodeIpam, RunSettings};
use crate::manager::cloud::LoadedProvider;
use crate::manager::controllers::runs;

/// The operator's facts about the cluster, by flags and in the config.
pub(super) fn facts(settings: &RunSettings, loaded: &LoadedProvider) -> ClusterFacts {
    let gives_out = matches!(settings.node_ipam, Some(NodeIpam::Range { .. }));
    ClusterFacts {
        services: settings.service_networks.clone(),
        pods: loaded.cluster_networks.pods.clone(),
        cluster_cidrs: settings.cluster_cidrs.clone(),
        cluster_cidrs_are_given_out: gives_out || runs(ControllerName::Route, settings, &loaded.cloud),
        nodes: loaded.cluster_networks.nodes.clone(),
        node_addresses: loaded.answers.node_addresses.clone(),
        load_balancer_addresses: loaded.answers.load_balancer_addresses.clone(),
        ..ClusterFacts::default()
    }
}

impl From<&RunSettings> for node::Options {
    fn from(settings: &RunSettings) -> Self {
        let it = settings.node;
        Self { syncs: it.syncs, status_updates: it.status_updates, status_update_frequency: it.status_update_frequency }
    }
}

impl From<&RunSettings> for node_lifecycle::Options {
    fn from(settings: &RunSettings) -> Self {
        let it = settings.node_lifecycle;
        Self {
            monitor_period: it.monitor_period,
            warm_up: it.warm_up,
            grace: it.grace_period,
            budget: node_lifecycle::Budget { percent: it.budget, window: it.budget_window, ..budgets::NODES },
            ..Self::default()
        }
    }
}

impl From<&LoadBalancerFlags> for service::InventoryOptions {
    fn from(it: &LoadBalancerFlags) -> Self {
        Self { resync_period: it.resync_period, delete_orphans: it.delete_orphans, ..Self::default() }
    }
}

impl From<&RunSettings> for service::Options {
    fn from(settings: &RunSettings) -> Self {
        Self {
            syncs: settings.service.syncs,
            cluster_name: settings.cluster_name.clone(),
            class: settings.load_balancers.class.clone(),
            retry_base: settings.service.retry_base_delay,
            inventory: (&settings.load_balancers).into(),
        }
    }
}

impl From<&RunSettings> for volume_provisioner::Options {
    fn from(settings: &RunSettings) -> Self {
        Self { cluster_name: settings.cluster_name.clone(), ..Self::default() }
    }
}

impl From<&RunSettings> for route::Options {
    fn from(settings: &RunSettings) -> Self {
        let it = settings.routes;
        Self {
            cluster_cidrs: settings.cluster_cidrs.clone(),
            period: it.period,
            warm_up: it.warm_up,
            budget: route::Budget { percent: it.budget, window: it.budget_window, ..budgets::ROUTES },
            ..Self::default()
        }
    }
}
