//! Volumes for claims, as the controller of the vendor's CSI driver makes them.
//!
//! The driver's node plugin finds a disk on its instance by the disk's name, under which it is attached. The mark of ownership is two labels,
//! beside the vendor's description, which are written with the disk.
//!
//! A write begins an operation, and a disk shows what has come of it when the operation has ended, if at all. So the operations at the disk or the
//! instance are read before the disk is: what none of them is still changing by then, the disk shows.

mod marks;
mod parameters;

use std::time::Duration;

use aerostat_sdk::http::Response;
use aerostat_sdk::volume_backend::{self, Attaching, Making, VolumeBackend, VolumePauses};
use aerostat_sdk::{
    AccessMode, AttachMode, Change, CloudVolume, DesiredVolume, Error, Growth, KnownVolume, Result, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage, VolumeState,
    Volumes, clock, settings,
};
use gcp_api::{OWN_PROJECT, PAGE, is_name, reason};
use serde_json::{Value, json};

use self::marks::CREATED_FOR;
use self::parameters::PdClass;
use crate::api::disks::{self as api, GceDisk};
use crate::api::operations::{OperationFailure, ZonalOperations};
use crate::api::places::{ZonalKind, ZonalPlace};
use crate::provider::Pd;
use crate::settings::APPEARS_WITHIN;

/// The node label by which that driver knows where it can attach a disk.
const ZONE: &str = "topology.gke.io/zone";
/// How long one operation takes, about.
const POLL: Duration = Duration::from_secs(2);
/// How long an operation that has failed is told, in seconds, until another one is begun.
const TOLD: u64 = 60;
/// Refusals of what is at work on something else, or has to come after it.
const BUSY: [&str; 2] = ["resourceInUseByAnotherResource", "resourceNotReady"];
const GIB: u64 = 1 << 30;

impl Volumes for Pd {
    fn describe() -> Result<VolumeDescription> {
        let project = settings::read(&OWN_PROJECT)?.unwrap_or_else(|| "UNSPECIFIED".to_owned());
        let in_tree = format!("projects/{project}/zones/{{zone}}/disks/{{name}}");
        Ok(VolumeDescription::new(marks::DRIVER)
            .topology_key(ZONE)
            .parameters(parameters::TABLE)
            .in_tree("gcePersistentDisk", "kubernetes.io/gce-pd", &in_tree)
            .vendor_namespace("gce-pd-csi-driver")
            .gibibytes(1, 64 * 1_024)
            .growth(Growth::Online)
            // An operation at an instance does not say which disk it is about.
            .one_at_a_time_per_node()
            .list_page_size(PAGE))
    }

    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        volume_backend::create(&PdCall::new(PdTarget::Nothing)?, desired)
    }

    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
        volume_backend::abandon(&PdCall::new(PdTarget::Disk)?, unwanted)
    }

    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        volume_backend::delete(&PdCall::new(PdTarget::Disk)?, unwanted)
    }

    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment> {
        volume_backend::attach(&PdCall::at(node_id)?, volume, node_id, mode)
    }

    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
        volume_backend::detach(&PdCall::at(node_id)?, volume, node_id)
    }

    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        volume_backend::expand(&PdCall::new(PdTarget::Disk)?, volume, bytes)
    }

    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        volume_backend::get(&PdCall::new(PdTarget::Nothing)?, handle)
    }

    /// Disks that were made for claims, of whatever cluster: the filter keeps those of machines out.
    fn list(cursor: Option<&str>, limit: u32) -> Result<VolumePage> {
        let call = PdCall::new(PdTarget::Nothing)?;
        let found = api::listed(&format!("description eq \".*{CREATED_FOR}.*\""), cursor, limit)?;
        let volumes = found.disks.into_iter().map(|it| call.volume(&LivePd::of(it))).collect();
        let page = VolumePage::new(volumes, found.next);
        Ok(match found.gaps.is_empty() {
            true => page,
            false => page.incomplete(found.gaps.join("; ")),
        })
    }
}

/// A disk, and the operations that were read before it.
#[derive(Clone, Debug)]
struct LivePd {
    disk: GceDisk,
    operations: ZonalOperations,
}

impl LivePd {
    /// One as a list shows it.
    fn of(disk: GceDisk) -> Self {
        Self { disk, operations: ZonalOperations::default() }
    }
}

/// The place whose operations a call has to do with.
enum PdTarget {
    Nothing,
    Disk,
    Instance(ZonalPlace),
}

/// One call about one volume.
struct PdCall {
    project: String,
    appears_within: Duration,
    target: PdTarget,
}

impl PdCall {
    /// # Errors
    ///
    /// `invalid` for settings that cannot work.
    fn new(target: PdTarget) -> Result<Self> {
        Ok(Self { project: settings::get(&OWN_PROJECT)?, appears_within: settings::get(&APPEARS_WITHIN)?, target })
    }

