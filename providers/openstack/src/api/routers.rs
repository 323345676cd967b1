//! Routers, and the routes that people and clusters write into them.

use aerostat_sdk::http::Response;
use aerostat_sdk::{Error, Result};
use openstack_api::NEUTRON;
use openstack_api::errors::neutron_type;
use openstack_api::fields::{FromFields, items, object, word};
use serde_json::{Value, json};

use super::revision::if_match;

/// One router.
#[derive(Clone, Debug)]
pub(crate) struct NeutronRouter {
    pub(crate) id: String,
    pub(crate) routes: Vec<ExtraRoute>,
    pub(crate) revision_number: Option<u64>,
}

impl FromFields for NeutronRouter {
    fn from_fields(shown: &Value) -> Option<Self> {
        let route =
            |it: &Value| Some(ExtraRoute { destination: word(it, "destination")?, nexthop: word(it, "nexthop")? });
        Some(Self {
            id: word(shown, "id")?,
            routes: items(shown, "routes").iter().map(route).collect::<Option<_>>()?,
            revision_number: shown["revision_number"].as_u64(),
        })
    }
}

/// A route of a router. One destination may have several, and host bits stay as they were written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ExtraRoute {
    pub(crate) destination: String,
    pub(crate) nexthop: String,
}

/// A write of one router's routes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RouteVerb {
    Add,
    Remove,
}

/// The outcome of a write of routes.
#[derive(Clone, Debug)]
pub(crate) enum RoutesWritten {
    /// The router as it is now.
    Done(NeutronRouter),
    /// The router has changed since it was read: why, for a person.
    Changed(String),
    /// It has as many routes as it may.
    Full(Error),
    /// One of these routes is bad, or all: none is written.
    Bad(Error),
}

fn body(routes: &[ExtraRoute]) -> Value {
    let routes: Vec<Value> =
        routes.iter().map(|it| json!({ "destination": it.destination, "nexthop": it.nexthop })).collect();
    json!({ "router": { "routes": routes } })
}

/// The router with this id.
///
/// # Errors
///
/// Whatever Neutron answered.
pub(crate) fn find(id: &str) -> Result<Option<NeutronRouter>> {
    let request = NEUTRON.get(["routers", id]);
    ["id", "routes", "revision_number"]
        .iter()
        .fold(request, |it, name| it.query("fields", name))
        .find_response()?
        .map(|it| object(&it, "router"))
        .transpose()
}

/// Adds routes to a router, or removes some. Those that are there already, or not there, are no error. One that is bad refuses all.
/// `None`, if this Neutron has no such request: then all routes have to be written as a whole.
///
/// # Errors
///
/// Whatever else Neutron answered.
pub(crate) fn change(router: &NeutronRouter, verb: RouteVerb, routes: &[ExtraRoute]) -> Result<Option<RoutesWritten>> {
    let action = match verb {
        RouteVerb::Add => "add_extraroutes",
        RouteVerb::Remove => "remove_extraroutes",
    };
    let request = NEUTRON.put(["routers", &router.id, action]).json(&body(routes));
    let response = request.answer()?;
    match response.status() == 404 && neutron_type(&response) != "RouterNotFound" {
        true => Ok(None),
        false => written(router, response).map(Some),
    }
}

/// Gives a router these routes and no others, if it is still as it was read.
///
/// # Errors
///
/// Whatever else Neutron answered.
pub(crate) fn replace(router: &NeutronRouter, routes: &[ExtraRoute]) -> Result<RoutesWritten> {
    let request = NEUTRON.put(["routers", &router.id]).json(&body(routes));
    written(router, if_match(request, router.revision_number).answer()?)
}

fn written(router: &NeutronRouter, response: Response) -> Result<RoutesWritten> {
    let complaint = || format!("router {}: {}", router.id, response.complaint());
    Ok(match (response.status(), &*neutron_type(&response)) {
        (412, _) => RoutesWritten::Changed(complaint()),
        // To the host, a table that is full is `invalid`: it asks again once a route goes.
        (409, "OverQuota") => RoutesWritten::Full(Error::invalid(format_args!(
            "router {} takes no more routes (max_routes of Neutron): {}",
            router.id,
            response.complaint()
        ))),
        (400, _) => RoutesWritten::Bad(Error::invalid(complaint())),
        _ => RoutesWritten::Done(object(&response.accepted()?, "router")?),
    })
}
