//! Routes for pods: each leads to the instance of a node. Writes go on after their answers; the reason of a pending change names their
//! operations, which the next call asks about.

mod pass;

use aerostat_sdk::{
    Error, IpFamily, PodNetwork, Result, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership, RoutePage,
    RouteState, Routes, events,
};

use self::pass::{ClusterRoutes, GceRoutePass};
use crate::api::PAGE;
use crate::api::routes::{self as api, GceRoute};
use crate::instance::NO_FORWARDING;
use crate::machine::MachinePlace;
use crate::provider::Gcp;
use crate::settings::ProjectSettings;

/// Changes of one call: two requests each, and two for operations. A call may make a hundred.
const BATCH: u32 = 20;

impl Routes for Gcp {
    fn describe() -> Result<RouteDescription> {
        Ok(RouteDescription::new([IpFamily::Ipv4]).batch_size(BATCH).page_size(PAGE))
    }

    /// The node's instance. Nobody is asked.
    fn next_hop(network: &PodNetwork) -> Result<String> {
        let PodNetwork { destination, node } = network;
        let project = ProjectSettings::read()?.project;
        let id = node.provider_id.as_deref();
        let id = id.ok_or_else(|| Error::invalid(format_args!("node {} has no provider id yet", node.name)))?;
        let place = MachinePlace::parse(id, &project)?;
        if node.extra.iter().any(|(key, _)| key == NO_FORWARDING) {
            let message = format!(
                "instance {} has canIpForward off, and drops packets of {destination}: make it again with canIpForward",
                place.name
            );
            events::warning(Some(&node.name), "RouteDropsPackets", &message);
        }
        Ok(format!("projects/{project}/zones/{}/instances/{}", place.zone, place.name))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let settings = ProjectSettings::read()?;
        let listed = api::listed(&settings.network_project, &settings.network, cursor, limit)?;
        let cluster = ClusterRoutes::of(&settings)?;
        let page = RoutePage::new(listed.routes.iter().map(|it| shown(it, &cluster)).collect(), listed.next);
        Ok(listed.incomplete.into_iter().fold(page, RoutePage::incomplete))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        match GceRoutePass::read(changes) {
            Ok(mut pass) => changes.iter().map(|it| pass.apply(it)).collect(),
            Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

/// A route as the host knows it. Its name and its description are those of a cluster with this name: another may have the same.
fn shown(route: &GceRoute, cluster: &ClusterRoutes) -> Route {
    let ownership = if cluster.could_own(route) { RouteOwnership::Unmarked } else { RouteOwnership::Foreign };
    let state = if route.is_blackhole { RouteState::Blackhole } else { RouteState::Active };
    let shown = Route::new(&*route.destination, "").id(&*route.name).state(state).ownership(ownership);
    Route { next_hop: route.instance.clone(), ..shown }
}

#[cfg(test)]
mod tests;
