//! The owner of a load balancer. Annotations prove nothing: the author of a Service writes them.
//!
//! Names and tags that begin with "kube_service_" are those of OpenStack's own controller: they name a cluster, which people choose. What
//! Aerostat makes has one more tag, the mark with the UIDs of the cluster and the Service.

use aerostat_sdk::{LoadBalancer, Mark, Result, cluster};

use super::names;
use crate::api::octavia::OctaviaBalancer;

/// The relation of a load balancer to one Service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum BalancerRelation {
    /// It is this Service's: it has its mark and its name, or its name alone and no other's mark.
    Owner {
        /// Whether it has the mark: Aerostat has made it, or has written to it since.
        is_marked: bool,
    },
    /// It is another Service's of this cluster, or a person's. A Service may have its part in it.
    Shared,
    /// It is another cluster's, as this name or tag says.
    Foreign(String),
}

/// The names of a Service in the cloud.
#[derive(Clone, Debug)]
pub(crate) struct ServiceNames {
    /// The name of its load balancer, and its tag.
    pub(crate) name: String,
    /// The same under the cluster's former name.
    pub(crate) former: Option<String>,
    /// The name in earlier versions of OpenStack's own controller.
    pub(crate) legacy: String,
    /// The mark.
    pub(crate) mark: Mark,
    /// The cluster's name, and its former one.
    clusters: Vec<String>,
}

impl ServiceNames {
    /// Those of a Service, in a cluster that may have had another name.
    ///
    /// # Errors
    ///
    /// While describing, when the cluster is not known.
    pub(crate) fn of(service: &LoadBalancer, former_cluster: Option<&str>) -> Result<Self> {
        let owner = &service.owner;
        let former = former_cluster.filter(|it| *it != owner.cluster);
        Ok(Self {
            name: names::of(owner),
            former: former.map(|it| names::load_balancer(it, &owner.namespace, &owner.name)),
            legacy: service.name.clone(),
            mark: Mark { cluster: cluster()?.uid, service: owner.uid.clone() },
            clusters: std::iter::once(&*owner.cluster).chain(former).map(str::to_owned).collect(),
        })
    }

    /// The names of the cluster: the present one, and the former one.
    pub(crate) fn clusters(&self) -> Vec<&str> {
        self.clusters.iter().map(String::as_str).collect()
    }

    /// Whether a name or tag is this Service's, by any of its names.
    pub(crate) fn has(&self, name: &str) -> bool {
        name == self.name || self.former.as_deref() == Some(name) || name == self.legacy
    }

    /// The relation of a load balancer to the Service.
    pub(crate) fn relation(&self, live: &OctaviaBalancer) -> BalancerRelation {
        let marks: Vec<Mark> = live.tags().iter().filter_map(|it| it.parse().ok()).collect();
        if let Some(other) = marks.iter().find(|it| it.cluster != self.mark.cluster) {
            return BalancerRelation::Foreign(other.to_string());
        }
        let is_marked = marks.contains(&self.mark);
        let named = std::iter::once(&live.name).chain(live.tags());
        // With the mark of this cluster, its name may have been another.
        let is_foreign = |word: &&String| {
            word.starts_with(names::PREFIX) && !self.clusters.iter().any(|cluster| names::is_of_cluster(word, cluster))
        };
        if let Some(other) = named.clone().find(is_foreign).filter(|_| !is_marked) {
            return BalancerRelation::Foreign(other.clone());
        }
        let is_other_legacy = names::is_legacy(&live.name) && live.name != self.legacy;
        if is_other_legacy && marks.is_empty() {
            return BalancerRelation::Foreign(live.name.clone());
        }
        if self.has(&live.name) {
            // Of two Services that had one name one after the other, each has its mark: where each tag of a Service has one, none is left
            // for this one.
            let tags = live.tags().iter().filter(|it| it.starts_with(names::PREFIX)).count();
            let is_anothers = !is_marked && !marks.is_empty() && marks.len() >= tags;
            return if is_anothers { BalancerRelation::Shared } else { BalancerRelation::Owner { is_marked } };
        }
        BalancerRelation::Shared
    }

    /// The tags of a load balancer once the Service has it, or a part of it: its name and its mark, after those that stay.
    pub(crate) fn tagged(&self, live: &OctaviaBalancer) -> Vec<String> {
        let stale = |it: &String| self.former.as_ref() == Some(it);
        let mut tags: Vec<String> = live.tags().iter().filter(|it| !stale(it) && !it.is_empty()).cloned().collect();
        for tag in [self.name.clone(), self.mark.to_string()] {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        tags
    }

    /// The tags of a load balancer once the Service has left it.
    pub(crate) fn untagged(&self, live: &OctaviaBalancer) -> Vec<String> {
        let mark = self.mark.to_string();
        let is_own = |it: &String| self.has(it) || *it == mark || it.is_empty();
        live.tags().iter().filter(|it| !is_own(it)).cloned().collect()
    }

    /// How many other Services have a part in a load balancer, by their tags.
    pub(crate) fn others(&self, live: &OctaviaBalancer) -> usize {
        live.tags().iter().filter(|it| it.starts_with(names::PREFIX) && !self.has(it)).count()
    }
}

/// For a person: why a load balancer is not touched.
pub(crate) fn others(live: &OctaviaBalancer, word: &str) -> String {
    format!(
        "load balancer {} ({}) is another cluster's, as its name or tag {word} says: it is not touched. If this cluster had another \
         name, let the operator set {} under provider.settings",
        live.id,
        live.name,
        crate::settings::FORMER_CLUSTER
    )
}

/// A Service, as a tag or the name of a load balancer names it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct TaggedService {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Whether the load balancer has its name.
    pub(crate) is_owner: bool,
}

/// The Services of these clusters that a load balancer's tags name, in their order; without tags, the one that its name names.
pub(crate) fn tagged(live: &OctaviaBalancer, clusters: &[&str]) -> Vec<TaggedService> {
    let of = |text: &String| {
        let cluster = names::cluster_of(text).filter(|it| clusters.contains(it))?;
        let (namespace, name) =
            text.strip_prefix(names::PREFIX)?.strip_prefix(cluster)?.strip_prefix('_')?.split_once('_')?;
        Some(TaggedService { namespace: namespace.to_owned(), name: name.to_owned(), is_owner: *text == live.name })
    };
    let tags: Vec<_> = live.tags().iter().filter_map(of).collect();
    if tags.is_empty() { of(&live.name).into_iter().collect() } else { tags }
}
