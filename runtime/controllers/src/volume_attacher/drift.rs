//! Attachments whose volumes have left their machines behind the controller's back. No client, no clock, no log.

use std::collections::HashMap;

use cloud_provider::{CloudVolume, VolumeState};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;

use super::plan::{self, NODE_ID};

/// So many are looked at in any case. Of more than these, and more than one in ten, the list is wrong and not the cluster.
const PLAUSIBLE: usize = 10;
const ONE_IN: usize = 10;

/// An attachment that says it is attached, with the volume and the machine with which it was begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SaidAttachment {
    pub(super) name: String,
    pub(super) handle: String,
    pub(super) node_id: String,
}

/// The volume and the machine that an attachment names; `None` for one that goes, that is not attached, or that was not begun as this
/// controller and the external attacher do it: then the machine is not known but by the word of a kubelet.
pub(super) fn said(
    attachment: &VolumeAttachment,
    volume: Option<&PersistentVolume>,
    driver: &str,
) -> Option<SaidAttachment> {
    let is_in_use = plan::stays(attachment, driver)
        && plan::is_attached(attachment)
        && attachment.finalizers().contains(&plan::finalizer(driver));
    let node_id = attachment.annotations().get(NODE_ID).filter(|_| is_in_use)?.clone();
    let handle = plan::handle(attachment, volume, driver)?;
    Some(SaidAttachment { name: attachment.name_any(), handle, node_id })
}

/// Whether the cloud shows the volume of an attachment at rest, and not at its machine.
pub(super) fn has_left(volume: &CloudVolume, said: &SaidAttachment) -> bool {
    volume.handle == said.handle && volume.state == VolumeState::Ready && !volume.attached_to.contains(&said.node_id)
}

/// The attachments whose volumes seem to have left, by a page of the list. What it lacks proves nothing.
pub(super) fn suspects<'a>(all: &'a [SaidAttachment], volumes: &[CloudVolume]) -> Vec<&'a SaidAttachment> {
    let by_handle: HashMap<_, _> = volumes.iter().map(|it| (it.handle.as_str(), it)).collect();
    let seems_lost = |said: &&SaidAttachment| by_handle.get(said.handle.as_str()).is_some_and(|it| has_left(it, said));
    all.iter().filter(seems_lost).collect()
}

/// Whether so many of all attachments may have lost their volumes since the last list.
pub(super) fn is_plausible(suspects: usize, all: usize) -> bool {
    suspects <= PLAUSIBLE.max(all / ONE_IN)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::super::plan::HANDLE;
    use super::*;

    const DRIVER: &str = "csi.fakecloud.example";

    fn attachment(change: &[(&str, Value)]) -> VolumeAttachment {
        let mut it = json!({
            "metadata": {
                "name": "csi-1",
                "finalizers": ["external-attacher/csi-fakecloud-example"],
                "annotations": { NODE_ID: "7", HANDLE: "vol-1" },
            },
            "spec": { "attacher": DRIVER, "nodeName": "n1", "source": { "persistentVolumeName": "pv-1" } },
            "status": { "attached": true },
        });
        for (path, value) in change {
            *it.pointer_mut(path).unwrap() = value.clone();
        }
        from_value(it).unwrap()
    }

    fn said_by(change: &[(&str, Value)]) -> Option<SaidAttachment> {
        said(&attachment(change), None, DRIVER)
    }

    fn volume(handle: &str, attached_to: &[&str], state: VolumeState) -> CloudVolume {
        let attached_to = attached_to.iter().map(|it| (*it).to_owned()).collect();
        CloudVolume { handle: handle.to_owned(), attached_to, state, ..CloudVolume::default() }
    }

    #[test]
    fn attachments_in_use_say_where_they_were_begun() {
        let begun = SaidAttachment { name: "csi-1".to_owned(), handle: "vol-1".to_owned(), node_id: "7".to_owned() };
        assert_eq!(said_by(&[]), Some(begun.clone()));
        for (path, value) in [
            ("/status/attached", json!(false)),
            ("/spec/attacher", json!("another")),
            ("/metadata/finalizers", json!([])),
            ("/metadata/annotations", json!({})),
            ("/metadata/annotations", json!({ NODE_ID: "7" })),
        ] {
            assert_eq!(said_by(&[(path, value.clone())]), None, "{path}: {value}");
        }
        let metadata = json!({
            "name": "csi-1", "finalizers": ["external-attacher/csi-fakecloud-example"],
            "annotations": { NODE_ID: "7", HANDLE: "vol-1" }, "deletionTimestamp": "2026-01-01T00:00:00Z",
        });
        assert_eq!(said_by(&[("/metadata", metadata)]), None, "it goes");
        let csi = json!({ "driver": DRIVER, "volumeHandle": "vol-1" });
        let pv: PersistentVolume =
            from_value(json!({ "metadata": { "name": "pv-1" }, "spec": { "csi": csi } })).unwrap();
        let vendors = attachment(&[("/metadata/annotations", json!({ NODE_ID: "7" }))]);
        assert_eq!(said(&vendors, Some(&pv), DRIVER), Some(begun), "taken over");
    }

    /// Cases: csi 64
    #[test]
    fn volumes_at_rest_elsewhere_have_left_their_machines() {
        let all = [said_by(&[]).unwrap()];
        let found = |volume: CloudVolume| suspects(&all, &[volume]).len();
        assert_eq!(found(volume("vol-1", &[], VolumeState::Ready)), 1);
        assert_eq!(found(volume("vol-1", &["8"], VolumeState::Ready)), 1, "it is at another machine");
        assert_eq!(found(volume("vol-1", &["8", "7"], VolumeState::Ready)), 0);
        assert_eq!(found(volume("vol-1", &[], VolumeState::Changing)), 0, "it may be on its way");
        assert_eq!(found(volume("vol-1", &[], VolumeState::Failed("no".to_owned()))), 0);
        assert_eq!(found(volume("vol-2", &[], VolumeState::Ready)), 0, "another one");
        assert!(suspects(&all, &[]).is_empty(), "what a list lacks proves nothing");
    }

    /// Cases: csi 63
    #[test]
    fn volumes_that_all_seem_lost_are_not() {
        let plausible =
            [(0, 0), (10, 10), (11, 20), (100, 1_000), (101, 1_000)].map(|(few, all)| is_plausible(few, all));
        assert_eq!(plausible, [true, true, false, true, false]);
    }
}
