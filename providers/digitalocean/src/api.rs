//! The API: its requests, its answers, and where its errors differ from those of other clouds.

pub(crate) mod certificates;
pub(crate) mod load_balancers;
pub(crate) mod tags;
pub(crate) mod volumes;

use aerostat_sdk::http::{Client, NumberedPage, NumberedPages, Refused, Response};
use aerostat_sdk::{Error, Result, SortedSet};
use serde::Deserialize;

const API: Client<'_> =
    Client::new("api").refusals(refusal).not_found(is_not_found).busy(is_busy).limit_ends("ratelimit-reset");

/// The link in `next` is not followed: it leads to the public host, whatever the base URL is.
pub(crate) const PAGES: NumberedPages<'_> =
    NumberedPages { largest: 200, next: &["links", "pages", "next"], ..NumberedPages::USUAL };

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

/// Where a droplet or a volume is.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Region {
    pub(crate) slug: String,
}

/// A droplet's addresses by family.
#[derive(Deserialize)]
pub(crate) struct Networks {
    #[serde(default)]
    pub(crate) v4: Vec<DropletAddress>,
    #[serde(default)]
    pub(crate) v6: Vec<DropletAddress>,
}

/// One address.
#[derive(Deserialize)]
pub(crate) struct DropletAddress {
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
pub(crate) fn ids_tagged(tag: &str) -> Result<SortedSet<u64>> {
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

/// The kind of a refusal, by the API's status, its `id` (its code) and its words; `None` leaves it to the status.
///
/// The API has an `id` for each status and no more ("HTTP Statuses" of the published description), so that words decide where one
/// status has several meanings.
fn refused(status: u16, id: &str, words: &str) -> Option<Refused> {
    let says = |part: &str| words.contains(part);
    Some(match (status, id) {
        (403, _) if says("previous actions") => Refused::Busy,
        (403 | 422, _) if says("quota") || (says("limit") && ["reach", "exceed"].into_iter().any(says)) => {
            Refused::Quota
        }
        // A droplet carries out one action after the other.
        (422, _) if says("pending event") => Refused::Busy,
        // The name of a deleted load balancer stays taken for a while after the list shows it no more.
        (409 | 422, _) if says(NAME_TAKEN) => Refused::Busy,
        (409, _) | (_, "conflict") => Refused::Busy,
        (400 | 422, _) => Refused::Invalid,
        (401 | 403, _) => Refused::Denied,
        (404, "not_found") => Refused::NotFound,
        (429, _) => Refused::RateLimit,
        (500.., _) => Refused::Failure,
        _ => return None,
    })
}

/// The API's words for a load balancer's name that another has, or had until a moment ago.
const NAME_TAKEN: &str = "load balancer with that name";

fn sorted(response: &Response) -> Option<Refused> {
    let id: String = response.json_in("id").unwrap_or_default();
    refused(response.status(), &id, &words(response))
}

/// The API's words in an error, in lower case.
fn words(response: &Response) -> String {
    let words: String = response.json_in("message").unwrap_or_default();
    words.to_ascii_lowercase()
}

/// Whether an error has these words, which are in lower case.
fn says(response: &Response, part: &str) -> bool {
    words(response).contains(part)
}

/// Whether an object refuses a change because it is still carrying out an earlier one.
fn is_busy(response: &Response) -> bool {
    sorted(response) == Some(Refused::Busy)
}

fn says_name_taken(response: &Response) -> bool {
    says(response, NAME_TAKEN)
}

/// Whether the API itself says that something is gone: `{"id": "not_found", "message": "…"}`.
fn is_not_found(response: &Response) -> bool {
    sorted(response) == Some(Refused::NotFound)
}

fn refusal(response: &Response) -> Option<Error> {
    let says_when = response.status() == 503 && response.retry_after().is_some();
    sorted(response).filter(|_| !says_when)?.error(response.complaint())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refusals, with the words as they are compared.
    #[test]
    fn adv_167_refusals_are_sorted_by_their_code_and_words() {
        let (refused, invalid) = (Some, Some(Refused::Invalid));
        let table = [
            (400, "bad_request", "error parsing request body", invalid),
            (401, "unauthorized", "unable to authenticate you", refused(Refused::Denied)),
            (403, "forbidden", "you are not authorized to perform this operation", refused(Refused::Denied)),
            (
                403,
                "forbidden",
                "load balancer can't be updated while it processes previous actions",
                refused(Refused::Busy),
            ),
            (403, "forbidden", "you have reached the load balancer limit of your account", refused(Refused::Quota)),
            (404, "not_found", "the resource you requested could not be found", refused(Refused::NotFound)),
            (404, "", "", None),
            (409, "conflict", "the request could not be completed due to a conflict", refused(Refused::Busy)),
            (422, "unprocessable_entity", "there is already a load balancer with that name", refused(Refused::Busy)),
            (422, "unprocessable_entity", "creating this will exceed your limit", refused(Refused::Quota)),
            (403, "forbidden", "volume/snapshot capacity limit exceeded", refused(Refused::Quota)),
            (422, "unprocessable_entity", "droplet already has a pending event.", refused(Refused::Busy)),
            (422, "unprocessable_entity", "entry port 50053 is reserved", invalid),
            (422, "unprocessable_entity", "a load balancer can have at most 10 droplets", invalid),
            (429, "too_many_requests", "api rate limit exceeded", refused(Refused::RateLimit)),
            (500, "server_error", "unexpected server-side error", refused(Refused::Failure)),
            (503, "", "", refused(Refused::Failure)),
            (418, "teapot", "limit exceeded", None),
        ];
        for (status, id, words, expected) in table {
            assert_eq!(super::refused(status, id, words), expected, "{status} {id}: {words}");
        }
    }
}
