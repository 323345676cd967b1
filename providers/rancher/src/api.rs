//! Rancher's API: collections with markers, resources with states and actions.

use aerostat_sdk::http::{Client, Request, Response};
use aerostat_sdk::{Change, Error, Result, pages};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The endpoint `api` of the operator's config: an environment, `…/v2-beta/projects/1a5`.
pub(crate) const API: Client<'_> = Client::new("api").busy(|it| it.status() == 409 || has_code(it, PASSING));
/// The most resources that are asked for at a time.
pub(crate) const LARGEST: u32 = 1_000;
/// Another resource has this name.
pub(crate) const NAME_TAKEN: &str = "NotUnique";
/// Codes of refusals that pass: the state that was read is an old one.
const PASSING: &[&str] = &["ActionNotAvailable", NAME_TAKEN];

/// Whether a refusal has one of these codes.
pub(crate) fn has_code(response: &Response, codes: &[&str]) -> bool {
    response.json().is_ok_and(|it: Value| it["code"].as_str().is_some_and(|it| codes.contains(&it)))
}

/// One page of a collection, and the marker of the next.
pub(crate) fn page<T: DeserializeOwned>(
    request: Request,
    marker: Option<&str>,
    limit: u32,
) -> Result<(Vec<T>, Option<String>)> {
    let request = request.query("limit", limit.clamp(1, LARGEST));
    let request = marker.into_iter().fold(request, |it, marker| it.query("marker", marker));
    let Collection { data, pagination } = request.send()?.json()?;
    let next = pagination["next"].as_str();
    let marker = next.and_then(marker_of);
    if marker.is_none() && (next.is_some() || pagination["partial"] == true) {
        return Err(Error::unavailable(format_args!("a collection of Rancher does not say how it goes on: {next:?}")));
    }
    Ok((data, marker))
}

/// A whole collection of what is not removed.
pub(crate) fn all<T: DeserializeOwned>(request: &Request) -> Result<Vec<T>> {
    pages(None, |marker: &Option<String>| {
        let request = request.clone().query("removed_null", 1);
        page(request, marker.as_deref(), LARGEST).map(|(data, next)| (data, next.map(Some)))
    })
}

/// Does what a resource offers: a POST of its own URL.
pub(crate) fn act(path: [&str; 2], action: &str, body: Option<Value>) -> Result<String> {
    let done = body.iter().fold(API.post(path).query("action", action), |it, body| it.json(body)).change()?;
    Ok(busy(done, format_args!("Rancher carries out {action} of {}", path[1])))
}

/// A change that was taken and is not done yet, or was not taken now: the reason to come again.
pub(crate) fn busy<T>(change: Change<T>, why: impl ToString) -> String {
    match change {
        Change::Done(_) => why.to_string(),
        Change::Busy(why) => why,
    }
}

/// The marker in the URL of the next page. The rest of that URL is the server's idea of its own address, and is not followed.
fn marker_of(next: &str) -> Option<String> {
    let marker = next.split_once('?')?.1.split('&').find_map(|it| it.strip_prefix("marker="))?;
    (!marker.is_empty() && marker.bytes().all(|it| it.is_ascii_alphanumeric())).then(|| marker.to_owned())
}

#[derive(Deserialize)]
struct Collection<T> {
    data: Vec<T>,
    #[serde(default)]
    pagination: Value,
}

/// A resource, with the fields of services where it is one: load balancers and external services.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CattleResource {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) state: String,
    transitioning: Option<String>,
    transitioning_message: Option<String>,
    removed: Option<String>,
    external_id: Option<String>,
    #[serde(default)]
    actions: Value,
    pub(crate) stack_id: Option<String>,
    #[serde(default)]
    pub(crate) launch_config: Value,
    #[serde(default)]
    pub(crate) lb_config: Value,
    #[serde(default)]
    pub(crate) public_endpoints: Value,
    pub(crate) external_ip_addresses: Option<Vec<String>>,
}

impl CattleResource {
    /// Whether it is gone for good.
    pub(crate) fn is_removed(&self) -> bool {
        self.removed.is_some() || matches!(&*self.state, "removed" | "purging" | "purged")
    }

    /// Whether it has this mark.
    pub(crate) fn has_mark(&self, mark: &str) -> bool {
        self.external_id.as_deref() == Some(mark)
    }

    /// Refuses to touch what has another mark, or none.
    pub(crate) fn refuse_others(&self, mark: &str) -> Result<()> {
        let name = self.name.as_deref().unwrap_or_default();
        let why = || Error::invalid(format_args!("{} ({name}) is another's: delete it in Rancher", self.id));
        self.has_mark(mark).then_some(()).ok_or_else(why)
    }

    /// Whether it can do this now.
    pub(crate) fn offers(&self, action: &str) -> bool {
        !self.actions[action].is_null()
    }

    /// Asks for its deletion, unless that goes on: the reason to come again.
    pub(crate) fn delete(&self, collection: &str) -> Result<String> {
        let goes_on = self.state == "removing";
        let asked = if goes_on { Change::Done(()) } else { API.delete([collection, &self.id]).change_or_gone()? };
        Ok(busy(asked, format_args!("Rancher deletes {}", self.id)))
    }

    /// Why nothing can be written to it now: it changes by itself. An error, if Rancher says that a change has failed.
    pub(crate) fn changes(&self) -> Result<Option<String>> {
        let Self { id, state, .. } = self;
        match self.transitioning.as_deref() {
            Some("error") => {
                let why = self.transitioning_message.as_deref().unwrap_or("and does not say why");
                Err(Error::unavailable(format_args!("{id} is {state}, and Rancher has failed to change it: {why}")))
            }
            Some("yes") => Ok(Some(format!("{id} is {state}"))),
            _ => Ok(None),
        }
    }
}
