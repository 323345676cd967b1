use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Reply, Result};

/// Disks for PersistentVolumeClaims: the controller's half of a CSI driver.
#[async_trait]
pub trait CloudVolumes: Send + Sync {
    /// The properties of these volumes now, as the provider that serves described them at load.
    fn description(&self) -> Arc<VolumeDescription>;

    /// Whether calls are made at all now. It is asked before anything that belongs to a call is written in the cluster.
    ///
    /// # Errors
    ///
    /// The error that every call would have for an answer now.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Takes one step towards the volume. Safe to repeat and safe to lose; each call has the same words as the first, but for the
    /// memo. `is_first`: no call with these words came before, of this or another process.
    async fn create(&self, desired: &DesiredVolume, is_first: bool) -> Reply<Result<VolumeCreation>>;

    /// Takes one step towards the absence of a volume that [`create`](Self::create) was asked for, and that no PersistentVolume
    /// has.
    async fn abandon(&self, unwanted: &DesiredVolume) -> Reply<Result<VolumeDeletion>>;

    /// Takes one step towards its absence. It is never detached for that.
    async fn delete(&self, unwanted: &KnownVolume) -> Reply<Result<VolumeDeletion>>;

    /// Takes one step towards its being attached to the machine with this node id.
    async fn attach(&self, volume: &KnownVolume, node_id: &str, mode: &AttachMode) -> Reply<Result<VolumeAttachment>>;

    /// Takes one step away from that machine.
    async fn detach(&self, volume: &KnownVolume, node_id: &str) -> Reply<Result<VolumeDetachment>>;

    /// Takes one step towards so many bytes.
    async fn expand(&self, volume: &KnownVolume, bytes: u64) -> Reply<Result<VolumeExpansion>>;

    /// One answer for each handle, in the same order. Reads only. `Ok(None)`: the cloud is certain that there is no such volume.
    async fn get(&self, handles: &[String]) -> Reply<Vec<Result<Option<CloudVolume>>>>;

    /// One page of the cluster's volumes, at most `limit` of them, beginning at `cursor` (`None`: at the start). That it lacks a
    /// volume proves nothing.
    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<VolumePage>>;
}

/// Where a `create` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VolumeCreation {
    /// It is there: as large as was asked for, in one of its places, and this claim's by its marks, if it has any.
    Ready(Box<CloudVolume>),
    /// It will be: come back later. No failure.
    Pending(PendingVolume),
    /// There is no room for it in any of its places just now, for this reason: one line.
    NoRoom(String),
}

/// Where a `delete` or an `abandon` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VolumeDeletion {
    /// It is gone.
    Done,
    /// It will be gone: come back later. No failure.
    Pending(PendingVolume),
    /// It is attached to the machines with these node ids.
    InUse(Vec<String>),
}

/// Where an `attach` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VolumeAttachment {
    /// It is attached. The publish context, sorted: only keys that are described.
    Ready(Vec<(String, String)>),
    /// It will be: come back later. No failure.
    Pending(PendingVolume),
    /// It is attached to the machine with this node id.
    Occupied(String),
    /// The machine takes no further volume, for this reason: one line.
    Full(String),
}

/// Where a `detach` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VolumeDetachment {
    /// It is not attached to this machine, nor about to be.
    Done,
    /// It will not be: come back later. No failure.
    Pending(PendingVolume),
}

/// Where an `expand` stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VolumeExpansion {
    /// It is as large.
    Ready {
        /// The size that the cloud gives: at least the one that was asked for.
        bytes: u64,
        /// Whether the node has to do its part, too.
        node_must_grow: bool,
    },
    /// It will be: come back later. No failure.
    Pending(PendingVolume),
    /// It grows only where it is attached to no machine, and is attached to these.
    InUse(Vec<String>),
}

/// A step was made; more have to follow.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PendingVolume {
    /// Words that the provider must know again: printable text of at most 1 KiB. `None`: nothing, and what was kept goes.
    pub memo: Option<String>,
    /// When to call again: at most five minutes.
    pub after: Duration,
    /// Why, on one line.
    pub reason: String,
}

