//! Private networks.

use aerostat_sdk::{Change, Error, Result};
use serde::{Deserialize, Serialize};

use super::actions::{self, Action};
use super::{API, code, is_busy};
use crate::settings::NetworkSetting as Setting;

/// One network.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Network {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
}

/// Where a network sends packets.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Route {
    pub(crate) destination: String,
    pub(crate) gateway: String,
}

/// Why a change of routes was refused.
#[derive(Clone, Debug)]
pub(crate) enum RefusedChange {
    /// The network has as many routes as it may.
    Full(Error),
    /// Anything else.
    Other(Error),
}

impl RefusedChange {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Full(error) | Self::Other(error) => error,
        }
    }
}

impl From<Error> for RefusedChange {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
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

/// Begins a change of a network's routes. A route to delete that is not there is a success of the next call.
pub(crate) fn act(id: u64, action: &str, route: &Route) -> Result<Change<Action>, RefusedChange> {
    let response = API.post(["networks", &id.to_string(), "actions", action]).json(route).answer()?;
    match &*code(&response) {
        _ if is_busy(&response) => Ok(Change::Busy(response.complaint())),
        "resource_limit_exceeded" => Err(RefusedChange::Full(Error::invalid(format_args!(
            "network {id} takes no more routes: {}",
            response.complaint()
        )))),
        _ => Ok(Change::Done(actions::begun(&response.accepted()?)?)),
    }
}

/// It may be another project's token: asked again at once when the credential changes.
fn missing(setting: &Setting) -> Error {
    Error::denied(format_args!(
        "setting network: the project of this token has no network {setting}: correct the setting, or the token"
    ))
}
