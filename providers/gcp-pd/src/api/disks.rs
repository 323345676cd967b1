//! Disks.

use aerostat_sdk::http::{Request, Response};
use aerostat_sdk::{Error, Result, SortedMap, pages};
use gcp_api::fields::{from_project, items, text, word};
use gcp_api::{API, PAGE, last_of, warned};
use serde_json::Value;

use super::places::ZonalPlace;

/// Fields of a disk that are asked for.
const FIELDS: &str = "name,zone,sizeGb,status,description,labels,users";

/// A disk.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GceDisk {
    pub(crate) place: ZonalPlace,
    pub(crate) gibibytes: u64,
    /// `CREATING`, `READY`, `DELETING`, `FAILED` and others.
    pub(crate) status: String,
    pub(crate) description: String,
    pub(crate) labels: SortedMap<String, String>,
    /// The instances that it is attached to, from `projects/` on: ids of nodes.
    pub(crate) users: Vec<String>,
}

/// A page of disks.
pub(crate) struct DisksListed {
    pub(crate) disks: Vec<GceDisk>,
    /// Why it may lack some.
    pub(crate) gaps: Vec<String>,
    pub(crate) next: Option<String>,
}

impl GceDisk {
    /// `None` without a name or a zone: one in two zones has none.
    fn from_fields(shown: &Value) -> Option<Self> {
        let labels = shown["labels"].as_object().into_iter().flatten();
        let users = items(shown, "users").iter().filter_map(Value::as_str);
        Some(Self {
            place: ZonalPlace::disk(last_of(&word(shown, "zone")?), &word(shown, "name")?),
            gibibytes: text(shown, "sizeGb").parse().unwrap_or_default(),
            status: text(shown, "status"),
            description: text(shown, "description"),
            labels: labels.map(|(key, it)| (key.clone(), it.as_str().unwrap_or_default().to_owned())).collect(),
            users: users.map(from_project).collect(),
        })
    }
}

/// The disk at this place.
///
/// # Errors
///
/// The error that the API answered.
pub(crate) fn find(place: &ZonalPlace) -> Result<Option<GceDisk>> {
    let Some(response) = API.get(place.path()).query("fields", FIELDS).find_response()? else { return Ok(None) };
    GceDisk::from_fields(&response.json()?)
        .map(Some)
        .ok_or_else(|| response.unreadable(&"the disk lacks its name or its zone"))
}

/// The disks of this name, in all zones.
///
/// # Errors
///
/// The error that the API answered, also where a zone did not.
pub(crate) fn named(name: &str) -> Result<Vec<GceDisk>> {
    let found = pages(None, |token: &Option<String>| {
        let page = listed(&format!("name eq {name}"), token.as_deref(), PAGE)?;
        match page.gaps.first() {
            Some(why) => Err(Error::unavailable(format_args!("the list of disks named {name} may lack some: {why}"))),
            None => Ok((page.disks, page.next.map(Some))),
        }
    })?;
    // The filter is the cloud's: a name that it ignores must not make others' disks this claim's.
    Ok(found.into_iter().filter(|it| it.place.name == name).collect())
}

/// A page of the disks of all zones that pass a filter.
///
/// # Errors
///
/// The error that the API answered.
pub(crate) fn listed(filter: &str, token: Option<&str>, size: u32) -> Result<DisksListed> {
    let fields = format!("nextPageToken,warning(code,message),items/*/warning(code,message),items/*/disks({FIELDS})");
    let request = API.get(["aggregated", "disks"]).query("filter", filter);
    let request = request.query("maxResults", size.clamp(1, PAGE)).query("fields", fields);
    let page: Value = token.iter().fold(request, |it, token| it.query("pageToken", token)).send()?.json()?;
    let (mut disks, mut gaps) = (Vec::new(), Vec::new());
    gaps.extend(warned(&page));
    for (scope, shown) in page["items"].as_object().into_iter().flatten() {
        disks.extend(items(shown, "disks").iter().filter_map(GceDisk::from_fields));
        gaps.extend(warned(shown).map(|it| format!("{scope}: {it}")));
    }
    Ok(DisksListed { disks, gaps, next: word(&page, "nextPageToken") })
}

/// The request that makes a disk in a zone.
pub(crate) fn insert(zone: &str, id: &str, body: &Value) -> Request {
    API.post(["zones", zone, "disks"]).query("requestId", id).json(body)
}

/// Deletes a disk.
///
/// # Errors
///
/// The reason for which the host got no answer.
pub(crate) fn delete(place: &ZonalPlace, id: &str) -> Result<Response> {
    API.delete(place.path()).query("requestId", id).answer()
}

/// Lets a disk grow.
///
/// # Errors
///
/// As [`delete`].
pub(crate) fn resize(place: &ZonalPlace, id: &str, body: &Value) -> Result<Response> {
    call(place, "resize").query("requestId", id).json(body).answer()
}

/// Attaches a disk to an instance.
///
/// # Errors
///
/// As [`delete`].
pub(crate) fn attach(instance: &ZonalPlace, id: &str, body: &Value) -> Result<Response> {
    call(instance, "attachDisk").query("requestId", id).json(body).answer()
}

/// Detaches what an instance has under this name of a device.
///
/// # Errors
///
/// As [`delete`].
pub(crate) fn detach(instance: &ZonalPlace, id: &str, device: &str) -> Result<Response> {
    call(instance, "detachDisk").query("deviceName", device).query("requestId", id).answer()
}

fn call(place: &ZonalPlace, verb: &'static str) -> Request {
    API.post(place.path().into_iter().chain([verb]))
}
