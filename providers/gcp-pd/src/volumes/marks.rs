//! The marks of a claim's disk: the vendor's description, by which its controller says for which claim it has made one, and labels of ours. Pure.

use aerostat_sdk::{DesiredVolume, MarkedClaim, Result, SortedMap};
use serde_json::{Value, json};

use crate::api::disks::GceDisk;

/// The vendor's CSI driver.
pub(super) const DRIVER: &str = "pd.csi.storage.gke.io";
/// The beginning of the vendor's keys in descriptions, in-tree plugins included.
pub(super) const CREATED_FOR: &str = "kubernetes.io/created-for/";
/// The beginning of labels that no class may set.
pub(super) const RESERVED: &str = "aerostat-";

const CREATED_BY: &str = "storage.gke.io/created-by";
const CLAIM_NAME: &str = "kubernetes.io/created-for/pvc/name";
const CLAIM_NAMESPACE: &str = "kubernetes.io/created-for/pvc/namespace";
const VOLUME_NAME: &str = "kubernetes.io/created-for/pv/name";
/// Ours: the UIDs of the cluster and of the claim.
const CLUSTER_UID: &str = "aerostat-cluster-uid";
const CLAIM_UID: &str = "aerostat-claim-uid";

/// The description of a claim's new disk.
pub(super) fn description(desired: &DesiredVolume) -> String {
    let words = json!({
        VOLUME_NAME: desired.name,
        CLAIM_NAME: desired.owner.name,
        CLAIM_NAMESPACE: desired.owner.namespace,
        CREATED_BY: DRIVER,
    });
    words.to_string()
}

/// The labels of a claim's new disk. Of two with one key the mark stays.
///
/// # Errors
///
/// While the cluster is not known.
pub(super) fn labels(desired: &DesiredVolume, further: Vec<(String, String)>) -> Result<SortedMap<String, String>> {
    let mark = desired.owner.mark()?;
    let mut labels: SortedMap<String, String> = further.into_iter().collect();
    labels.insert(CLUSTER_UID.to_owned(), mark.cluster);
    labels.insert(CLAIM_UID.to_owned(), mark.service);
    Ok(labels)
}

/// The claim that the marks name.
pub(super) fn owner(disk: &GceDisk) -> MarkedClaim {
    let described: Value = serde_json::from_str(&disk.description).unwrap_or_default();
    let label = |key: &str| disk.labels.get(key).cloned().filter(|it| !it.is_empty());
    let word = |key: &str| described[key].as_str().filter(|it| !it.is_empty()).map(str::to_owned);
    MarkedClaim {
        cluster_uid: label(CLUSTER_UID),
        uid: label(CLAIM_UID),
        namespace: word(CLAIM_NAMESPACE),
        name: word(CLAIM_NAME),
    }
}

/// Whether the vendor's controller has made a disk, for the volume of this name.
pub(super) fn are_vendors(disk: &GceDisk) -> bool {
    let described: Value = serde_json::from_str(&disk.description).unwrap_or_default();
    described[CREATED_BY] == DRIVER && described[VOLUME_NAME] == *disk.place.name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::places::ZonalPlace;

    fn disk(description: &str, labels: &[(&str, &str)]) -> GceDisk {
        GceDisk {
            place: ZonalPlace::disk("europe-west1-b", "pvc-u"),
            gibibytes: 1,
            status: "READY".to_owned(),
            description: description.to_owned(),
            labels: labels.iter().map(|(key, it)| ((*key).to_owned(), (*it).to_owned())).collect(),
            users: Vec::new(),
        }
    }

    #[test]
    fn marks_name_the_claim_and_the_vendors_driver() {
        let written = description(&DesiredVolume::of("shop", "data", "u", 1));
        let expected = r#"{"kubernetes.io/created-for/pv/name":"pvc-u","kubernetes.io/created-for/pvc/name":"data","kubernetes.io/created-for/pvc/namespace":"shop","storage.gke.io/created-by":"pd.csi.storage.gke.io"}"#;
        assert_eq!(written, expected, "as the vendor's controller writes it");
        let of_vendor = disk(&written, &[]);
        assert!(are_vendors(&of_vendor));
        let found = owner(&disk(&written, &[(CLUSTER_UID, "c"), (CLAIM_UID, "u")]));
        assert_eq!((found.cluster_uid.as_deref(), found.uid.as_deref()), (Some("c"), Some("u")));
        assert_eq!((found.namespace.as_deref(), found.name.as_deref()), (Some("shop"), Some("data")));
        assert_eq!(owner(&of_vendor).uid, None);
    }

    /// Cases: csi 28
    #[test]
    fn marks_of_others_are_not_the_vendors() {
        let another = description(&DesiredVolume::of("shop", "data", "v", 1));
        let in_tree = r#"{"kubernetes.io/created-for/pv/name":"pvc-u"}"#;
        for other in ["", "my disk", "null", "[1]", "\"pd.csi.storage.gke.io\"", in_tree, &another] {
            let other = disk(other, &[]);
            assert!(!are_vendors(&other), "{other:?}");
            assert_eq!(owner(&other).uid, None, "{other:?}");
        }
    }
}
