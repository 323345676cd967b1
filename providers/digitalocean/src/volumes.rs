//! Volumes for claims, as the controller of the vendor's CSI driver makes them.
//!
//! The driver's node plugin finds a volume on its droplet by the volume's name, so that this is the PersistentVolume's. The
//! mark of ownership stands in the description, after the vendor's words: a description needs no right of its own to be
//! read, as tags do, and is gone with its volume.
//!
//! A volume does not say what the cloud is at work on. Its actions do, and they are read before it: what none of them is
//! still changing by then, the volume shows.

use std::time::Duration;

use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::volume_backend::{self, Attaching, FoundVolume, Making, VolumeBackend, VolumePauses};
use aerostat_sdk::{
    AttachMode, Change, CloudVolume, DesiredVolume, Effect, Endpoint, Error, Growth, KnownVolume, Mark, MarkedClaim,
    Method, Position, Result, VolumeAttachment, VolumeCreation, VolumeDeletion, VolumeDescription, VolumeDetachment,
    VolumeExpansion, VolumePage, VolumeState, Volumes,
};

use crate::api::PAGES;
use crate::api::volumes::{self as api, DropletVolume, VolumeAction, VolumeSpec};
use crate::provider::DigitalOcean;
use crate::settings::{REGION, Settings, VOLUMES};

/// The vendor's CSI driver.
const DRIVER: &str = "dobs.csi.digitalocean.com";
/// The node label by which that driver knows where it can attach a volume.
const SEGMENT: &str = "region";
/// The key of the publish context under which the node plugin looks for the volume's name.
const VOLUME_NAME: &str = "dobs.csi.digitalocean.com/volume-name";
/// The description that the vendor's controller gives.
const CREATED: &str = "Created by DigitalOcean CSI driver";
/// Ids of volumes.
const ID: Custom<String> = Custom::uuid("the UUID of a volume");
/// How long one action takes, about.
const POLL: Duration = Duration::from_secs(2);
const GIB: u64 = 1 << 30;

/// The requests for volumes, beside those for droplets and load balancers.
pub(crate) fn allow(endpoint: Endpoint) -> Endpoint {
    let volumes = ["/v2/volumes", "/v2/volumes/*"];
    let actions = ["/v2/volumes/*/actions"];
    endpoint
        .allow([Method::Get], volumes, ["block_storage:read"])
        .allow([Method::Get], actions, ["block_storage_action:read"])
        .allow([Method::Post], ["/v2/volumes"], ["block_storage:create", "tag:create"])
        .fields(["description", "name", "region", "size_gigabytes", "tags"])
        .allow([Method::Delete], ["/v2/volumes/*"], ["block_storage:delete"])
        .only([])
        .allow_as(Effect::Update, [Method::Post], actions, ["block_storage_action:create"])
        .fields(["droplet_id", "region"])
        .body("type", ["attach"])
        .allow([Method::Post], actions, ["block_storage_action:create"])
        .fields(["region", "size_gigabytes"])
        .body("type", ["resize"])
        .allow_as(Effect::Detach, [Method::Post], actions, ["block_storage_action:create"])
        .fields(["droplet_id", "region"])
        .body("type", ["detach"])
}

impl Volumes for DigitalOcean {
    fn describe() -> Result<VolumeDescription> {
        Ok(VolumeDescription::new(DRIVER)
            .topology_key(SEGMENT)
            .publish_key(VOLUME_NAME)
            .gibibytes(1, 16 * 1_024)
            .growth(Growth::Online)
            .one_at_a_time_per_node()
            .list_page_size(PAGES.largest))
    }

    fn create(desired: &DesiredVolume) -> Result<VolumeCreation> {
        volume_backend::create(&VolumeCall::new()?, desired)
    }

    fn abandon(unwanted: &DesiredVolume) -> Result<VolumeDeletion> {
        volume_backend::abandon(&VolumeCall::new()?, unwanted)
    }

    fn delete(unwanted: &KnownVolume) -> Result<VolumeDeletion> {
        volume_backend::delete(&VolumeCall::new()?, unwanted)
    }

