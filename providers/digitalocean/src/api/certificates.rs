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
    #[derive(Deserialize)]
    struct Body {
        certificate: Certificate,
    }
    let found: Option<Body> = API.get(["v2", "certificates", id]).find()?;
    Ok(found.map(|it| it.certificate))
}

/// The certificate with this name, in this case: names are unique.
pub(crate) fn named(name: &str) -> Result<Option<Certificate>> {
    #[derive(Deserialize)]
    struct Body {
        certificates: Vec<Certificate>,
    }
    let request = API.get(["v2", "certificates"]).query("name", name).query("page", 1).query("per_page", 1);
    let found: Body = request.send()?.json()?;
    Ok(found.certificates.into_iter().find(|it| it.name == name))
}
