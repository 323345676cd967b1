//! Routes of a network. They are of the network's project.

use aerostat_sdk::{Change, Result};
use gcp_api::reason;
use serde::Serialize;
use serde_json::Value;

use super::fields::{from_project, items, text, word};
use super::operations::{self, OperationState};
use super::{NETWORK_API, PAGE};

/// The description of a cluster's routes, as the vendor's controller writes it.
pub(crate) const DESCRIPTION: &str = "k8s-node-route";

/// Fields of a route that are asked for.
const FIELDS: &str = "name,description,destRange,network,nextHopInstance,warnings/code";

/// One route.
#[derive(Clone, Debug)]
pub(crate) struct GceRoute {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) destination: String,
    /// `projects/<project>/zones/<zone>/instances/<name>`; `None` where it leads to something else.
    pub(crate) instance: Option<String>,
    /// `projects/<project>/global/networks/<name>`.
    pub(crate) network: String,
    /// Whether its instance is gone.
    pub(crate) is_blackhole: bool,
}

/// A page of routes.
pub(crate) struct RoutesListed {
    pub(crate) routes: Vec<GceRoute>,
    pub(crate) incomplete: Option<String>,
    pub(crate) next: Option<String>,
}

/// A route that is made.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewGceRoute<'a> {
    pub(crate) description: &'a str,
    pub(crate) dest_range: &'a str,
    pub(crate) name: &'a str,
    pub(crate) network: &'a str,
    pub(crate) next_hop_instance: &'a str,
    pub(crate) priority: u32,
}

impl GceRoute {
    fn from_fields(shown: &Value) -> Self {
        let is_gone = |it: &Value| it["code"] == "NEXT_HOP_INSTANCE_NOT_FOUND";
        Self {
            name: text(shown, "name"),
            description: text(shown, "description"),
            destination: text(shown, "destRange"),
            instance: word(shown, "nextHopInstance").map(|it| from_project(&it)),
            network: from_project(&text(shown, "network")),
            is_blackhole: items(shown, "warnings").iter().any(is_gone),
        }
    }
}

/// A page of at most `size` routes of a network of this project, from `cursor` on.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn listed(project: &str, network: &str, cursor: Option<&str>, size: u32) -> Result<RoutesListed> {
    let request = NETWORK_API
        .get(["global", "routes"])
        .query("maxResults", size.clamp(1, PAGE))
        .query("filter", format_args!("network eq \".*/global/networks/{network}\""))
        .query("fields", format_args!("nextPageToken,warning(code,message),items({FIELDS})"));
    let request = cursor.iter().fold(request, |it, cursor| it.query("pageToken", cursor));
    let page: Value = request.send()?.json()?;
    let whole = format!("projects/{project}/global/networks/{network}");
    let routes = items(&page, "items").iter().map(GceRoute::from_fields).filter(|it| it.network == whole);
    let warning = word(&page["warning"], "code").filter(|it| it != "NO_RESULTS_ON_PAGE");
    Ok(RoutesListed {
        routes: routes.collect(),
        incomplete: warning.map(|code| format!("{code} {}", text(&page["warning"], "message"))),
        next: word(&page, "nextPageToken"),
    })
}

/// The route with this name, in any network.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(name: &str) -> Result<Option<GceRoute>> {
    let response = NETWORK_API.get(path(Some(name))).query("fields", FIELDS).find_response()?;
    response.map(|it| Ok(GceRoute::from_fields(&it.json()?))).transpose()
}

/// Makes a route, or says that its name is taken.
///
/// # Errors
///
/// Whatever else the API answered, and the error that the operation ended with.
pub(crate) fn create(route: &NewGceRoute<'_>) -> Result<Change<OperationState>> {
    let busy = NETWORK_API.busy(|it| reason(it) == "alreadyExists");
    match busy.post(path(None)).json(route).change()? {
        Change::Done(response) => operations::begun(&response).map(Change::Done),
        Change::Busy(why) => Ok(Change::Busy(why)),
    }
}

/// Deletes a route. One that is not there is done.
///
/// # Errors
///
/// Whatever the API answered, and the error that the operation ended with.
pub(crate) fn delete(name: &str) -> Result<OperationState> {
    match NETWORK_API.delete(path(Some(name))).find_response()? {
        Some(response) => operations::begun(&response),
        None => Ok(OperationState::Done),
    }
}

fn path(name: Option<&str>) -> impl Iterator<Item = &str> {
    ["global", "routes"].into_iter().chain(name)
}
