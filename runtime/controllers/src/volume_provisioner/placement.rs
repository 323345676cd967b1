//! PersistentVolumes that do not say from where their volumes are reached: one that was written by hand, or that a driver has left without a node
//! affinity. No client, no clock, no log.

use std::collections::HashSet;

use cloud_provider::{CloudVolume, VolumeDescription};
use k8s_openapi::api::core::v1::PersistentVolume;
use serde_json::{Value, json};

use super::intent;
use crate::known_volume;
use crate::migrated;

/// PersistentVolumes about whose places the cloud was asked, by their UIDs: each once in a process, whatever it has said.
#[derive(Debug, Default)]
pub(super) struct PlacedVolumes(HashSet<String>);

impl PlacedVolumes {
    /// Those of a list that lack a place, and about which the cloud was not asked.
    pub(super) fn unasked<'a, P: AsRef<PersistentVolume>>(
        &self,
        all: &'a [P],
        described: &VolumeDescription,
    ) -> Vec<&'a PersistentVolume> {
        let is_asked = |it: &PersistentVolume| it.metadata.uid.as_ref().is_none_or(|it| self.0.contains(it));
        all.iter().map(AsRef::as_ref).filter(|it| is_unplaced(it, described) && !is_asked(it)).collect()
    }

    /// The cloud was asked about this one.
    pub(super) fn asked(&mut self, pv: &PersistentVolume) {
        self.0.extend(pv.metadata.uid.clone());
    }

    /// It is gone.
    pub(super) fn gone(&mut self, pv: &PersistentVolume) {
        if let Some(uid) = &pv.metadata.uid {
            self.0.remove(uid);
        }
    }

    /// Another credential, or another provider, may know more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Whether a PersistentVolume of this driver lacks a node affinity, which may be written once. One that goes needs none, and one of an in-tree
/// plugin says its zone in labels.
pub(super) fn is_unplaced(pv: &PersistentVolume, described: &VolumeDescription) -> bool {
    let phase = pv.status.as_ref().and_then(|it| it.phase.as_deref());
    !described.topology_keys.is_empty()
        && pv.metadata.deletion_timestamp.is_none()
        && !matches!(phase, Some("Released" | "Failed"))
        && known_volume::source(pv, &described.driver).is_some()
        && pv.spec.as_ref().is_some_and(|it| it.node_affinity.is_none())
        && !migrated::is_in_tree_volume(pv, described)
}

/// The change by which a PersistentVolume, if nobody has changed it meanwhile, says where its volume is; `None` where the cloud names no place.
pub(super) fn patch(pv: &PersistentVolume, volume: &CloudVolume) -> Option<Value> {
    let node_affinity = intent::node_affinity(&volume.places)?;
    let metadata = json!({ "uid": pv.metadata.uid, "resourceVersion": pv.metadata.resource_version });
    Some(json!({ "metadata": metadata, "spec": { "nodeAffinity": node_affinity } }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cloud_provider::InTreeVolumes;
    use serde_json::from_value;

    use super::*;

    const DRIVER: &str = "csi.example.com";

    fn described() -> VolumeDescription {
        VolumeDescription {
            driver: DRIVER.to_owned(),
            topology_keys: vec!["zone".to_owned()],
            in_tree: Some(InTreeVolumes {
                source: "awsElasticBlockStore".to_owned(),
                plugin: "kubernetes.io/aws-ebs".to_owned(),
                handle: "{name}".to_owned(),
            }),
            ..VolumeDescription::default()
        }
    }

    fn pv(change: &[(&str, Value)]) -> PersistentVolume {
        let csi = json!({ "driver": DRIVER, "volumeHandle": "vol-1" });
        let metadata = json!({ "name": "pv-1", "uid": "1", "resourceVersion": "7" });
        let mut pv = json!({ "metadata": metadata, "spec": { "csi": csi }, "status": { "phase": "Bound" } });
        for (path, value) in change {
            let (parent, field) = path.rsplit_once('/').unwrap();
            pv.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        from_value(pv).unwrap()
    }

    /// Cases: csi 79
    #[test]
    fn volumes_of_the_driver_without_affinity_are_unplaced() {
        for (change, expected) in [
            (vec![], true),
            (vec![("/status/phase", json!("Available"))], true),
            (vec![("/status/phase", json!("Released"))], false),
            (vec![("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))], false),
            (vec![("/spec/nodeAffinity", json!({ "required": { "nodeSelectorTerms": [] } }))], false),
            (vec![("/spec/csi", json!({ "driver": "another", "volumeHandle": "vol-1" }))], false),
            (vec![("/spec/awsElasticBlockStore", json!({ "volumeID": "vol-1" }))], false),
        ] {
            assert_eq!(is_unplaced(&pv(&change), &described()), expected, "{change:?}");
        }
        let nowhere = VolumeDescription { topology_keys: Vec::new(), ..described() };
        assert!(!is_unplaced(&pv(&[]), &nowhere), "the driver has no places");
    }

    /// Cases: csi 79
    #[test]
    fn a_volume_is_asked_about_once_as_long_as_it_is_there() {
        let (mut all, volumes) = (PlacedVolumes::default(), [Arc::new(pv(&[]))]);
        let unasked = |all: &PlacedVolumes| all.unasked(&volumes, &described()).len();
        assert_eq!(unasked(&all), 1);
        all.asked(&volumes[0]);
        assert_eq!(unasked(&all), 0);
        all.gone(&volumes[0]);
        assert_eq!(unasked(&all), 1);
        all.asked(&volumes[0]);
        all.clear();
        assert_eq!(unasked(&all), 1);
    }

    /// Cases: csi 79
    #[test]
    fn a_patch_says_all_places_that_the_cloud_names() {
        let place = |zone: &str| vec![("zone".to_owned(), zone.to_owned())];
        let volume = CloudVolume { places: vec![place("a"), place("b")], ..CloudVolume::default() };
        let term = |zone: &str| json!({ "matchExpressions": [{ "key": "zone", "operator": "In", "values": [zone] }] });
        let affinity = json!({ "required": { "nodeSelectorTerms": [term("a"), term("b")] } });
        let guard = json!({ "uid": "1", "resourceVersion": "7" });
        let expected = json!({ "metadata": guard, "spec": { "nodeAffinity": affinity } });
        assert_eq!(patch(&pv(&[]), &volume), Some(expected));
        assert_eq!(patch(&pv(&[]), &CloudVolume::default()), None);
    }
}
