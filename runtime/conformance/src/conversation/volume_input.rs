//! Arguments of calls about volumes for claims, as people write them.

use std::collections::BTreeMap;

use cloud_provider::{AccessMode, AttachMode, ClaimOwner, DesiredVolume, KnownVolume, VolumeSource};
use serde::Deserialize;

use super::input::OwnerInput;

/// A volume as a claim asks for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DesiredVolumeInput {
    name: Option<String>,
    owner: OwnerInput,
    memo: Option<String>,
    #[serde(default)]
    memo_is_new: bool,
    bytes: u64,
    access_modes: Option<Vec<String>>,
    filesystem: Option<String>,
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    #[serde(default)]
    accessible_topologies: Vec<BTreeMap<String, String>>,
    source: Option<SourceInput>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum SourceInput {
    Snapshot(String),
    Volume(String),
}

impl DesiredVolumeInput {
    /// The volume, for the cluster with this name.
    ///
    /// # Errors
    ///
    /// A sentence about an access mode that is none.
    pub fn volume(self, cluster: &str) -> Result<DesiredVolume, String> {
        let OwnerInput { namespace, name, uid } = self.owner;
        Ok(DesiredVolume {
            // As Kubernetes calls it.
            name: self.name.unwrap_or_else(|| format!("pvc-{uid}")),
            owner: ClaimOwner { cluster: cluster.to_owned(), namespace, name, uid },
            memo: self.memo,
            memo_is_new: self.memo_is_new,
            bytes: self.bytes,
            access_modes: self.access_modes.map_or_else(|| Ok(vec![AccessMode::OneNode]), access_modes)?,
            filesystem: self.filesystem,
            parameters: self.parameters.into_iter().collect(),
            places: self.accessible_topologies.into_iter().map(|it| it.into_iter().collect()).collect(),
            source: self.source.map(source),
            annotations: self.annotations.into_iter().collect(),
        })
    }
}

fn source(input: SourceInput) -> VolumeSource {
    match input {
        SourceInput::Snapshot(handle) => VolumeSource::Snapshot(handle),
        SourceInput::Volume(handle) => VolumeSource::Volume(handle),
    }
}

fn access_modes(names: Vec<String>) -> Result<Vec<AccessMode>, String> {
    let mode = |name: String| match name.as_str() {
        "ReadWriteOnce" => Ok(AccessMode::OneNode),
        "ReadWriteOncePod" => Ok(AccessMode::OnePod),
        "ReadOnlyMany" => Ok(AccessMode::ManyNodesRead),
        "ReadWriteMany" => Ok(AccessMode::ManyNodesWrite),
        _ => Err(format!(
            "{name:?} is no access mode; write ReadWriteOnce, ReadWriteOncePod, ReadOnlyMany or ReadWriteMany"
        )),
    };
    names.into_iter().map(mode).collect()
}

/// A volume that Kubernetes has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownVolumeInput {
    handle: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    attributes: BTreeMap<String, String>,
    memo: Option<String>,
    #[serde(default)]
    block: bool,
}

impl KnownVolumeInput {
    /// The volume.
    #[must_use]
    pub fn volume(self) -> KnownVolume {
        let Self { handle, name, attributes, memo, block } = self;
        KnownVolume { handle, name, attributes: attributes.into_iter().collect(), memo, is_block: block }
    }
}

/// A volume that is to be attached.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttachInput {
    volume: KnownVolumeInput,
    #[serde(rename = "nodeID")]
    node_id: String,
    #[serde(default)]
    mode: ModeInput,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct ModeInput {
    read_only: bool,
    block: bool,
    access_modes: Option<Vec<String>>,
}

impl AttachInput {
    /// The volume, the node id of the machine, and how it is attached.
    ///
    /// # Errors
    ///
    /// A sentence about an access mode that is none.
    pub fn attachment(self) -> Result<(KnownVolume, String, AttachMode), String> {
        let ModeInput { read_only, block, access_modes: modes } = self.mode;
        let access_modes = modes.map_or_else(|| Ok(vec![AccessMode::OneNode]), access_modes)?;
        Ok((self.volume.volume(), self.node_id, AttachMode { read_only, block, access_modes }))
    }
}

/// A volume that is to be detached.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetachInput {
    volume: KnownVolumeInput,
    #[serde(rename = "nodeID")]
    node_id: String,
}

impl DetachInput {
    /// The volume, and the node id of the machine.
    #[must_use]
    pub fn detachment(self) -> (KnownVolume, String) {
        (self.volume.volume(), self.node_id)
    }
}

/// A volume that is to grow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpandInput {
    volume: KnownVolumeInput,
    bytes: u64,
}

impl ExpandInput {
    /// The volume, and how many bytes it is to have.
    #[must_use]
    pub fn expansion(self) -> (KnownVolume, u64) {
        (self.volume.volume(), self.bytes)
    }
}
