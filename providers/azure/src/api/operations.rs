//! Operations: writes that go on after their answer. An object says itself whether it is being changed; why a change has failed, its
//! operation says.

use aerostat_sdk::http::{self, Response};
use aerostat_sdk::{Error, Method, Result};
use serde_json::Value;

use super::endpoint::AzureApi;
use super::errors::{ended, is_busy_code};
use super::fields::text;
use crate::id::is_name;

/// The operation of a write, as memos name it: its location and its id.
pub(crate) fn begun(response: &Response) -> Option<String> {
    let url = response.header("azure-asyncoperation").or_else(|| response.header("location"))?;
    let path = http::resolve_url(url)?.path;
    let at = path.iter().position(|it| it.eq_ignore_ascii_case("locations"))?;
    let [_, location, kind, id] = path.get(at..)? else { return None };
    let is_one = matches!(&*kind.to_ascii_lowercase(), "operations" | "operationresults");
    (is_one && is_name(location) && is_name(id)).then(|| format!("{location}/{id}"))
}

/// Where an operation stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AzureOperationState {
    /// It goes on.
    Ongoing,
    Succeeded,
    Failed(Error),
    /// The API knows it no more, or another took its place.
    Unknown,
}

/// Where an operation stands.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn state(api: AzureApi, subscription: &str, operation: &str) -> Result<AzureOperationState> {
    let Some((location, id)) = operation.split_once('/').filter(|(location, id)| is_name(location) && is_name(id))
    else {
        return Ok(AzureOperationState::Unknown);
    };
    let namespace = if api == AzureApi::Compute { "Microsoft.Compute" } else { "Microsoft.Network" };
    let path = ["subscriptions", subscription, "providers", namespace, "locations", location, "operations", id];
    let shown: Option<Value> = api.at(Method::Get, path.map(str::to_owned).into()).find()?;
    let shown = shown.unwrap_or_default();
    let code = text(&shown, "/error/code");
    Ok(match text(&shown, "/status") {
        "InProgress" => AzureOperationState::Ongoing,
        "Succeeded" => AzureOperationState::Succeeded,
        "Failed" | "Canceled" if !is_busy_code(code) && !code.contains("Superseded") => {
            let why = format!("operation {id} ended with {code}: {}", text(&shown, "/error/message"));
            AzureOperationState::Failed(ended(code, &why).unwrap_or_else(|| Error::unavailable(why)))
        }
        _ => AzureOperationState::Unknown,
    })
}

/// The reason why the operation of a failed object failed; `None` while it goes on, if it is done, or if nobody knows it any more. One that another
/// took the place of has not failed.
///
/// # Errors
///
/// The API says that requests come too fast.
pub(crate) fn failure(api: AzureApi, subscription: &str, operation: &str) -> Result<Option<Error>> {
    match state(api, subscription, operation) {
        Ok(AzureOperationState::Failed(error)) => Ok(Some(error)),
        Ok(_) => Ok(None),
        Err(error @ Error::RetryAfter(_)) => Err(error),
        // A role at a group reaches no further: that something has failed is told all the same.
        Err(Error::Denied(why)) => {
            let id = operation.rsplit('/').next().unwrap_or(operation);
            Ok(Some(Error::unavailable(format_args!("a write has failed, and operation {id} cannot be read: {why}"))))
        }
        Err(_) => Ok(None),
    }
}
