use std::time::Duration;

use cloud_provider::{
    IpFamily, PodNetwork, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership, RoutePage, RouteState,
};

use super::{cidr, instance, nonempty, page};
use crate::bindings::host::aerostat::cloud::types as shared;
use crate::bindings::routes::exports::aerostat::cloud::routes as wit;
use crate::untrusted::{is_printable, printable};

/// The longest next hop, id or reason.
const TEXT_BYTES: usize = 256;
const EXTRA_BYTES: usize = 1 << 10;
const BATCH: u32 = 1_000;
const CONCURRENCY: u32 = 16;
const ENTRIES: u32 = 64;
/// A `pending` is neither a busy loop nor an outage.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The name in a change's `extra` of the reason with which it was pending.
const PENDING: &str = "pending";

/// The routes' properties, or a sentence on what is wrong with them.
pub(crate) fn description(it: wit::RouteDescription) -> Result<RouteDescription, String> {
    let wit::RouteDescription {
        batch_size,
        concurrency,
        page_size,
        entries_per_route,
        ip_families,
        // Nothing of it is known to this host.
        extra: _,
    } = it;
    for (name, number, most) in [
        ("batch-size", batch_size, BATCH),
        ("concurrency", concurrency, CONCURRENCY),
        ("page-size", page_size, u32::MAX),
        ("entries-per-route", entries_per_route, ENTRIES),
    ] {
        if number == 0 || number > most {
            return Err(format!("{name} is {number}, and has to be 1 to {most}"));
        }
    }
    if ip_families.is_empty() {
        return Err("ip-families is empty".into());
    }
    let ip_families = ip_families.into_iter().map(|family| match family {
        shared::IpFamily::Ipv4 => IpFamily::Ipv4,
        shared::IpFamily::Ipv6 => IpFamily::Ipv6,
    });
    Ok(RouteDescription { batch_size, concurrency, page_size, entries_per_route, ip_families: ip_families.collect() })
}

/// One page of at most `limit` routes, or a sentence on what is wrong with it. A route that is unusable is left out, and
/// makes the page incomplete.
pub(crate) fn page(it: wit::Page, cursor: Option<&str>, limit: u32) -> Result<RoutePage, String> {
    let wit::Page { routes, next, incomplete } = it;
    if routes.len() > limit as usize {
        return Err(format!("a page has {} routes, and {limit} were asked for", routes.len()));
    }
    let next = page::next(next, cursor)?;
    let (routes, unusable) = page::usable(routes, "routes", route);
    let incomplete = incomplete.map(|it| page::reason(&it));
    Ok(RoutePage { routes, next, incomplete: incomplete.or(unusable) })
}

fn route(it: wit::Route) -> Result<Route, String> {
    let wit::Route { destination, next_hop, ownership, state, id, extra } = it;
    let name = printable(&id, 64);
    let checked = || {
        let bytes = extra.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        if bytes > EXTRA_BYTES {
            return Err(format!("its extra has {bytes} bytes, more than {EXTRA_BYTES}"));
        }
        Ok(Route {
            destination: cidr("destination", destination)?,
            next_hop: nonempty(next_hop).map(|it| line("next hop", it)).transpose()?,
            ownership: match ownership {
                wit::Ownership::Ours => RouteOwnership::Ours,
                wit::Ownership::Unmarked => RouteOwnership::Unmarked,
                wit::Ownership::Foreign => RouteOwnership::Foreign,
            },
            state: match state {
                wit::State::Active => RouteState::Active,
                wit::State::Changing => RouteState::Changing,
                wit::State::Blackhole => RouteState::Blackhole,
                wit::State::Partial => RouteState::Partial,
                wit::State::Failed(because) => RouteState::Failed(page::reason(&because)),
            },
            id: line("id", id)?,
            extra,
        })
    };
    checked().map_err(|because: String| format!("route {name:?}: {because}"))
}

/// To what a route leads, or a sentence on what is wrong with it.
pub(crate) fn next_hop(text: String) -> Result<String, String> {
    line("next hop", text)
}

/// It is compared for ever after, so that nothing of it is cut or escaped.
fn line(what: &str, text: String) -> Result<String, String> {
    if text.is_empty() || text.len() > TEXT_BYTES || !is_printable(&text) {
        let text = printable(&text, 64);
        return Err(format!("the {what} {text:?} is not one line of 1 to {TEXT_BYTES} bytes"));
    }
    Ok(text)
}

/// The outcome of a change.
pub(crate) fn outcome(it: wit::Outcome) -> RouteOutcome {
    match it {
        wit::Outcome::Done => RouteOutcome::Done,
        wit::Outcome::Pending(shared::Pause { milliseconds, reason }) => RouteOutcome::Pending {
            after: Duration::from_millis(milliseconds.into()).clamp(SHORTEST_WAIT, LONGEST_WAIT),
            reason: page::reason(&reason),
        },
    }
}

/// A pod network as a guest is told of it.
pub(crate) fn pod_network(it: &PodNetwork, node_labels: &[String]) -> wit::PodNetwork {
    wit::PodNetwork { destination: it.destination.clone(), node: instance::node(&it.node, node_labels) }
}

/// A change as a guest is told of it.
pub(crate) fn change(it: &RouteChange, node_labels: &[String]) -> wit::Change {
    let target = |target: &cloud_provider::RouteTarget| wit::Target {
        next_hop: target.next_hop.clone(),
        node: instance::node(&target.node, node_labels),
    };
    wit::Change {
        destination: it.destination.clone(),
        before: it.before.as_ref().map(before),
        after: it.after.as_ref().map(target),
        extra: it.pending.iter().map(|reason| (PENDING.to_owned(), reason.clone())).collect(),
    }
}

fn before(it: &Route) -> wit::Route {
    let Route { destination, next_hop, ownership, state, id, extra } = it.clone();
    wit::Route {
        destination,
        next_hop,
        ownership: match ownership {
            RouteOwnership::Ours => wit::Ownership::Ours,
            RouteOwnership::Unmarked => wit::Ownership::Unmarked,
            RouteOwnership::Foreign => wit::Ownership::Foreign,
        },
        state: match state {
            RouteState::Active => wit::State::Active,
            RouteState::Changing => wit::State::Changing,
            RouteState::Blackhole => wit::State::Blackhole,
            RouteState::Partial => wit::State::Partial,
            RouteState::Failed(because) => wit::State::Failed(because),
        },
        id,
        extra,
    }
}
