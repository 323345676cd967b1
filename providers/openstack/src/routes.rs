//! Routes for pods: entries of a router, each with the right of the machine behind it to send and take packets of that network (an
//! allowed address pair of its port).
//!
//! The router's entry comes first and goes last: wherever a change is broken off, the entry shows that there is something left to do. One
//! whose port lacks the right is `partial`, and is made whole. Neutron takes many entries in one request, and none of them if one is bad.

mod pairs;
mod pass;
mod place;
mod plan;
mod stale;

use aerostat_sdk::{
    AddressKind, Error, IpFamily, PodNetwork, Position, Result, Route, RouteChange, RouteDescription, RouteOutcome,
    RouteOwnership, RoutePage, RouteState, Routes, SortedSet, cluster,
};

use self::pass::EntryPass;
use self::place::RouterPlace;
use crate::api::routers::{self, ExtraRoute, NeutronRouter};
use crate::net::NetworkRange;
use crate::provider::OpenStack;
use crate::settings::{ROUTER, ServerSettings};

/// Changes of one call. A router takes 30 routes, unless Neutron's operator says otherwise.
const BATCH: u32 = 40;
/// Routes of one page.
const ROUTES: u32 = 500;
/// Requests that take something away for one change at most: of the old machine's pairs, of routes (tried by themselves, and then as a whole
/// list, twice), of the new machine's pairs, and of a route that is taken back.
const DETACHMENTS: u32 = 6;

impl Routes for OpenStack {
    fn describe() -> Result<RouteDescription> {
        let description = RouteDescription::new([IpFamily::Ipv4, IpFamily::Ipv6]);
        Ok(description.batch_size(BATCH).page_size(ROUTES).entries_per_route(DETACHMENTS))
    }

    /// The node's first InternalIP of the network's family. The cloud is not asked.
    fn next_hop(network: &PodNetwork) -> Result<String> {
        let PodNetwork { destination, node } = network;
        let family = match NetworkRange::require(destination)?.is_ipv4() {
            true => IpFamily::Ipv4,
            false => IpFamily::Ipv6,
        };
        node.address(AddressKind::InternalIp, family).map(str::to_owned).ok_or_else(|| {
            Error::invalid(format_args!(
                "node {} has no InternalIP of the family of its pod network {destination}, so that no route leads to it",
                node.name
            ))
        })
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let limit = limit.max(1);
        let at = Position::parse(cursor, &["routes"], limit)?;
        let router = router()?;
        let size = usize::try_from(limit).unwrap_or(usize::MAX);
        let before = usize::try_from(at.page - 1).unwrap_or(usize::MAX).saturating_mul(size);
        let is_last = before.saturating_add(size) >= router.routes.len();
        let part: Vec<&ExtraRoute> = router.routes.iter().skip(before).take(size).collect();
        let pod_networks: Vec<_> = cluster()?.pod_cidrs.iter().filter_map(|it| NetworkRange::parse(it)).collect();
        // With the last routes come the rights of machines that no route leads to.
        let shows_pairs = is_last && !pod_networks.is_empty();
        let place = match shows_pairs {
            true => RouterPlace::whole(&router)?,
            false => RouterPlace::of(&router, &part.iter().map(|it| it.nexthop.as_str()).collect())?,
        };
        let room = size.saturating_sub(part.len());
        let mut routes: Vec<Route> = part.into_iter().map(|it| shown(it, &place, &pod_networks)).collect();
        if shows_pairs {
            routes.extend(stale::pairs(&router, &place, &pod_networks).into_iter().take(room));
        }
        Ok(RoutePage::new(routes, at.next(is_last)))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let hops: SortedSet<&str> = changes.iter().flat_map(next_hops).collect();
        let read = || {
            let router = router()?;
            let place = RouterPlace::of(&router, &hops)?;
            Ok((router, place))
        };
        match read() {
            Ok((router, place)) => EntryPass::new(changes, router, place).run(),
            Err(error) => changes.iter().map(|_| Err(Error::clone(&error))).collect(),
        }
    }
}

/// The next hops that a change is about.
fn next_hops(change: &RouteChange) -> impl Iterator<Item = &str> {
    let before = change.before.iter().filter_map(|it| it.next_hop.as_deref());
    before.chain(change.after.iter().map(|it| it.next_hop.as_str()))
}

/// The cluster's router.
fn router() -> Result<NeutronRouter> {
    let id = ServerSettings::read()?.router.ok_or_else(|| {
        Error::invalid(format_args!("routes need setting {}: the router that they are written into", ROUTER.name))
    })?;
    routers::find(&id)?.ok_or_else(|| {
        Error::invalid(format_args!(
            "there is no router {id} in this project and region: correct setting {}",
            ROUTER.name
        ))
    })
}

/// A route as the host knows it. Nothing marks one: whatever leads into the cluster's pod networks, or to a machine, could have been made
/// here.
fn shown(route: &ExtraRoute, place: &RouterPlace, pod_networks: &[NetworkRange]) -> Route {
    let range = NetworkRange::parse(&route.destination);
    let port = place.port_at(&route.nexthop);
    let is_inside =
        range.is_some_and(|range| pod_networks.is_empty() || pod_networks.iter().any(|it| it.contains(range)));
    let ownership = match is_inside || port.is_some() {
        true => RouteOwnership::Unmarked,
        false => RouteOwnership::Foreign,
    };
    let state = match (port, range) {
        (None, _) => RouteState::Blackhole,
        (Some(port), Some(range)) if pairs::lacks(port, range) => RouteState::Partial,
        (Some(_), _) => RouteState::Active,
    };
    Route::new(&route.destination, &route.nexthop).ownership(ownership).state(state)
}

#[cfg(test)]
mod tests;
