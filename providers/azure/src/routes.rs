//! Routes for pods: entries of the cluster's route table, each to the address of a node. All changes of a call are one write.

mod plan;

use aerostat_sdk::{
    AddressKind, Error, IpFamily, PodNetwork, Result, Route, RouteChange, RouteDescription, RouteOutcome,
    RouteOwnership, RoutePage, RouteState, Routes,
};
use serde_json::{Value, json};

use self::plan::{APPLIANCE, TablePlan, planned};
use crate::api::AzureApi;
use crate::api::fields::{items, text};
use crate::api::writes::{self, AzureWritten, has_failed, is_changing};
use crate::id::ResourceId;
use crate::load_balancer::family_of;
use crate::provider::Azure;
use crate::settings::{AccountSettings, ROUTE_TABLE};

/// Changes of one call: they are one write. A table has at most 400 routes.
const BATCH: u32 = 400;
/// How often the table is read again in one call.
const TIMES: usize = 3;
/// Writes of one call at most: each reads the table, too, and a call has a hundred requests.
const WRITES: u32 = 16;
/// How soon to look at a change that goes on.
const POLL: std::time::Duration = std::time::Duration::from_secs(2);

/// Why a change is asked for again that was refused with others.
const UNKNOWN: &str = "one of several changes is refused: fewer are sent together";

impl Routes for Azure {
    fn describe() -> Result<RouteDescription> {
        let families = [IpFamily::Ipv4, IpFamily::Ipv6];
        Ok(RouteDescription::new(families).batch_size(BATCH).page_size(BATCH).entries_per_route(1))
    }

    /// The node's own address of the network's family. Nobody is asked.
    fn next_hop(network: &PodNetwork) -> Result<String> {
        let PodNetwork { destination, node } = network;
        let family = family_of(destination);
        let hop = node.address(AddressKind::InternalIp, family).map(str::to_owned);
        hop.ok_or_else(|| {
            Error::invalid(format_args!(
                "node {} has no internal address to which a route for {destination} could lead",
                node.name
            ))
        })
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let past: usize = match cursor {
            None => 0,
            Some(it) => {
                it.parse().map_err(|_| Error::invalid(format_args!("cursor {it:?} is not one of this list")))?
            }
        };
        let (_, id) = table()?;
        let shown: Option<Value> = AzureApi::Network.get(&id).find()?;
        // A table that is not there is made with the first route.
        let is_changing = shown.as_ref().is_some_and(is_changing);
        let routes = shown.as_ref().map(|it| items(it, "/properties/routes")).unwrap_or_default();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
        let part = routes.iter().skip(past).take(limit).map(|it| route(it, is_changing));
        let next = (routes.len() > past.saturating_add(limit)).then(|| (past + limit).to_string());
        Ok(RoutePage::new(part.collect(), next))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let mut writes = WRITES;
        in_parts(changes, &mut writes)
    }
}

/// Writes all changes at once. If the API refuses that, halves of them are tried: one that cannot be made holds up few others.
fn in_parts(changes: &[RouteChange], writes: &mut u32) -> Vec<Result<RouteOutcome>> {
    if *writes == 0 {
        return changes.iter().map(|_| Ok(RouteOutcome::pending(POLL, UNKNOWN))).collect();
    }
    *writes -= 1;
    match applied(changes) {
        Ok(answers) => answers,
        Err(Error::Invalid(_)) if changes.len() > 1 => {
            let (first, second) = changes.split_at(changes.len() / 2);
            let mut answers = in_parts(first, writes);
            answers.extend(in_parts(second, writes));
            answers
        }
        Err(error) => changes.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// The route table of the settings.
fn table() -> Result<(AccountSettings, ResourceId)> {
    let settings = AccountSettings::read()?;
    let name = settings.route_table.clone();
    let name =
        name.ok_or_else(|| Error::invalid(format_args!("setting {} is missing: routes need it", ROUTE_TABLE.name)))?;
    let id = settings.network(&settings.route_table_group, &["routeTables", &name]);
    Ok((settings, id))
}

/// A route as the host knows it. No route has a mark: those to an address are of the kind that is written here.
fn route(shown: &Value, table_changes: bool) -> Route {
    let destination = text(shown, "/properties/addressPrefix");
    let hop = text(shown, "/properties/nextHopIpAddress");
    let is_appliance = text(shown, "/properties/nextHopType").eq_ignore_ascii_case(APPLIANCE);
    let ownership = if is_appliance && !hop.is_empty() { RouteOwnership::Unmarked } else { RouteOwnership::Foreign };
    let state = match (table_changes || is_changing(shown), has_failed(shown)) {
        (_, true) => RouteState::Failed(format!("route {} has failed", text(shown, "/name"))),
        (true, false) => RouteState::Changing,
        (false, false) => RouteState::Active,
    };
    let route = Route::new(destination, hop).id(text(shown, "/name")).state(state).ownership(ownership);
    Route { next_hop: Some(hop.to_owned()).filter(|it| is_appliance && !it.is_empty()), ..route }
}

/// Writes all changes at once. Changes of another writer in between are not overwritten.
fn applied(changes: &[RouteChange]) -> Result<Vec<Result<RouteOutcome>>> {
    let (settings, id) = table()?;
    let mut shown: Option<Value> = AzureApi::Network.get(&id).find()?;
    for _ in 0..TIMES {
        let routes = shown.as_ref().map(|it| items(it, "/properties/routes")).unwrap_or_default();
        let TablePlan { answers, routes: planned } = planned(routes, changes);
        let is_same = routes == planned;
        let waits = |why: &str| {
            let all = answers.iter().map(|it| it.clone().map(|_| RouteOutcome::pending(POLL, why)));
            all.collect()
        };
        if shown.as_ref().is_some_and(is_changing) {
            return Ok(waits("the route table is being changed"));
        }
        if is_same && !shown.as_ref().is_some_and(has_failed) {
            return Ok(answers);
        }
        let mut body = shown.clone().unwrap_or_else(|| json!({ "location": settings.location, "properties": {} }));
        body["properties"]["routes"] = json!(planned);
        match writes::put(AzureApi::Network, &id, &body, shown.as_ref())? {
            AzureWritten::Begun(written, _) if written.is_null() || is_changing(&written) => {
                return Ok(waits("the route table is being changed"));
            }
            AzureWritten::Begun(..) => return Ok(answers),
            AzureWritten::Changed => shown = AzureApi::Network.get(&id).find()?,
            AzureWritten::Busy(_, why) => return Ok(waits(&why)),
        }
    }
    let why = "the route table was changed by somebody else three times meanwhile";
    Ok(changes.iter().map(|_| Ok(RouteOutcome::pending(POLL, why))).collect())
}

#[cfg(test)]
mod tests;
