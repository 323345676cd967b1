//! Volumes.

use aerostat_sdk::http::{NumberedPage, Request, Response};
use aerostat_sdk::volume_backend::{Attaching, Making};
use aerostat_sdk::{Change, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::actions::{self, Action};
use super::{API, BodyFields, BodyValue, Labels, PAGES, WithName, code, is_busy};

/// Where a list has its items.
const FIELD: &str = "volumes";

/// The place of one volume.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LocatedVolume {
    pub(crate) id: u64,
    pub(crate) location: WithName,
}

/// One volume, with all that counts for a claim.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerVolume {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) location: WithName,
    /// In gibibytes, which the API calls GB.
    pub(crate) size: u64,
    pub(crate) status: String,
    /// The server that has it; absent where none has. What is on its way is not told.
    pub(crate) server: Option<u64>,
    pub(crate) linux_device: String,
    #[serde(default)]
    pub(crate) labels: Labels,
}

/// The body of a creation.
#[derive(Serialize)]
pub(crate) struct VolumeBody<'a> {
    pub(crate) name: &'a str,
    pub(crate) location: &'a str,
    pub(crate) size: u64,
    pub(crate) labels: Labels,
}

/// The volume with this id.
pub(crate) fn find<V: DeserializeOwned>(id: u64) -> Result<Option<V>> {
    API.get(["volumes", &id.to_string()]).find_in("volume")
}

/// Whether the list of all volumes has one with this id.
pub(crate) fn is_listed(id: u64) -> Result<bool> {
    PAGES.find(&sorted(), FIELD, "id", &id.into()).map(|it| it.is_some())
}

/// The places of all volumes of the project.
pub(crate) fn all() -> Result<Vec<LocatedVolume>> {
    PAGES.all(&sorted(), FIELD)
}

/// The volumes with this name: one at most.
pub(crate) fn named(name: &str) -> Result<Vec<ServerVolume>> {
    PAGES.all(&API.get(["volumes"]).query("name", name), FIELD)
}

/// One page of the volumes of the project.
pub(crate) fn page(number: u32, size: u32) -> Result<NumberedPage<ServerVolume>> {
    PAGES.page(sorted(), FIELD, number, size)
}

/// Creates one. The cloud answers with it, and with the action that makes it.
pub(crate) fn create(spec: &VolumeBody<'_>) -> Result<Making<(ServerVolume, Action)>> {
    let otherwise = |answer: &Response| match &*code(answer) {
        "no_space_left_in_location" => Some(Making::NoRoom(answer.complaint())),
        // The name is taken: it is looked for.
        "uniqueness_error" => Some(Making::Unclear(answer.complaint())),
        _ => None,
    };
    let read = |answer: &Response| Ok((answer.json_in("volume")?, actions::begun(answer)?));
    Making::sent_unless(API.post(["volumes"]).json(spec), otherwise, read)
}

/// Deletes it; if it does not exist, that is a success.
pub(crate) fn delete(id: u64) -> Result<Change<()>> {
    API.delete(["volumes", &id.to_string()]).change_or_gone()
}

/// Begins to attach it to a server.
pub(crate) fn attach(id: u64, server: u64) -> Result<Attaching> {
    let response = request(id, "attach").json(&BodyFields(&[("server", BodyValue::Number(server))])).answer()?;
    match &*code(&response) {
        "limit_exceeded_error" | "resource_limit_exceeded" => Ok(Attaching::Full(response.complaint())),
        // The next read shows to which server.
        "volume_already_attached" => Ok(Attaching::Begun),
        _ => Ok(begun(response)?.into()),
    }
}

/// Begins to detach it from the server that has it: the request cannot name one.
pub(crate) fn detach(id: u64) -> Result<Change<()>> {
    begun(request(id, "detach").answer()?)
}

/// Begins to let it grow to so many gibibytes.
pub(crate) fn resize(id: u64, gibibytes: u64) -> Result<Change<()>> {
    begun(request(id, "resize").json(&BodyFields(&[("size", BodyValue::Number(gibibytes))])).answer()?)
}

/// Whether the cloud has taken an action, or has to be asked again.
fn begun(response: Response) -> Result<Change<()>> {
    if is_busy(&response) {
        return Ok(Change::Busy(response.complaint()));
    }
    response.accepted().map(|_| Change::Done(()))
}

fn sorted() -> Request {
    API.get(["volumes"]).query("sort", "id:asc")
}

fn request(id: u64, action: &str) -> Request {
    API.post(["volumes", &id.to_string(), "actions", action])
}
