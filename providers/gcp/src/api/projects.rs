//! Projects and networks, by the numbers that are never given again.

use aerostat_sdk::Result;
use aerostat_sdk::http::Client;
use serde_json::Value;

use super::fields::text;
use super::{API, NETWORK_API};

/// A project, as its endpoint shows it.
pub(crate) struct GceProject {
    /// Its number, which is never given again.
    pub(crate) number: String,
    /// Its id: the name that settings and references have.
    pub(crate) id: String,
}

/// The machines' project; `None` if there is none where the endpoint leads.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn of_machines() -> Result<Option<GceProject>> {
    project(&API)
}

/// The network's project, as [`of_machines`].
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn of_network() -> Result<Option<GceProject>> {
    project(&NETWORK_API)
}

/// The id of a network, a number; `None` if there is no such network.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn network(network: &str) -> Result<Option<String>> {
    let found = shown(&NETWORK_API, &["global", "networks", network], "id")?;
    Ok(found.map(|it| text(&it, "id")))
}

fn project(api: &Client<'_>) -> Result<Option<GceProject>> {
    let found = shown(api, &[], "id,name")?;
    Ok(found.map(|it| GceProject { number: text(&it, "id"), id: text(&it, "name") }))
}

/// An object with an id.
fn shown(api: &Client<'_>, path: &[&str], fields: &str) -> Result<Option<Value>> {
    let Some(response) = api.get(path.iter().copied()).query("fields", fields).find_response()? else {
        return Ok(None);
    };
    let shown: Value = response.json()?;
    match text(&shown, "id").is_empty() {
        true => Err(response.unreadable(&"it has no id")),
        false => Ok(Some(shown)),
    }
}
