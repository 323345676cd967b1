//! Projects, by the numbers that are never given again.

use aerostat_sdk::http::Client;
use aerostat_sdk::{Error, Result};
use serde_json::Value;

use crate::fields::text;

/// A project, as its endpoint shows it.
#[derive(Clone, Debug)]
pub struct GceProject {
    /// Its number, which is never given again.
    pub number: String,
    /// Its id: the name that settings and references have.
    pub id: String,
}

/// The project where an endpoint leads; `None` if there is none.
///
/// # Errors
///
/// The error that the API answered.
pub fn project(api: &Client<'_>) -> Result<Option<GceProject>> {
    let found = shown(api, &[], "id,name")?;
    Ok(found.map(|it| GceProject { number: text(&it, "id"), id: text(&it, "name") }))
}

/// An object with an id; `None` if it is not there.
///
/// # Errors
///
/// The error that the API answered, also without an id.
pub fn shown(api: &Client<'_>, path: &[&str], fields: &str) -> Result<Option<Value>> {
    let Some(response) = api.get(path.iter().copied()).query("fields", fields).find_response()? else {
        return Ok(None);
    };
    let shown: Value = response.json()?;
    match text(&shown, "id").is_empty() {
        true => Err(response.unreadable(&"it has no id")),
        false => Ok(Some(shown)),
    }
}

/// The number of the project at an endpoint, which has to be the setting's.
///
/// # Errors
///
/// `invalid`, if there is none, or another one.
pub fn number_of(endpoint: &str, project: &str, setting: &str, found: Option<GceProject>) -> Result<String> {
    let found = found.ok_or_else(|| missing(&format!("project {project}"), setting))?;
    match found.id == project {
        true => Ok(found.number),
        false => Err(Error::invalid(format_args!(
            "baseUrl of endpoint {endpoint} leads to project {}, and setting {setting} says {project}: correct one of them",
            found.id
        ))),
    }
}

/// The error about what a setting names, and the API does not show.
#[must_use]
pub fn missing(what: &str, setting: &str) -> Error {
    Error::invalid(format_args!("there is no {what}, or the credential does not see it: correct setting {setting}"))
}
