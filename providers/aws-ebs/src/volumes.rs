//! Volumes for claims, as the controller of the vendor's CSI driver makes them.
//!
//! The driver's node plugin finds a volume on its instance by the volume's id, or by the device that it is attached as. The mark of ownership is
//! two tags, beside the vendor's own, which are written with the volume.
//!
//! Two creations with one token make one volume. A token is spent with the volume that was made by it: the next creation has another one.

mod device;
mod parameters;
mod tags;

use std::time::Duration;

use aerostat_sdk::volume_backend::{self, Attaching, Making, VolumeBackend, VolumePauses};
use aerostat_sdk::{
    AttachMode, Change, CloudVolume, DesiredVolume, Error, Growth, KnownVolume, PendingVolume, Result,
    VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage,
    VolumeState, Volumes, clock, settings,
};
use aws_api::{ClusterSettings, FILTER_VALUES, resource_id};
use sha2::{Digest as _, Sha256};

use self::parameters::EbsClass;
use crate::api::instances;
use crate::api::volumes::{self as api, EbsAttachment, EbsModification, EbsSpec, EbsVolume, NAME};
use crate::provider::Ebs;
use crate::settings::CREATE_AGAIN_AFTER;

/// The vendor's CSI driver.
const DRIVER: &str = "ebs.csi.aws.com";
/// The node label by which PersistentVolumes say where they are, and the driver's own, which node plugins of earlier versions have alone.
const ZONES: [&str; 2] = ["topology.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"];
/// The key of the publish context under which the node plugin looks for the volume's device.
const DEVICE: &str = "devicePath";
/// How long one change takes, about.
const POLL: Duration = Duration::from_secs(2);
/// How long an attachment takes at most, in seconds: the vendor's controller gives it up then.
const LONGEST_ATTACHMENT: u64 = 90;
/// How many names of devices are tried in one call.
const DEVICES: usize = 4;
/// How soon AWS is asked again that lets a volume rest between two changes, which takes hours.
const REST: Duration = Duration::from_secs(300);
const GIB: u64 = 1 << 30;

impl Volumes for Ebs {
    fn describe() -> Result<VolumeDescription> {
        let batch = u32::try_from(FILTER_VALUES).unwrap_or(u32::MAX);
        let mut description = VolumeDescription::new(DRIVER)
            .topology_key(ZONES[0])
            .topology_key(ZONES[1])
            .publish_key(DEVICE)
            .parameters(parameters::TABLE)
            .in_tree("awsElasticBlockStore", "kubernetes.io/aws-ebs", "{name}")
            .gibibytes(1, 64 * 1_024)
            .growth(Growth::Online)
            .get_batch_size(batch)
            .list_page_size(api::PAGE);
        description.parameters.extend(tags::parameters());
        Ok(description)
    }

    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        let (key, attributes) = (place(desired).map_or(ZONES[0], |(key, _)| key), parameters::attributes(desired)?);
        volume_backend::create(&EbsCall { key, attributes, ..EbsCall::new()? }, desired)
    }

    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
        volume_backend::abandon(&EbsCall::new()?, unwanted)
    }

    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        volume_backend::delete(&EbsCall::new()?, unwanted)
    }

    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment> {
        // No volume that is made here is at two instances, whatever its access modes say.
        let mode = AttachMode { access_modes: Vec::new(), ..mode.clone() };
        volume_backend::attach(&EbsCall::new()?, volume, node_id, &mode)
    }

    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
        volume_backend::detach(&EbsCall::new()?, volume, node_id)
    }

    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        let answer = volume_backend::expand(&EbsCall { expands: true, ..EbsCall::new()? }, volume, bytes)?;
        Ok(match answer {
            VolumeExpansion::Pending(it) if it.wait.reason.ends_with(RESTS) => {
                VolumeExpansion::Pending(PendingVolume::new(it.memo, REST, it.wait.reason))
            }
            other => other,
        })
    }

    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        volume_backend::get(&EbsCall::telling()?, handle)
    }

    /// One filter for all of them. It says nothing about those that it lacks: these are asked about one by one.
    fn get_each(handles: &[String]) -> Vec<Result<Option<CloudVolume>>> {
        let ids: Vec<&str> = handles.iter().map(String::as_str).filter(|it| is_id(it)).collect();
        let found = match ids.len() {
            0 | 1 => Ok(Vec::new()),
            _ => api::by_ids(&ids).map_err(Error::from),
        };
        let one = |handle: &String| {
            let (call, found) = (EbsCall::telling()?, found.as_ref().map_err(Clone::clone)?);
            match found.iter().find(|it| it.id == *handle) {
                Some(volume) => Ok(Some(call.volume(&EbsWithChange::of(volume.clone())))),
                None => volume_backend::get(&call, handle),
            }
        };
        handles.iter().map(one).collect()
    }

    /// EC2 has no page of fewer than five volumes: a smaller one is a part of it, and the others are read again.
    fn list(cursor: Option<&str>, limit: u32) -> Result<VolumePage> {
        let (call, (told, token)) = (EbsCall::telling()?, position(cursor)?);
        let found = api::page(&call.cluster, token, limit)?;
        let shown: Vec<&EbsVolume> = found.volumes.iter().skip(told).take(limit.max(1) as usize).collect();
        let told = told + shown.len();
        let next = match found.next {
            _ if told < found.volumes.len() => Some(format!("{told}:{}", token.unwrap_or_default())),
            next => next.map(|it| format!("0:{it}")),
        };
        Ok(VolumePage::new(shown.into_iter().map(|it| call.volume(&EbsWithChange::of(it.clone()))).collect(), next))
    }
}

