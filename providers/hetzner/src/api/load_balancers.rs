//! Requests for load balancers.

mod model;

pub(crate) use self::model::{
    Algorithms, HealthCheck, HealthHttp, HealthProtocol, Http, Kind, LoadBalancer, Protocol, Service, Target, To,
};

use aerostat_sdk::http::{Attempt, NumberedPage, Request};
use aerostat_sdk::{Change, Result};
use serde::Serialize;
use serde_json::Value;

use super::actions::{self, Action};
use super::{API, BodyFields, BodyValue, Labels, PAGES, WithLabels};

/// The vendor's label: the UID of the Service. With it, its own controller finds our load balancers, and we find its.
pub(crate) const SERVICE: &str = "hcloud-ccm/service-uid";
/// Our label: the UID of the cluster.
pub(crate) const CLUSTER: &str = "aerostat.dev/cluster-uid";
/// Our label: the UID of the Service.
pub(crate) const OWN_SERVICE: &str = "aerostat.dev/service-uid";
/// Our label on what the cloud protected when its Service went: that it is kept.
pub(crate) const KEPT: &str = "aerostat.dev/kept";

/// The body of a creation.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CreationBody<'a> {
    pub(crate) name: &'a str,
    pub(crate) load_balancer_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) algorithm: Option<Algorithms>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network_zone: Option<&'a str>,
    pub(crate) labels: Labels,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) public_interface: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<u64>,
    pub(crate) services: Vec<&'a Service>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) targets: Vec<Target>,
}

/// The load balancer with this id.
pub(crate) fn find(id: &str) -> Result<Option<LoadBalancer>> {
    API.get(["load_balancers", id]).find_in("load_balancer")
}

/// The load balancer with exactly this name: names are unique in a project.
pub(crate) fn named(name: &str) -> Result<Option<LoadBalancer>> {
    let found: Vec<LoadBalancer> = API.get(["load_balancers"]).query("name", name).send()?.json_in("load_balancers")?;
    Ok(found.into_iter().find(|it| it.name == name))
}

/// All load balancers of the project that serve a Service, whichever: one list for all who ask at a time.
pub(crate) fn marked() -> Result<Vec<WithLabels>> {
    PAGES.all(&marked_ones(), "load_balancers")
}

/// A page of the same with all fields.
pub(crate) fn page_of_marked(number: u32, size: u32) -> Result<NumberedPage<Value>> {
    PAGES.page(marked_ones(), "load_balancers", number, size)
}

/// The load balancer with this id as the list of all that are marked shows it, if it does.
pub(crate) fn find_listed(id: &str) -> Result<Option<LoadBalancer>> {
    let Ok(number) = id.parse::<u64>() else { return Ok(None) };
    let found = PAGES.find(&marked_ones(), "load_balancers", "id", &number.into())?;
    // What cannot be read is read alone.
    Ok(found.and_then(|it| aerostat_sdk::json::read(&it).ok()))
}

fn marked_ones() -> Request {
    API.get(["load_balancers"]).queries(&[("label_selector", SERVICE), ("sort", "id:asc")])
}

/// The type with this name, if there is one.
pub(crate) fn kind(name: &str) -> Result<Option<Kind>> {
    let kinds: Vec<Kind> = PAGES.all(&API.get(["load_balancer_types"]), "load_balancer_types")?;
    Ok(kinds.into_iter().find(|it| it.name == name))
}

/// Sends the creation of one.
pub(crate) fn create(creation: &CreationBody<'_>) -> Result<Attempt> {
    API.post(["load_balancers"]).json(creation).attempt()
}

/// Gives it a name and labels, in the place of all that it has.
pub(crate) fn describe(id: u64, name: &str, labels: &Labels) -> Result<Change<()>> {
    let request = API.put(["load_balancers", &id.to_string()]);
    let body = [("labels", BodyValue::Labels(labels)), ("name", BodyValue::Text(name))];
    Ok(request.json(&BodyFields(&body)).change()?.map(drop))
}

/// Begins an action of one.
pub(crate) fn act(id: u64, action: &str, body: &impl Serialize) -> Result<Change<Action>> {
    request(id, action).json(body).change()?.and_then(|it| actions::begun(&it).map(Change::Done))
}

/// The request that begins an action of one.
pub(crate) fn request(id: u64, action: &str) -> Request {
    API.post(["load_balancers", &id.to_string(), "actions", action])
}

/// Deletes it; if it does not exist, that is a success.
pub(crate) fn delete(id: &str) -> Request {
    API.delete(["load_balancers", id])
}
