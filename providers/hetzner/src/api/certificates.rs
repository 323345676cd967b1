//! TLS certificates.

use aerostat_sdk::http::{Attempt, Response};
use aerostat_sdk::{Error, Result, SortedMap};
use serde::Serialize;

use super::{API, WithLabels, code};

/// One certificate.
pub(crate) type Certificate = WithLabels;

/// The body of a creation.
#[derive(Debug, Serialize)]
pub(crate) struct Managed<'a> {
    pub(crate) name: &'a str,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) domain_names: &'a [String],
    pub(crate) labels: SortedMap<&'static str, String>,
}

/// The certificate with exactly this name: names are unique in a project.
pub(crate) fn named(name: &str) -> Result<Option<Certificate>> {
    let found: Vec<Certificate> = API.get(["certificates"]).query("name", name).send()?.json_in("certificates")?;
    Ok(found.into_iter().find(|it| it.name == name))
}

/// Those with a label.
pub(crate) fn labelled(selector: &str) -> Result<Vec<Certificate>> {
    API.get(["certificates"]).query("label_selector", selector).send()?.json_in("certificates")
}

/// Creates one that the cloud issues and renews; `None` if the name is taken, as by a creation whose answer was lost.
pub(crate) fn create(managed: &Managed<'_>) -> Result<Option<Certificate>> {
    let is_taken = |it: &Response| it.status() == 409 && code(it) == "uniqueness_error";
    match API.post(["certificates"]).json(managed).attempt()? {
        Attempt::Lost(why) => Err(Error::Unavailable(why)),
        Attempt::Answered(response) if is_taken(&response) => Ok(None),
        Attempt::Answered(response) => response.accepted()?.json_in("certificate").map(Some),
    }
}
