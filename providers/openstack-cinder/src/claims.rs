//! Volumes for claims, as the controller of the vendor's CSI driver makes them.
//!
//! The driver's node plugin finds a volume on its server by the volume's id. The mark of ownership is metadata, beside the vendor's own, which
//! is written with the volume.
//!
//! Cinder answers a creation before it looks for room: a volume without room becomes one in the state `error`, and a message says why. The volume
//! is taken away, and once it is gone the answer is that there was no room.

mod marks;
mod state;

use std::cell::RefCell;
use std::time::Duration;

use aerostat_sdk::form::{Custom, Form as _, Text};
use aerostat_sdk::parameters::Parameters;
use aerostat_sdk::volume_backend::{self, Attaching, Making, VolumeBackend, VolumePauses};
use aerostat_sdk::{
    AttachMode, Change, CloudVolume, DesiredVolume, Error, Growth, KnownVolume, Result, VolumeAttachment,
    VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion, VolumePage, VolumePlace,
    Volumes, cluster, settings,
};
use openstack_api::lists::PAGE;

use crate::api::servers;
use crate::api::volumes::{self as api, BlockVolume, CinderVolumeSpec, ServerAttachment, VolumeMessage};
use crate::provider::Cinder;
use crate::settings::{CREATE_AGAIN_AFTER, IGNORE_ZONES};

/// The vendor's CSI driver.
const DRIVER: &str = "cinder.csi.openstack.org";
/// The key of the topology by which PersistentVolumes say where they are.
const ZONE: &str = "topology.cinder.csi.openstack.org/zone";
/// The key of the publish context with the volume's device, of which the node plugin is glad if it finds none by the volume's id.
const DEVICE: &str = "DevicePath";
/// How long one change takes, about.
const POLL: Duration = Duration::from_secs(2);
const GIB: u64 = 1 << 30;

aerostat_sdk::table! {
    /// The parameters of a class.
    const PARAMETERS;
    KIND: Text = ("type", Text("the name of a volume type"), "The volume type, by its name or id.").otherwise("the cloud's");
    AVAILABILITY: Text = ("availability", Text("the name of a zone"), "The availability zone of Cinder.")
        .otherwise("that of the claim's node, or the cloud's");
}

impl Volumes for Cinder {
    fn describe() -> Result<VolumeDescription> {
        Ok(VolumeDescription::new(DRIVER)
            .topology_key(ZONE)
            .publish_key(DEVICE)
            .parameters(PARAMETERS)
            .in_tree("cinder", "kubernetes.io/cinder", "{volume}")
            .gibibytes(1, 64 * 1_024)
            .growth(Growth::Online)
            .list_page_size(PAGE))
    }

    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        let places = desired.accessible_topologies.clone();
        let call = CinderCall { creates: true, places, ..CinderCall::new()? };
        let answer = volume_backend::create(&call, desired)?;
        Ok(match (answer, call.no_room.take()) {
            (VolumeCreation::Pending(it), Some(why)) if !volume_backend::announces(&it) => VolumeCreation::NoRoom(why),
            (answer, _) => answer,
        })
    }

    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
        volume_backend::abandon(&CinderCall::new()?, unwanted)
    }

    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        volume_backend::delete(&CinderCall::new()?, unwanted)
    }

    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment> {
        // No volume that is made here is at two servers, whatever its access modes say.
        let mode = AttachMode { access_modes: Vec::new(), ..mode.clone() };
        volume_backend::attach(&CinderCall::new()?, volume, node_id, &mode)
    }

    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
        volume_backend::detach(&CinderCall::new()?, volume, node_id)
    }

    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        volume_backend::expand(&CinderCall::new()?, volume, bytes)
    }

    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        volume_backend::get(&CinderCall::new()?, handle)
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<VolumePage> {
        let call = CinderCall::new()?;
        let (found, next) = api::page(cursor, limit.clamp(1, PAGE))?;
        let volumes = found.into_iter().map(|it| call.volume(&VolumeWithMessage::of(it))).collect();
        Ok(VolumePage::new(volumes, next))
    }
}

/// A volume, and why it failed where that was asked.
#[derive(Clone, Debug)]
struct VolumeWithMessage {
    volume: BlockVolume,
    message: Option<VolumeMessage>,
}

impl VolumeWithMessage {
    fn of(volume: BlockVolume) -> Self {
        Self { volume, message: None }
    }

    fn at(&self, server: &str) -> Option<&ServerAttachment> {
        self.volume.attachments.iter().find(|it| it.server == server)
    }
}

/// One call about one volume.
struct CinderCall {
    /// How late lists may be.
    lag: Duration,
    /// The name of the cluster, as the vendor's controller writes it.
    cluster: String,
    /// Whether zones of Cinder say nothing about nodes.
    ignores_zones: bool,
    /// Whether the call makes a volume, and has to say why one failed.
    creates: bool,
    /// Where the claim wants it.
    places: Vec<VolumePlace>,
    /// Why there was no room for a volume that was made, and is gone again.
    no_room: RefCell<Option<String>>,
}

impl CinderCall {
    /// # Errors
    ///
    /// `invalid` for settings that cannot work; `unavailable` while the cluster is not known.
    fn new() -> Result<Self> {
        Ok(Self {
            lag: settings::get(&CREATE_AGAIN_AFTER)?,
            cluster: cluster()?.name,
            ignores_zones: settings::get(&IGNORE_ZONES)?,
            creates: false,
            places: Vec::new(),
            no_room: RefCell::default(),
        })
    }

    /// The volume, with the reason of its failure where somebody has to be told.
    fn live(&self, volume: BlockVolume) -> VolumeWithMessage {
        let has_failed = self.creates && volume.status == state::ERROR;
        let message = if has_failed { api::message(&volume.id) } else { None };
        VolumeWithMessage { volume, message }
    }
}

