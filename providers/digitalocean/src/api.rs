//! The API: its requests, its answers, and where its errors differ from those of other clouds.

pub(crate) mod certificates;
pub(crate) mod load_balancers;
pub(crate) mod tags;

use std::collections::BTreeSet;

use aerostat_sdk::http::{Client, NumberedPage, NumberedPages, Response};
use aerostat_sdk::{Error, Result};
use serde::Deserialize;

const API: Client<'_> =
    Client::new("api").refusals(refusal).not_found(is_not_found).busy(is_busy).limit_ends("ratelimit-reset");

/// The link in `next` is not followed: it leads to the public host, whatever the base URL is.
pub(crate) const PAGES: NumberedPages<'_> = NumberedPages { largest: 200, next: &["links", "pages", "next"] };

/// The query for droplets without a GPU: the usual list lacks those with one.
pub(crate) const WITHOUT_GPU: &[(&str, &str)] = &[];
/// The query for droplets with a GPU.
pub(crate) const WITH_GPU: &[(&str, &str)] = &[("type", "gpus")];

/// One droplet.
#[derive(Deserialize)]
pub(crate) struct Droplet {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) status: String,
    pub(crate) size_slug: String,
    pub(crate) region: Region,
    pub(crate) networks: Networks,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}

/// Where a droplet is.
#[derive(Deserialize)]
pub(crate) struct Region {
    pub(crate) slug: String,
}

/// A droplet's addresses by family.
#[derive(Deserialize)]
pub(crate) struct Networks {
    #[serde(default)]
    pub(crate) v4: Vec<Network>,
    #[serde(default)]
    pub(crate) v6: Vec<Network>,
}

/// One address.
#[derive(Deserialize)]
pub(crate) struct Network {
    pub(crate) ip_address: String,
    #[serde(rename = "type")]
    pub(crate) scope: Scope,
}

/// From where an address can be reached.
#[derive(Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    Public,
    Private,
    /// A kind that this provider does not know: no address of a node.
    #[serde(other)]
    Other,
}

/// The account that the token belongs to.
#[derive(Deserialize)]
pub(crate) struct Account {
    uuid: String,
    team: Option<Team>,
}

#[derive(Deserialize)]
struct Team {
    uuid: String,
}

impl Account {
    /// The team owns the resources where there is one: its members may come and go.
    pub(crate) fn identity(self) -> String {
        self.team.map_or(self.uuid, |it| it.uuid)
    }
}

/// The droplet with this id.
pub(crate) fn droplet(id: u64) -> Result<Option<Droplet>> {
    API.get(["v2", "droplets", &id.to_string()]).find_in("droplet")
}

/// A page of the droplets that match `query`.
pub(crate) fn droplets(query: &[(&str, &str)], number: u32, size: u32) -> Result<NumberedPage<Droplet>> {
    PAGES.page(API.get(["v2", "droplets"]).queries(query), "droplets", number, size)
}

/// The ids of all droplets with this tag.
pub(crate) fn ids_tagged(tag: &str) -> Result<BTreeSet<u64>> {
    let droplets: Vec<Droplet> = PAGES.all(&API.get(["v2", "droplets"]).query("tag_name", tag), "droplets")?;
    Ok(droplets.iter().map(|it| it.id).collect())
}

/// The account behind the token; `None` if the token may not read it (scope `account:read`).
pub(crate) fn account() -> Result<Option<Account>> {
    let response = API.get(["v2", "account"]).answer()?;
    if response.status() == 403 {
        return Ok(None);
    }
    response.accepted()?.json_in("account").map(Some)
}

/// Whether an object refuses a change because it is still carrying out an earlier one.
fn is_busy(response: &Response) -> bool {
    match response.status() {
        403 => response.says("previous actions"),
        409 => true,
        // The name of a deleted load balancer stays taken for a while after the list shows it no more.
        422 => says_name_taken(response),
        _ => false,
    }
}

fn says_name_taken(response: &Response) -> bool {
    response.says("load balancer with that name")
}

/// Whether the API itself says that something is gone: `{"id": "not_found", "message": "…"}`.
fn is_not_found(response: &Response) -> bool {
    response.json_in("id").is_ok_and(|id: String| id == "not_found")
}

/// A 403 is not always a missing right: the object may be busy.
fn refusal(response: &Response) -> Option<Error> {
    (response.status() == 403 && is_busy(response)).then(|| Error::unavailable(response.complaint()))
}
