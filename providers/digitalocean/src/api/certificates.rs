//! TLS certificates: their names and ids.

use aerostat_sdk::Result;
use serde::Deserialize;

use super::API;

/// One certificate.
#[derive(Debug, Deserialize)]
pub(crate) struct Certificate {
    pub(crate) id: String,
    pub(crate) name: String,
    /// "custom" or "`lets_encrypt`".
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
}

/// The certificate with this id.
pub(crate) fn find(id: &str) -> Result<Option<Certificate>> {
    API.get(["v2", "certificates", id]).find_in("certificate")
}

/// The certificate with exactly this name, also in upper and lower case: names are unique.
pub(crate) fn named(name: &str) -> Result<Option<Certificate>> {
    let request = API.get(["v2", "certificates"]).query("name", name).query("page", 1).query("per_page", 1);
    let found: Vec<Certificate> = request.send()?.json_in("certificates")?;
    Ok(found.into_iter().find(|it| it.name == name))
}
