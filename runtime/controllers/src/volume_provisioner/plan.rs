//! The next step about a claim, and about a PersistentVolume. No client, no clock, no log.

use cloud_provider::KnownVolume;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt as _;

use super::intent::Intent;
use super::request::{FINALIZER, PROVISIONED_BY, is_ours};
use crate::known_volume;
use crate::migrated::MIGRATED_TO;

/// The memo of a deletion, which the host keeps on the PersistentVolume.
pub(super) const DELETION_MEMO: &str = "aerostat.dev/volume-deletion-memo";

/// The next step about a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ClaimStep {
    /// Nothing.
    Ignore,
    /// It is seen for the first time: the volume that it asks for is made up.
    Begin,
    /// One step towards the volume.
    Create,
    /// Its PersistentVolume is there: the intent goes.
    Settle,
    /// One step away from the volume: nobody waits for it any more.
    Abandon,
    /// Nothing: the claim is bound to the PersistentVolume, which is not there. The volume may hold its data.
    Lost,
}

/// The next step about a claim of which this is known: as it is now, if it is, the intent, and whether its PersistentVolume is
/// there.
pub(super) fn claim(
    claim: Option<&PersistentVolumeClaim>,
    intent: Option<&Intent>,
    has_volume: bool,
    driver: &str,
) -> ClaimStep {
    let waits = claim.is_some_and(|it| is_ours(it, driver));
    match intent {
        Some(_) if has_volume => ClaimStep::Settle,
        Some(intent) if claim.is_some_and(|it| bound_to(it) == Some(intent.desired.name.as_str())) => ClaimStep::Lost,
        Some(intent) if intent.is_given_up() || !waits => ClaimStep::Abandon,
        Some(_) => ClaimStep::Create,
        None if waits && !has_volume => ClaimStep::Begin,
        None => ClaimStep::Ignore,
    }
}

/// The handle of a volume that is not abandoned while it is there: a process before has made it with another policy than `Delete`, and
/// may have saved its PersistentVolume, so that there may be data of a claim that has gone since.
pub(super) fn retained(intent: &Intent) -> Option<&str> {
    intent.made.as_deref().filter(|_| intent.is_inherited && intent.is_retained())
}

/// The name of the PersistentVolume to which a claim is bound.
fn bound_to(claim: &PersistentVolumeClaim) -> Option<&str> {
    claim.spec.as_ref()?.volume_name.as_deref()
}

/// The next step about a PersistentVolume.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum VolumeStep {
    /// Nothing.
    Ignore,
    /// It gets the finalizer: its volume goes before it does.
    Guard,
    /// It loses the finalizer: its volume stays.
    Free,
    /// A node has not let go of it yet.
    WaitFor(String),
    /// Nothing, until a person acts: it is deleted, and no claim has had it, so that its volume is not to go with it.
    Stuck,
    /// One step towards the absence of its volume.
    Delete(KnownVolume),
}

/// The name of a PersistentVolume's class.
pub(super) fn class(pv: &PersistentVolume) -> &str {
    pv.spec.as_ref().and_then(|it| it.storage_class_name.as_deref()).unwrap_or_default()
}

/// The namespace of a PersistentVolume's claim; empty where it names none.
pub(super) fn namespace(pv: &PersistentVolume) -> &str {
    let claim = pv.spec.as_ref().and_then(|it| it.claim_ref.as_ref());
    claim.and_then(|it| it.namespace.as_deref()).unwrap_or_default()
}

/// The handle of a PersistentVolume's volume, if it is this driver's.
pub(super) fn handle<'a>(pv: &'a PersistentVolume, driver: &str) -> Option<&'a str> {
    known_volume::source(pv, driver).map(|it| it.volume_handle.as_str())
}

