//! The cloud in memory, and its provider.

use std::time::Duration;

use serde_json::{Value, json};

use super::GIB;
use crate::http::{self, Response};
use crate::testing::protocol::{Changed, CloudObject, ForeignChange};
use crate::testing::{self, FakeActions, FakeCloud, FakeMoment, FakeObjects, Request, reply};
use crate::volume_backend::*;
use crate::{
    AttachMode, Change, CloudVolume, DesiredVolume, Growth, KnownVolume, MarkedClaim, Method, Result, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage, VolumeState,
    Volumes,
};

/// A cloud whose names are unique, or not.
pub(super) struct Disks<const UNIQUE: bool> {
    pub(super) disks: FakeObjects,
    pub(super) actions: FakeActions,
    pub(super) machines: Vec<String>,
    /// Creations with these numbers and smaller ones have made what is gone.
    pub(super) spent: u64,
}

impl<const UNIQUE: bool> Default for Disks<UNIQUE> {
    fn default() -> Self {
        let mut disks = FakeObjects::new("disk", "disk-");
        disks.make("pvc-other", json!({ "size": 7, "mark": "", "at": null }), FakeMoment::default());
        Self { disks, actions: FakeActions::default(), machines: Vec::new(), spent: 0 }
    }
}

impl<const UNIQUE: bool> Disks<UNIQUE> {
    fn shown(&self, id: &str, moment: FakeMoment) -> Value {
        let disk = self.disks.get(id).unwrap();
        let busy = self.actions.is_busy(id, moment);
        json!({ "id": id, "name": disk.name, "busy": busy, "disk": disk.body })
    }

    pub(super) fn with(mut self, name: &str, body: Value) -> Self {
        self.disks.make(name, body, FakeMoment::default());
        self
    }
}

