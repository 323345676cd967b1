//! The tags of a claim's volume: the vendor's, by which its controller and ours find each other's volumes, our mark, and those of the class. Pure.

use aerostat_sdk::{ClassParameter, DesiredVolume, Error, MarkedClaim, Result};
use aws_api::{CLUSTER_UID, ClusterSettings, OWNED, Tags};

use crate::api::volumes::{DRIVER, NAME};

/// Ours: the UID of the claim.
pub(super) const CLAIM_UID: &str = "aerostat.dev/claim-uid";
/// The vendor's.
const CLUSTER_NAME: &str = "ebs.csi.aws.com/cluster-name";
const SNAPSHOT_NAME: &str = "CSIVolumeSnapshotName";
const CLAIM_NAME: &str = "kubernetes.io/created-for/pvc/name";
const CLAIM_NAMESPACE: &str = "kubernetes.io/created-for/pvc/namespace";
const VOLUME_NAME: &str = "kubernetes.io/created-for/pv/name";
/// The beginning of the tag of any cluster.
const CLUSTERS: &str = "kubernetes.io/cluster/";
/// The beginnings of keys that no class may set.
const RESERVED: [&str; 4] = ["kubernetes.io", "ebs.csi.aws.com/", "aerostat.dev/", "aws:"];
/// The beginning of the parameters with a tag each, and how many a class may have.
const PARAMETER: &str = "tagSpecification_";
const MOST: u32 = 20;

/// The parameters of a class for tags.
pub(super) fn parameters() -> impl Iterator<Item = ClassParameter> {
    (1..=MOST).map(|number| ClassParameter {
        key: format!("{PARAMETER}{number}"),
        values: "key=value".to_owned(),
        required: false,
        default: None,
        doc: "A tag; in its value may stand {{ .PVCNamespace }}, {{ .PVCName }} and {{ .PVName }}.".to_owned(),
    })
}

/// The tags of a claim's new volume. Of two with one key the mark stays.
///
/// # Errors
///
/// `invalid` for a tag of the class that is none, or that would take the place of a mark; and while the cluster is not known.
pub(super) fn of_claim(desired: &DesiredVolume, cluster: &ClusterSettings) -> Result<Tags> {
    let (owner, mark, id) = (&desired.owner, desired.owner.mark()?, cluster.id());
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let name = pair("Name", &format!("{id}-dynamic-{}", desired.name));
    let further = desired.parameters.iter().filter(|(key, _)| key.starts_with(PARAMETER));
    let further = further.map(|(key, text)| further_tag(key, text, desired)).collect::<Result<Vec<_>>>()?;
    let tag = cluster.tag();
    let marks: [(&str, &str); 10] = [
        (DRIVER, "true"),
        (NAME, &desired.name),
        (CLUSTER_NAME, id),
        (ClusterSettings::LEGACY_TAG, id),
        (&tag, OWNED),
        (CLAIM_NAME, &owner.name),
        (CLAIM_NAMESPACE, &owner.namespace),
        (VOLUME_NAME, &desired.name),
        (CLUSTER_UID, &mark.cluster),
        (CLAIM_UID, &mark.service),
    ];
    Ok([name].into_iter().chain(further).chain(marks.map(|(key, value)| pair(key, value))).collect())
}

/// A tag that a class asks for.
fn further_tag(parameter: &str, text: &str, desired: &DesiredVolume) -> Result<(String, String)> {
    let refused = |why: &str| Error::invalid(format_args!("parameter {parameter}: {text:?} {why}"));
    let (key, template) = text.split_once('=').ok_or_else(|| refused("is not a tag such as team=blue"))?;
    let is_reserved = [NAME, SNAPSHOT_NAME].contains(&key) || RESERVED.iter().any(|it| key.starts_with(it));
    if key.is_empty() || is_reserved {
        return Err(refused("has a key that is the driver's own: choose another one"));
    }
    let (mut value, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let unknown = || refused("has more than {{ .PVCNamespace }}, {{ .PVCName }} and {{ .PVName }} in braces");
        let (variable, after) = after.split_once("}}").ok_or_else(unknown)?;
        value.push_str(before);
        value.push_str(match variable.trim() {
            ".PVCNamespace" => &desired.owner.namespace,
            ".PVCName" => &desired.owner.name,
            ".PVName" => &desired.name,
            _ => return Err(unknown()),
        });
        rest = after;
    }
    value.push_str(rest);
    Ok((key.to_owned(), value))
}

/// The claim that the marks name.
pub(super) fn owner(tags: &Tags) -> MarkedClaim {
    let tag = |key: &str| tags.get(key).cloned().filter(|it| !it.is_empty());
    MarkedClaim {
        cluster_uid: tag(CLUSTER_UID),
        uid: tag(CLAIM_UID),
        namespace: tag(CLAIM_NAMESPACE),
        name: tag(CLAIM_NAME),
    }
}

/// Whether the vendor's controller has made a volume, and for no other cluster.
pub(super) fn are_vendors(tags: &Tags, cluster: &ClusterSettings) -> bool {
    tags.get(DRIVER).is_some_and(|it| it == "true") && !are_anothers(tags, cluster)
}