/// The name of another PersistentVolume among these that has the driver's volume with this handle.
pub(super) fn other<'a>(
    all: impl IntoIterator<Item = &'a PersistentVolume>,
    name: &str,
    of_handle: &str,
    driver: &str,
) -> Option<String> {
    let mut others = all.into_iter().filter(|it| it.metadata.name.as_deref() != Some(name));
    others.find(|it| handle(it, driver) == Some(of_handle)).map(|it| it.name_any())
}

/// The next step about a PersistentVolume, which these nodes' attachments name.
pub(super) fn volume(pv: &PersistentVolume, attached_to: &[String], driver: &str) -> VolumeStep {
    let Some(csi) = known_volume::source(pv, driver) else { return VolumeStep::Ignore };
    let is_migrated = pv.annotations().get(MIGRATED_TO).is_some_and(|it| it == driver);
    if !is_migrated && pv.annotations().get(PROVISIONED_BY).is_some_and(|it| it != driver) {
        return VolumeStep::Ignore;
    }
    let policy = pv.spec.as_ref().and_then(|it| it.persistent_volume_reclaim_policy.as_deref());
    let phase = pv.status.as_ref().and_then(|it| it.phase.as_deref());
    let (is_guarded, goes) =
        (pv.finalizers().iter().any(|it| it == FINALIZER), pv.metadata.deletion_timestamp.is_some());
    match (policy, phase) {
        (Some("Delete"), Some("Released")) if goes && !is_guarded => VolumeStep::Ignore,
        (Some("Delete"), Some("Released")) => match attached_to.first() {
            Some(node) => VolumeStep::WaitFor(node.clone()),
            None => VolumeStep::Delete(known_volume::of(pv, csi, DELETION_MEMO)),
        },
        (Some("Delete"), Some("Bound")) if !is_guarded && !goes => VolumeStep::Guard,
        (Some("Delete"), Some("Pending" | "Available" | "Failed")) if goes && is_guarded => VolumeStep::Stuck,
        (Some("Delete"), _) => VolumeStep::Ignore,
        _ if is_guarded => VolumeStep::Free,
        _ => VolumeStep::Ignore,
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::DesiredVolume;
    use serde_json::{Value, from_value, json};

    use super::*;

    const DRIVER: &str = "csi.example.com";

    fn pv(policy: &str, phase: &str, change: Value) -> PersistentVolume {
        let mut pv = json!({
            "metadata": { "name": "pvc-1", "finalizers": [FINALIZER], "annotations": { PROVISIONED_BY: DRIVER } },
            "spec": { "persistentVolumeReclaimPolicy": policy, "csi": { "driver": DRIVER, "volumeHandle": "vol-1" } },
            "status": { "phase": phase },
        });
        for (key, value) in change.as_object().unwrap() {
            for (field, value) in value.as_object().unwrap() {
                pv[key][field] = value.clone();
            }
        }
        from_value(pv).unwrap()
    }

    fn known() -> KnownVolume {
        KnownVolume { handle: "vol-1".to_owned(), name: "pvc-1".to_owned(), ..KnownVolume::default() }
    }

    fn claim_of(volume_name: &str, change: Value) -> PersistentVolumeClaim {
        let mut claim = json!({
            "metadata": { "uid": "1", "annotations": { "volume.kubernetes.io/storage-provisioner": DRIVER } },
            "spec": { "volumeName": volume_name },
        });
        for (key, value) in change.as_object().unwrap() {
            claim["metadata"][key] = value.clone();
        }
        from_value(claim).unwrap()
    }

    fn intent(is_returned: bool) -> Intent {
        let desired = DesiredVolume { name: "pvc-1".to_owned(), ..DesiredVolume::default() };
        Intent { is_returned, ..Intent::new(desired, PersistentVolume::default(), None) }
    }

    #[test]
    fn a_claim_is_worked_on_until_its_volume_is_there() {
        let waits = claim_of("", json!({}));
        assert_eq!(claim(Some(&waits), None, false, DRIVER), ClaimStep::Begin);
        assert_eq!(claim(Some(&waits), Some(&intent(false)), false, DRIVER), ClaimStep::Create);
        assert_eq!(claim(Some(&waits), Some(&intent(false)), true, DRIVER), ClaimStep::Settle);
        assert_eq!(claim(Some(&waits), None, true, DRIVER), ClaimStep::Ignore, "it will be bound");
        assert_eq!(claim(Some(&waits), None, false, "another"), ClaimStep::Ignore);
        assert_eq!(claim(None, None, false, DRIVER), ClaimStep::Ignore);
    }

    /// Cases: csi 21
    #[test]
    fn a_volume_is_abandoned_where_nobody_waits_for_it() {
        let goes = claim_of("", json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" }));
        for claim_now in [None, Some(&goes), Some(&claim_of("another", json!({})))] {
            assert_eq!(claim(claim_now, Some(&intent(false)), false, DRIVER), ClaimStep::Abandon, "{claim_now:?}");
            assert_eq!(claim(claim_now, Some(&intent(false)), true, DRIVER), ClaimStep::Settle, "{claim_now:?}");
        }
        let waits = claim_of("", json!({}));
        assert_eq!(claim(Some(&waits), Some(&intent(true)), false, DRIVER), ClaimStep::Abandon, "there was no room");
        let refused = Intent { is_refused: true, ..intent(false) };
        assert_eq!(claim(Some(&waits), Some(&refused), false, DRIVER), ClaimStep::Abandon, "its class is made right");
        assert_eq!(claim(Some(&waits), Some(&refused), true, DRIVER), ClaimStep::Settle, "there is its volume");
    }

    #[test]
    fn a_volume_that_may_hold_data_is_not_abandoned() {
        let of = |policy: &str, is_inherited: bool, made: Option<&str>| {
            let skeleton = pv(policy, "Pending", json!({}));
            Intent { skeleton, is_inherited, made: made.map(str::to_owned), ..intent(false) }
        };
        assert_eq!(retained(&of("Retain", true, Some("vol-1"))), Some("vol-1"));
        for (policy, is_inherited, made) in
            [("Delete", true, Some("vol-1")), ("Retain", false, Some("vol-1")), ("Retain", true, None)]
        {
            assert_eq!(retained(&of(policy, is_inherited, made)), None, "{policy} {is_inherited} {made:?}");
        }
    }

    /// Cases: csi 20
    #[test]
    fn a_bound_claims_volume_is_never_abandoned() {
        let bound = claim_of("pvc-1", json!({}));
        for is_returned in [false, true] {
            assert_eq!(claim(Some(&bound), Some(&intent(is_returned)), false, DRIVER), ClaimStep::Lost);
            assert_eq!(claim(Some(&bound), Some(&intent(is_returned)), true, DRIVER), ClaimStep::Settle);
        }
    }

    /// Cases: csi 35
    #[test]
    fn a_released_volume_is_deleted_by_its_policy() {
        let none = json!({});
        assert_eq!(volume(&pv("Delete", "Released", none.clone()), &[], DRIVER), VolumeStep::Delete(known()));
        for (policy, phase) in
            [("Delete", "Bound"), ("Delete", "Available"), ("Delete", "Failed"), ("Delete", "Pending")]
        {
            assert_eq!(volume(&pv(policy, phase, none.clone()), &[], DRIVER), VolumeStep::Ignore, "{phase}");
        }
        for phase in ["Bound", "Released"] {
            assert_eq!(volume(&pv("Retain", phase, none.clone()), &[], DRIVER), VolumeStep::Free);
            let free = json!({ "metadata": { "finalizers": [] } });
            assert_eq!(volume(&pv("Retain", phase, free), &[], DRIVER), VolumeStep::Ignore);
        }
        let unguarded = json!({ "metadata": { "finalizers": [] } });
        assert_eq!(volume(&pv("Delete", "Bound", unguarded), &[], DRIVER), VolumeStep::Guard);
    }

    /// Cases: adv 182
    #[test]
    fn another_persistent_volume_with_the_same_volume_is_found() {
        let named = |name: &str, driver: &str| {
            let csi = json!({ "driver": driver, "volumeHandle": "vol-1" });
            pv("Retain", "Bound", json!({ "metadata": { "name": name }, "spec": { "csi": csi } }))
        };
        let all = [named("pvc-1", DRIVER), named("foreign", "another"), named("pvc-2", DRIVER)];
        let found = |handle: &str, driver: &str| other(&all, "pvc-1", handle, driver);
        assert_eq!(found("vol-1", DRIVER).as_deref(), Some("pvc-2"));
        assert_eq!(found("vol-1", "another").as_deref(), Some("foreign"));
        assert_eq!(found("vol-2", DRIVER), None);
        assert_eq!(other(&all[..2], "pvc-1", "vol-1", DRIVER), None, "its own");
    }

    /// Cases: csi 36
    #[test]
    fn a_volume_made_by_hand_is_deleted_and_another_drivers_is_not() {
        let by_hand = json!({ "metadata": { "annotations": {}, "finalizers": [] } });
        assert_eq!(volume(&pv("Delete", "Released", by_hand), &[], DRIVER), VolumeStep::Delete(known()));
        let others = json!({ "metadata": { "annotations": { PROVISIONED_BY: "other" } } });
        assert_eq!(volume(&pv("Delete", "Released", others), &[], DRIVER), VolumeStep::Ignore);
        assert_eq!(volume(&pv("Delete", "Released", json!({})), &[], "another"), VolumeStep::Ignore);
    }

    /// Cases: csi 3
    #[test]
    fn a_volume_that_came_to_the_driver_is_deleted_as_its_own() {
        let plugin = "kubernetes.io/example";
        let migrated = |to: &str| json!({ "metadata": { "annotations": { PROVISIONED_BY: plugin, MIGRATED_TO: to } } });
        assert_eq!(volume(&pv("Delete", "Released", migrated(DRIVER)), &[], DRIVER), VolumeStep::Delete(known()));
        assert_eq!(volume(&pv("Delete", "Released", migrated("another")), &[], DRIVER), VolumeStep::Ignore);
    }

    #[test]
    fn a_volume_that_goes_without_having_been_released_is_told() {
        let goes = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        let free = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [] } });
        for phase in ["Pending", "Available", "Failed"] {
            assert_eq!(volume(&pv("Delete", phase, goes.clone()), &[], DRIVER), VolumeStep::Stuck, "{phase}");
            assert_eq!(volume(&pv("Delete", phase, json!({})), &[], DRIVER), VolumeStep::Ignore, "{phase}: it stays");
            assert_eq!(volume(&pv("Delete", phase, free.clone()), &[], DRIVER), VolumeStep::Ignore, "{phase}: it goes");
            assert_eq!(volume(&pv("Retain", phase, goes.clone()), &[], DRIVER), VolumeStep::Free, "{phase}");
        }
    }

    /// Cases: csi 45
    #[test]
    fn a_volume_that_goes_by_hand_waits_for_its_claim_and_its_nodes() {
        let goes = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        assert_eq!(volume(&pv("Delete", "Bound", goes.clone()), &[], DRIVER), VolumeStep::Ignore);
        assert_eq!(volume(&pv("Delete", "Released", goes.clone()), &[], DRIVER), VolumeStep::Delete(known()));
        let nodes = ["n1".to_owned()];
        assert_eq!(volume(&pv("Delete", "Released", goes), &nodes, DRIVER), VolumeStep::WaitFor("n1".to_owned()));
        let done = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [] } });
        assert_eq!(volume(&pv("Delete", "Released", done), &[], DRIVER), VolumeStep::Ignore, "its volume is gone");
    }
}
