//! Routes of the VPC's route table: each leads to the instance of a node.
//!
//! The API carries out one change of a table at a time, and takes fifty entries in it. There is no replacement: what leads elsewhere is
//! deleted first, and its entry made once it is gone. An entry that is made where one stands is refused, so that many new ones are sent without
//! a look at the table.

mod forwarding;
mod marks;
mod pass;
mod sent;
mod turn;

use aerostat_sdk::{
    Error, IpFamily, PodNetwork, Result, Route, RouteChange, RouteDescription, RouteOutcome, RoutePage, RouteState,
    Routes,
};

use self::marks::{mark, ownership};
use self::pass::{TableLook, TablePass};
use crate::api::route_tables::{self as api, PAGE, VpcRoute};
use crate::machine::{AliMachine, is_excluded};
use crate::provider::Alibaba;
use crate::settings::{self, VpcSettings};

/// Changes of one call, the most that the host takes: what is read once is known for all of them.
const CHANGES: u32 = 1_000;

impl Routes for Alibaba {
    fn describe() -> Result<RouteDescription> {
        Ok(RouteDescription::new([IpFamily::Ipv4]).batch_size(CHANGES).page_size(PAGE))
    }

    /// The node's instance, by its id. Nobody is asked. A node to which no route leads is no failure of the node's: `unavailable`, so that the
    /// host neither tells of it nor takes its network for broken.
    fn next_hop(network: &PodNetwork) -> Result<String> {
        let PodNetwork { destination, node } = network;
        if destination.contains(':') {
            return Err(Error::invalid(format_args!("routes of a VPC's tables are IPv4 here: {destination} is not")));
        }
        let region = VpcSettings::read()?.region;
        let none = |why: &str| Err(Error::unavailable(format_args!("node {} {why}: no route leads to it", node.name)));
        if is_excluded(node) {
            return none("has a label that excludes it");
        }
        match node.provider_id.as_deref().map(|it| AliMachine::parse(it, &region)).transpose()? {
            Some(AliMachine::Instance(id)) => Ok(id.to_owned()),
            Some(AliMachine::Hybrid(_) | AliMachine::LingJun(_)) => none("is no instance of ECS"),
            None => Err(Error::invalid(format_args!("node {} has no provider id yet", node.name))),
        }
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let settings = VpcSettings::read()?;
        let (table, mark) = (table(&settings, None)?, mark()?);
        let (routes, next) = api::page(&settings.region, &table, cursor, limit.clamp(1, PAGE))?;
        Ok(RoutePage::new(routes.iter().map(|it| shown(it, &mark)).collect(), next))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let pass = || {
            let settings = VpcSettings::read()?;
            let table = table(&settings, changes.iter().find_map(turn::table))?;
            let mark = mark()?;
            let look = pass::look(changes, &table);
            let live = (look == TableLook::First).then(|| api::all(&settings.region, &table)).transpose()?;
            Ok(TablePass { region: settings.region, vpc: settings.vpc, table, mark, look, live })
        };
        match pass() {
            Ok(pass) => pass.run(changes),
            Err(error) => changes.iter().map(|_| Err(Error::clone(&error))).collect(),
        }
    }
}

/// The cluster's route table: the one that is set, or the one that is known from an earlier call.
///
/// # Errors
///
/// `invalid`, if it is not the only one of the VPC and none is set.
fn table(settings: &VpcSettings, known: Option<&str>) -> Result<String> {
    if let Some(id) = settings::route_table()?.or_else(|| known.map(str::to_owned)) {
        return Ok(id);
    }
    let mut found = api::tables(&settings.region, &settings.vpc)?;
    aerostat_sdk::sorted::sort(&mut found);
    match &found[..] {
        [table] => Ok(table.clone()),
        [] => Err(Error::invalid(format_args!(
            "{} has no route table, or the credential does not see it: correct setting vpc",
            settings.vpc
        ))),
        _ => Err(Error::invalid(format_args!(
            "{} has several route tables: {}. Set {} to the one of the nodes' subnets",
            settings.vpc,
            found.join(", "),
            settings::ROUTE_TABLE.name
        ))),
    }
}

/// A route as the host knows it.
fn shown(route: &VpcRoute, mark: &str) -> Route {
    let state = if route.is_changing() { RouteState::Changing } else { RouteState::Active };
    let shown = Route::new(&*route.destination, "").state(state).ownership(ownership(route, mark)).id(&*route.id);
    Route { next_hop: route.instance().map(str::to_owned), ..shown }
}

#[cfg(test)]
mod tests;
