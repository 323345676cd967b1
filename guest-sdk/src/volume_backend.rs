//! Volumes with names in the cloud: one step at a time, nothing made twice, and no write without proof of ownership.
//!
//! A provider says what its cloud can do ([`VolumeBackend`]), and the functions of this module keep the contract's promises with
//! it, once for all clouds:
//!
//! - A creation is sent only when nothing of the claim's is there. After one without an answer, or one that an earlier process may
//!   have sent, its name is looked for, and it is sent again only when that was absent for [`VolumePauses::create_again`]; where the cloud would
//!   make a second one ([`VolumeBackend::REFUSES_SECOND`]), in a call that the host tells to be the only one with its memo. An error
//!   that may pass, before that or for which nothing was created, is a reason to announce it again, after a pause that grows.
//! - A volume is the claim's by its mark, or by its name and the vendor's own mark. One of the same name that is another's is
//!   never taken, whatever the memo says.
//! - A volume that failed, or is smaller than was asked for, is deleted and made again, after a longer pause each time: no PersistentVolume
//!   has it yet.
//! - An action that the cloud took and could not carry out is told, and begun again after a longer pause each time.
//! - An abandoned volume is gone only when it was absent for [`VolumePauses::appear`], which begins with the first call that abandons it: what
//!   was sent before, also by a process that has died, may still appear.
//! - A volume with the mark of another cluster is not deleted; nor is one that is attached, and nothing is detached for it.
//! - A volume that is attached elsewhere is not moved.
//! - A volume is detached from a machine only when the cloud is not at work on it.
//!
//! ```no_run
//! use std::time::Duration;
//! use aerostat_sdk::volume_backend::{self, Attaching, Making, VolumeBackend, VolumePauses};
//! use aerostat_sdk::{AttachMode, Change, CloudVolume, DesiredVolume, Growth, MarkedClaim, Result, http};
//! # use serde::Deserialize;
//! # use serde_json::json;
//! # #[derive(Deserialize)] struct Disk { id: String, name: String, gibibytes: u64, machine: Option<String>, mark: String }
//! # fn gibibytes(bytes: u64) -> u64 { bytes >> 30 }
//!
//! struct Disks;
//!
//! impl VolumeBackend for Disks {
//!     type Live = Disk;
//!     const NAMES_ARE_UNIQUE: bool = true;
//!     const GROWTH: Growth = Growth::Online;
//!
//!     fn is_handle(&self, text: &str) -> bool {
//!         text.starts_with("disk-")
//!     }
//!     fn pauses(&self) -> VolumePauses {
//!         let create_again = Duration::ZERO;
//!         VolumePauses { poll: Duration::from_secs(1), create_again, appear: Duration::from_secs(60) }
//!     }
//!     fn find(&self, handle: &str) -> Result<Option<Disk>> {
//!         http::get("api", ["disks", handle]).find()
//!     }
//!     fn named(&self, desired: &DesiredVolume) -> Result<Vec<Disk>> {
//!         http::get("api", ["disks"]).query("name", &desired.name).send()?.json()
//!     }
//!     fn volume(&self, live: &Disk) -> CloudVolume {
//!         let owner = live.mark.parse().map(|it| MarkedClaim::of(&it)).unwrap_or_default();
//!         CloudVolume::new(&live.id, &live.name, live.gibibytes << 30).owner(owner).attached_to(&live.machine)
//!     }
//!     fn create(&self, desired: &DesiredVolume) -> Result<Making<Disk>> {
//!         let mark = desired.owner.mark()?.to_string();
//!         let body = json!({ "name": desired.name, "gibibytes": gibibytes(desired.bytes), "mark": mark });
//!         Making::sent(http::post("api", ["disks"]).json(&body), |response| response.json())
//!     }
//!     fn delete(&self, live: &Disk) -> Result<Change<()>> {
//!         http::delete("api", ["disks", &live.id]).change_or_gone()
//!     }
//!     fn attach(&self, live: &Disk, node_id: &str, _: &AttachMode) -> Result<Attaching> {
//!         let attached = http::post("api", ["disks", &live.id, "attach"]).json(&json!({ "machine": node_id })).change()?;
//!         Ok(attached.into())
//!     }
//!     fn detach(&self, live: &Disk, _: &str) -> Result<Change<()>> {
//!         Ok(http::post("api", ["disks", &live.id, "detach"]).change()?.map(drop))
//!     }
//!     fn expand(&self, live: &Disk, bytes: u64) -> Result<Change<()>> {
//!         let body = json!({ "gibibytes": gibibytes(bytes) });
//!         Ok(http::post("api", ["disks", &live.id, "resize"]).json(&body).change()?.map(drop))
//!     }
//! }
//!
//! fn created(desired: &DesiredVolume) -> Result<aerostat_sdk::VolumeCreation> {
//!     volume_backend::create(&Disks, desired)
//! }
//! ```

mod attach;
mod cloud;
mod create;
mod delete;
mod failure;
mod memo;

pub use self::attach::{attach, detach, expand};
pub use self::cloud::{Attaching, FoundVolume, Making, VolumeBackend, VolumePauses, get, gone};
pub use self::create::create;
pub use self::delete::{abandon, delete};
pub use self::memo::{announces, creation_number};

#[cfg(test)]
mod tests;