    fn attach(volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Result<VolumeAttachment> {
        // No volume of this cloud is at two droplets, whatever its access modes say.
        let mode = AttachMode { access_modes: Vec::new(), ..mode.clone() };
        volume_backend::attach(&VolumeCall::new()?, volume, node_id, &mode)
    }

    fn detach(volume: &KnownVolume, node_id: &str) -> Result<VolumeDetachment> {
        volume_backend::detach(&VolumeCall::new()?, volume, node_id)
    }

    fn expand(volume: &KnownVolume, bytes: u64) -> Result<VolumeExpansion> {
        volume_backend::expand(&VolumeCall::new()?, volume, bytes)
    }

    fn get(handle: &str) -> Result<Option<CloudVolume>> {
        volume_backend::get(&VolumeCall::new()?, handle)
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<VolumePage> {
        let call = VolumeCall::new()?;
        let size = limit.clamp(1, PAGES.largest);
        let at = Position::parse(cursor, &["volumes"], size)?;
        let found = api::page(at.page, size)?;
        let volumes = found.items.into_iter().map(|it| call.volume(&LiveVolume::without_actions(it))).collect();
        Ok(VolumePage::new(volumes, at.next(found.is_last)))
    }
}

/// A volume, and the actions on it as far as they were read.
#[derive(Clone, Debug)]
struct LiveVolume {
    volume: DropletVolume,
    actions: Vec<VolumeAction>,
}

impl LiveVolume {
    /// One as a list or a creation shows it. Nothing has acted yet on one that was just made. Of one in a list it is not known:
    /// it is shown as ready while an action runs, and no step is taken by it.
    fn without_actions(volume: DropletVolume) -> Self {
        Self { volume, actions: Vec::new() }
    }
}

/// One call about one volume.
struct VolumeCall {
    settings: Settings,
}

impl VolumeCall {
    /// # Errors
    ///
    /// `invalid` where the operator did not switch volumes on, and for settings that cannot work.
    fn new() -> Result<Self> {
        let settings = Settings::read()?;
        if !settings.volumes {
            return Err(Error::invalid(format_args!(
                "this provider does not work on volumes: set {}: \"true\" under provider.settings, and take the vendor's \
                 controller away first",
                VOLUMES.name
            )));
        }
        Ok(Self { settings })
    }

    /// Where a volume is made: in the best of its places.
    fn region<'a>(&'a self, desired: &'a DesiredVolume) -> Result<&'a str> {
        let places = desired.places(SEGMENT);
        places.first().copied().or(self.settings.region.as_deref()).ok_or_else(|| {
            Error::invalid(format_args!(
                "no node says in which region the volume is to be: set {} under provider.settings, or run the node plugin \
                 of {DRIVER}",
                REGION.name
            ))
        })
    }
}

impl VolumeBackend for VolumeCall {
    type Live = LiveVolume;

    const NAMES_ARE_UNIQUE: bool = true;
    const GROWTH: Growth = Growth::Online;
    // As the vendor's driver says it.
    const BLOCK_GROWS_ALONE: bool = true;

    fn is_handle(&self, text: &str) -> bool {
        ID.parse(text).is_some_and(|it| it == text)
    }

    fn pauses(&self) -> VolumePauses {
        let lag = self.settings.pauses.create_again;
        VolumePauses { poll: POLL, create_again: lag, appear: lag }
    }

    fn find(&self, handle: &str) -> Result<Option<LiveVolume>> {
        // In this order: what ends between the two shows in the volume.
        with_actions(handle, api::actions(handle)?)
    }

    fn find_at_rest(&self, handle: &str) -> Result<Option<FoundVolume<LiveVolume>>> {
        let actions = api::actions(handle)?;
        // As long as one of them runs, the volume itself would say nothing that a step rests on.
        if actions.iter().flatten().any(VolumeAction::is_running) {
            return Ok(Some(FoundVolume::AtWork));
        }
        Ok(with_actions(handle, actions)?.map(FoundVolume::Whole))
    }

    fn named(&self, desired: &DesiredVolume) -> Result<Vec<LiveVolume>> {
        // The filter is the cloud's: a name that it ignores must not make others' volumes this claim's.
        let found = api::named(&desired.name)?.into_iter().filter(|it| it.name == desired.name);
        Ok(found.map(LiveVolume::without_actions).collect())
    }

    fn volume(&self, live: &LiveVolume) -> CloudVolume {
        let LiveVolume { volume, actions } = live;
        let is_changing = actions.iter().any(VolumeAction::is_running);
        CloudVolume::new(&volume.id, &volume.name, volume.size_gigabytes.saturating_mul(GIB))
            .in_place(SEGMENT, &volume.region.slug)
            .owner(mark(&volume.description).map(|it| MarkedClaim::of(&it)).unwrap_or_default())
            .state(if is_changing { VolumeState::Changing } else { VolumeState::Ready })
            .attached_to(volume.droplets().map(|it| it.to_string()))
    }

    fn is_vendors(&self, live: &LiveVolume) -> bool {
        live.volume.description == CREATED
    }

    fn create(&self, desired: &DesiredVolume) -> Result<Making<LiveVolume>> {
        let spec = VolumeSpec {
            name: &desired.name,
            description: &format!("{CREATED} ({})", desired.owner.mark()?),
            size_gigabytes: desired.bytes.div_ceil(GIB),
            region: self.region(desired)?,
            tags: self.settings.cluster_tag.as_deref().map(|it| [it]),
        };
        Ok(api::create(&spec)?.map(LiveVolume::without_actions))
    }

    fn delete(&self, live: &LiveVolume) -> Result<Change<()>> {
        api::delete(&live.volume.id)
    }

    fn failure(&self, live: &LiveVolume) -> Option<String> {
        let VolumeAction { id, kind, .. } = live.actions.iter().max_by_key(|it| it.id).filter(|it| it.has_failed())?;
        let volume = &live.volume.name;
        Some(format!("action {id} ({kind}) on volume {volume} has failed in the cloud, which does not say why"))
    }

    fn publish_context(&self, live: &LiveVolume, _: &str) -> Vec<(String, String)> {
        vec![(VOLUME_NAME.to_owned(), live.volume.name.clone())]
    }

    fn attach(&self, live: &LiveVolume, node_id: &str, _: &AttachMode) -> Result<Attaching> {
        api::attach(&live.volume, droplet(node_id)?)
    }

    fn detach(&self, live: &LiveVolume, node_id: &str) -> Result<Change<()>> {
        api::detach(&live.volume, droplet(node_id)?)
    }

    fn expand(&self, live: &LiveVolume, bytes: u64) -> Result<Change<()>> {
        api::resize(&live.volume, bytes.div_ceil(GIB))
    }
}

/// A volume with its actions, which were read before it; `None` if the cloud is certain that there is none.
fn with_actions(handle: &str, actions: Option<Vec<VolumeAction>>) -> Result<Option<LiveVolume>> {
    match (api::find(handle)?, actions) {
        (Some(volume), Some(actions)) => Ok(Some(LiveVolume { volume, actions })),
        (None, None) => volume_backend::gone(handle, api::is_listed(handle)?),
        // One of the two may be late.
        (Some(_), None) => Err(Error::unavailable(format_args!(
            "the cloud shows volume {handle}, and no actions on it: it is asked again"
        ))),
        (None, Some(actions)) => match api::find(handle)? {
            Some(volume) => Ok(Some(LiveVolume { volume, actions })),
            None => volume_backend::gone(handle, api::is_listed(handle)?),
        },
    }
}

/// The mark of ownership in a description.
fn mark(description: &str) -> Option<Mark> {
    description.split([' ', '(', ')']).find_map(|it| it.parse().ok())
}

/// The droplet of a node id: what the node plugin writes on its CSINode.
fn droplet(node_id: &str) -> Result<u64> {
    let id: Option<u64> = node_id.parse().ok().filter(|it: &u64| it.to_string() == node_id);
    id.ok_or_else(|| Error::invalid(format_args!("node id {node_id:?} is not the id of a droplet, a number")))
}

#[cfg(test)]
mod tests;