    /// A call about a volume and a machine. Nothing is read of one whose id is another driver's.
    fn at(node_id: &str) -> Result<Self> {
        let call = Self::new(PdTarget::Nothing)?;
        let instance = ZonalPlace::parse(ZonalKind::Instance, node_id, &call.project);
        Ok(Self { target: instance.map_or(PdTarget::Nothing, PdTarget::Instance), ..call })
    }

    fn handle(&self, disk: &ZonalPlace) -> String {
        disk.reference(&self.project)
    }

    /// The instance behind a node id, in the disk's zone.
    fn instance(&self, node_id: &str, live: &LivePd) -> Result<ZonalPlace> {
        let instance = ZonalPlace::parse(ZonalKind::Instance, node_id, &self.project).ok_or_else(|| {
            Error::invalid(format_args!(
                "node id {node_id:?} is not the name of an instance such as projects/{}/zones/europe-west1-b/instances/node-1",
                self.project
            ))
        })?;
        let disk = &live.disk.place;
        match instance.zone == disk.zone {
            true => Ok(instance),
            false => Err(Error::invalid(format_args!(
                "disk {} is in zone {}, and instance {node_id} in another one: it cannot be attached there",
                disk.name, disk.zone
            ))),
        }
    }

    /// The request's body for a new disk.
    fn body(&self, desired: &DesiredVolume, zone: &str) -> Result<Value> {
        let PdClass { kind, key, iops, throughput, labels } = PdClass::read(desired)?;
        let mut body = json!({
            "name": desired.name,
            "sizeGb": desired.bytes.div_ceil(GIB).to_string(),
            "type": format!("projects/{}/zones/{zone}/diskTypes/{kind}", self.project),
            "description": marks::description(desired),
            "labels": marks::labels(desired, labels)?,
        });
        if let Some(key) = key {
            body["diskEncryptionKey"] = json!({ "kmsKeyName": key });
        }
        for (field, number) in [("provisionedIops", iops), ("provisionedThroughput", throughput)] {
            if let Some(number) = number {
                body[field] = json!(number.to_string());
            }
        }
        Ok(body)
    }
}

/// Whether it is the code of an operation, or the reason of a refusal, for want of room in a zone.
fn is_no_room(code: &str) -> bool {
    code.starts_with("ZONE_RESOURCE_POOL_EXHAUSTED")
}

/// Whether an operation has failed so lately that it is told, and no other one begun.
fn is_told(failure: &OperationFailure) -> bool {
    clock::now() < failure.at.saturating_add(TOLD)
}

/// The answer to a change of a disk: what is at work on something else is busy.
fn changed(response: Response) -> Result<Change<()>> {
    match BUSY.contains(&&*reason(&response)) {
        true => Ok(Change::Busy(response.complaint())),
        false => response.accepted().map(|_| Change::Done(())),
    }
}

impl VolumeBackend for PdCall {
    type Live = LivePd;

    const NAMES_ARE_UNIQUE: bool = true;
    const GROWTH: Growth = Growth::Online;

    fn is_handle(&self, text: &str) -> bool {
        ZonalPlace::parse(ZonalKind::Disk, text, &self.project).is_some()
    }

    fn pauses(&self) -> VolumePauses {
        // Compute Engine refuses a second disk of one name in a zone.
        VolumePauses { poll: POLL, create_again: Duration::ZERO, appear: self.appears_within }
    }

    fn find(&self, handle: &str) -> Result<Option<LivePd>> {
        let Some(place) = ZonalPlace::parse(ZonalKind::Disk, handle, &self.project) else { return Ok(None) };
        let operations = match &self.target {
            PdTarget::Disk => ZonalOperations::read(&place, &json!([handle]))?,
            PdTarget::Instance(it) if it.zone == place.zone => {
                ZonalOperations::read(it, &json!([handle, it.reference(&self.project)]))?
            }
            PdTarget::Nothing | PdTarget::Instance(_) => ZonalOperations::default(),
        };
        match api::find(&place)? {
            Some(disk) => Ok(Some(LivePd { disk, operations })),
            None => volume_backend::gone(handle, api::named(&place.name)?.iter().any(|it| it.place == place)),
        }
    }

    fn named(&self, desired: &DesiredVolume) -> Result<Vec<LivePd>> {
        Ok(api::named(&desired.name)?.into_iter().map(LivePd::of).collect())
    }

    fn volume(&self, live: &LivePd) -> CloudVolume {
        let disk = &live.disk;
        let state = match &*disk.status {
            "READY" if !live.operations.are_running() => VolumeState::Ready,
            "FAILED" => VolumeState::Failed("Compute Engine says that it is FAILED".to_owned()),
            _ => VolumeState::Changing,
        };
        CloudVolume::new(self.handle(&disk.place), &disk.place.name, disk.gibibytes.saturating_mul(GIB))
            .in_place(ZONE, &disk.place.zone)
            .owner(marks::owner(disk))
            .state(state)
            .attached_to(&disk.users)
    }

