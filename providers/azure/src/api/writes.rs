//! Writes of whole objects, each with the version that was read: who has written in between is not overwritten.

use std::time::Duration;

use aerostat_sdk::http::Response;
use aerostat_sdk::{Method, Result};
use serde_json::Value;

use super::endpoint::AzureApi;
use super::errors::{code, is_busy, is_busy_code, is_not_found};
use super::operations;
use crate::api::fields::{text, word};
use crate::id::ResourceId;

/// How soon to come back where the API does not say it.
const LATER: Duration = Duration::from_secs(2);

/// The answer to a write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AzureWritten {
    /// It is under way, or done: the object as the API shows it, null for a deletion, and the operation.
    Begun(Value, Option<String>),
    /// Another writer has changed or made the object meanwhile: it has to be read again.
    Changed,
    /// An earlier change has to end first: how soon to come back, and what the API says.
    Busy(Duration, String),
}

/// A PUT of an object over the one that was read, with its version if it has one; without one that was read, only where there is
/// none.
///
/// # Errors
///
/// Whatever else the API answered.
pub(crate) fn put(api: AzureApi, id: &ResourceId, body: &Value, over: Option<&Value>) -> Result<AzureWritten> {
    let request = api.request(Method::Put, id).json(body);
    let request = match over.map(etag) {
        Some(Some(etag)) => request.header("if-match", etag),
        Some(None) => request,
        None => request.header("if-none-match", "*"),
    };
    written(request.answer()?, false)
}

/// A DELETE of an object as it was read, if it has a version: something else may have begun to use it since. What is not there is gone.
/// The API's description names `if-match` neither for this nor for a PUT of a load balancer. For a PUT it counts all the same; where it
/// did not count here, it would be a header that nobody reads.
///
/// # Errors
///
/// Whatever else the API answered.
pub(crate) fn delete(api: AzureApi, id: &ResourceId, shown: Option<&Value>) -> Result<AzureWritten> {
    let request = api.request(Method::Delete, id);
    let request = shown.and_then(etag).into_iter().fold(request, |it, etag| it.header("if-match", etag));
    written(request.answer()?, true)
}

fn written(response: Response, is_deletion: bool) -> Result<AzureWritten> {
    if response.is_success() {
        let is_empty = response.body().is_empty() && (is_deletion || response.status() == 202);
        let shown = if is_empty { Value::Null } else { response.json()? };
        return Ok(AzureWritten::Begun(shown, operations::begun(&response)));
    }
    let code = code(&response);
    match response.status() {
        404 if is_deletion && is_not_found(&response) => Ok(AzureWritten::Begun(Value::Null, None)),
        412 => Ok(AzureWritten::Changed),
        _ if is_busy(&response) || is_busy_code(&code) => {
            Ok(AzureWritten::Busy(response.retry_after().unwrap_or(LATER), response.complaint()))
        }
        _ => response.accepted().map(|it| AzureWritten::Begun(Value::Null, operations::begun(&it))),
    }
}

/// The version of an object that was read.
fn etag(shown: &Value) -> Option<&str> {
    word(shown, "/etag")
}

/// Whether the API is still changing an object.
pub(crate) fn is_changing(shown: &Value) -> bool {
    matches!(text(shown, "/properties/provisioningState"), "Updating" | "Creating" | "Deleting")
}

/// Whether the API has given an object up.
pub(crate) fn has_failed(shown: &Value) -> bool {
    matches!(text(shown, "/properties/provisioningState"), "Failed" | "Canceled")
}
