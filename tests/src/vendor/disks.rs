//! Clouds whose provider makes disks for PersistentVolumeClaims, in words that each of them has.

use std::time::Duration;

use super::description::Vendor;
use super::digitalocean::DigitalOcean;
use super::hetzner::Hetzner;
use crate::clouds::digitalocean::{ActionTime, VolumeChange};
use crate::clouds::{digitalocean, hetzner};

/// How long an action on a disk takes in tests: longer than a request, and shorter than a pause of the provider.
const ACTION: Duration = Duration::from_millis(300);

/// A vendor whose provider makes disks for claims.
pub trait DiskVendor: Vendor {
    /// The vendor's CSI driver.
    const DRIVER: &'static str;
    /// The label that the driver's node plugin gives nodes, and its value for machines as [`Vendor::add_machine`] adds them.
    const PLACE: (&'static str, &'static str);
    /// The text of the provider's page, which has the rules for volumes.
    const VOLUMES_PAGE: &'static str;
    /// Where the cloud lists its disks, and makes them. Each has its own place below, with all that is done to it.
    const DISKS: &'static str;

    /// Lets actions on disks take a moment, and lists show a disk only so long after it was made.
    fn slow_disks(account: &Self::Cloud, lists_late_by: Duration);

    /// All disks as they are, whatever lists show.
    fn disks(account: &Self::Cloud) -> Vec<BuiltDisk>;

    /// The changes of a disk that the cloud has begun, in their order, also of one that is gone.
    fn disk_changes(account: &Self::Cloud, id: &str) -> Vec<DiskChange>;
}

/// A disk, in words that every cloud has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BuiltDisk {
    /// Its id, as in a PersistentVolume's handle.
    pub id: String,
    /// Its name.
    pub name: String,
    /// In GiB.
    pub gibibytes: u64,
    /// The machine that has it.
    pub machine: Option<u64>,
}

/// A change of a disk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiskChange {
    /// To this machine.
    Attach(u64),
    /// From its machine.
    Detach,
    /// To a larger size.
    Resize,
}

impl DiskVendor for DigitalOcean {
    const DRIVER: &'static str = "dobs.csi.digitalocean.com";
    const PLACE: (&'static str, &'static str) = ("region", "fra1");
    const VOLUMES_PAGE: &'static str = include_str!("../../../providers/digitalocean/README.md");
    const DISKS: &'static str = "/v2/volumes";

    fn slow_disks(account: &digitalocean::Assets, lists_late_by: Duration) {
        account.volumes().behave(|it| (it.action, it.lists_late_by) = (ActionTime::Takes(ACTION), lists_late_by));
    }

    fn disks(account: &digitalocean::Assets) -> Vec<BuiltDisk> {
        let disk = |volume: digitalocean::Volume| BuiltDisk {
            id: volume.id,
            name: volume.name,
            gibibytes: volume.size_gigabytes,
            machine: volume.droplet,
        };
        account.volumes().all().into_iter().map(disk).collect()
    }

    fn disk_changes(account: &digitalocean::Assets, id: &str) -> Vec<DiskChange> {
        let change = |action: digitalocean::VolumeAction| match action.change {
            VolumeChange::Attach(droplet) => DiskChange::Attach(droplet),
            VolumeChange::Detach(_) => DiskChange::Detach,
            VolumeChange::Resize(_) => DiskChange::Resize,
        };
        account.volumes().actions().into_iter().filter(|it| it.volume == id).map(change).collect()
    }
}

impl DiskVendor for Hetzner {
    const DRIVER: &'static str = "csi.hetzner.cloud";
    const PLACE: (&'static str, &'static str) = ("csi.hetzner.cloud/location", "fsn1");
    const VOLUMES_PAGE: &'static str = include_str!("../../../providers/hetzner/README.md");
    const DISKS: &'static str = "/v1/volumes";

    fn slow_disks(account: &hetzner::Assets, lists_late_by: Duration) {
        account.behave(|it| (it.actions, it.lists_late_by) = (hetzner::Taking::Time(ACTION), lists_late_by));
    }

    fn disks(account: &hetzner::Assets) -> Vec<BuiltDisk> {
        let disk = |volume: hetzner::Volume| BuiltDisk {
            id: volume.id.to_string(),
            name: volume.name,
            gibibytes: u64::from(volume.size),
            machine: volume.server,
        };
        account.volumes().all().into_iter().map(disk).collect()
    }

    fn disk_changes(account: &hetzner::Assets, id: &str) -> Vec<DiskChange> {
        let change = |command: (&str, Option<u64>)| match command {
            ("attach_volume", Some(server)) => DiskChange::Attach(server),
            ("detach_volume", _) => DiskChange::Detach,
            ("resize_volume", _) => DiskChange::Resize,
            other => unreachable!("no volume is changed by {other:?}"),
        };
        let id = id.parse().expect("ids of volumes are numbers");
        account.volumes().commands(id).into_iter().map(change).collect()
    }
}