/// How many volumes of a page were told already, and EC2's token of that page.
fn position(cursor: Option<&str>) -> Result<(usize, Option<&str>)> {
    let Some(cursor) = cursor else { return Ok((0, None)) };
    let found = cursor.split_once(':').and_then(|(told, token)| Some((told.parse().ok()?, token)));
    let (told, token) =
        found.ok_or_else(|| Error::invalid(format_args!("cursor {cursor:?} is not one of the list of volumes")))?;
    Ok((told, Some(token).filter(|it| !it.is_empty())))
}

/// How the reason ends for which AWS is asked rarely.
const RESTS: &str = "AWS takes the next change of one volume hours after the last";

/// A volume, and the last change of it where it was read.
#[derive(Clone, Debug)]
struct EbsWithChange {
    volume: EbsVolume,
    modification: Option<EbsModification>,
}

impl EbsWithChange {
    fn of(volume: EbsVolume) -> Self {
        Self { volume, modification: None }
    }

    fn state(&self) -> VolumeState {
        let is_modified = |it: &EbsModification| it.state == "modifying";
        match &*self.volume.state {
            "available" | "in-use" if !self.modification.as_ref().is_some_and(is_modified) => VolumeState::Ready,
            "error" => VolumeState::Failed("EC2 says that it is in the state error".to_owned()),
            _ => VolumeState::Changing,
        }
    }

    /// Whether it is on its way to an instance, or from one: EC2 calls it `in-use` all the same.
    fn moves(&self) -> bool {
        self.volume.attachments.iter().any(|it| it.state != "attached")
    }

    fn at(&self, instance: &str) -> Option<&EbsAttachment> {
        self.volume.attachments.iter().find(|it| it.instance == instance)
    }
}

/// One call about one volume.
struct EbsCall {
    cluster: ClusterSettings,
    /// How late lists may be.
    lag: Duration,
    /// In which key of the topology it is said where the volume is.
    key: &'static str,
    /// The class's words to the node plugin; empty where no PersistentVolume is made of the answer.
    attributes: Vec<(String, String)>,
    /// Whether its size is to change.
    expands: bool,
    /// Whether volumes are only told, and no step is taken by them: one on its way is changing then. A step looks at the instance that it is about,
    /// since one that never arrives is to be detached, and one that is elsewhere is not waited for.
    tells: bool,
}

impl EbsCall {
    /// # Errors
    ///
    /// `invalid` for settings that cannot work.
    fn new() -> Result<Self> {
        let (cluster, lag) = (ClusterSettings::read()?, settings::get(&CREATE_AGAIN_AFTER)?);
        Ok(Self { cluster, lag, key: ZONES[0], attributes: Vec::new(), expands: false, tells: false })
    }

    /// A call that tells of volumes.
    fn telling() -> Result<Self> {
        Ok(Self { tells: true, ..Self::new()? })
    }
}

/// Whether `text` is the id of a volume.
fn is_id(text: &str) -> bool {
    resource_id("vol-", text).is_some()
}

