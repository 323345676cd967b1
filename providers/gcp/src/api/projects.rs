//! Projects and networks, by the numbers that are never given again.

use aerostat_sdk::Result;

use super::API;
use super::fields::text;

/// The number of a project; `None` if there is no such project.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn number(project: &str) -> Result<Option<String>> {
    id(&["projects", project])
}

/// The id of a network, a number; `None` if there is no such network.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn network(project: &str, network: &str) -> Result<Option<String>> {
    id(&["projects", project, "global", "networks", network])
}

fn id(path: &[&str]) -> Result<Option<String>> {
    let Some(response) = API.get(path.iter().copied()).query("fields", "id").find_response()? else { return Ok(None) };
    let id = text(&response.json()?, "id");
    match id.is_empty() {
        true => Err(response.unreadable(&"it has no id")),
        false => Ok(Some(id)),
    }
}
