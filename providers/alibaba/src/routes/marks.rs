//! The description of a route, which says whose it is.

use aerostat_sdk::{Result, RouteOwnership, cluster};

use crate::api::route_tables::VpcRoute;

/// The beginning of the description of a route that was made here. The cluster's UID follows.
const MARK: &str = "aerostat:";

/// The description of routes that are made for this cluster.
///
/// # Errors
///
/// While the cluster is not known.
pub(super) fn mark() -> Result<String> {
    Ok(format!("{MARK}{}", cluster()?.uid))
}

/// The owner of a route. One without a mark that leads to an instance could have been made here, by the vendor's controller or by a
/// person.
pub(super) fn ownership(route: &VpcRoute, mark: &str) -> RouteOwnership {
    match route.instance() {
        None => RouteOwnership::Foreign,
        Some(_) if route.description == mark => RouteOwnership::Ours,
        Some(_) if route.description.starts_with(MARK) => RouteOwnership::Foreign,
        Some(_) => RouteOwnership::Unmarked,
    }
}
