//! The routes of a table after some changes. A pure function: all others stay as they are.

use std::net::IpAddr;

use aerostat_sdk::{Error, Result, RouteChange, RouteOutcome};
use serde_json::{Value, json};

use crate::api::fields::text;

/// The kind of next hop that is written.
pub(super) const APPLIANCE: &str = "VirtualAppliance";

/// The routes of a table, and an answer for each change.
pub(super) struct TablePlan {
    pub(super) answers: Vec<Result<RouteOutcome>>,
    pub(super) routes: Vec<Value>,
}

/// The routes after these changes, and what is to be said of each once they are written.
pub(super) fn planned(routes: &[Value], changes: &[RouteChange]) -> TablePlan {
    let mut after = routes.to_vec();
    let answers = changes.iter().map(|it| change(&mut after, it)).collect();
    TablePlan { answers, routes: after }
}

fn change(routes: &mut Vec<Value>, change: &RouteChange) -> Result<RouteOutcome> {
    let hop = change.after.as_ref().map(|it| it.next_hop.as_str());
    let old = change.before.as_ref().and_then(|it| it.next_hop.as_deref());
    let leads = |route: &Value, to: Option<&str>| {
        to.is_some() && to == Some(text(route, "/properties/nextHopIpAddress")) && is_appliance(route)
    };
    let live: Vec<usize> = (0..routes.len())
        .filter(|at| is_same_network(text(&routes[*at], "/properties/addressPrefix"), &change.destination))
        .collect();
    let other = live.iter().map(|at| &routes[*at]).find(|it| !leads(it, hop) && !leads(it, old));
    if let Some(other) = other {
        return Err(Error::invalid(format_args!(
            "route {} to {} leads to {} by now, and is not touched",
            text(other, "/name"),
            change.destination,
            text(other, "/properties/nextHopIpAddress")
        )));
    }
    let is_there = live.iter().any(|at| leads(&routes[*at], hop));
    // Whatever else has this destination is the one before: it goes, compared whole.
    let removed: Vec<Value> = live.iter().map(|at| &routes[*at]).filter(|it| !leads(it, hop)).cloned().collect();
    routes.retain(|it| !removed.contains(it));
    if let (Some(target), false) = (&change.after, is_there) {
        let name = name(&target.node.name, &change.destination);
        if let Some(other) = routes.iter().find(|it| text(it, "/name").eq_ignore_ascii_case(&name)) {
            return Err(Error::invalid(format_args!(
                "a route {name} leads to {} already, and is not touched: delete it, if nobody needs it",
                text(other, "/properties/addressPrefix")
            )));
        }
        routes.push(json!({ "name": name, "properties": {
            "addressPrefix": change.destination, "nextHopType": APPLIANCE, "nextHopIpAddress": target.next_hop,
        } }));
    }
    Ok(RouteOutcome::Done)
}

fn is_appliance(route: &Value) -> bool {
    text(route, "/properties/nextHopType").eq_ignore_ascii_case(APPLIANCE)
}

/// The name of a node's route, as the vendor's controller makes it: the node's, and the network without dots, colons and slash.
fn name(node: &str, destination: &str) -> String {
    let digits: String = destination.chars().filter(|it| !matches!(it, '.' | ':' | '/')).collect();
    format!("{node}____{digits}")
}

/// Whether two texts are one network: its first address and how many bits count.
fn is_same_network(one: &str, other: &str) -> bool {
    let parsed = |text: &str| {
        let (address, bits) = text.split_once('/')?;
        Some((address.parse::<IpAddr>().ok()?, bits.parse::<u8>().ok()?))
    };
    one == other || parsed(one).is_some_and(|it| parsed(other) == Some(it))
}
