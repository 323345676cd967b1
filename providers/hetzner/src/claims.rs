//! Volumes for claims, as the controller of the vendor's CSI driver makes them.
//!
//! The driver's node plugin finds a volume on its server by the device that the cloud names. The mark of ownership is two
//! labels, beside the vendor's own.
//!
//! A volume does not say what the cloud is at work on. Its actions do, and they are read before it: what none of them is
//! still changing by then, the volume shows.

mod labels;

use std::time::Duration;

use aerostat_sdk::form::{Custom, Text};
use aerostat_sdk::parameters::Parameters;
use aerostat_sdk::volume_backend::{self, Attaching, Making, VolumeBackend, VolumePauses};
use aerostat_sdk::{
    AttachMode, Change, CloudVolume, DesiredVolume, Effect, Endpoint, Error, Growth, KnownVolume, Method, Position,
    Result, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment, VolumeExpansion,
    VolumePage, VolumeState, Volumes, settings,
};

use crate::api::actions::{self, Action, ActionStatus};
use crate::api::volumes::{self as api, ServerVolume, VolumeBody};
use crate::api::{self as cloud, PAGES};
use crate::provider::Hetzner;
use crate::settings::{CREATE_AGAIN_AFTER, VOLUMES};
use crate::volumes::{DRIVER, SEGMENT};

/// The key of the publish context under which the node plugin looks for the volume's device.
const DEVICE: &str = "devicePath";
/// The attribute from which it reads with which options a filesystem is made.
const FORMAT_OPTIONS: &str = "fsFormatOptions";
/// The status of a volume that can be used.
const AVAILABLE: &str = "available";
/// The action that makes a volume.
const CREATION: &str = "create_volume";
/// How long one action takes, about.
const POLL: Duration = Duration::from_secs(3);
const GIB: u64 = 1 << 30;

aerostat_sdk::table! {
    /// The parameters of a class.
    const PARAMETERS;
    LABELS: Custom<Vec<(String, String)>> = ("labels", Custom {
        allowed: "labels such as team=blue,tier=db, none of them one of the driver's own",
        parse: labels::parse,
    }, "Labels that its volumes get.").otherwise("none");
    FORMAT: Text = (FORMAT_OPTIONS, Text("options of mkfs"), "With which options the node plugin makes a filesystem.")
        .otherwise("none");
}

/// The requests for volumes of claims, beside those about where volumes are.
pub(crate) fn allow(endpoint: Endpoint) -> Endpoint {
    endpoint
        .allow([Method::Get], ["/volumes/*/actions"], [])
        .allow([Method::Post], ["/volumes"], [])
        .fields(["labels", "location", "name", "size"])
        .allow([Method::Delete], ["/volumes/*"], [])
        .only([])
        .allow_as(Effect::Update, [Method::Post], ["/volumes/*/actions/attach"], [])
        .fields(["server"])
        .allow([Method::Post], ["/volumes/*/actions/resize"], [])
        .fields(["size"])
        .allow_as(Effect::Detach, [Method::Post], ["/volumes/*/actions/detach"], [])
        .only([])
}

impl Volumes for Hetzner {
    fn describe() -> Result<VolumeDescription> {
        Ok(VolumeDescription::new(DRIVER)
            .topology_key(SEGMENT)
            .publish_key(DEVICE)
            .parameters(PARAMETERS)
            .gibibytes(10, 10 * 1_024)
            .growth(Growth::Online)
            .one_at_a_time_per_node()
            .list_page_size(PAGES.largest))
    }

    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        let format = Parameters::of(desired).read(&FORMAT)?.unwrap_or_default().to_owned();
        volume_backend::create(&ClaimCall { format: Some(format), ..ClaimCall::new()? }, desired)
    }

    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
        volume_backend::abandon(&ClaimCall::new()?, unwanted)
    }

    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        volume_backend::delete(&ClaimCall::new()?, unwanted)
    }

    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment> {
        // No volume of this cloud is at two servers, whatever its access modes say.
        let mode = AttachMode { access_modes: Vec::new(), ..mode.clone() };
        volume_backend::attach(&ClaimCall::new()?, volume, node_id, &mode)
    }

    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
        volume_backend::detach(&ClaimCall::new()?, volume, node_id)
    }

    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        volume_backend::expand(&ClaimCall::new()?, volume, bytes)
    }

    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        volume_backend::get(&ClaimCall::new()?, handle)
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<VolumePage> {
        let call = ClaimCall::new()?;
        let size = limit.clamp(1, PAGES.largest);
        let at = Position::parse(cursor, &["volumes"], size)?;
        let found = api::page(at.page, size)?;
        let volumes = found.items.into_iter().map(|it| call.volume(&VolumeWithActions::listed(it))).collect();
        Ok(VolumePage::new(volumes, at.next(found.is_last)))
    }
}

/// A volume, and the newest actions on it as far as they were read, the last one first.
#[derive(Clone, Debug)]
struct VolumeWithActions {
    volume: ServerVolume,
    actions: Vec<Action>,
}

impl VolumeWithActions {
    /// One as a list shows it: whether an action runs is not known. It is shown as ready meanwhile, and no step is taken by it.
    fn listed(volume: ServerVolume) -> Self {
        Self { volume, actions: Vec::new() }
    }

    fn state(&self) -> VolumeState {
        let is_ready = self.volume.status == AVAILABLE;
        let has_failed = |it: &&Action| it.command == CREATION && it.status == ActionStatus::Error;
        match self.actions.iter().find(has_failed) {
            Some(failed) if !is_ready => VolumeState::Failed(failed.failure()),
            _ if is_ready && !self.actions.iter().any(Action::is_running) => VolumeState::Ready,
            _ => VolumeState::Changing,
        }
    }

