//! The plan for one destination: which entries of the router go, and which come. Values only.

use std::net::IpAddr;

use aerostat_sdk::{Error, Result, RouteChange};

use super::stale;
use crate::api::routers::ExtraRoute;
use crate::net::NetworkRange;

/// The plan for one destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct EntryPlan {
    /// As it is written.
    pub(super) destination: String,
    pub(super) range: NetworkRange,
    /// Entries that go, as they are spelled.
    pub(super) removed: Vec<ExtraRoute>,
    /// The entry that comes.
    pub(super) added: Option<ExtraRoute>,
    /// The next hop whose port has to let the network through.
    pub(super) hop: Option<String>,
    /// The next hop that no route leads to, and whose port lets the network through all the same.
    pub(super) unpaired: Option<String>,
    /// Whether a route leads elsewhere, and is left to a later call that knows of it.
    pub(super) is_unfinished: bool,
}

/// The plan for a change of the routes that are there. Entries are compared as networks, and keep their spelling.
///
/// # Errors
///
/// `invalid`, if something else is there than what was to be changed.
pub(super) fn plan(change: &RouteChange, routes: &[ExtraRoute]) -> Result<EntryPlan> {
    let range = NetworkRange::require(&change.destination)?;
    let live: Vec<&ExtraRoute> =
        routes.iter().filter(|it| NetworkRange::parse(&it.destination) == Some(range)).collect();
    let leading = |hop: &str| live.iter().filter(|it| is_same(&it.nexthop, hop)).map(|it| (*it).clone()).collect();
    let before_hop = change.before.as_ref().and_then(|it| it.next_hop.as_deref());
    let pair = before_hop.filter(|_| change.before.as_ref().is_some_and(stale::is_pair));
    let before: Vec<ExtraRoute> = before_hop.filter(|_| pair.is_none()).map_or_else(Vec::new, leading);
    let hop = change.after.as_ref().map(|it| it.next_hop.clone());
    let after: Vec<ExtraRoute> = hop.as_deref().map_or_else(Vec::new, leading);
    let is_elsewhere = before.is_empty() && after.is_empty() && !live.is_empty();
    if is_elsewhere && pair.is_none() {
        let hops: Vec<&str> = live.iter().map(|it| it.nexthop.as_str()).collect();
        return Err(Error::invalid(format_args!(
            "the route to {} leads to {} by now, and is not touched: it was to be {}",
            change.destination,
            hops.join(", "),
            match before_hop {
                Some(hop) => format!("one that leads to {hop}"),
                None => "none".to_owned(),
            }
        )));
    }
    // A right of a machine that a route leads to by now stays.
    let leads_to = |pair: &str| hop.as_deref() == Some(pair) || live.iter().any(|it| is_same(&it.nexthop, pair));
    let unpaired = pair.filter(|it| !leads_to(it)).map(str::to_owned);
    // Where the machine that is meant has the right already, its route comes beside the one that leads elsewhere, which the host takes away
    // once it sees both.
    let is_right = pair.zip(hop.as_deref()).is_some_and(|(pair, hop)| is_same(pair, hop));
    let is_left = is_elsewhere && !is_right;
    let removed = before.into_iter().filter(|it| !after.contains(it)).collect();
    let added = hop
        .as_ref()
        .filter(|_| after.is_empty() && !is_left)
        .map(|hop| ExtraRoute { destination: change.destination.clone(), nexthop: hop.clone() });
    let is_unfinished = is_left && hop.is_some();
    let hop = hop.filter(|_| !is_left);
    Ok(EntryPlan { destination: change.destination.clone(), range, removed, added, hop, unpaired, is_unfinished })
}

/// Whether these are one address.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.parse::<IpAddr>().is_ok_and(|one| other.parse() == Ok(one))
}
