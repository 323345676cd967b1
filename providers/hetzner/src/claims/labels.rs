//! The labels of a claim's volume: the vendor's, by which its controller and ours find each other's volumes, our mark, and those of the class.

use aerostat_sdk::{DesiredVolume, MarkedClaim, Result};

use crate::api::Labels;
use crate::api::load_balancers::CLUSTER;

/// Our label: the UID of the claim.
const CLAIM: &str = "aerostat.dev/claim-uid";
/// The beginning of our labels.
const OURS: &str = "aerostat.dev/";
/// The vendor's labels.
const MANAGED_BY: &str = "managed-by";
const CLAIM_NAME: &str = "pvc-name";
const CLAIM_NAMESPACE: &str = "pvc-namespace";
const VOLUME_NAME: &str = "pv-name";
/// The value of the first of them.
const DRIVER: &str = "csi-driver";
/// The most bytes of a value.
const LONGEST: usize = 63;

/// The labels of a claim's new volume, with those that the class asks for.
///
/// # Errors
///
/// Where the cluster is not known.
pub(super) fn of_claim(desired: &DesiredVolume, further: Vec<(String, String)>) -> Result<Labels> {
    let (owner, mark) = (&desired.owner, desired.owner.mark()?);
    let own = [
        (MANAGED_BY, DRIVER),
        (CLAIM_NAME, end(&owner.name)),
        (CLAIM_NAMESPACE, end(&owner.namespace)),
        (VOLUME_NAME, end(&desired.name)),
        (CLUSTER, mark.cluster.as_str()),
        (CLAIM, mark.service.as_str()),
    ];
    Ok(further.into_iter().chain(own.map(|(key, value)| (key.to_owned(), value.to_owned()))).collect())
}

/// The claim that the mark names.
pub(super) fn owner(labels: &Labels) -> MarkedClaim {
    let label = |key: &str| labels.get(key).cloned().filter(|it| !it.is_empty());
    MarkedClaim { cluster_uid: label(CLUSTER), uid: label(CLAIM), ..MarkedClaim::default() }
}

/// Whether the vendor's controller has made a volume, for the PersistentVolume of this name.
pub(super) fn are_vendors(labels: &Labels, name: &str) -> bool {
    let is = |key: &str, value: &str| labels.get(key).is_some_and(|it| it == value);
    is(MANAGED_BY, DRIVER) && is(VOLUME_NAME, end(name))
}

/// The labels that a class asks for: `None` if they are none, or would take the place of those of the driver.
pub(super) fn parse(text: &str) -> Option<Vec<(String, String)>> {
    let one = |text: &str| {
        let (key, value) = text.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        let is_own = key.starts_with(OURS) || [MANAGED_BY, CLAIM_NAME, CLAIM_NAMESPACE, VOLUME_NAME].contains(&key);
        (!key.is_empty() && !is_own).then(|| (key.to_owned(), value.to_owned()))
    };
    text.split(',').map(one).collect()
}

/// The end of a name, as long as a value may be. A value begins with a letter or a digit.
fn end(name: &str) -> &str {
    let end = name.get(name.len().saturating_sub(LONGEST)..).unwrap_or_default();
    end.trim_start_matches(|it: char| !it.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_a_class_are_none_of_the_drivers() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(parse("team=blue, tier=db"), Some(vec![pair("team", "blue"), pair("tier", "db")]));
        assert_eq!(parse("team="), Some(vec![pair("team", "")]));
        for refused in ["team", "=blue", "team=blue,", "pv-name=pvc-1", "managed-by=me", "aerostat.dev/claim-uid=1"] {
            assert_eq!(parse(refused), None, "{refused}");
        }
    }

    #[test]
    fn names_that_are_too_long_keep_their_end() {
        assert_eq!(end("data"), "data");
        let long = format!("{}.{}", "a".repeat(10), "b".repeat(62));
        assert_eq!((end(&long), end(&"c".repeat(63)).len()), (&*"b".repeat(62), 63));
        assert_eq!(end(""), "");
    }
}
