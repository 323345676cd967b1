//! Volumes that another provisioner has made. No client, no clock, no log.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt as _;

use super::intent::{self, IDENTITY, Intent};
use super::request::PROVISIONED_BY;

/// The UID of the claim for which another provisioner of this driver has made a volume that is new; `None` for one of this process, and for one
/// that no provisioner has made for its claim: a person has written it, or it came out of a backup, where claims have other UIDs.
pub(super) fn of_vendor<'a>(volume: &'a PersistentVolume, process: &str, driver: &str) -> Option<&'a str> {
    let spec = volume.spec.as_ref()?;
    let csi = spec.csi.as_ref().filter(|it| it.driver == driver)?;
    let identity = csi.volume_attributes.as_ref()?.get(IDENTITY)?;
    let claim = spec.claim_ref.as_ref()?.uid.as_deref()?;
    let is_provisioned = volume.annotations().get(PROVISIONED_BY).is_some_and(|it| it == driver);
    (is_provisioned && identity != process && volume.name_any() == intent::name(claim)).then_some(claim)
}

/// Whether a claim, as it is when its volume is first seen, has had none until then. A provisioner at work makes volumes of such claims alone: a
/// PersistentVolume of another claim, or of one that is gone, was there before, and a person has written it again.
pub(super) fn has_waited(claim: Option<&PersistentVolumeClaim>) -> bool {
    let bound_to = |it: &PersistentVolumeClaim| it.spec.as_ref()?.volume_name.clone().filter(|name| !name.is_empty());
    claim.is_some_and(|it| bound_to(it).is_none())
}

/// Whether an intent explains a PersistentVolume of its claim that this process has not saved: a process before has begun it, and may have saved that in
/// its last moment. One that was begun here explains none: another provisioner serves the claim, too.
pub(super) fn is_explained(intent: Option<&Intent>) -> bool {
    intent.is_some_and(|it| it.is_from_before)
}

#[cfg(test)]
mod tests {
    use cloud_provider::DesiredVolume;
    use serde_json::{Value, from_value, json};

    use super::*;

    const DRIVER: &str = "csi.example.com";

    fn volume(change: &[(&str, Value)]) -> PersistentVolume {
        let mut volume = json!({
            "metadata": { "name": "pvc-1", "annotations": { PROVISIONED_BY: DRIVER } },
            "spec": {
                "csi": {
                    "driver": DRIVER, "volumeHandle": "vol-1",
                    "volumeAttributes": { IDENTITY: "1764460800000-8081-csi.example.com" },
                },
                "claimRef": { "name": "data", "namespace": "default", "uid": "1" },
            },
        });
        for (path, value) in change {
            *volume.pointer_mut(path).unwrap() = value.clone();
        }
        from_value(volume).unwrap()
    }

    /// Cases: csi 74
    #[test]
    fn a_volume_that_another_provisioner_makes_is_noticed() {
        let vendors = |change: &[(&str, Value)]| {
            of_vendor(&volume(change), "1764460800000-0001-csi.example.com", DRIVER).map(str::to_owned)
        };
        assert_eq!(vendors(&[]).as_deref(), Some("1"));
        let own = json!({ IDENTITY: "1764460800000-0001-csi.example.com" });
        for (path, value) in [
            ("/spec/csi/volumeAttributes", own),
            ("/spec/csi/volumeAttributes", json!({})),
            ("/spec/csi/driver", json!("another")),
            ("/metadata/annotations", json!({})),
            ("/metadata/name", json!("data-of-a-backup")),
            ("/spec/claimRef/uid", json!("2")),
            ("/spec/claimRef", Value::Null),
        ] {
            assert_eq!(vendors(&[(path, value.clone())]), None, "{path}: {value}");
        }
    }

    /// Cases: csi 74
    #[test]
    fn an_intent_that_was_begun_here_explains_no_hand() {
        let own = Intent::new(DesiredVolume::default(), PersistentVolume::default(), None);
        let of_process_before = Intent { is_from_before: true, is_inherited: false, ..own.clone() };
        let rows = [(None, false), (Some(&own), false), (Some(&of_process_before), true)];
        for (intent, expected) in rows {
            assert_eq!(is_explained(intent), expected, "{intent:?}");
        }
    }

    /// Cases: csi 74
    #[test]
    fn a_persistent_volume_that_is_written_again_is_no_hand() {
        let claim = |spec: Value| from_value::<PersistentVolumeClaim>(json!({ "spec": spec })).unwrap();
        let rows = [
            (Some(claim(json!({}))), true, "a claim that waits"),
            (Some(claim(json!({ "volumeName": "" }))), true, "the same, as some clients write it"),
            (Some(claim(json!({ "volumeName": "pvc-1" }))), false, "bound to it, or lost while it was away"),
            (Some(claim(json!({ "volumeName": "data-of-a-backup" }))), false, "bound to another one"),
            (None, false, "released"),
        ];
        for (claim, expected, what) in rows {
            assert_eq!(has_waited(claim.as_ref()), expected, "{what}");
        }
    }
}
