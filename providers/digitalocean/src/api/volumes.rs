//! Requests for volumes, and for the actions on them.

use aerostat_sdk::http::{NumberedPage, NumberedPages, PageEnd, Response};
use aerostat_sdk::volume_backend::{Attaching, Making};
use aerostat_sdk::{Change, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{API, PAGES, Region, says};

const PATH: [&str; 2] = ["v2", "volumes"];
/// Where a list has its items.
const FIELD: &str = "volumes";
/// Actions are counted: a page without links must not end their list.
const ACTIONS: NumberedPages<'_> = NumberedPages { next: &["meta", "total"], end: PageEnd::Items, ..PAGES };

/// One volume.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct DropletVolume {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) description: String,
    pub(crate) size_gigabytes: u64,
    pub(crate) region: Region,
    /// `null` where it is attached to none. What is on its way is not told.
    droplet_ids: Option<Vec<u64>>,
}

impl DropletVolume {
    /// The droplets that it is attached to: one at most, as the API says today.
    pub(crate) fn droplets(&self) -> impl Iterator<Item = u64> {
        self.droplet_ids.iter().flatten().copied()
    }
}

/// The body of a creation.
#[derive(Serialize)]
pub(crate) struct VolumeSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) size_gigabytes: u64,
    pub(crate) region: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tags: Option<[&'a str; 1]>,
}

/// A change of a volume that the cloud carries out after its answer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct VolumeAction {
    pub(crate) id: u64,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    status: String,
}

impl VolumeAction {
    /// Whether it may still change something. One whose status is not known may.
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.status.as_str(), "completed" | "errored")
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.status == "errored"
    }
}

/// The size of a whole list, of which an answer is a page.
#[derive(Deserialize)]
struct Meta {
    total: usize,
}

/// The volume with this id.
pub(crate) fn find(id: &str) -> Result<Option<DropletVolume>> {
    API.get(path(id)).find_in("volume")
}

/// Whether the list of all volumes has one with this id.
pub(crate) fn is_listed(id: &str) -> Result<bool> {
    PAGES.find(&API.get(PATH), FIELD, "id", &json!(id)).map(|it| it.is_some())
}

/// The actions on the volume with this id that may still run, with the last one; `None` if the API knows no such volume.
///
/// A volume has actions as long as it lives, and the cloud works on few of them at a time. Where it shows the newest first,
/// their first page is enough: it does not promise that order, so that it is looked at.
pub(crate) fn actions(id: &str) -> Result<Option<Vec<VolumeAction>>> {
    let request = API.get(actions_path(id));
    let first = request.clone().query("page", 1).query("per_page", PAGES.largest);
    let Some(response) = first.find_response()? else { return Ok(None) };
    let actions: Vec<VolumeAction> = response.json_in("actions")?;
    let Meta { total } = response.json_in("meta")?;
    let is_newest_first = actions.len() > 1 && actions.is_sorted_by(|earlier, later| earlier.id > later.id);
    if actions.len() >= total || is_newest_first {
        return Ok(Some(actions));
    }
    let actions = ACTIONS.all(&request, "actions")?;
    if actions.len() < total {
        let why = format!("{} of {total} actions on volume {id}", actions.len());
        return Err(response.unreadable(&why));
    }
    Ok(Some(actions))
}

/// The volumes with this name, one for each region at most.
pub(crate) fn named(name: &str) -> Result<Vec<DropletVolume>> {
    PAGES.all(&API.get(PATH).query("name", name), FIELD)
}

/// One page of the volumes of the account.
pub(crate) fn page(number: u32, size: u32) -> Result<NumberedPage<DropletVolume>> {
    PAGES.page(API.get(PATH), FIELD, number, size)
}

/// Creates one.
pub(crate) fn create(spec: &VolumeSpec<'_>) -> Result<Making<DropletVolume>> {
    // The description has no status and no code for a name that is taken: it is looked for.
    let taken = |answer: &Response| {
        let is_taken = answer.status() == 409 || (answer.status() == 422 && says(answer, "already exists"));
        is_taken.then(|| Making::Unclear(answer.complaint()))
    };
    Making::sent_unless(API.post(PATH).json(spec), taken, |it| it.json_in("volume"))
}

/// Deletes it; if it does not exist, that is a success.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    API.delete(path(id)).change_or_gone()
}

/// Begins to attach it to a droplet.
pub(crate) fn attach(volume: &DropletVolume, droplet: u64) -> Result<Attaching> {
    let body = json!({ "type": "attach", "droplet_id": droplet, "region": volume.region.slug });
    let response = API.post(actions_path(&volume.id)).json(&body).answer()?;
    if response.status() == 422 && says(&response, "cannot attach more than") {
        return Ok(Attaching::Full(response.complaint()));
    }
    if response.status() == 422 && says(&response, "already attached") {
        // The next read shows to which droplet.
        return Ok(Attaching::Begun);
    }
    Ok(begun(response)?.into())
}

/// Begins to detach it from a droplet.
pub(crate) fn detach(volume: &DropletVolume, droplet: u64) -> Result<Change<()>> {
    let body = json!({ "type": "detach", "droplet_id": droplet, "region": volume.region.slug });
    let response = API.post(actions_path(&volume.id)).json(&body).answer()?;
    if matches!(response.status(), 404 | 422) && says(&response, "attachment not found") {
        return Ok(Change::Done(()));
    }
    begun(response)
}

/// Begins to let it grow to so many gibibytes.
pub(crate) fn resize(volume: &DropletVolume, gibibytes: u64) -> Result<Change<()>> {
    let body = json!({ "type": "resize", "size_gigabytes": gibibytes, "region": volume.region.slug });
    begun(API.post(actions_path(&volume.id)).json(&body).answer()?)
}

/// Whether the cloud has taken an action, or has to be asked again.
fn begun(response: Response) -> Result<Change<()>> {
    if super::is_busy(&response) {
        return Ok(Change::Busy(response.complaint()));
    }
    response.accepted().map(|_| Change::Done(()))
}

fn path(id: &str) -> [&str; 3] {
    ["v2", "volumes", id]
}

fn actions_path(id: &str) -> [&str; 4] {
    ["v2", "volumes", id, "actions"]
}
