//! The tags by which what is made for a Service is known.
//!
//! The vendor's tags are written as its controller does, so that it finds its own again. Beside these stand two
//! tags of our own with the UIDs of the cluster and of the Service: names come again, UIDs never do.

pub(crate) use aws_api::{CLUSTER_UID, OWNED, Tags};

/// The vendor's: `<namespace>/<name>` of the Service.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Ours: the UID of the Service.
pub(crate) const SERVICE_UID: &str = "aerostat.dev/service-uid";
/// Ours, on what AWS protected when its Service went: whether it is kept.
pub(crate) const KEPT: &str = "aerostat.dev/kept";

/// Whether a thing with these tags is kept: it is no orphan, whether its Service is there or not.
pub(crate) fn is_kept(tags: &Tags) -> bool {
    tags.get(KEPT).is_some_and(|it| it != "false")
}
