//! Projects and networks, by the numbers that are never given again.

use aerostat_sdk::Result;
use gcp_api::{GceProject, project, shown};

use super::fields::text;
use super::{API, NETWORK_API};

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