/// Whether the tags of clusters on a volume are those of others alone.
fn are_anothers(tags: &Tags, cluster: &ClusterSettings) -> bool {
    let mut clusters = tags.keys().filter(|it| it.starts_with(CLUSTERS)).peekable();
    clusters.peek().is_some() && !clusters.any(|it| *it == cluster.tag())
}

/// Why a volume is not deleted, which no machine has and which has no mark of another cluster; `None`, if it is.
pub(super) fn spared(tags: &Tags, cluster: &ClusterSettings) -> Option<&'static str> {
    let is_marked = tags.contains_key(CLUSTER_UID);
    if !is_marked && are_anothers(tags, cluster) {
        return Some("it has the tag of another cluster");
    }
    let made = [DRIVER, NAME, CLAIM_NAME];
    // As the vendor's own policy for its controller has it.
    (!is_marked && !made.iter().any(|it| tags.contains_key(*it))).then_some("no tag says that it was made for a claim")
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_api::testing::required;

    const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn cluster() -> ClusterSettings {
        required().run(|| ClusterSettings::read().unwrap())
    }

    fn made(specification: &str) -> Result<Tags> {
        let desired = DesiredVolume::of("shop", "data", UID, 1).with_parameter("tagSpecification_1", specification);
        required().run(|| of_claim(&desired, &cluster()))
    }

    #[test]
    fn tags_are_the_vendors_ours_and_the_classs() {
        let name = format!("pvc-{UID}");
        let expected = [
            ("CSIVolumeName", name.as_str()),
            ("KubernetesCluster", "prod"),
            ("Name", "mine"),
            ("aerostat.dev/claim-uid", UID),
            ("aerostat.dev/cluster-uid", "c1a5e000-1111-2222-3333-444455556666"),
            ("ebs.csi.aws.com/cluster", "true"),
            ("ebs.csi.aws.com/cluster-name", "prod"),
            ("kubernetes.io/cluster/prod", "owned"),
            ("kubernetes.io/created-for/pv/name", name.as_str()),
            ("kubernetes.io/created-for/pvc/name", "data"),
            ("kubernetes.io/created-for/pvc/namespace", "shop"),
        ];
        assert_eq!(made("Name=mine"), Ok(tags(&expected)));
        assert_eq!(made("team=a").unwrap()["Name"], format!("prod-dynamic-{name}"));
        let value = |text: &str| made(text).unwrap().get("k").cloned();
        assert_eq!(value("k="), Some(String::new()));
        assert_eq!(value("k={{ .PVCNamespace }}/{{.PVCName}}=1").as_deref(), Some("shop/data=1"));
        assert_eq!(value("k=x-{{ .PVName }}"), Some(format!("x-{name}")));
    }

    #[test]
    fn tags_of_a_class_are_none_of_the_drivers() {
        for (text, why) in [
            ("team", "is not a tag such as"),
            ("=a", "is the driver's own"),
            ("CSIVolumeName=a", "is the driver's own"),
            ("CSIVolumeSnapshotName=a", "is the driver's own"),
            ("kubernetes.io/cluster/other=owned", "is the driver's own"),
            ("ebs.csi.aws.com/cluster=false", "is the driver's own"),
            ("aerostat.dev/claim-uid=1", "is the driver's own"),
            ("aws:a=1", "is the driver's own"),
            ("k={{ .PVCName | toUpper }}", "in braces"),
            ("k={{ .PVCName", "in braces"),
        ] {
            let refused = made(text).unwrap_err();
            assert!(
                refused.why().starts_with("parameter tagSpecification_1: ") && refused.why().contains(why),
                "{refused:?}"
            );
        }
    }

    /// Cases: csi 36, csi 37
    #[test]
    fn tags_say_whose_a_volume_is_and_whether_it_may_go() {
        let (own, other) = (("kubernetes.io/cluster/prod", "owned"), ("kubernetes.io/cluster/test", "owned"));
        let driver = (DRIVER, "true");
        for (pairs, is_vendors, is_spared) in [
            (&[][..], false, true),
            (&[("Name", "mine")], false, true),
            (&[own], false, true),
            (&[driver], true, false),
            (&[driver, own], true, false),
            (&[driver, own, other], true, false),
            (&[driver, other], false, true),
            (&[(DRIVER, "false"), own], false, false),
            (&[(NAME, "pvc-1")], false, false),
            (&[(CLAIM_NAME, "data")], false, false),
            (&[(CLUSTER_UID, "u"), (CLAIM_UID, UID)], false, false),
        ] {
            let tags = tags(pairs);
            assert_eq!(are_vendors(&tags, &cluster()), is_vendors, "{pairs:?}");
            assert_eq!(spared(&tags, &cluster()).is_some(), is_spared, "{pairs:?}");
        }
        let marked =
            owner(&tags(&[(CLUSTER_UID, "u"), (CLAIM_UID, UID), (CLAIM_NAMESPACE, "shop"), (CLAIM_NAME, "data")]));
        assert_eq!((marked.cluster_uid.as_deref(), marked.uid.as_deref()), (Some("u"), Some(UID)));
        assert_eq!((marked.namespace.as_deref(), marked.name.as_deref()), (Some("shop"), Some("data")));
        assert_eq!(owner(&Tags::new()), MarkedClaim::default());
    }
}
