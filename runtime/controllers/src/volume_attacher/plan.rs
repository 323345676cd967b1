//! The next step about a VolumeAttachment, and about the PersistentVolume that it names. No client, no clock, no log.

use cloud_provider::{AccessMode, AttachMode, KnownVolume};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{CSIPersistentVolumeSource, PersistentVolume};
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, VolumeAttachment};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::known_volume::{self, is_block};
use crate::volume_error::kept;
use crate::volume_events::without_requests;

/// The node id with which an attachment was begun: the external attacher's own annotation.
pub(super) const NODE_ID: &str = "csi.alpha.kubernetes.io/node-id";
/// The handle with which it was begun: a volume is detached also where its PersistentVolume is gone.
pub(super) const HANDLE: &str = "aerostat.dev/volume-handle";
/// The memos of the provider: of an attachment that is made, and of one that ends.
pub(super) const ATTACH_MEMO: &str = "aerostat.dev/volume-attach-memo";
pub(super) const DETACH_MEMO: &str = "aerostat.dev/volume-detach-memo";
/// gRPC's code for a machine that takes no more volumes: where API servers keep it, kubelets count again how many there may be.
const RESOURCE_EXHAUSTED: i32 = 8;

/// The next step about an attachment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum AttachStep {
    /// Nothing.
    Ignore,
    /// The PersistentVolume gets the finalizer: it outlives its attachments.
    GuardVolume,
    /// The attachment gets the finalizer, and keeps with which handle and node id it is begun.
    GuardAttachment(VolumeTarget),
    /// One step towards the machine.
    Attach(VolumeTarget, AttachMode),
    /// One step away from the volume and the machine that it was begun with, and that are not its own any more.
    Leave(VolumeTarget),
    /// One step away from the machine: nobody uses the volume there any more.
    Detach(VolumeTarget),
    /// The finalizer goes: nothing is attached by it.
    Free,
    /// Something has to come first.
    Wait(String),
    /// A person has to change something.
    Refuse(String),
}

/// A volume and a machine.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct VolumeTarget {
    pub(super) volume: KnownVolume,
    pub(super) node_id: String,
}

/// Facts that are known beside an attachment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownFacts<'a> {
    /// The PersistentVolume that it names.
    pub(super) volume: Option<&'a PersistentVolume>,
    /// The id of its node now, as the driver's node plugin says it.
    pub(super) node_id: Option<&'a str>,
    /// Another node, whose machine has this id.
    pub(super) machine_of: Option<&'a str>,
    /// Whether the driver's volumes need no attachment: its node plugin does all.
    pub(super) is_needless: bool,
}

/// A volume at a machine, and the node of the attachment that is about to take it from there.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenPlace<'a> {
    pub(super) target: &'a VolumeTarget,
    pub(super) node: &'a str,
}

/// The external attacher's finalizer for a driver.
pub(super) fn finalizer(driver: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '-' };
    format!("external-attacher/{}", driver.chars().map(plain).collect::<String>())
}

/// Whether there may be something to do about an attachment.
pub(super) fn is_due(attachment: &VolumeAttachment, driver: &str) -> bool {
    let is_ours = attachment.spec.attacher == driver;
    match attachment.metadata.deletion_timestamp.is_some() {
        true => is_ours && attachment.finalizers().iter().any(|it| *it == finalizer(driver)),
        false => is_ours && !is_attached(attachment),
    }
}

/// Whether it is said to be attached.
pub(super) fn is_attached(attachment: &VolumeAttachment) -> bool {
    attachment.status.as_ref().is_some_and(|it| it.attached)
}

/// The id of a node, as the driver's node plugin says it.
pub(super) fn node_id<'a>(csi_node: &'a CSINode, driver: &str) -> Option<&'a str> {
    csi_node.spec.drivers.iter().find(|it| it.name == driver).map(|it| it.node_id.as_str())
}

/// Another node whose machine has this node id, by the names and provider ids of all nodes, unless it is this node's, too. Provider ids end
/// in the cloud's own id, as node ids do.
pub(super) fn machine_of<'a>(
    node_id: &str,
    node: &str,
    nodes: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<&'a str> {
    let own = |it: &str| it.rsplit('/').next().filter(|it| !it.is_empty()).map(str::to_owned);
    let id = own(node_id)?;
    let mut same: Vec<_> =
        nodes.filter(|(_, provider_id)| own(provider_id).as_ref() == Some(&id)).map(|(name, _)| name).collect();
    same.sort_unstable();
    if same.contains(&node) { None } else { same.first().copied() }
}

/// Whether a driver's volumes need no attachment, as its CSIDriver says. kube-controller-manager makes none then.
pub(super) fn is_needless(csi_driver: Option<&CSIDriver>) -> bool {
    csi_driver.is_some_and(|it| it.spec.attach_required == Some(false))
}

/// The volume of an attachment: the one with which it was begun, else its PersistentVolume's now.
pub(super) fn handle(attachment: &VolumeAttachment, volume: Option<&PersistentVolume>, driver: &str) -> Option<String> {
    let inline = attachment.spec.source.inline_volume_spec.as_ref().and_then(|it| it.csi.as_ref());
    let now = || handle_now(volume, driver).or_else(|| of_driver(inline, driver));
    attachment.annotations().get(HANDLE).map(String::as_str).or_else(now).map(str::to_owned)
}

