//! In which subnets a load balancer is made: those that an annotation names, or one of each zone.

use aerostat_sdk::{Error, Result, SortedMap, SortedSet};

use super::annotations::SUBNETS;
use super::call::ServiceCall;
use crate::api::ec2::route_tables::{self, PublicSubnets};
use crate::api::ec2::subnets::{self as api, Subnet};
use crate::api::ec2::zones;
use crate::settings::ClusterMarks;

/// The beginning of the keys of clusters' tags.
const CLUSTERS: &str = "kubernetes.io/cluster/";
/// The tag of subnets for load balancers that are reached from the internet.
const PUBLIC_ROLE: &str = "kubernetes.io/role/elb";
/// The tag of subnets for internal ones.
const INTERNAL_ROLE: &str = "kubernetes.io/role/internal-elb";
/// The beginning of subnets' ids. Anything else is a name.
const PREFIX: &str = "subnet-";

/// The subnets of a load balancer, in the order of the annotation, or of their zones. Those that it `has` may be named, whoever's they
/// are.
///
/// # Errors
///
/// `invalid`, if there are none, or two of one zone; whatever EC2 answered.
pub(super) fn of(call: &ServiceCall<'_>, is_internal: bool, has: &SortedSet<String>) -> Result<Vec<Subnet>> {
    let cluster = &call.settings.cluster;
    let asked = call.annotations.read(&SUBNETS)?;
    let all = api::of_vpc(&cluster.vpc)?;
    if let Some(asked) = asked {
        return named(&all, &asked, cluster, has);
    }
    let public = route_tables::public_subnets(&cluster.vpc)?;
    let chosen = one_of_each_zone(all, &public, cluster, is_internal)?;
    // Zones are asked for only where there is one whose name is not that of its region and a letter.
    let is_regular = |it: &Subnet| it.zone.strip_prefix(&cluster.region).is_some_and(|letter| letter.len() == 1);
    let special = if chosen.iter().all(is_regular) { SortedSet::new() } else { zones::special(&cluster.region)? };
    let chosen: Vec<_> = chosen.into_iter().filter(|it| !special.contains(&it.zone)).collect();
    if chosen.is_empty() { Err(nowhere(cluster, is_internal)) } else { Ok(chosen) }
}

/// Whether a subnet is the cluster's, or has the tag of no cluster.
fn is_usable(subnet: &Subnet, cluster: &ClusterMarks) -> bool {
    let is_of_cluster = subnet.tags.iter().any(|(key, value)| cluster.owns(key, value));
    is_of_cluster || !subnet.tags.iter().any(|(key, _)| key.starts_with(CLUSTERS))
}

/// The subnets that an annotation asks for, by ids or by the tag Name. Those of another cluster are not for its author to
/// add.
fn named(all: &[Subnet], asked: &[String], cluster: &ClusterMarks, has: &SortedSet<String>) -> Result<Vec<Subnet>> {
    let mut zones: SortedMap<&str, &str> = SortedMap::new();
    let mut chosen = Vec::new();
    for text in asked {
        let is_it = |it: &&Subnet| if text.starts_with(PREFIX) { it.id == *text } else { it.tag("Name") == Some(text) };
        let mut found = all.iter().filter(is_it);
        let subnet = match (found.next(), found.next()) {
            (Some(one), None) => one,
            (None, _) => {
                let (key, expected, count) = (SUBNETS.name, asked.len(), chosen.len());
                return Err(Error::invalid(format_args!(
                    "annotation {key}: expected to find {expected}, but found {count} subnets: the VPC has no {text:?}"
                )));
            }
            (Some(one), Some(other)) => {
                let (key, one, other) = (SUBNETS.name, &one.id, &other.id);
                return Err(Error::invalid(format_args!(
                    "annotation {key}: {one} and {other} both have the name {text:?}"
                )));
            }
        };
        if !has.contains(&subnet.id) && !is_usable(subnet, cluster) {
            return Err(Error::invalid(format_args!(
                "annotation {}: {} has the tag of another cluster: name a subnet that has the tag {}, or of no cluster",
                SUBNETS.name,
                subnet.id,
                cluster.tag()
            )));
        }
        if let Some(other) = zones.insert(&subnet.zone, &subnet.id) {
            let (key, id, zone) = (SUBNETS.name, &subnet.id, &subnet.zone);
            return Err(Error::invalid(format_args!(
                "annotation {key}: {other} and {id} are both in zone {zone}, and a load balancer takes one subnet of \
                 each zone"
            )));
        }
        chosen.push(subnet.clone());
    }
    Ok(chosen)
}

/// One of the cluster's subnets, or of those that no cluster has, in each zone, in the order of the zones' names. Of
/// two the one with the role's tag is taken, then the one with the cluster's tag, then the one whose id comes first.
fn one_of_each_zone(
    all: Vec<Subnet>,
    public: &PublicSubnets,
    cluster: &ClusterMarks,
    is_internal: bool,
) -> Result<Vec<Subnet>> {
    let role = if is_internal { INTERNAL_ROLE } else { PUBLIC_ROLE };
    let is_of_cluster = |it: &Subnet| it.tags.iter().any(|(key, value)| cluster.owns(key, value));
    let mut chosen: SortedMap<String, ((bool, bool, String), Subnet)> = SortedMap::new();
    for subnet in all {
        if subnet.id.is_empty() || subnet.zone.is_empty() || !is_usable(&subnet, cluster) {
            continue;
        }
        let Some(is_public) = public.has(&subnet.id) else {
            return Err(Error::unavailable(format_args!("EC2 shows no route table of subnet {}", subnet.id)));
        };
        if !is_internal && !is_public {
            continue;
        }
        // The smallest is taken.
        let rank = (subnet.tag(role).is_none(), !is_of_cluster(&subnet), subnet.id.clone());
        match chosen.get(&subnet.zone) {
            Some((best, _)) if *best <= rank => {}
            _ => _ = chosen.insert(subnet.zone.clone(), (rank, subnet)),
        }
    }
    let chosen: Vec<_> = chosen.into_values().map(|(_, it)| it).collect();
    if chosen.is_empty() { Err(nowhere(cluster, is_internal)) } else { Ok(chosen) }
}

/// Why there is no subnet, with the tags that were looked for.
fn nowhere(cluster: &ClusterMarks, is_internal: bool) -> Error {
    let (kind, role) = match is_internal {
        true => ("", INTERNAL_ROLE),
        false => (" with a route to an internet gateway", PUBLIC_ROLE),
    };
    Error::invalid(format_args!(
        "could not find any suitable subnets for creating the ELB: {} has none{kind} that has the tag {}, or no tag \
         {CLUSTERS}*; of several in a zone the one with the tag {role} is taken. Annotation {} can name them",
        cluster.vpc,
        cluster.tag(),
        SUBNETS.name
    ))
}

#[cfg(test)]
mod tests;
