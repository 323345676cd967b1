//! The list of all that was made for Services of this cluster: Network Load Balancers, Classic ones, target groups and
//! security groups.
//!
//! Load balancing tells no tags in its lists: they cost a request for each twenty.

use aerostat_sdk::form::{Custom, Form as _};
use aerostat_sdk::{
    Error, Ingress, InventoryDescription, InventoryItem, InventoryPage, InventoryState, LoadBalancerInventory,
    MarkedOwner, Proof, Result, SortedMap, SortedSet, cluster,
};

use crate::api::ec2::security_groups;
use crate::api::elb::load_balancers as classic;
use crate::api::elbv2::load_balancers::{self as network, AnyLoadBalancer};
use crate::api::elbv2::{tags, target_groups};
use crate::provider::Aws;
use crate::settings::{ClusterMarks, LoadBalancerSettings as Settings};
use crate::tags::{CLUSTER_UID, KEPT, OWNED, SERVICE_NAME, SERVICE_UID, Tags, is_kept};

/// Items of a page.
const PAGE: u32 = 400;

/// The beginning of the names of Services' target groups.
const GROUPS: &str = "k8s-";

/// The lists, in their order. Each has its name in cursors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ListPart {
    Networks,
    Classics,
    TargetGroups,
    SecurityGroups,
}

const LISTS: [(&str, ListPart); 4] = [
    ("network", ListPart::Networks),
    ("classic", ListPart::Classics),
    ("target-groups", ListPart::TargetGroups),
    ("security-groups", ListPart::SecurityGroups),
];

impl LoadBalancerInventory for Aws {
    fn describe() -> Result<InventoryDescription> {
        Ok(InventoryDescription::new(PAGE, false))
    }

    /// A page of one of the lists. Pages have as many items as AWS gives, whatever the limit: it is 400.
    fn list(cursor: Option<&str>, _limit: u32) -> Result<InventoryPage> {
        let (number, marker) = position(cursor)?;
        let view = View::new()?;
        let Some((_, list)) = LISTS.get(number) else { return Ok(InventoryPage::new(Vec::new(), None)) };
        let (items, next) = match list {
            ListPart::Networks => view.networks(marker)?,
            ListPart::Classics => view.classics(marker)?,
            ListPart::TargetGroups => view.target_groups(marker)?,
            ListPart::SecurityGroups => (view.security_groups()?, None),
        };
        let name = |number: usize| LISTS.get(number).map(|(name, _)| *name);
        let next = match next {
            Some(marker) => name(number).map(|it| format!("{it}:{marker}")),
            None => name(number + 1).map(|it| format!("{it}:")),
        };
        Ok(InventoryPage::new(items, next))
    }
}

/// Which list a cursor goes on with, and from where.
fn position(cursor: Option<&str>) -> Result<(usize, Option<&str>)> {
    let Some(cursor) = cursor else { return Ok((0, None)) };
    let found = cursor.split_once(':').and_then(|(name, marker)| {
        let number = LISTS.iter().position(|(it, _)| *it == name)?;
        Some((number, Some(marker).filter(|it| !it.is_empty())))
    });
    found.ok_or_else(|| Error::invalid(format_args!("cursor {cursor:?} is not one of the list of load balancers")))
}

/// A part of a list, and where the next one begins.
type InventoryPart = (Vec<InventoryItem>, Option<String>);

/// The view of one cluster on things with tags.
struct View {
    cluster: ClusterMarks,
    cluster_uid: String,
}

impl View {
    fn new() -> Result<Self> {
        Ok(Self { cluster: ClusterMarks::read()?, cluster_uid: cluster()?.uid })
    }

    fn networks(&self, marker: Option<&str>) -> Result<InventoryPart> {
        let page = network::page(marker)?;
        let shown: Vec<_> = page.items.into_iter().filter(|it| is_network(it, &self.cluster)).collect();
        let tags = tags::of(&shown.iter().map(|it| &*it.arn).collect::<Vec<_>>())?;
        let item = |balancer: &AnyLoadBalancer| {
            let mut item = self.item(format!("network load balancer {}", balancer.name), tags.get(&balancer.arn)?)?;
            item.memo = Some(balancer.arn.clone());
            item.state = match &*balancer.state {
                "provisioning" => InventoryState::Changing,
                "failed" => InventoryState::Failed(balancer.reason.clone()),
                _ => InventoryState::Ready,
            };
            item.ingress =
                Some(&*balancer.dns_name).filter(|it| !it.is_empty()).map(Ingress::hostname).into_iter().collect();
            Some(item)
        };
        Ok((shown.iter().filter_map(item).collect(), page.next))
    }

