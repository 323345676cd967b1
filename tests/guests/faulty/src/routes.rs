//! Routes, each with a mark of its cluster and an id that the cloud has given.

use std::collections::BTreeMap;
use std::time::Duration;

use aerostat_sdk::{
    Error, IpFamily, PodNetwork, Result, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership, RoutePage,
    RouteState, Routes, cluster, http, pages,
};
use serde::Deserialize;
use serde_json::json;

use crate::fault::{self, Fault};
use crate::{API, Faulty};

/// Changes of one call.
const BATCH: u32 = 10;
/// Routes of one page.
const PAGE: u32 = 50;

#[derive(Deserialize)]
struct AcmeRoutes {
    routes: Vec<AcmeRoute>,
    next: Option<String>,
}

#[derive(Clone, Deserialize)]
struct AcmeRoute {
    id: String,
    destination: String,
    machine: Option<String>,
    labels: BTreeMap<String, String>,
}

impl Routes for Faulty {
    fn describe() -> Result<RouteDescription> {
        Ok(RouteDescription::new([IpFamily::Ipv4]).batch_size(BATCH).page_size(PAGE))
    }

    fn next_hop(network: &PodNetwork) -> Result<String> {
        let id = network.node.provider_id.clone();
        id.ok_or_else(|| Error::invalid(format_args!("node {} has no provider id yet", network.node.name)))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage> {
        let AcmeRoutes { mut routes, next } = match page(cursor, limit) {
            Err(_) if fault::is(Fault::SilentRouteGap)? => AcmeRoutes { routes: Vec::new(), next: None },
            read => read?,
        };
        if next.is_none() && fault::is(Fault::UnlistedRoute)? {
            routes.pop();
        }
        let own = cluster()?.uid;
        let shown = |listed: AcmeRoute| {
            let is_own = listed.labels.get("cluster") == Some(&own);
            let ownership = if is_own { RouteOwnership::Ours } else { RouteOwnership::Foreign };
            let route = Route::new(listed.destination, "").id(listed.id).ownership(ownership).state(RouteState::Active);
            Route { next_hop: listed.machine, ..route }
        };
        Ok(RoutePage::new(routes.into_iter().map(shown).collect(), next))
    }

    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>> {
        let answers: Vec<_> = changes.iter().map(apply).collect();
        match answers.iter().find_map(|it| it.as_ref().err()) {
            Some(error) if fault::is(Fault::AllOrNothing) == Ok(true) => {
                answers.iter().map(|_| Err(error.clone())).collect()
            }
            _ => answers,
        }
    }
}

fn page(cursor: Option<&str>, limit: u32) -> Result<AcmeRoutes> {
    http::get(API, ["routes"]).query("after", cursor.unwrap_or("0")).query("limit", limit).send()?.json()
}

fn all() -> Result<Vec<AcmeRoute>> {
    pages(None, |cursor: &Option<String>| {
        let AcmeRoutes { routes, next } = page(cursor.as_deref(), PAGE)?;
        Ok((routes, next.map(Some)))
    })
}

fn apply(change: &RouteChange) -> Result<RouteOutcome> {
    let there = if fault::is(Fault::BlindRoute)? && change.before.is_none() { Vec::new() } else { all()? };
    let found: Vec<_> = there.iter().filter(|it| it.destination == change.destination).collect();
    let hop = change.after.as_ref().map(|it| &it.next_hop);
    let is_desired = match &found[..] {
        [] => hop.is_none(),
        [one] => hop.is_some() && one.machine.as_ref() == hop,
        _ => false,
    };
    if is_desired && !fault::is(Fault::RewrittenRoute)? {
        return done();
    }
    // Without one before, whatever is there is another.
    let before = change.before.as_ref().map(|it| it.next_hop.as_ref());
    let is_planned =
        |route: &AcmeRoute| hop.is_some() && route.machine.as_ref() == hop || before == Some(route.machine.as_ref());
    let other = found.iter().find(|it| !is_planned(it));
    if let Some(other) = other.filter(|_| fault::is(Fault::OverwrittenRoute) != Ok(true)) {
        let AcmeRoute { id, destination, .. } = other;
        return Err(Error::invalid(format_args!("route {id} to {destination} leads elsewhere by now")));
    }
    match (&change.after, found.first()) {
        (None, _) if fault::is(Fault::LeftoverRoute)? => {}
        (None, _) => {
            let clears = fault::is(Fault::ClearedRoutes)?;
            for route in there.iter().filter(|it| it.destination == change.destination || clears) {
                http::delete(API, ["routes", &route.id]).send_or_gone()?;
            }
        }
        (Some(after), found) => {
            let labels = json!({ "cluster": cluster()?.uid });
            let body = json!({ "destination": change.destination, "machine": after.next_hop, "labels": labels });
            match found {
                Some(found) => http::put(API, ["routes", &found.id]).json(&body).send()?,
                None => http::post(API, ["routes"]).json(&body).send()?,
            };
        }
    }
    done()
}

fn done() -> Result<RouteOutcome> {
    Ok(match fault::is(Fault::EndlessRoute)? {
        true => RouteOutcome::pending(Duration::from_secs(1), "the network is being changed"),
        false => RouteOutcome::Done,
    })
}
