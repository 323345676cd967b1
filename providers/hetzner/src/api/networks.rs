//! Private networks.

use aerostat_sdk::{Error, Result};
use serde::Deserialize;

use super::API;
use crate::settings::Network as Setting;

/// One network.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Network {
    pub(crate) id: u64,
}

/// The id of the network that the operator named. An id is taken as it is; for a name, the cloud is asked.
///
/// # Errors
///
/// `denied`, if the project has no network of this name.
pub(crate) fn id(setting: &Setting) -> Result<u64> {
    match setting {
        Setting::Id(id) => Ok(*id),
        Setting::Name(name) => named(name)?.map(|it| it.id).ok_or_else(|| missing(setting)),
    }
}

/// The network that the operator named.
///
/// # Errors
///
/// `denied`, if the project has no such network.
pub(crate) fn get(setting: &Setting) -> Result<Network> {
    let found = match setting {
        Setting::Id(id) => API.get(["networks", &id.to_string()]).find_in("network")?,
        Setting::Name(name) => named(name)?,
    };
    found.ok_or_else(|| missing(setting))
}

fn named(name: &str) -> Result<Option<Network>> {
    let found: Vec<Network> = API.get(["networks"]).query("name", name).send()?.json_in("networks")?;
    Ok(found.into_iter().next())
}

/// It may be another project's token: asked again at once when the credential changes.
fn missing(setting: &Setting) -> Error {
    Error::denied(format_args!(
        "setting network: the project of this token has no network {setting}: correct the setting, or the token"
    ))
}
