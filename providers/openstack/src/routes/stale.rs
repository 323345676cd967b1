//! Rights of machines to send and take packets of a pod network that no route leads to them: of a node that left, where only the route went,
//! also if another node has that network by now. OpenStack's own controller leaves them. They are listed as routes of which the entry is
//! missing, so that the host has them taken away, or makes the entry where a node has that network.

use aerostat_sdk::{Route, RouteState};

use super::pairs;
use super::place::RouterPlace;
use crate::api::ports::NeutronPort;
use crate::api::routers::NeutronRouter;
use crate::net::NetworkRange;

/// The beginning of the names of such rights, for people and for a change: a route has its destination there.
const PAIR: &str = "allowed address pair ";

/// The rights without a route of all ports in the router's networks.
pub(super) fn pairs(router: &NeutronRouter, place: &RouterPlace, pod_networks: &[NetworkRange]) -> Vec<Route> {
    let mut stale = Vec::new();
    for port in &place.ports {
        for (destination, range) in pairs::inside(port, pod_networks) {
            let is_of_family =
                |it: &&str| NetworkRange::of_either(it).is_some_and(|it| it.is_ipv4() == range.is_ipv4());
            let Some(hop) = port.addresses().find(is_of_family).filter(|_| !is_used(port, range, router, place)) else {
                continue;
            };
            let id = format!("{PAIR}{destination} of port {}", port.id);
            stale.push(Route::new(destination, hop).state(RouteState::Partial).id(id));
        }
    }
    stale
}

/// Whether a port uses its right to a network, or may have to: a route leads to it, or to a place that packets do not reach. That route is
/// the host's to move first.
fn is_used(port: &NeutronPort, range: NetworkRange, router: &NeutronRouter, place: &RouterPlace) -> bool {
    let leading = router.routes.iter().filter(|it| NetworkRange::parse(&it.destination) == Some(range));
    let mut to = leading.map(|it| place.port_at(&it.nexthop));
    to.any(|it| it.is_none_or(|it| it.id == port.id || pairs::lacks(it, range)))
}

/// Whether a route that was listed is such a right alone.
pub(super) fn is_pair(route: &Route) -> bool {
    route.id.starts_with(PAIR)
}
