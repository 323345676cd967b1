//! Volumes, as Cinder shows them from microversion 3.0 on.

use aerostat_sdk::http::{Request, Response};
use aerostat_sdk::volume_backend::Making;
use aerostat_sdk::{Change, Error, Result, SortedMap};
use openstack_api::MICROVERSION;
use openstack_api::fields::{FromFields, items, object, objects, text, word};
use openstack_api::lists::{listed, shown_after};
use serde_json::{Value, json};

use super::CINDER;

/// From this version on Cinder lets a volume grow that a server has.
const ONLINE: &str = "volume 3.42";
/// From this version on the messages about one volume can be asked for.
const MESSAGES: &str = "volume 3.5";
/// How the id of the message ends that says that no place has room: detail 003 of `cinder/message/message_field.py`.
const NO_BACKEND: &str = "_003";
/// The part of such an id that names the growth of a volume: action 007.
const GROWTH: &str = "_007_";
/// Where a list has its items.
const FIELD: &str = "volumes";
/// Words of the vendor's controller, which stand in each of its volumes.
const DESCRIPTION: &str = "Created by OpenStack Cinder CSI driver";

/// A machine of which Cinder says nothing.
const UNNAMED: &str = "a machine without a name";

/// Pairs of texts that people and programs write on a volume.
pub(crate) type VolumeMetadata = SortedMap<String, String>;

/// A volume.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct BlockVolume {
    pub(crate) id: String,
    pub(crate) name: String,
    /// `creating`, `available`, `in-use`, `error` and others.
    pub(crate) status: String,
    pub(crate) gibibytes: u64,
    pub(crate) zone: String,
    pub(crate) metadata: VolumeMetadata,
    /// The servers that have it. One on its way to a server is not told.
    pub(crate) attachments: Vec<ServerAttachment>,
    /// Whether several servers may have it.
    pub(crate) is_multiattach: bool,
    /// When Cinder has written it last.
    pub(crate) changed: String,
}

/// A volume at a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ServerAttachment {
    pub(crate) server: String,
    /// As Nova calls it, which its operating system may do otherwise.
    pub(crate) device: String,
}

impl FromFields for BlockVolume {
    fn from_fields(shown: &Value) -> Option<Self> {
        // One that the cloud itself uses, for a copy, must not look like none.
        let server =
            |it: &Value| word(it, "server_id").or_else(|| word(it, "host_name")).unwrap_or_else(|| UNNAMED.to_owned());
        let attachment = |it: &Value| ServerAttachment { server: server(it), device: text(it, "device") };
        let metadata = shown["metadata"].as_object().into_iter().flatten();
        Some(Self {
            id: word(shown, "id")?,
            name: text(shown, "name"),
            status: word(shown, "status")?,
            gibibytes: shown["size"].as_u64()?,
            zone: text(shown, "availability_zone"),
            metadata: metadata.map(|(key, it)| (key.clone(), it.as_str().unwrap_or_default().to_owned())).collect(),
            attachments: items(shown, "attachments").iter().map(attachment).collect(),
            is_multiattach: shown["multiattach"] == true,
            changed: text(shown, "updated_at"),
        })
    }
}

/// A message of Cinder about a volume that failed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct VolumeMessage {
    pub(crate) text: String,
    /// When: of one form with the time at which a volume was written.
    pub(crate) at: String,
    /// Whether the volume did not grow.
    pub(crate) is_growth: bool,
    /// Whether no place had room for the volume.
    pub(crate) is_no_room: bool,
}

/// A volume that is to be made.
pub(crate) struct CinderVolumeSpec<'a> {
    pub(crate) name: &'a str,
    pub(crate) gibibytes: u64,
    /// Absent: Cinder's own.
    pub(crate) zone: Option<&'a str>,
    /// Absent: Cinder's own.
    pub(crate) kind: Option<&'a str>,
    pub(crate) metadata: VolumeMetadata,
}

fn detail() -> Request {
    CINDER.get([FIELD, "detail"])
}

/// The volume with this id.
pub(crate) fn find(id: &str) -> Result<Option<BlockVolume>> {
    CINDER.get([FIELD, id]).find_response()?.map(|it| object(&it, "volume")).transpose()
}

/// Whether the list of all volumes has one with this id.
pub(crate) fn is_listed(id: &str) -> Result<bool> {
    Ok(listed(&CINDER.get([FIELD]), FIELD)?.iter().any(|it| it["id"] == id))
}

/// The volumes with this name: names are not unique.
pub(crate) fn named(name: &str) -> Result<Vec<BlockVolume>> {
    objects(&detail().query("name", name), FIELD)
}

/// One page of the project's volumes, after the one with the id `marker`, and the marker of the next page.
pub(crate) fn page(marker: Option<&str>, size: u32) -> Result<(Vec<BlockVolume>, Option<String>)> {
    let (shown, next) = shown_after(detail(), FIELD, marker, size)?;
    let unread = || Error::unavailable("a volume lacks its id, its status, its size or a server");
    let found: Result<_> = shown.iter().map(|it| BlockVolume::from_fields(it).ok_or_else(unread)).collect();
    Ok((found?, next))
}

/// The newest message about a volume; `None`, if there is none, or the cloud has no messages.
pub(crate) fn message(id: &str) -> Option<VolumeMessage> {
    let request = CINDER.get(["messages"]).header(MICROVERSION, MESSAGES).query("resource_uuid", id);
    let shown: Value = request.query("limit", 10).send().ok()?.json().ok()?;
    let about = items(&shown, "messages").iter().filter(|it| it["resource_uuid"] == id);
    // Times of one form are in the order of their letters.
    let newest = about.max_by_key(|it| text(it, "created_at"))?;
    Some(VolumeMessage {
        text: text(newest, "user_message"),
        at: text(newest, "created_at"),
        is_growth: text(newest, "event_id").contains(GROWTH),
        is_no_room: text(newest, "event_id").ends_with(NO_BACKEND),
    })
}

/// Makes one.
pub(crate) fn create(spec: &CinderVolumeSpec<'_>) -> Result<Making<BlockVolume>> {
    let CinderVolumeSpec { name, gibibytes, zone, kind, metadata } = spec;
    let metadata: Value = metadata.iter().map(|(key, it)| (key.clone(), Value::from(it.as_str()))).collect();
    let mut volume = json!({ "name": name, "size": gibibytes, "description": DESCRIPTION, "metadata": metadata });
    for (field, value) in [("availability_zone", zone), ("volume_type", kind)] {
        if let Some(value) = value {
            volume[field] = json!(value);
        }
    }
    let request = CINDER.post([FIELD]).json(&json!({ "volume": volume }));
    Making::sent(request, |response: &Response| object(response, "volume"))
}

/// Deletes one. It is there until Cinder has taken it away.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    let response = CINDER.delete([FIELD, id]).answer()?;
    if response.status() == 404 && openstack_api::errors::is_novas_404(&response) {
        return Ok(Change::Done(()));
    }
    response.accepted().map(|_| Change::Busy(format!("Cinder deletes volume {id}")))
}

/// Lets one grow to so many gibibytes.
pub(crate) fn extend(id: &str, gibibytes: u64, is_in_use: bool) -> Result<Change<()>> {
    let request = CINDER.post([FIELD, id, "action"]).json(&json!({ "os-extend": { "new_size": gibibytes } }));
    let request = if is_in_use { request.header(MICROVERSION, ONLINE) } else { request };
    Ok(request.change()?.map(drop))
}