/// Whether `text` is an id as OpenStack writes it.
fn is_id(text: &str) -> bool {
    Custom::uuid("").parse(text).is_some_and(|it| it == text)
}

impl VolumeBackend for CinderCall {
    type Live = VolumeWithMessage;

    const NAMES_ARE_UNIQUE: bool = false;
    const GROWTH: Growth = Growth::Online;

    fn is_handle(&self, text: &str) -> bool {
        is_id(text)
    }

    fn pauses(&self) -> VolumePauses {
        VolumePauses { poll: POLL, create_again: self.lag, appear: self.lag }
    }

    fn find(&self, handle: &str) -> Result<Option<VolumeWithMessage>> {
        if let Some(volume) = api::find(handle)? {
            return Ok(Some(self.live(volume)));
        }
        let gone = volume_backend::gone(handle, api::is_listed(handle)?)?;
        if self.creates {
            // The message outlives its volume.
            let no_room = api::message(handle).filter(|it| it.is_no_room);
            self.no_room.replace(no_room.map(|it| it.text));
        }
        Ok(gone)
    }

    fn named(&self, desired: &DesiredVolume) -> Result<Vec<VolumeWithMessage>> {
        // The filter is the cloud's: a name that it ignores must not make others' volumes this claim's.
        let found = api::named(&desired.name)?.into_iter().filter(|it| it.name == desired.name);
        Ok(found.map(|it| self.live(it)).collect())
    }

    fn volume(&self, live: &VolumeWithMessage) -> CloudVolume {
        let volume = &live.volume;
        let shown = CloudVolume::new(&volume.id, &volume.name, volume.gibibytes.saturating_mul(GIB))
            .owner(marks::owner(&volume.metadata))
            .state(state::of(&volume.status, live.message.as_ref()))
            .attached_to(volume.attachments.iter().map(|it| &it.server));
        if self.ignores_zones {
            return CloudVolume { accessible_topologies: self.places.clone(), ..shown };
        }
        if volume.zone.is_empty() { shown } else { shown.in_place(ZONE, &volume.zone) }
    }

    fn is_vendors(&self, live: &VolumeWithMessage) -> bool {
        marks::are_vendors(&live.volume.metadata, &self.cluster)
    }

    fn create(&self, desired: &DesiredVolume) -> Result<Making<VolumeWithMessage>> {
        let class = Parameters::of(desired);
        let (kind, zone) = (class.read(&KIND)?, class.read(&AVAILABILITY)?);
        let places = if self.ignores_zones { Vec::new() } else { desired.places(ZONE) };
        let (zone, metadata) = (zone.or_else(|| places.first().copied()), marks::of_claim(desired, &self.cluster)?);
        let spec =
            CinderVolumeSpec { name: &desired.name, gibibytes: desired.bytes.div_ceil(GIB), zone, kind, metadata };
        let made = api::create(&spec)?;
        self.no_room.take();
        Ok(made.map(VolumeWithMessage::of))
    }

    fn delete(&self, live: &VolumeWithMessage) -> Result<Change<()>> {
        let BlockVolume { id, status, metadata, .. } = &live.volume;
        if marks::are_anothers(metadata, &self.cluster) {
            return Err(Error::denied(format_args!(
                "volume {id} is not deleted: its metadata {} names another cluster than {}, which this one is called. Next step: take its \
                 PersistentVolume away with the policy Retain, or delete the volume in the cloud if nobody needs it",
                marks::CLUSTER_NAME,
                self.cluster
            )));
        }
        // One that Cinder could not make is empty. Others in a state of failure may hold somebody's data.
        let is_kept = self.creates && status != state::ERROR;
        match state::is_failure(status) && (is_kept || status == state::ERROR_DELETING) {
            true => Err(state::stuck(&live.volume)),
            false => api::delete(id),
        }
    }

    fn is_attached(&self, live: &VolumeWithMessage, _: &str) -> bool {
        // Cinder shows no server to which it only is on its way.
        live.volume.status != state::DETACHING
    }

    fn publish_context(&self, live: &VolumeWithMessage, node_id: &str) -> Vec<(String, String)> {
        live.at(node_id).map(|it| (DEVICE.to_owned(), it.device.clone())).into_iter().collect()
    }

    fn attach(&self, live: &VolumeWithMessage, node_id: &str, _: &AttachMode) -> Result<Attaching> {
        if !is_id(node_id) {
            let why = "is not the id of a server such as 4de7ac8b-495b-4884-9a69-1050c6793cd6";
            return Err(Error::invalid(format_args!("node id {node_id:?} {why}")));
        }
        match state::is_failure(&live.volume.status) {
            true => Err(state::stuck(&live.volume)),
            false => servers::attach(&live.volume.id, node_id, live.volume.is_multiattach),
        }
    }

    fn detach(&self, live: &VolumeWithMessage, node_id: &str) -> Result<Change<()>> {
        servers::detach(&live.volume.id, node_id)
    }

    fn expand(&self, live: &VolumeWithMessage, bytes: u64) -> Result<Change<()>> {
        let BlockVolume { id, status, attachments, changed, .. } = &live.volume;
        if state::is_failure(status) {
            return Err(state::stuck(&live.volume));
        }
        // Cinder answers before it has looked for room. Without, the volume is as it was, and a message says why.
        let failed = api::message(id).filter(|it| it.is_growth && it.at >= *changed);
        let begun = api::extend(id, bytes.div_ceil(GIB), !attachments.is_empty())?;
        match failed {
            Some(it) => {
                Err(Error::unavailable(format_args!("volume {id} has not grown: {}. It is asked for again", it.text)))
            }
            None => Ok(begun),
        }
    }
}

#[cfg(test)]
mod tests;