impl<const UNIQUE: bool> FakeCloud for Disks<UNIQUE> {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> testing::Response {
        let path: Vec<_> = request.path.iter().map(String::as_str).collect();
        let body: Value = match &request.body {
            Some(testing::Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        match (request.method, &path[..]) {
            (Method::Get, ["disks"]) => {
                let name = &request.query[0].1;
                let ids: Vec<_> =
                    self.disks.listed(moment).filter(|(_, it)| it.name == *name).map(|(id, _)| id.to_owned()).collect();
                reply(200, json!(ids.iter().map(|id| self.shown(id, moment)).collect::<Vec<_>>()))
            }
            (Method::Post, ["disks"]) => {
                let name = body["name"].as_str().unwrap();
                if UNIQUE && self.disks.all().any(|(_, it)| it.name == name) {
                    return reply(409, r#"{ "message": "the name is taken" }"#);
                }
                if body["number"].as_u64() <= Some(self.spent) {
                    return reply(410, r#"{ "message": "the token is spent" }"#);
                }
                let disk = json!({ "size": body["size"], "mark": body["mark"], "at": null });
                let id = self.disks.make(name, disk, moment);
                self.actions.begin(&id, 3, moment);
                reply(201, self.shown(&id, moment))
            }
            (_, ["disks", id, ..]) if self.disks.get(id).is_none() => reply(404, "{}"),
            (Method::Get, ["disks", id]) => reply(200, self.shown(id, moment)),
            (_, ["disks", id, ..]) if self.actions.is_busy(id, moment) => reply(409, r#"{ "message": "it is busy" }"#),
            (Method::Delete, ["disks", id]) => {
                assert!(self.disks.get(id).unwrap().body["at"].is_null(), "it is attached");
                self.disks.remove(id);
                reply(204, "")
            }
            (Method::Post, ["disks", id, "at"]) => {
                let disk = self.disks.get_mut(id).unwrap();
                if !body["at"].is_null() && !disk.body["at"].is_null() {
                    return reply(422, r#"{ "message": "it is attached elsewhere" }"#);
                }
                disk.body["at"] = body["at"].clone();
                self.actions.begin(id, 2, moment);
                reply(202, "{}")
            }
            (Method::Post, ["disks", id, "size"]) => {
                self.disks.get_mut(id).unwrap().body["size"] = body["size"].clone();
                self.actions.begin(id, 2, moment);
                reply(202, "{}")
            }
            other => panic!("{other:?}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.disks.shown()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let ForeignChange::AddMachine { name } = change else { return None };
        self.machines.push(name.clone());
        Some(Changed { id: Some(format!("m-{}", self.machines.len())) })
    }
}

/// The provider of that cloud.
pub(super) struct Acme<const UNIQUE: bool>;

impl<const UNIQUE: bool> VolumeBackend for Acme<UNIQUE> {
    type Live = Value;

    const NAMES_ARE_UNIQUE: bool = UNIQUE;
    const GROWTH: Growth = Growth::Online;
    const BLOCK_GROWS_ALONE: bool = UNIQUE;

    fn is_handle(&self, text: &str) -> bool {
        text.starts_with("disk-")
    }

    fn pauses(&self) -> VolumePauses {
        let create_again = Duration::from_secs(if UNIQUE { 0 } else { 60 });
        VolumePauses { poll: Duration::from_secs(1), create_again, appear: Duration::from_secs(60) }
    }

    fn find(&self, handle: &str) -> Result<Option<Value>> {
        http::get("api", ["disks", handle]).find()
    }

    fn named(&self, desired: &DesiredVolume) -> Result<Vec<Value>> {
        http::get("api", ["disks"]).query("name", &desired.name).send()?.json()
    }

    fn volume(&self, live: &Value) -> CloudVolume {
        let disk = &live["disk"];
        let mark: Result<crate::Mark, _> = disk["mark"].as_str().unwrap().parse();
        let state = match (live["busy"].as_bool(), disk["failed"].as_str()) {
            (Some(true), _) => VolumeState::Changing,
            (_, Some(why)) => VolumeState::Failed(why.to_owned()),
            _ => VolumeState::Ready,
        };
        CloudVolume::new(
            live["id"].as_str().unwrap(),
            live["name"].as_str().unwrap(),
            disk["size"].as_u64().unwrap() * GIB,
        )
        .owner(mark.map(|it| MarkedClaim::of(&it)).unwrap_or_default())
        .state(state)
        .attached_to(disk["at"].as_str())
    }

    fn is_vendors(&self, live: &Value) -> bool {
        live["disk"]["mark"] == "vendor"
    }

    fn create(&self, desired: &DesiredVolume) -> Result<Making<Value>> {
        let mark = desired.owner.mark()?.to_string();
        let number = creation_number(desired)?;
        let body = json!({ "name": desired.name, "size": desired.bytes / GIB, "mark": mark, "number": number });
        let taken = |answer: &Response| match answer.status() {
            409 => Some(Making::Unclear(answer.complaint())),
            410 => Some(Making::Spent(answer.complaint())),
            _ => None,
        };
        Making::sent_unless(http::post("api", ["disks"]).json(&body), taken, Response::json)
    }

    fn delete(&self, live: &Value) -> Result<Change<()>> {
        http::delete("api", ["disks", live["id"].as_str().unwrap()]).change_or_gone()
    }

    fn is_attached(&self, live: &Value, node_id: &str) -> bool {
        self.volume(live).state == VolumeState::Ready && self.stalled(live, node_id).is_none()
    }

    fn stalled(&self, live: &Value, _: &str) -> Option<String> {
        live["disk"]["stalled"].as_str().map(str::to_owned)
    }

    fn failure(&self, live: &Value) -> Option<String> {
        live["disk"]["failure"].as_str().map(str::to_owned)
    }

    fn publish_context(&self, live: &Value, _: &str) -> Vec<(String, String)> {
        vec![("name".to_owned(), live["name"].as_str().unwrap().to_owned())]
    }

    fn attach(&self, live: &Value, node_id: &str, _: &AttachMode) -> Result<Attaching> {
        let request = http::post("api", ["disks", live["id"].as_str().unwrap(), "at"]).json(&json!({ "at": node_id }));
        Ok(request.change()?.into())
    }

    fn detach(&self, live: &Value, _: &str) -> Result<Change<()>> {
        let request = http::post("api", ["disks", live["id"].as_str().unwrap(), "at"]).json(&json!({ "at": null }));
        Ok(request.change()?.map(drop))
    }

    fn expand(&self, live: &Value, bytes: u64) -> Result<Change<()>> {
        let path = ["disks", live["id"].as_str().unwrap(), "size"];
        Ok(http::post("api", path).json(&json!({ "size": bytes / GIB })).change()?.map(drop))
    }
}

impl<const UNIQUE: bool> Volumes for Acme<UNIQUE> {
    fn describe() -> Result<VolumeDescription> {
        Ok(VolumeDescription::new("csi.acme.example"))
    }
    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        create(&Self, desired)
    }
    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
        abandon(&Self, unwanted)
    }
    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        delete(&Self, unwanted)
    }
    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment> {
        attach(&Self, volume, node_id, mode)
    }
    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
        detach(&Self, volume, node_id)
    }
    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        expand(&Self, volume, bytes)
    }
    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        get(&Self, handle)
    }
    fn list(_: Option<&str>, _: u32) -> Result<VolumePage> {
        Ok(VolumePage::new(Vec::new(), None))
    }
}