    fn is_vendors(&self, live: &LivePd) -> bool {
        marks::are_vendors(&live.disk)
    }

    fn create(&self, desired: &DesiredVolume) -> Result<Making<LivePd>> {
        let zone = desired.places(ZONE).first().copied().filter(|it| is_name(it)).ok_or_else(|| {
            Error::invalid(format_args!(
                "no node says in which zone the volume is to be: run the node plugin of {}",
                marks::DRIVER
            ))
        })?;
        let (place, body) = (ZonalPlace::disk(zone, &desired.name), self.body(desired, zone)?);
        let handle = self.handle(&place);
        let operations = ZonalOperations::read(&place, &json!([handle, desired.owner.uid]))?;
        if operations.are_running() {
            return Ok(Making::Begun(handle));
        }
        // One that an earlier intent has begun is none of this one's.
        let failed = operations.failure(&["insert"]).filter(|it| !desired.is_first_create() && is_told(it));
        match failed {
            Some(it) if is_no_room(&it.code) => return Ok(Making::NoRoom(it.error.why().to_owned())),
            Some(it) => return Err(it.error),
            None => {}
        }
        let answered = |response: &Response| match &*reason(response) {
            _ if response.is_success() => Some(Making::Begun(handle.clone())),
            "alreadyExists" => Some(Making::Unclear(response.complaint())),
            code if is_no_room(code) || response.says("ZONE_RESOURCE_POOL_EXHAUSTED") => {
                Some(Making::NoRoom(response.complaint()))
            }
            _ => None,
        };
        let request = api::insert(zone, &operations.next_id("insert"), &body);
        Making::sent_unless(request, answered, |response| Err(response.unreadable(&"it was begun")))
    }

    fn delete(&self, live: &LivePd) -> Result<Change<()>> {
        let place = &live.disk.place;
        let operations = match live.operations.are_read() {
            true => live.operations.clone(),
            false => ZonalOperations::read(place, &json!([self.handle(place)]))?,
        };
        if operations.are_running() {
            return Ok(Change::Busy(format!("Compute Engine is at work on disk {}", place.name)));
        }
        if let Some(failed) = operations.failure(&["delete"]).filter(is_told) {
            return Err(failed.error);
        }
        let response = api::delete(place, &operations.next_id("delete"))?;
        if reason(&response) == "notFound" {
            return Ok(Change::Done(()));
        }
        // It is there until it is gone.
        let begun = |()| Ok(Change::Busy(format!("Compute Engine deletes disk {}", place.name)));
        changed(response)?.and_then(begun)
    }

    fn failure(&self, live: &LivePd) -> Option<String> {
        let failed = live.operations.failure(&["attachDisk", "detachDisk", "resize"])?;
        Some(failed.error.why().to_owned())
    }

    fn attach(&self, live: &LivePd, node_id: &str, mode: &AttachMode) -> Result<Attaching> {
        let (instance, name) = (self.instance(node_id, live)?, &live.disk.place.name);
        let is_read = |it: &AccessMode| matches!(it, AccessMode::ManyNodesRead);
        let is_read_only = mode.read_only || (!mode.access_modes.is_empty() && mode.access_modes.iter().all(is_read));
        let body = json!({
            "source": self.handle(&live.disk.place),
            // The node plugin looks for it under this name.
            "deviceName": name,
            "mode": if is_read_only { "READ_ONLY" } else { "READ_WRITE" },
            "type": "PERSISTENT",
        });
        let response = api::attach(&instance, &live.operations.next_id("attachDisk"), &body)?;
        // The limit is the instance's: a quota has another word.
        if reason(&response) == "limitExceeded" {
            return Ok(Attaching::Full(response.complaint()));
        }
        Ok(changed(response)?.into())
    }

    fn detach(&self, live: &LivePd, node_id: &str) -> Result<Change<()>> {
        let instance = self.instance(node_id, live)?;
        let response = api::detach(&instance, &live.operations.next_id("detachDisk"), &live.disk.place.name)?;
        // The next read shows it.
        let is_absent = reason(&response) == "notFound" || response.says("No attached disk found");
        match is_absent {
            true => Ok(Change::Busy(response.complaint())),
            false => changed(response),
        }
    }

    fn expand(&self, live: &LivePd, bytes: u64) -> Result<Change<()>> {
        let body = json!({ "sizeGb": bytes.div_ceil(GIB).to_string() });
        changed(api::resize(&live.disk.place, &live.operations.next_id("resize"), &body)?)
    }
}

#[cfg(test)]
mod tests;