/// The handle of a PersistentVolume of this driver.
fn handle_now<'a>(volume: Option<&'a PersistentVolume>, driver: &str) -> Option<&'a str> {
    known_volume::source(volume?, driver).map(|it| it.volume_handle.as_str())
}

fn of_driver<'a>(source: Option<&'a CSIPersistentVolumeSource>, driver: &str) -> Option<&'a str> {
    source.filter(|it| it.driver == driver).map(|it| it.volume_handle.as_str())
}

/// Whether another attachment may hold the volume at the machine that it is taken from, by what a watch shows. That lags behind the
/// finalizer and the node id: whatever this lets through, the API server is asked about before anything is taken away.
pub(super) fn may_hold(other: &VolumeAttachment, near: KnownFacts<'_>, taken: TakenPlace<'_>, driver: &str) -> bool {
    let VolumeTarget { volume, node_id } = taken.target;
    let is_its = |it: Option<&str>| it == Some(volume.handle.as_str());
    let begun_at = other.annotations().get(NODE_ID);
    stays(other, driver)
        && (is_its(handle(other, near.volume, driver).as_deref()) || is_its(handle_now(near.volume, driver)))
        && (begun_at.is_none_or(|it| it == node_id)
            || near.node_id == Some(node_id.as_str())
            || other.spec.node_name == taken.node)
}

/// Whether another attachment, as the API server knows it, holds the volume at the machine that it is taken from: it was begun there,
/// or it is said to be attached there.
pub(super) fn holds(other: &VolumeAttachment, near: KnownFacts<'_>, taken: TakenPlace<'_>, driver: &str) -> bool {
    let VolumeTarget { volume, node_id } = taken.target;
    let is_held = match (other.annotations().get(NODE_ID), near.node_id) {
        (Some(begun_at), _) => {
            begun_at == node_id && (other.finalizers().contains(&finalizer(driver)) || is_attached(other))
        }
        (None, Some(now)) => now == node_id && is_attached(other),
        (None, None) => other.spec.node_name == taken.node && is_attached(other),
    };
    stays(other, driver) && is_held && handle(other, near.volume, driver).is_some_and(|it| it == volume.handle)
}

/// Whether an attachment of this driver is not being deleted.
pub(super) fn stays(attachment: &VolumeAttachment, driver: &str) -> bool {
    attachment.spec.attacher == driver && attachment.metadata.deletion_timestamp.is_none()
}

/// The next step about an attachment.
pub(super) fn attachment(attachment: &VolumeAttachment, near: KnownFacts<'_>, driver: &str) -> AttachStep {
    if !is_due(attachment, driver) {
        return AttachStep::Ignore;
    }
    if attachment.metadata.deletion_timestamp.is_none() {
        return toward(attachment, near, driver);
    }
    let annotations = attachment.annotations();
    // By what it was begun with: a kubelet writes its CSINode, and could name another's machine by now.
    let node_id = match (annotations.get(NODE_ID), annotations.contains_key(HANDLE)) {
        (Some(begun_at), _) => begun_at.as_str(),
        // It has left its machine, and was not begun at another one yet: the two are kept together, before the first call.
        (None, true) => return AttachStep::Free,
        (None, false) => match near.node_id.filter(|_| near.machine_of.is_none()) {
            Some(now) => now,
            None => {
                return AttachStep::Wait(format!(
                    "nothing says at which machine the volume is: node {} has no id of driver {driver} any more. Detach it in the \
                     cloud, and take the finalizer off this VolumeAttachment",
                    attachment.spec.node_name
                ));
            }
        },
    };
    let Some(handle) = handle(attachment, near.volume, driver) else {
        return AttachStep::Wait(format!(
            "PersistentVolume {} is gone, and nothing else says which volume this is: write it again, or detach it in the \
             cloud and take the finalizer off this VolumeAttachment",
            volume_name(attachment).unwrap_or_default()
        ));
    };
    AttachStep::Detach(target(attachment, near.volume, &handle, node_id, DETACH_MEMO))
}

