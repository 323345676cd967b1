//! The metadata of a claim's volume: the vendor's, by which its controller and ours find each other's volumes, and our mark. Pure.

use aerostat_sdk::{DesiredVolume, MarkedClaim, Result};

use crate::api::volumes::VolumeMetadata;

/// The vendor's key with the name of the cluster.
pub(super) const CLUSTER_NAME: &str = "cinder.csi.openstack.org/cluster";
/// Ours: the UID of the namespace `kube-system`, and that of the claim.
const CLUSTER_UID: &str = "aerostat.dev/cluster-uid";
const CLAIM_UID: &str = "aerostat.dev/claim-uid";
/// The vendor's, from its provisioner.
const CLAIM_NAME: &str = "csi.storage.k8s.io/pvc/name";
const CLAIM_NAMESPACE: &str = "csi.storage.k8s.io/pvc/namespace";
const VOLUME_NAME: &str = "csi.storage.k8s.io/pv/name";

/// The metadata of a claim's new volume, in the cluster with this name.
///
/// # Errors
///
/// Where the cluster is not known.
pub(super) fn of_claim(desired: &DesiredVolume, cluster: &str) -> Result<VolumeMetadata> {
    let (owner, mark) = (&desired.owner, desired.owner.mark()?);
    let pairs: [(&str, &str); 6] = [
        (CLUSTER_NAME, cluster),
        (CLAIM_NAME, &owner.name),
        (CLAIM_NAMESPACE, &owner.namespace),
        (VOLUME_NAME, &desired.name),
        (CLUSTER_UID, &mark.cluster),
        (CLAIM_UID, &mark.service),
    ];
    Ok(pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// The claim that the marks name.
pub(super) fn owner(metadata: &VolumeMetadata) -> MarkedClaim {
    let mark = |key: &str| metadata.get(key).cloned().filter(|it| !it.is_empty());
    MarkedClaim {
        cluster_uid: mark(CLUSTER_UID),
        uid: mark(CLAIM_UID),
        namespace: mark(CLAIM_NAMESPACE),
        name: mark(CLAIM_NAME),
    }
}

/// Whether the vendor's controller has made a volume, for a cluster with this name.
pub(super) fn are_vendors(metadata: &VolumeMetadata, cluster: &str) -> bool {
    metadata.get(CLUSTER_NAME).is_some_and(|it| it == cluster)
}

/// Whether the vendor's controller has made a volume for a cluster with another name, and we have not.
pub(super) fn are_anothers(metadata: &VolumeMetadata, cluster: &str) -> bool {
    let is_marked = metadata.contains_key(CLUSTER_UID);
    !is_marked && metadata.get(CLUSTER_NAME).is_some_and(|it| it != cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

    fn metadata(pairs: &[(&str, &str)]) -> VolumeMetadata {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    /// Cases: csi 36, csi 37
    #[test]
    fn marks_say_whose_a_volume_is() {
        let (own, other) = ((CLUSTER_NAME, "kubernetes"), (CLUSTER_NAME, "staging"));
        for (pairs, is_vendors, is_anothers) in [
            (&[][..], false, false),
            (&[("team", "blue")], false, false),
            (&[own], true, false),
            (&[other], false, true),
            // The UID says it better than a name.
            (&[other, (CLUSTER_UID, "u")], false, false),
        ] {
            let metadata = metadata(pairs);
            assert_eq!(are_vendors(&metadata, "kubernetes"), is_vendors, "{pairs:?}");
            assert_eq!(are_anothers(&metadata, "kubernetes"), is_anothers, "{pairs:?}");
        }
        let all = [(CLUSTER_UID, "u"), (CLAIM_UID, UID), (CLAIM_NAMESPACE, "shop"), (CLAIM_NAME, "data")];
        let marked = owner(&metadata(&all));
        assert_eq!((marked.cluster_uid.as_deref(), marked.uid.as_deref()), (Some("u"), Some(UID)));
        assert_eq!((marked.namespace.as_deref(), marked.name.as_deref()), (Some("shop"), Some("data")));
        assert_eq!(owner(&metadata(&[(CLUSTER_UID, "")])), MarkedClaim::default());
    }
}