    /// The servers that have it, or to or from which it is on its way.
    fn servers(&self) -> Vec<u64> {
        let moving = self.actions.iter().filter(|it| it.is_running()).flat_map(Action::moves);
        let mut servers = Vec::new();
        for server in self.volume.server.into_iter().chain(moving) {
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        servers
    }
}

/// One call about one volume.
struct ClaimCall {
    /// How late lists may be.
    lag: Duration,
    /// The options of mkfs that the class asks for; absent where no PersistentVolume is made of the answer.
    format: Option<String>,
}

impl ClaimCall {
    /// # Errors
    ///
    /// `invalid` where the operator did not switch volumes on, and for settings that cannot work.
    fn new() -> Result<Self> {
        if !settings::get(&VOLUMES)? {
            return Err(Error::invalid(format_args!(
                "this provider does not work on volumes: set {}: \"true\" under provider.settings, and take the vendor's \
                 controller away first",
                VOLUMES.name
            )));
        }
        Ok(Self { lag: settings::get(&CREATE_AGAIN_AFTER)?, format: None })
    }
}

impl VolumeBackend for ClaimCall {
    type Live = VolumeWithActions;

    const NAMES_ARE_UNIQUE: bool = true;
    const GROWTH: Growth = Growth::Online;

    fn is_handle(&self, text: &str) -> bool {
        cloud::id(text).is_some()
    }

    fn pauses(&self) -> VolumePauses {
        VolumePauses { poll: POLL, create_again: self.lag, appear: self.lag }
    }

    fn find(&self, handle: &str) -> Result<Option<VolumeWithActions>> {
        let Some(id) = cloud::id(handle) else { return Ok(None) };
        // In this order: what ends between the two shows in the volume.
        let actions = actions::of_volume(id)?;
        match (api::find(id)?, actions) {
            (Some(volume), Some(actions)) => Ok(Some(VolumeWithActions { volume, actions })),
            (None, None) => volume_backend::gone(handle, api::is_listed(id)?),
            // One of the two may be late.
            (Some(_), None) => Err(Error::unavailable(format_args!(
                "the cloud shows volume {handle}, and no actions on it: it is asked again"
            ))),
            (None, Some(actions)) => match api::find(id)? {
                Some(volume) => Ok(Some(VolumeWithActions { volume, actions })),
                None => volume_backend::gone(handle, api::is_listed(id)?),
            },
        }
    }

    fn named(&self, desired: &DesiredVolume) -> Result<Vec<VolumeWithActions>> {
        // The filter is the cloud's: a name that it ignores must not make others' volumes this claim's.
        let found = api::named(&desired.name)?.into_iter().filter(|it| it.name == desired.name);
        Ok(found.map(VolumeWithActions::listed).collect())
    }

    fn volume(&self, live: &VolumeWithActions) -> CloudVolume {
        let volume = &live.volume;
        let attributes = self.format.iter().map(|it| (FORMAT_OPTIONS.to_owned(), it.clone())).collect();
        let shown = CloudVolume::new(volume.id.to_string(), &volume.name, volume.size.saturating_mul(GIB))
            .in_place(SEGMENT, &volume.location.name)
            .owner(labels::owner(&volume.labels))
            .state(live.state())
            .attached_to(live.servers().iter().map(u64::to_string));
        CloudVolume { attributes, ..shown }
    }

    fn is_vendors(&self, live: &VolumeWithActions) -> bool {
        labels::are_vendors(&live.volume.labels, &live.volume.name)
    }

    fn create(&self, desired: &DesiredVolume) -> Result<Making<VolumeWithActions>> {
        let places = desired.places(SEGMENT);
        let location = places.first().copied().ok_or_else(|| {
            Error::invalid(format_args!(
                "no node says in which location the volume is to be: run the node plugin of {DRIVER}"
            ))
        })?;
        let further = Parameters::of(desired).read(&LABELS)?.unwrap_or_default();
        let (size, labels) = (desired.bytes.div_ceil(GIB), labels::of_claim(desired, further)?);
        let made = api::create(&VolumeBody { name: &desired.name, location, size, labels })?;
        Ok(made.map(|(volume, action)| VolumeWithActions { volume, actions: vec![action] }))
    }

    fn delete(&self, live: &VolumeWithActions) -> Result<Change<()>> {
        api::delete(live.volume.id)
    }

    fn failure(&self, live: &VolumeWithActions) -> Option<String> {
        let failed = live.actions.first().filter(|it| it.status == ActionStatus::Error)?;
        Some(format!("volume {}: {}", live.volume.name, failed.failure()))
    }

    fn publish_context(&self, live: &VolumeWithActions, _: &str) -> Vec<(String, String)> {
        vec![(DEVICE.to_owned(), live.volume.linux_device.clone())]
    }

    fn attach(&self, live: &VolumeWithActions, node_id: &str, _: &AttachMode) -> Result<Attaching> {
        let server = cloud::id(node_id)
            .ok_or_else(|| Error::invalid(format_args!("node id {node_id:?} is not the id of a server, a number")))?;
        api::attach(live.volume.id, server)
    }

    fn detach(&self, live: &VolumeWithActions, _: &str) -> Result<Change<()>> {
        api::detach(live.volume.id)
    }

    fn expand(&self, live: &VolumeWithActions, bytes: u64) -> Result<Change<()>> {
        api::resize(live.volume.id, bytes.div_ceil(GIB))
    }
}

#[cfg(test)]
mod tests;
