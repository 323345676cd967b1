//! The next step about a VolumeAttachment, and about the PersistentVolume that it names. No client, no clock, no log.

use cloud_provider::{AccessMode, AttachMode, KnownVolume};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::{CSINode, VolumeAttachment};
use kube::ResourceExt as _;

/// The node id with which an attachment was begun: the external attacher's own annotation.
pub(super) const NODE_ID: &str = "csi.alpha.kubernetes.io/node-id";
/// The handle with which it was begun: a volume is detached also where its PersistentVolume is gone.
pub(super) const HANDLE: &str = "aerostat.dev/volume-handle";
/// What the provider has to know again of each.
pub(super) const ATTACH_MEMO: &str = "aerostat.dev/volume-attach-memo";
pub(super) const DETACH_MEMO: &str = "aerostat.dev/volume-detach-memo";
/// The most bytes of an error in a status.
const MESSAGE_BYTES: usize = 1_024;

/// The next step about an attachment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum AttachStep {
    /// Nothing.
    Ignore,
    /// The PersistentVolume gets the finalizer: it outlives its attachments.
    GuardVolume,
    /// The attachment gets the finalizer, and keeps with which handle and node id it is begun.
    GuardAttachment(Target),
    /// One step towards the machine.
    Attach(Target, AttachMode),
    /// One step away from a machine that the node is no more.
    Leave(Target),
    /// One step away from the machine: nobody uses the volume there any more.
    Detach(Target),
    /// The finalizer goes: nothing is attached by it.
    Free,
    /// Something has to come first.
    Wait(String),
    /// A person has to change something.
    Refuse(String),
}

/// A volume and a machine.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Target {
    pub(super) volume: KnownVolume,
    pub(super) node_id: String,
}

/// What is known beside an attachment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KnownFacts<'a> {
    /// The PersistentVolume that it names.
    pub(super) volume: Option<&'a PersistentVolume>,
    /// The id of its node now, as the driver's node plugin says it.
    pub(super) node_id: Option<&'a str>,
    /// Whether another attachment holds the same volume at the same node, and stays.
    pub(super) is_shared: bool,
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

/// The volume of an attachment: its PersistentVolume's, or the one with which it was begun.
pub(super) fn handle(attachment: &VolumeAttachment, volume: Option<&PersistentVolume>, driver: &str) -> Option<String> {
    let inline = attachment.spec.source.inline_volume_spec.as_ref().and_then(|it| it.csi.as_ref());
    let csi = volume.and_then(|it| it.spec.as_ref()?.csi.as_ref()).or(inline).filter(|it| it.driver == driver);
    csi.map(|it| it.volume_handle.clone()).or_else(|| attachment.annotations().get(HANDLE).cloned())
}

/// The next step about an attachment.
pub(super) fn attachment(attachment: &VolumeAttachment, near: KnownFacts<'_>, driver: &str) -> AttachStep {
    if !is_due(attachment, driver) {
        return AttachStep::Ignore;
    }
    let begun_at = attachment.annotations().get(NODE_ID).cloned();
    let target = |node_id: String, memo: &str| {
        Some(Target {
            volume: KnownVolume {
                handle: handle(attachment, near.volume, driver)?,
                name: near.volume.map(|it| it.name_any()).unwrap_or_default(),
                attributes: attributes(near.volume),
                memo: attachment.annotations().get(memo).cloned(),
            },
            node_id,
        })
    };
    if attachment.metadata.deletion_timestamp.is_some() {
        if near.is_shared {
            return AttachStep::Free;
        }
        // By what it was begun with: a kubelet writes its CSINode, and could name another's machine by now.
        let Some(node_id) = begun_at.or_else(|| near.node_id.map(str::to_owned)) else {
            return AttachStep::Wait(format!(
                "nothing says at which machine the volume is: node {} has no id of driver {driver} any more. Detach it in the \
                 cloud, and take the finalizer off this VolumeAttachment",
                attachment.spec.node_name
            ));
        };
        return target(node_id, DETACH_MEMO).map_or_else(
            || {
                AttachStep::Wait(format!(
                    "PersistentVolume {} is gone, and nothing else says which volume this is: write it again, or detach it in the \
                     cloud and take the finalizer off this VolumeAttachment",
                    volume_name(attachment).unwrap_or_default()
                ))
            },
            AttachStep::Detach,
        );
    }
    toward(attachment, near, driver, begun_at, target)
}

