//! Routes of a routing table of the VPC: each leads to the address of a node's machine.
//!
//! An entry counts for packets that leave a machine of its zone, so that one route is an entry in each zone of the cluster. One that lacks an
//! entry, or some of whose entries lead elsewhere, is `partial`, and is made whole. A move changes entries where they are: two of one zone,
//! destination and priority share the traffic.

mod marks;
mod pass;

use aerostat_sdk::{
    AddressKind, Error, IpFamily, PodNetwork, Position, Result, Route, RouteChange, RouteDescription, RouteOutcome,
    RouteOwnership, RoutePage, RouteState, Routes, SortedMap,
};

use self::marks::{mark, ownership};
use self::pass::{IbmRoutePass, hops};
use crate::api::routes::{VpcTable, VpcTableEntry};
use crate::api::vpcs;
use crate::machine::IbmMachineId;
use crate::provider::Ibm;
use crate::settings::IbmAccountSettings;
use crate::settings::routes::{IbmRouteSettings, ROUTING_TABLE, zones};

/// Requests of one call that write: it may make a hundred, and reads the table before.
const WRITES: u32 = 80;
/// Requests for each change beside one a zone: the instance of its node, and what it lets through.
const BESIDE: u32 = 2;
/// Routes of one page: a table has fewer.
const PAGE: u32 = 500;

impl Routes for Ibm {
    fn describe() -> Result<RouteDescription> {
        let zones = u32::try_from(zones()?.len()).unwrap_or(u32::MAX);
        let description = RouteDescription::new([IpFamily::Ipv4]).page_size(PAGE).entries_per_route(zones);
        Ok(description.batch_size(WRITES / zones.saturating_add(BESIDE)))
    }

    /// The node's first InternalIP. Nobody is asked.
    fn next_hop(network: &PodNetwork) -> Result<String> {
        let PodNetwork { destination, node } = network;
        if destination.contains(':') {
            return Err(Error::invalid(format_args!("routes of a VPC are IPv4: {destination} is not")));
        }
        let settings = IbmAccountSettings::read()?;
        match node.provider_id.as_deref().map(|it| IbmMachineId::parse(it, &settings)).transpose()? {
            Some(IbmMachineId::Instance(_) | IbmMachineId::Named(_)) => {}
            Some(IbmMachineId::Worker(id)) => {
                return Err(Error::invalid(format_args!(
                    "node {} is {id}, a worker of IBM's Kubernetes service: no route leads to it",
                    node.name
                )));
            }
            None => return Err(Error::invalid(format_args!("node {} has no provider id yet", node.name))),
        }
        node.address(AddressKind::InternalIp, IpFamily::Ipv4).map(str::to_owned).ok_or_else(|| {
            Error::invalid(format_args!("node {} has no InternalIP of IPv4, so that no route leads to it", node.name))
        })
    }

    /// The entries of one destination can be anywhere in the table, which is read as a whole.
    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let limit = limit.max(1);
        let at = Position::parse(cursor, &["routes"], limit)?;
        let settings = IbmRouteSettings::read()?;
        let mark = mark()?;
        let routes = shown(&table(&settings)?.routes()?, &mark, &settings.zones);
        let size = usize::try_from(limit).unwrap_or(usize::MAX);
        let before = usize::try_from(at.page - 1).unwrap_or(usize::MAX).saturating_mul(size);
        let is_last = before.saturating_add(size) >= routes.len();
        Ok(RoutePage::new(routes.into_iter().skip(before).take(size).collect(), at.next(is_last)))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let read = || {
            let settings = IbmRouteSettings::read()?;
            let mark = mark()?;
            let table = table(&settings)?;
            let live = table.routes()?;
            Ok(IbmRoutePass::new(settings, table, mark, live))
        };
        match read() {
            Ok(mut pass) => changes.iter().map(|it| pass.apply(it)).collect(),
            Err(error) => changes.iter().map(|_| Err(Error::clone(&error))).collect(),
        }
    }
}

/// The cluster's routing table.
///
/// # Errors
///
/// `invalid`, if there is no such VPC.
fn table(settings: &IbmRouteSettings) -> Result<VpcTable> {
    let vpc = settings.vpc.clone();
    if let Some(id) = settings.table.clone() {
        return Ok(VpcTable { vpc, id });
    }
    let found = vpcs::find(&vpc)?;
    let id = found.and_then(|it| it.default_routing_table).ok_or_else(|| {
        Error::invalid(format_args!(
            "VPC {vpc} shows no default routing table: correct setting vpcID, or set {}",
            ROUTING_TABLE.name
        ))
    })?;
    Ok(VpcTable { vpc, id: id.id })
}

/// Routes as the host knows them: those of others one by one, all entries of this cluster for a destination as one.
fn shown(live: &[VpcTableEntry], mark: &str, zones: &[String]) -> Vec<Route> {
    let mut routes = Vec::new();
    let mut own: SortedMap<&str, Vec<&VpcTableEntry>> = SortedMap::new();
    for route in live {
        if ownership(route, mark) == RouteOwnership::Foreign {
            let foreign = Route::new(&*route.destination, "").ownership(RouteOwnership::Foreign).id(&*route.name);
            routes.push(Route { next_hop: route.hop().map(str::to_owned), ..foreign });
        } else if let Some(entries) = own.get_mut(&*route.destination) {
            entries.push(route);
        } else {
            own.insert(&route.destination, vec![route]);
        }
    }
    routes.extend(own.iter().map(|(destination, entries)| one(destination, entries, zones)));
    routes
}

/// The route of these entries. Where they lead to several addresses it leads to all of them.
fn one(destination: &str, entries: &[&VpcTableEntry], zones: &[String]) -> Route {
    let hops = hops(entries);
    let lacks = |zone: &String| !entries.iter().any(|it| it.zone.name == *zone);
    let state = if entries.iter().any(|it| it.is_changing()) {
        RouteState::Changing
    } else if let Some(why) = entries.iter().find_map(|it| it.failure()) {
        RouteState::Failed(why)
    } else if hops.contains(',') || zones.iter().any(lacks) {
        RouteState::Partial
    } else {
        RouteState::Active
    };
    Route::new(destination, hops).state(state).ownership(RouteOwnership::Ours)
}

#[cfg(test)]
pub(crate) mod tests;