/// A volume that a PersistentVolumeClaim asks for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DesiredVolume {
    /// The name of its PersistentVolume, and in the cloud.
    pub name: String,
    /// The claim.
    pub owner: ClaimOwner,
    /// The memo that an earlier answer asked to keep.
    pub memo: Option<String>,
    /// No call of [`CloudVolumes::create`] before this one has had this memo. False also where that is not known, as after a restart.
    pub memo_is_new: bool,
    /// At least so many bytes: a size that the description allows.
    pub bytes: u64,
    /// How it is to be reached; only what the description names.
    pub access_modes: Vec<AccessMode>,
    /// `None` for a raw block device.
    pub filesystem: Option<String>,
    /// Parameters of the StorageClass; only keys that the description names.
    pub parameters: Vec<(String, String)>,
    /// Where it may be, the best place first. Empty: anywhere.
    pub places: Vec<VolumePlace>,
    /// Its beginning; `None`: it is empty.
    pub source: Option<VolumeSource>,
    /// Annotations of the claim; only keys that the description names.
    pub annotations: Vec<(String, String)>,
}

/// The claim that a volume is for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClaimOwner {
    /// `--cluster-name`.
    pub cluster: String,
    /// The claim's namespace.
    pub namespace: String,
    /// The claim's name.
    pub name: String,
    /// The claim's UID: alone unique in time.
    pub uid: String,
}

/// The owner of a volume, as its marks in the cloud say it. `None`: they do not.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MarkedClaim {
    /// The UID of the cluster's namespace `kube-system`.
    pub cluster_uid: Option<String>,
    /// The claim's UID.
    pub uid: Option<String>,
    /// The claim's namespace.
    pub namespace: Option<String>,
    /// The claim's name.
    pub name: Option<String>,
}

/// How a volume is reached.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum AccessMode {
    /// `ReadWriteOnce`.
    OneNode,
    /// `ReadWriteOncePod`.
    OnePod,
    /// `ReadOnlyMany`.
    ManyNodesRead,
    /// `ReadWriteMany`.
    ManyNodesWrite,
}

/// How a volume is attached.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AttachMode {
    /// Whether nothing is to be written to it.
    pub read_only: bool,
    /// Whether it is a raw block device.
    pub block: bool,
    /// `spec.accessModes`.
    pub access_modes: Vec<AccessMode>,
}

/// The beginning of a volume.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum VolumeSource {
    /// The snapshot with this handle.
    Snapshot(String),
    /// The volume with this handle.
    Volume(String),
}

/// Topology keys and their values, sorted, all of which have to fit.
pub type VolumePlace = Vec<(String, String)>;

/// A volume that Kubernetes has.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KnownVolume {
    /// `spec.csi.volumeHandle`.
    pub handle: String,
    /// The name of the PersistentVolume; empty where it is gone.
    pub name: String,
    /// `spec.csi.volumeAttributes`.
    pub attributes: Vec<(String, String)>,
    /// The memo that an earlier answer of the same function asked to keep.
    pub memo: Option<String>,
    /// Whether it is a raw block device.
    pub is_block: bool,
}

/// A volume as it is in the cloud.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CloudVolume {
    /// `spec.csi.volumeHandle`: up to 512 visible ASCII characters, never empty.
    pub handle: String,
    /// Its name in the cloud, for people.
    pub name: String,
    /// The size that the cloud gives.
    pub bytes: u64,
    /// How it is.
    pub state: VolumeState,
    /// Where it is, in the driver's topology keys: one of these is enough. Empty: reached from anywhere.
    pub places: Vec<VolumePlace>,
    /// For `spec.csi.volumeAttributes`, sorted.
    pub attributes: Vec<(String, String)>,
    /// Node ids of the machines that it is attached to, with those to which or from which it is on its way.
    pub attached_to: Vec<String>,
    /// The owner by its marks.
    pub owner: MarkedClaim,
    /// Its beginning.
    pub source: Option<VolumeSource>,
}

/// How a volume is.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum VolumeState {
    /// It can be used.
    #[default]
    Ready,
    /// The cloud is still at work on it.
    Changing,
    /// It cannot be used, for this reason: one line.
    Failed(String),
}

/// A part of the list of volumes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct VolumePage {
    /// The volumes, in the cloud's order.
    pub volumes: Vec<CloudVolume>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
    /// Why this page may lack volumes, on one line.
    pub incomplete: Option<String>,
}