/// The next step about an attachment that stays.
fn toward(
    attachment: &VolumeAttachment,
    near: KnownFacts<'_>,
    driver: &str,
    begun_at: Option<String>,
    target: impl Fn(String, &str) -> Option<Target>,
) -> AttachStep {
    let own = finalizer(driver);
    if let Some(name) = volume_name(attachment) {
        let Some(volume) = near.volume else {
            return AttachStep::Wait(format!("PersistentVolume {name} does not exist"));
        };
        if volume.metadata.deletion_timestamp.is_some() {
            return AttachStep::Refuse(format!("PersistentVolume \"{name}\" is marked for deletion"));
        }
        let is_of_driver = volume.spec.as_ref().and_then(|it| it.csi.as_ref()).is_some_and(|it| it.driver == driver);
        if !is_of_driver {
            return AttachStep::Refuse(format!("PersistentVolume {name} is not one of driver {driver}"));
        }
        if !volume.finalizers().contains(&own) {
            return AttachStep::GuardVolume;
        }
    }
    if let (Some(begun_at), Some(now)) = (&begun_at, near.node_id)
        && begun_at != now
        && let Some(target) = target(begun_at.clone(), DETACH_MEMO)
    {
        return AttachStep::Leave(target);
    }
    let Some(node_id) = near.node_id else {
        return AttachStep::Wait(format!(
            "node {} has no id of driver {driver}: its node plugin does not run there yet",
            attachment.spec.node_name
        ));
    };
    let Some(target) = target(node_id.to_owned(), ATTACH_MEMO) else {
        return AttachStep::Refuse(format!("its source is no volume of driver {driver}"));
    };
    let is_kept = attachment.annotations().get(HANDLE) == Some(&target.volume.handle) && begun_at.is_some();
    match is_kept && attachment.finalizers().contains(&own) {
        true => AttachStep::Attach(target, mode(attachment, near.volume)),
        false => AttachStep::GuardAttachment(target),
    }
}

/// The name of the PersistentVolume that an attachment names.
pub(super) fn volume_name(attachment: &VolumeAttachment) -> Option<&str> {
    attachment.spec.source.persistent_volume_name.as_deref()
}

fn attributes(volume: Option<&PersistentVolume>) -> Vec<(String, String)> {
    let csi = volume.and_then(|it| it.spec.as_ref()?.csi.as_ref());
    csi.and_then(|it| it.volume_attributes.clone()).unwrap_or_default().into_iter().collect()
}

fn mode(attachment: &VolumeAttachment, volume: Option<&PersistentVolume>) -> AttachMode {
    let spec = volume.and_then(|it| it.spec.as_ref()).or(attachment.spec.source.inline_volume_spec.as_ref());
    let access = |it: &String| match it.as_str() {
        "ReadWriteOnce" => Some(AccessMode::OneNode),
        "ReadWriteOncePod" => Some(AccessMode::OnePod),
        "ReadOnlyMany" => Some(AccessMode::ManyNodesRead),
        "ReadWriteMany" => Some(AccessMode::ManyNodesWrite),
        _ => None,
    };
    AttachMode {
        read_only: spec.and_then(|it| it.csi.as_ref()?.read_only).unwrap_or_default(),
        block: spec.and_then(|it| it.volume_mode.as_deref()) == Some("Block"),
        access_modes: spec.iter().flat_map(|it| it.access_modes.iter().flatten()).filter_map(access).collect(),
    }
}

/// Whether a PersistentVolume may go, as far as this finalizer is concerned: it is being deleted, and no attachment names it.
pub(super) fn is_let_go(volume: &PersistentVolume, is_named: bool, driver: &str) -> bool {
    volume.metadata.deletion_timestamp.is_some() && !is_named && volume.finalizers().contains(&finalizer(driver))
}

/// An error as a status takes it: the API server refuses a longer one, and nobody would see it.
pub(super) fn message(text: &str) -> &str {
    &text[..text.floor_char_boundary(MESSAGE_BYTES)]
}

#[cfg(test)]
mod tests;
