//! The tags of a load balancer: those of the vendor's controller, and ours. Pure.

use aerostat_sdk::backend::Found;
use aerostat_sdk::{Error, LoadBalancer, Result};

/// The cluster's UID.
pub(crate) const CLUSTER_UID: &str = "aerostat.dev/cluster-uid";
/// The Service's UID.
pub(crate) const SERVICE_UID: &str = "aerostat.dev/service-uid";
/// That it stays when its Service is gone.
pub(crate) const KEPT: &str = "aerostat.dev/kept";
/// The vendor's tag with the default name of a Service's load balancer.
pub(crate) const VENDOR_NAME: &str = "kubernetes.do.not.delete";
/// The vendor's tag with the cluster's id. The load balancer of the API server has it, too: it proves nothing by itself.
pub(crate) const VENDOR_CLUSTER: &str = "ack.aliyun.com";

/// The relation of a load balancer to a Service, by its tags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TagRelation {
    /// It is the Service's.
    Own,
    /// It is another's.
    Other,
    /// Nothing says whose it is.
    Unmarked,
}

/// The relation to a Service of the cluster with this UID, and this id at the vendor's.
pub(crate) fn relation(
    tags: &[(String, String)],
    service: &LoadBalancer,
    cluster_uid: &str,
    cluster_id: Option<&str>,
) -> TagRelation {
    let tag = |key: &str| tags.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str());
    let is_own = match (tag(CLUSTER_UID), tag(SERVICE_UID)) {
        (Some(cluster), Some(uid)) => cluster == cluster_uid && uid == service.owner.uid,
        (None, None) => match (tag(VENDOR_NAME), tag(VENDOR_CLUSTER)) {
            (Some(name), Some(cluster)) => name == service.name && Some(cluster) == cluster_id,
            _ => return TagRelation::Unmarked,
        },
        _ => false,
    };
    if is_own { TagRelation::Own } else { TagRelation::Other }
}

/// Refuses to choose among several that are the Service's.
///
/// # Errors
///
/// `invalid`, naming two of them.
pub(crate) fn refuse_two(listed: &[Found]) -> Result<()> {
    let mut own = listed.iter().filter(|it| it.is_marked);
    let (Some(first), Some(second)) = (own.next(), own.next()) else { return Ok(()) };
    Err(Error::invalid(format_args!(
        "{} and {} both have the tags of this Service, and neither is touched: delete one of them, or its tags",
        first.title(),
        second.title()
    )))
}

/// Refuses a load balancer beside one that has the vendor's tag with the Service's name, and is not proven to be the Service's. `listed` shows
/// those with that tag, and none of them is.
///
/// # Errors
///
/// `invalid`, naming the one that is there.
pub(crate) fn refuse_second(listed: &[Found]) -> Result<()> {
    let Some(there) = listed.first() else { return Ok(()) };
    Err(Error::invalid(format_args!(
        "{} has the tag {VENDOR_NAME} of this Service, and is not proven to be its own: no second one is made. Set clusterID to its tag \
         {VENDOR_CLUSTER}, or take {VENDOR_NAME} off it by hand",
        there.title()
    )))
}

/// Why a deletion is not done: the vendor's controller has made this load balancer for the Service, and nothing proves for which cluster. With
/// the vendor's finalizer its last trace in the cluster would go.
pub(crate) fn left_by_the_vendor(title: &str, finalizer: &str) -> Error {
    Error::invalid(format_args!(
        "{title} is the vendor's, of another clusterID, and is not deleted: set clusterID to its tag {VENDOR_CLUSTER}, or delete it and take \
         finalizer {finalizer} off by hand"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_say_whose_a_load_balancer_is() {
        let uid = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
        let service = LoadBalancer::of("default", "web", uid);
        let of = |tags: &[(&str, &str)]| {
            let tags: Vec<(String, String)> =
                tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            relation(&tags, &service, "cluster", Some("c1"))
        };
        let vendor = [(VENDOR_NAME, &*service.name), (VENDOR_CLUSTER, "c1")];
        let ours = [(CLUSTER_UID, "cluster"), (SERVICE_UID, uid)];
        assert_eq!(of(&vendor), TagRelation::Own);
        assert_eq!(of(&ours), TagRelation::Own);
        assert_eq!(of(&[ours, vendor].concat()), TagRelation::Own);
        // The API server's.
        assert_eq!(of(&[(VENDOR_CLUSTER, "c1")]), TagRelation::Unmarked);
        assert_eq!(of(&[]), TagRelation::Unmarked);
        for other in [
            &[(CLUSTER_UID, "other"), (SERVICE_UID, uid), vendor[0], vendor[1]][..],
            &[(CLUSTER_UID, "cluster"), (SERVICE_UID, "other")],
            &[(SERVICE_UID, uid), vendor[0], vendor[1]],
            &[vendor[0], (VENDOR_CLUSTER, "c2")],
            &[(VENDOR_NAME, "a1"), vendor[1]],
        ] {
            assert_eq!(of(other), TagRelation::Other, "{other:?}");
        }
    }
}