    fn classics(&self, marker: Option<&str>) -> Result<InventoryPart> {
        let page = classic::page(marker)?;
        let names: Vec<&str> = page.load_balancers.iter().map(|it| &*it.name).collect();
        let tags = classic::tags(&names)?;
        let mut items = Vec::new();
        for it in &page.load_balancers {
            let tags = tags.get(&it.name);
            if let Some(mut item) = tags.and_then(|tags| self.item(format!("classic load balancer {}", it.name), tags))
            {
                item.memo = Some(it.name.clone());
                item.ingress = it.dns_name.as_deref().map(Ingress::hostname).into_iter().collect();
                items.push(item);
            }
        }
        Ok((items, page.next))
    }

    fn target_groups(&self, marker: Option<&str>) -> Result<InventoryPart> {
        let page = target_groups::page(marker)?;
        let is_ours = |it: &target_groups::TargetGroup| it.name.starts_with(GROUPS) && it.vpc == self.cluster.vpc;
        let shown: Vec<_> = page.items.into_iter().filter(is_ours).collect();
        let tags = tags::of(&shown.iter().map(|it| &*it.arn).collect::<Vec<_>>())?;
        let item = |it: &target_groups::TargetGroup| self.item(format!("target group {}", it.name), tags.get(&it.arn)?);
        Ok((shown.iter().filter_map(item).collect(), page.next))
    }

    fn security_groups(&self) -> Result<Vec<InventoryItem>> {
        let found = security_groups::tagged(&self.cluster)?;
        let item = |group: &security_groups::SecurityGroup| {
            // The vendor's groups have no tag of a Service, and those of nodes neither.
            let title = || format!("security group {} ({})", group.id, group.name);
            group.tags.contains_key(SERVICE_UID).then(|| self.item(title(), &group.tags))?
        };
        Ok(found.iter().filter_map(item).collect())
    }

    /// `None`, if it was not made for a Service of this cluster.
    fn item(&self, cloud_object: String, tags: &Tags) -> Option<InventoryItem> {
        let of = |key: &str| tags.get(key).map(String::as_str);
        let uid = of(SERVICE_UID).and_then(|it| Custom::uuid("").parse(it));
        let proof = match of(CLUSTER_UID) {
            Some(other) if other != self.cluster_uid => return None,
            Some(_) if uid.is_some() => Proof::Unique,
            Some(_) | None => {
                // Names alone: the cluster's tag has to say that it is the cluster's own.
                let is_own = |(key, value): (&String, &String)| {
                    self.cluster.owns(key, value) && (key == ClusterMarks::LEGACY_TAG || value == OWNED)
                };
                let is_made = tags.contains_key(SERVICE_NAME) && tags.iter().any(is_own);
                is_made.then_some(Proof::ByName)?
            }
        };
        let (namespace, name) = of(SERVICE_NAME).and_then(|it| it.split_once('/')).unzip();
        let owner = MarkedOwner {
            cluster_uid: of(CLUSTER_UID).map(str::to_owned),
            uid,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
        };
        let item = InventoryItem::new(cloud_object, owner, proof);
        Some(if is_kept(tags) {
            item.kept(format!("AWS protected it when its Service went, as its tag {KEPT} says"))
        } else {
            item
        })
    }
}

fn is_network(it: &AnyLoadBalancer, cluster: &ClusterMarks) -> bool {
    it.kind == "network" && it.vpc == cluster.vpc
}

/// The names of the cluster's other Network Load Balancers than this one: all of them.
///
/// # Errors
///
/// Whatever AWS answered.
pub(crate) fn other_networks(settings: &Settings, name: &str) -> Result<SortedSet<String>> {
    let (uid, cluster) = (cluster()?.uid, &settings.cluster);
    let others = network::all()?.into_iter().filter(|it| is_network(it, cluster) && it.name != name);
    let others: SortedMap<String, String> = others.map(|it| (it.arn, it.name)).collect();
    let tags = tags::of(&others.keys().collect::<Vec<_>>())?;
    let is_of_cluster = |arn: &str| {
        let of = tags.get(arn).into_iter().flatten();
        of.into_iter().any(|(key, value)| cluster.owns(key, value) || (key == CLUSTER_UID && *value == uid))
    };
    Ok(others.into_iter().filter(|(arn, _)| is_of_cluster(arn)).map(|(_, name)| name).collect())
}

#[cfg(test)]
mod tests;
