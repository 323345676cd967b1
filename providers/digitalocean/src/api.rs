//! The API: what is asked, what it answers, and where its errors differ from other clouds'.

pub(crate) mod certificates;
pub(crate) mod load_balancers;
pub(crate) mod tags;

use std::collections::BTreeSet;
use std::time::Duration;

use aerostat_sdk::http::{Client, Request, Response};
use aerostat_sdk::{Error, Result, pages};
use serde::Deserialize;

/// The most objects that one page holds.
pub(crate) const LARGEST_PAGE: u32 = 200;

const API: Client<'_> = Client::new("api").refusals(refusal).busy(is_busy);

/// Which list a droplet is in: the usual one lacks those with GPUs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// Without a GPU.
    Usual,
    /// With a GPU.
    Gpu,
}

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

/// Who can reach an address.
#[derive(Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    Public,
    Private,
    /// A kind that is new to us, and no node address.
    #[serde(other)]
    Other,
}

/// One page of droplets.
#[derive(Deserialize)]
pub(crate) struct Droplets {
    pub(crate) droplets: Vec<Droplet>,
    #[serde(default)]
    links: Links,
}

impl Droplets {
    /// Whether this is the last page.
    pub(crate) fn is_last(&self) -> bool {
        self.links.after(0).is_none()
    }
}

#[derive(Default, Deserialize)]
struct Links {
    #[serde(default)]
    pages: Pages,
}

#[derive(Default, Deserialize)]
struct Pages {
    next: Option<String>,
}

impl Links {
    /// The number of the next page. The link itself is not used: it leads to the public host, wherever we asked.
    fn after(&self, number: u32) -> Option<u32> {
        self.pages.next.as_ref().map(|_| number + 1)
    }
}

/// Who the token belongs to.
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

/// The first page of droplets with this name, in upper or lower case.
pub(crate) fn droplets_named(name: &str, kind: Kind) -> Result<Droplets> {
    page(of_kind(droplets(), kind).query("name", name), 1, LARGEST_PAGE)
}

/// A page of the droplets with this tag.
pub(crate) fn droplets_tagged(tag: &str, number: u32, size: u32) -> Result<Droplets> {
    page(droplets().query("tag_name", tag), number, size)
}

/// The ids of all droplets with this tag.
pub(crate) fn ids_tagged(tag: &str) -> Result<BTreeSet<u64>> {
    let droplets = pages(1, |number| {
        let page = droplets_tagged(tag, *number, LARGEST_PAGE)?;
        Ok((page.droplets, page.links.after(*number)))
    });
    Ok(droplets?.iter().map(|it| it.id).collect())
}

/// A page of the account's droplets.
pub(crate) fn droplets_of(kind: Kind, number: u32, size: u32) -> Result<Droplets> {
    page(of_kind(droplets(), kind), number, size)
}

fn droplets() -> Request {
    API.get(["v2", "droplets"])
}

fn of_kind(request: Request, kind: Kind) -> Request {
    match kind {
        Kind::Usual => request,
        Kind::Gpu => request.query("type", "gpus"),
    }
}

fn page(request: Request, number: u32, size: u32) -> Result<Droplets> {
    request.query("page", number).query("per_page", size).send()?.json()
}

/// The account behind the token; `None` if the token may not read it (scope `account:read`).
pub(crate) fn account() -> Result<Option<Account>> {
    let response = API.get(["v2", "account"]).answer()?;
    if response.status() == 403 {
        return Ok(None);
    }
    response.accepted()?.json_in("account").map(Some)
}

/// An error of the API: `{"id": "not_found", "message": "…"}`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    id: String,
    message: String,
}

/// Whether an object refuses a change because it is still carrying out an earlier one.
fn is_busy(response: &Response) -> bool {
    match response.status() {
        403 => said(response).message.contains("previous actions"),
        409 => true,
        // A name that the list shows no more is freed a while after its load balancer is gone.
        422 => says_name_taken(response),
        _ => false,
    }
}

fn says_name_taken(response: &Response) -> bool {
    said(response).message.contains("load balancer with that name")
}

fn said(response: &Response) -> Refusal {
    response.json().unwrap_or_default()
}

/// Where this cloud's answers mean something else than their statuses say.
fn refusal(response: &Response) -> Option<Error> {
    match response.status() {
        // Not a missing right: the object is busy.
        403 if is_busy(response) => Some(Error::unavailable(response.complaint())),
        // Anything between us and the cloud can say 404. Only the API itself knows that a droplet is gone.
        404 if said(response).id != "not_found" => {
            let complaint = response.complaint();
            Some(Error::unavailable(format_args!("{complaint}, but not in the API's words: does baseUrl lead to it?")))
        }
        429 => {
            // Only the limit per minute comes with retry-after. The limit per hour tells when the oldest request expires.
            let pause = response.retry_after().or_else(|| response.until("ratelimit-reset"))?;
            Some(Error::retry_after(pause.max(Duration::from_secs(1)), response.complaint()))
        }
        _ => None,
    }
}
