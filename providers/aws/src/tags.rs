//! The tags by which what is made for a Service is known.
//!
//! The vendor's tags are written as its controller does, so that it finds its own again. Beside these stand two
//! tags of our own with the UIDs of the cluster and of the Service: names come again, UIDs never do.

use aerostat_sdk::SortedMap;

/// Keys and values.
pub(crate) type Tags = SortedMap<String, String>;

/// The vendor's: `<namespace>/<name>` of the Service.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Ours: the UID of the cluster.
pub(crate) const CLUSTER_UID: &str = "aerostat.dev/cluster-uid";
/// Ours: the UID of the Service.
pub(crate) const SERVICE_UID: &str = "aerostat.dev/service-uid";
/// Ours, on what AWS protected when its Service went: whether it is kept.
pub(crate) const KEPT: &str = "aerostat.dev/kept";
/// The value of the cluster's tag on what lives and dies with the cluster.
pub(crate) const OWNED: &str = "owned";

/// Whether a thing with these tags is kept: it is no orphan, whether its Service is there or not.
pub(crate) fn is_kept(tags: &Tags) -> bool {
    tags.get(KEPT).is_some_and(|it| it != "false")
}
