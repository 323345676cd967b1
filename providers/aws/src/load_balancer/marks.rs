//! The tags that mark what is made for one Service, and whose a thing with tags is.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Owner, Result, cluster};

use super::annotations::{ADDITIONAL_TAGS, pairs};
use crate::settings::ClusterMarks;
use crate::tags::{CLUSTER_UID, KEPT, OWNED, SERVICE_NAME, SERVICE_UID, Tags, is_kept};

/// The owner of a thing with tags, seen from one Service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Ownership {
    /// This Service's: our tags hold both UIDs.
    Marked,
    /// This Service's by the vendor's tags alone, which hold names: an earlier controller made it.
    ByName,
    /// Another's. Says whose.
    Other(String),
    /// Nothing says whose.
    Nobody,
}

impl Ownership {
    /// Whether it is this Service's.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self, Self::Marked | Self::ByName)
    }
}

/// The marks of one Service's things.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    cluster: ClusterMarks,
    cluster_uid: String,
    service_uid: String,
    service_name: String,
    additional: Vec<(String, String)>,
}

impl Marks {
    /// The marks of a Service with these annotations.
    ///
    /// # Errors
    ///
    /// While the cluster is not known.
    pub(crate) fn of(owner: &Owner, annotations: Annotations<'_>, cluster: &ClusterMarks) -> Result<Self> {
        Ok(Self {
            cluster: cluster.clone(),
            cluster_uid: self::cluster()?.uid,
            service_uid: owner.uid.clone(),
            service_name: format!("{}/{}", owner.namespace, owner.name),
            additional: annotations.text(ADDITIONAL_TAGS.name).map(pairs).unwrap_or_default(),
        })
    }

    /// All tags of what is made: the vendor's, ours, and those that the Service asks for. Of two with one key the mark
    /// stays.
    pub(crate) fn tags(&self) -> Tags {
        self.additional.iter().cloned().chain(self.marks()).collect()
    }

    /// The vendor's tags and ours.
    fn marks(&self) -> impl Iterator<Item = (String, String)> {
        let marks = [
            (SERVICE_NAME.to_owned(), self.service_name.clone()),
            (self.cluster.tag(), OWNED.to_owned()),
            (CLUSTER_UID.to_owned(), self.cluster_uid.clone()),
            (SERVICE_UID.to_owned(), self.service_uid.clone()),
        ];
        let legacy = (ClusterMarks::LEGACY_TAG.to_owned(), self.cluster.id().to_owned());
        let legacy = self.cluster.has_legacy_tag.then_some(legacy);
        marks.into_iter().chain(legacy)
    }

    /// Those of [`Self::tags`] that a thing lacks or has with another value. What a Service has is not kept: tags are written
    /// and not taken away, so that one says so.
    pub(crate) fn missing(&self, live: &Tags) -> Tags {
        let not_kept = is_kept(live).then(|| (KEPT.to_owned(), "false".to_owned()));
        let tags = self.tags().into_iter().filter(|(key, value)| live.get(key) != Some(value));
        tags.chain(not_kept).collect()
    }

    /// The same without what the Service asks for: its tags are written when a thing is made, as the vendor's controller does it
    /// with security groups.
    pub(crate) fn missing_marks(&self, live: &Tags) -> Tags {
        self.marks().filter(|(key, value)| live.get(key) != Some(value)).collect()
    }

    /// The owner of a thing with these tags.
    pub(crate) fn ownership(&self, live: &Tags) -> Ownership {
        let of = |key: &str| live.get(key).map(String::as_str);
        match (of(CLUSTER_UID), of(SERVICE_UID)) {
            (Some(cluster), Some(service)) if cluster == self.cluster_uid && service == self.service_uid => {
                return Ownership::Marked;
            }
            (None, None) => {}
            (cluster, service) => {
                let (cluster, service) = (cluster.unwrap_or("?"), service.unwrap_or("?"));
                return Ownership::Other(format!("its tags are those of Service {service} in cluster {cluster}"));
            }
        }
        match of(SERVICE_NAME) {
            Some(name) if name == self.service_name && self.is_of_cluster(live) => Ownership::ByName,
            Some(name) => Ownership::Other(format!("tag {SERVICE_NAME} is {name:?}, or the cluster's tag is missing")),
            None => Ownership::Nobody,
        }
    }

    /// Whether tags of the vendor say that a thing is owned by this cluster.
    fn is_of_cluster(&self, live: &Tags) -> bool {
        live.iter().any(|(key, value)| self.cluster.owns(key, value))
    }
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::LoadBalancer;

    use super::*;
    use crate::load_balancer::annotations::ADDITIONAL_TAGS;
    use crate::tests::settings;

    const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

    fn marks(additional: &str, legacy: &str) -> Marks {
        let service = LoadBalancer::of("default", "web", UID).with_annotation(ADDITIONAL_TAGS.name, additional);
        settings()
            .setting("legacyClusterTag", legacy)
            .run(|| Marks::of(&service.owner, Annotations::of(&service), &ClusterMarks::read().unwrap()).unwrap())
    }

    fn tags(pairs: &[(&str, &str)]) -> Tags {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_vendors_tags_stand_beside_ours() {
        let expected = [
            ("kubernetes.io/service-name", "default/web"),
            ("kubernetes.io/cluster/prod", "owned"),
            ("KubernetesCluster", "prod"),
            ("aerostat.dev/cluster-uid", "c1a5e000-1111-2222-3333-444455556666"),
            ("aerostat.dev/service-uid", UID),
            ("team", "a"),
        ];
        let marks = marks("team=a,kubernetes.io/service-name=other/one", "true");
        assert_eq!(marks.tags(), tags(&expected));
        assert_eq!(marks.missing(&tags(&expected[..5])), tags(&expected[5..]));
    }

    #[test]
    fn only_uids_prove_and_names_are_believed() {
        let marks = marks("", "false");
        let vendors = [("kubernetes.io/service-name", "default/web"), ("kubernetes.io/cluster/prod", "owned")];
        let of = |more: &[(&str, &str)]| marks.ownership(&tags(&[&vendors, more].concat()));
        let cluster = ("aerostat.dev/cluster-uid", "c1a5e000-1111-2222-3333-444455556666");
        assert_eq!(of(&[]), Ownership::ByName);
        assert_eq!(of(&[cluster, ("aerostat.dev/service-uid", UID)]), Ownership::Marked);
        for other in [
            of(&[cluster]),
            of(&[cluster, ("aerostat.dev/service-uid", "another")]),
            of(&[("aerostat.dev/cluster-uid", "another"), ("aerostat.dev/service-uid", UID)]),
            marks.ownership(&tags(&[("kubernetes.io/service-name", "default/web")])),
            marks.ownership(&tags(&[("kubernetes.io/service-name", "default/other"), vendors[1]])),
        ] {
            assert!(matches!(other, Ownership::Other(_)), "{other:?}");
        }
        assert_eq!(marks.ownership(&tags(&[("Name", "x")])), Ownership::Nobody);
    }
}