/// The properties of a cloud's volumes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct VolumeDescription {
    /// The CSI driver's name.
    pub driver: String,
    /// Keys of the topology, the most important first.
    pub topology_keys: Vec<String>,
    /// Keys of the publish context.
    pub publish_keys: Vec<String>,
    /// Parameters of a StorageClass that it reads.
    pub parameters: Vec<ClassParameter>,
    /// Annotations of a claim that it reads.
    pub annotations: Vec<ClassParameter>,
    /// How its volumes can be reached; at least one.
    pub access_modes: Vec<AccessMode>,
    /// Whether there are raw block devices.
    pub block: bool,
    /// The filesystem where a class names none; empty: the node plugin's choice.
    pub filesystem: String,
    /// The least size.
    pub smallest_bytes: u64,
    /// Sizes are multiples of this; at least 1.
    pub step_bytes: u64,
    /// The largest size: a multiple of the step, and no less than the least.
    pub largest_bytes: u64,
    /// Whether they grow.
    pub growth: VolumeGrowth,
    /// Whether they can begin with a snapshot.
    pub snapshots: bool,
    /// Whether they can begin with another volume.
    pub clones: bool,
    /// Whether one machine takes one attachment or detachment after the other.
    pub one_at_a_time_per_node: bool,
    /// Handles in one `get`: 1 to 500.
    pub get_batch_size: u32,
    /// Volumes in one page of the list; 0 where there is none.
    pub list_page_size: u32,
    /// The volumes of an in-tree plugin that the driver serves, too.
    pub in_tree: Option<InTreeVolumes>,
    /// Namespaces of the vendor's own controller beside `kube-system`: DNS labels, at most four.
    pub vendor_namespaces: Vec<String>,
}

/// Volumes of the plugin that Kubernetes itself had for the cloud before CSI. Their PersistentVolumes stay as they were.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct InTreeVolumes {
    /// The field of a PersistentVolume's `spec`: "awsElasticBlockStore".
    pub source: String,
    /// The provisioner of their classes: "kubernetes.io/aws-ebs".
    pub plugin: String,
    /// The handle of one of them, where `{volume}` stands for what the source calls it, `{name}` for what is behind the last slash of
    /// that, and `{zone}` for its zone.
    pub handle: String,
}

/// A parameter of a StorageClass, or an annotation of a claim.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ClassParameter {
    /// Its key.
    pub key: String,
    /// The allowed values, for people.
    pub values: String,
    /// Whether a class has to have it.
    pub required: bool,
    /// Its default.
    pub default: Option<String>,
    /// Its effect.
    pub doc: String,
}

/// Whether a volume grows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum VolumeGrowth {
    /// It does not.
    #[default]
    Never,
    /// Where it is attached to no machine.
    Detached,
    /// Wherever it is.
    Online,
}

/// A size that a cloud does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooLarge {
    /// The largest that it has.
    pub largest_bytes: u64,
}

impl VolumeDescription {
    /// The size that is asked for in the place of so many bytes: no smaller, and one that the cloud has.
    ///
    /// # Errors
    ///
    /// If the cloud has none as large.
    pub fn size(&self, bytes: u64) -> Result<u64, TooLarge> {
        let too_large = TooLarge { largest_bytes: self.largest_bytes };
        let step = self.step_bytes.max(1);
        let size = bytes.max(self.smallest_bytes).max(1).checked_next_multiple_of(step).ok_or(too_large)?;
        if size > self.largest_bytes { Err(too_large) } else { Ok(size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn sizes_are_raised_to_what_the_cloud_has() {
        let cloud = VolumeDescription {
            smallest_bytes: 10 * GIB,
            step_bytes: GIB,
            largest_bytes: 100 * GIB,
            ..VolumeDescription::default()
        };
        for (asked, size) in [
            (0, Some(10 * GIB)),
            (1, Some(10 * GIB)),
            (10 * GIB, Some(10 * GIB)),
            (10 * GIB + 1, Some(11 * GIB)),
            (100 * GIB, Some(100 * GIB)),
            (100 * GIB + 1, None),
            (u64::MAX, None),
        ] {
            assert_eq!(cloud.size(asked).ok(), size, "{asked}");
        }
    }
}
