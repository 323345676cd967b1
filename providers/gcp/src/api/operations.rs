//! Operations: writes that go on after their answer.

use aerostat_sdk::http::{Client, Response};
use aerostat_sdk::{Error, Result, SortedMap, pages};
use gcp_api::operation_error;
use serde_json::Value;

use super::fields::{items, word};
use super::{NETWORK_API, PAGE};

/// A write's operation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum OperationState {
    /// It goes on, under this name.
    Running(String),
    /// It is done.
    Done,
    /// It has ended: what it should have deleted is used by something else, and stays.
    InUse,
    /// The API does not know it: what it was about has to be read.
    Lost,
    /// The API cannot tell for now: what it was about has to be read.
    Unread,
}

/// The operation that answers a write. It may be done at once.
///
/// # Errors
///
/// If it is no operation; the error that it ended with.
pub(crate) fn begun(response: &Response) -> Result<OperationState> {
    let shown: Value = response.json()?;
    let name = word(&shown, "name").ok_or_else(|| response.unreadable(&"the operation has no name"))?;
    state(&shown, name)
}

/// A global operation of the network's project, by its name. Where it is not there, it is lost.
///
/// # Errors
///
/// Refusals of the API, and the error that the operation ended with.
pub(crate) fn of_network(name: &str) -> Result<OperationState> {
    find(&NETWORK_API, vec!["global".to_owned()], name)
}

/// The operations of a list's question: their names are 60 characters, and the address of a request stays below 4 KB.
const LISTED: usize = 50;

/// Those of several global operations of the network's project that lists tell of: each with what has become of it, or the error
/// that it ended with. Fewer, where they cannot be listed.
///
/// # Errors
///
/// A limit.
pub(crate) fn listed(names: &[&str]) -> Result<SortedMap<String, Result<OperationState>>> {
    let mut all = SortedMap::default();
    for some in names.chunks(LISTED) {
        match list(some) {
            Ok(some) => all.extend(some),
            Err(error @ Error::RetryAfter(_)) => return Err(error),
            Err(_) => break,
        }
    }
    Ok(all)
}

fn list(names: &[&str]) -> Result<Vec<(String, Result<OperationState>)>> {
    pages(None, |token: &Option<String>| {
        let request = NETWORK_API
            .get(["global", "operations"])
            .query("filter", format_args!("name eq \"({})\"", names.join("|")))
            .query("maxResults", PAGE)
            .query("fields", "nextPageToken,items(name,status,error,httpErrorStatusCode)");
        let page: Value = token.iter().fold(request, |it, token| it.query("pageToken", token)).send()?.json()?;
        let each = items(&page, "items").iter().filter_map(|shown| {
            let name = word(shown, "name")?;
            Some((name.clone(), state(shown, name)))
        });
        Ok((each.collect::<Vec<_>>(), word(&page, "nextPageToken").map(Some)))
    })
}

/// The operation with this name under `scope`, such as `regions/r`; as [`of_network`].
///
/// # Errors
///
/// As [`of_network`].
pub(crate) fn find(api: &Client<'_>, scope: Vec<String>, name: &str) -> Result<OperationState> {
    let request = api.get(scope.into_iter().chain(["operations".to_owned(), name.to_owned()]));
    let request = request.query("fields", "name,status,error,httpErrorStatusCode");
    match request.find_response() {
        Ok(Some(response)) => state(&response.json()?, name.to_owned()),
        Ok(None) => Ok(OperationState::Lost),
        Err(Error::Unavailable(_)) => Ok(OperationState::Unread),
        Err(error) => Err(error),
    }
}

fn state(shown: &Value, name: String) -> Result<OperationState> {
    if shown["status"] != "DONE" {
        return Ok(OperationState::Running(name));
    }
    match items(&shown["error"], "errors").first() {
        None => Ok(OperationState::Done),
        Some(error) if error["code"] == "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE" => Ok(OperationState::InUse),
        Some(error) => Err(operation_error(&name, error)),
    }
}