/// Where a volume is made: in the best of its places. The key is the one that this place has.
fn place(desired: &DesiredVolume) -> Option<(&'static str, &str)> {
    let segments = &desired.accessible_topologies.first()?.segments;
    ZONES.into_iter().find_map(|key| segments.iter().find(|(it, _)| it == key).map(|(_, zone)| (key, zone.as_str())))
}

/// The token of a creation, as the vendor's controller makes it: of the name, and from the second one on of its number.
fn token(name: &str, number: u32) -> String {
    let text = if number < 2 { name.to_owned() } else { format!("{name}-{number}") };
    Sha256::digest(text).iter().map(|it| format!("{it:02x}")).collect()
}

impl VolumeBackend for EbsCall {
    type Live = EbsWithChange;

    const NAMES_ARE_UNIQUE: bool = false;
    // By its token.
    const REFUSES_SECOND: bool = true;
    const GROWTH: Growth = Growth::Online;
    // As the vendor's driver says it.
    const BLOCK_GROWS_ALONE: bool = true;

    fn is_handle(&self, text: &str) -> bool {
        is_id(text)
    }

    fn pauses(&self) -> VolumePauses {
        VolumePauses { poll: POLL, create_again: self.lag, appear: self.lag }
    }

    fn find(&self, handle: &str) -> Result<Option<EbsWithChange>> {
        // In this order: what ends between the two shows in the volume.
        let modification = if self.expands { api::modification(handle)? } else { None };
        match api::by_ids(&[handle])?.into_iter().find(|it| it.id == handle) {
            Some(volume) => Ok(Some(EbsWithChange { volume, modification })),
            None => volume_backend::gone(handle, api::exists(handle)?),
        }
    }

    fn named(&self, desired: &DesiredVolume) -> Result<Vec<EbsWithChange>> {
        // The filter is the cloud's: a name that it ignores must not make others' volumes this claim's.
        let is_named = |it: &EbsVolume| it.tags.get(NAME) == Some(&desired.name);
        Ok(api::named(&desired.name)?.into_iter().filter(is_named).map(EbsWithChange::of).collect())
    }

    fn volume(&self, live: &EbsWithChange) -> CloudVolume {
        let volume = &live.volume;
        let name = volume.tags.get(NAME).map(String::as_str).unwrap_or_default();
        let state = match live.state() {
            VolumeState::Ready if self.tells && live.moves() => VolumeState::Changing,
            state => state,
        };
        let shown = CloudVolume::new(&volume.id, name, volume.gibibytes.saturating_mul(GIB))
            .in_place(self.key, &volume.zone)
            .owner(tags::owner(&volume.tags))
            .state(state)
            .attached_to(volume.attachments.iter().map(|it| &it.instance));
        CloudVolume { attributes: self.attributes.clone(), ..shown }
    }

    fn is_vendors(&self, live: &EbsWithChange) -> bool {
        tags::are_vendors(&live.volume.tags, &self.cluster)
    }

    fn create(&self, desired: &DesiredVolume) -> Result<Making<EbsWithChange>> {
        let (_, zone) = place(desired).ok_or_else(|| {
            Error::invalid(format_args!(
                "no node says in which availability zone the volume is to be: run the node plugin of {DRIVER}"
            ))
        })?;
        let gibibytes = desired.bytes.div_ceil(GIB);
        let EbsClass { kind, iops, throughput, is_encrypted, key } = EbsClass::read(desired, gibibytes)?;
        let token = token(&desired.name, volume_backend::creation_number(desired)?);
        let tags = tags::of_claim(desired, &self.cluster)?;
        let (token, kind, tags) = (&*token, kind.name, &tags);
        let spec = EbsSpec { token, zone, gibibytes, kind, iops, throughput, is_encrypted, key, tags };
        Ok(api::create(&spec)?.map(EbsWithChange::of))
    }

    fn delete(&self, live: &EbsWithChange) -> Result<Change<()>> {
        let id = &live.volume.id;
        if let Some(why) = tags::spared(&live.volume.tags, &self.cluster) {
            return Err(Error::denied(format_args!(
                "volume {id} is not deleted: {why}. Next step: take its PersistentVolume away with the policy Retain, or delete the volume in \
                 the cloud if nobody needs it"
            )));
        }
        match api::delete(id) {
            Err(refusal) if refusal.code == "InvalidVolume.NotFound" => Ok(Change::Done(())),
            Err(refusal) if matches!(&*refusal.code, "VolumeInUse" | "IncorrectState") => {
                Ok(Change::Busy(refusal.why().to_owned()))
            }
            // It is there until it is gone.
            answer => answer.map(|()| Change::Busy(format!("EC2 deletes volume {id}"))).map_err(Error::from),
        }
    }