/// The next step about an attachment that stays.
fn toward(attachment: &VolumeAttachment, near: KnownFacts<'_>, driver: &str) -> AttachStep {
    if near.is_needless {
        return AttachStep::Ignore;
    }
    let Some(volume) = near.volume else {
        return match volume_name(attachment) {
            Some(name) => AttachStep::Wait(format!("PersistentVolume {name} does not exist")),
            None => AttachStep::Refuse(format!(
                "it names no PersistentVolume, and driver {driver} serves no volumes of an in-tree plugin, which alone come without one"
            )),
        };
    };
    // Empty for a volume that a pod itself names.
    let name = volume_name(attachment).unwrap_or_default();
    if volume.metadata.deletion_timestamp.is_some() {
        return AttachStep::Refuse(format!("PersistentVolume \"{name}\" is marked for deletion"));
    }
    let Some(handle) = handle_now(Some(volume), driver) else {
        return AttachStep::Refuse(format!("PersistentVolume {name} is not one of driver {driver}"));
    };
    if let Some(other) = near.machine_of {
        // Its kubelet writes that, and would have the volumes of its pods at another's machine.
        return AttachStep::Refuse(format!(
            "CSINode {} says that its id of driver {driver} is {}, which is the machine of node {other} by spec.providerID",
            attachment.spec.node_name,
            near.node_id.unwrap_or_default()
        ));
    }
    let own = finalizer(driver);
    if !name.is_empty() && !volume.finalizers().contains(&own) {
        return AttachStep::GuardVolume;
    }
    let annotations = attachment.annotations();
    let (begun_with, begun_at) = (annotations.get(HANDLE), annotations.get(NODE_ID));
    if let Some(begun_at) = begun_at {
        let begun_with = begun_with.map_or(handle, String::as_str);
        let is_elsewhere = near.node_id.is_some_and(|now| now != begun_at);
        if is_elsewhere || begun_with != handle {
            return AttachStep::Leave(target(attachment, near.volume, begun_with, begun_at, DETACH_MEMO));
        }
    }
    let Some(node_id) = near.node_id else {
        return AttachStep::Wait(format!(
            "node {} has no id of driver {driver}: its node plugin does not run there yet",
            attachment.spec.node_name
        ));
    };
    let target = target(attachment, near.volume, handle, node_id, ATTACH_MEMO);
    let is_kept = begun_at.is_some() && begun_with.is_some();
    match is_kept && attachment.finalizers().contains(&own) {
        true => AttachStep::Attach(target, mode(volume)),
        false => AttachStep::GuardAttachment(target),
    }
}

/// A volume at a machine, with what its PersistentVolume says of it, if that is still this volume's.
fn target(
    attachment: &VolumeAttachment,
    volume: Option<&PersistentVolume>,
    handle: &str,
    node_id: &str,
    memo: &str,
) -> VolumeTarget {
    let is_its = |volume: &&PersistentVolume| {
        volume.spec.as_ref().and_then(|it| it.csi.as_ref()).is_some_and(|it| it.volume_handle == handle)
    };
    let volume = volume.filter(is_its);
    let volume = KnownVolume {
        handle: handle.to_owned(),
        name: volume.map(|it| it.name_any()).unwrap_or_default(),
        attributes: attributes(volume),
        memo: attachment.annotations().get(memo).cloned(),
        is_block: volume.is_some_and(is_block),
    };
    VolumeTarget { volume, node_id: node_id.to_owned() }
}

/// The name of the PersistentVolume that an attachment names.
pub(super) fn volume_name(attachment: &VolumeAttachment) -> Option<&str> {
    attachment.spec.source.persistent_volume_name.as_deref()
}

fn attributes(volume: Option<&PersistentVolume>) -> Vec<(String, String)> {
    let csi = volume.and_then(|it| it.spec.as_ref()?.csi.as_ref());
    csi.and_then(|it| it.volume_attributes.clone()).unwrap_or_default().into_iter().collect()
}

fn mode(volume: &PersistentVolume) -> AttachMode {
    let spec = volume.spec.as_ref();
    let access = |mode: &String| match mode.as_str() {
        "ReadWriteOnce" => Some(AccessMode::OneNode),
        "ReadWriteOncePod" => Some(AccessMode::OnePod),
        "ReadOnlyMany" => Some(AccessMode::ManyNodesRead),
        "ReadWriteMany" => Some(AccessMode::ManyNodesWrite),
        _ => None,
    };
    AttachMode {
        read_only: spec.and_then(|it| it.csi.as_ref()?.read_only).unwrap_or_default(),
        block: is_block(volume),
        access_modes: spec.iter().flat_map(|it| it.access_modes.iter().flatten()).filter_map(access).collect(),
    }
}

/// Whether a PersistentVolume may go, as far as this finalizer is concerned: it is being deleted, and no attachment names it.
pub(super) fn is_let_go(volume: &PersistentVolume, is_named: bool, driver: &str) -> bool {
    volume.metadata.deletion_timestamp.is_some() && !is_named && volume.finalizers().contains(&finalizer(driver))
}

/// The status that shows an error, unless it shows it already, but for the numbers of requests in it.
pub(super) fn error_status(attachment: &VolumeAttachment, text: &str, is_full: bool, now: Timestamp) -> Option<Value> {
    let status = attachment.status.as_ref();
    let (key, said) = match attachment.metadata.deletion_timestamp.is_some() {
        true => ("detachError", status.and_then(|it| it.detach_error.as_ref())),
        false => ("attachError", status.and_then(|it| it.attach_error.as_ref())),
    };
    let (message, code) = (kept(text), is_full.then_some(RESOURCE_EXHAUSTED));
    let is_said = said.and_then(|it| it.message.as_deref()).map(without_requests) == Some(without_requests(message));
    if is_said && said.and_then(|it| it.error_code) == code {
        return None;
    }
    Some(json!({ key: { "message": message, "time": now.to_string(), "errorCode": code } }))
}

#[cfg(test)]
mod tests;