    fn is_attached(&self, live: &EbsWithChange, node_id: &str) -> bool {
        live.at(node_id).is_some_and(|it| it.state == "attached")
    }

    fn stalled(&self, live: &EbsWithChange, node_id: &str) -> Option<String> {
        let stalls = |it: &&EbsAttachment| it.state == "attaching" && it.age(clock::now()) > LONGEST_ATTACHMENT;
        live.at(node_id).filter(stalls).map(|it| format!("EC2 attaches it as {} since {}", it.device, it.since))
    }

    fn publish_context(&self, live: &EbsWithChange, node_id: &str) -> Vec<(String, String)> {
        live.at(node_id).map(|it| (DEVICE.to_owned(), it.device.clone())).into_iter().collect()
    }

    fn attach(&self, live: &EbsWithChange, node_id: &str, _: &AttachMode) -> Result<Attaching> {
        let id = &live.volume.id;
        if resource_id("i-", node_id).is_none() {
            let why = "is not the id of an instance such as i-0123456789abcdef0";
            return Err(Error::invalid(format_args!("node id {node_id:?} {why}")));
        }
        let taken = instances::devices(node_id)?.ok_or_else(|| {
            Error::unavailable(format_args!("EC2 knows no instance {node_id}, to which volume {id} is to come"))
        })?;
        let mut busy = None;
        for device in device::free(id, clock::now() / 60, &taken).take(DEVICES) {
            match api::attach(id, node_id, &device) {
                Ok(()) => return Ok(Attaching::Begun),
                Err(refusal) => match &*refusal.code {
                    "AttachmentLimitExceeded" => return Ok(Attaching::Full(refusal.why().to_owned())),
                    // The next read shows to which instance.
                    "VolumeInUse" => return Ok(Attaching::Begun),
                    "IncorrectState" | "IncorrectInstanceState" => {
                        return Ok(Attaching::Busy(refusal.why().to_owned()));
                    }
                    // A device of the instance's image, of which EC2 does not tell.
                    "InvalidParameterValue" if refusal.why().contains("already in use") => {
                        busy = Some(refusal.why().to_owned());
                    }
                    _ => return Err(refusal.into()),
                },
            }
        }
        Ok(match busy {
            Some(why) => Attaching::Busy(why),
            None => Attaching::Full(format!("no name of a device is left at instance {node_id}")),
        })
    }

    /// The last change of its size: it is read for growth alone.
    fn failure(&self, live: &EbsWithChange) -> Option<String> {
        let failed = live.modification.as_ref().filter(|it| it.state == "failed")?;
        let why = if failed.why.is_empty() { "EC2 does not say why" } else { &failed.why };
        Some(format!("the change of volume {} of {} has failed: {why}", live.volume.id, failed.since))
    }

    fn detach(&self, live: &EbsWithChange, node_id: &str) -> Result<Change<()>> {
        match api::detach(&live.volume.id, node_id) {
            // The next read shows it.
            Err(refusal) if matches!(&*refusal.code, "IncorrectState" | "InvalidAttachment.NotFound") => {
                Ok(Change::Busy(refusal.why().to_owned()))
            }
            answer => Ok(Change::Done(answer?)),
        }
    }

    fn expand(&self, live: &EbsWithChange, bytes: u64) -> Result<Change<()>> {
        let id = &live.volume.id;
        if let Some(last) = live.modification.as_ref().filter(|it| it.state == "optimizing") {
            return Ok(Change::Busy(format!("volume {id} is optimized after its change of {}: {RESTS}", last.since)));
        }
        match api::expand(id, bytes.div_ceil(GIB)) {
            Err(refusal) => match &*refusal.code {
                "IncorrectModificationState" | "VolumeModificationRateExceeded" => {
                    let last = live.modification.as_ref().map_or("before", |it| &it.since);
                    Ok(Change::Busy(format!("volume {id} was changed last ({last}): {RESTS}")))
                }
                "IncorrectState" => Ok(Change::Busy(refusal.why().to_owned())),
                _ => Err(refusal.into()),
            },
            Ok(()) => Ok(Change::Done(())),
        }
    }
}

#[cfg(test)]
mod tests;
