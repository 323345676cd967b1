//! The security groups that a Service names for its load balancer.

use aerostat_sdk::allowed::Allowed;
use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, LoadBalancer, Result, SortedSet};

use super::annotations::SECURITY_GROUPS;
use super::names;
use crate::api::security_groups::{self as api, VpcSecurityGroup};
use crate::settings::balancers::IbmBalancerSettings;

/// The most groups of a load balancer.
const MOST: usize = 5;

/// The words by which a Service names security groups: those that the operator lets its author name. Nobody is asked.
///
/// # Errors
///
/// `invalid`, naming the annotation, the word and the setting.
pub(super) fn named(service: &LoadBalancer, allowed: &Allowed) -> Result<Vec<String>> {
    let words = Annotations::of(service).read(&SECURITY_GROUPS)?.unwrap_or_default();
    words.iter().try_for_each(|it| allowed.check(SECURITY_GROUPS.name, it))?;
    Ok(words)
}

/// The ids of the security groups that a Service names, each once, in their order. Without the annotation nobody is asked.
///
/// # Errors
///
/// `invalid`, naming what is no group of the VPC, or too many, or none that authors of Services may name; whatever the cloud answered. Another
/// Service's own group is none, in this cluster and in others, whatever the operator allows: it could not be deleted with that Service any more.
pub(super) fn of_service(service: &LoadBalancer, vpc: &str, settings: &IbmBalancerSettings) -> Result<Vec<String>> {
    let words = named(service, &settings.allowed_groups)?;
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let all = api::all(vpc)?;
    let (mut ids, mut seen) = (Vec::new(), SortedSet::new());
    for word in &words {
        let mut named = all.iter().filter(|it| it.id == *word || it.name == *word);
        let found: &VpcSecurityGroup = named.next().ok_or_else(|| {
            Error::invalid(format_args!(
                "annotation {}: {word:?} is no id or name of a security group of this VPC",
                SECURITY_GROUPS.name
            ))
        })?;
        if let Some(other) = named.next() {
            return Err(Error::invalid(format_args!(
                "annotation {}: {word:?} is security group {} and security group {}: name one by its id",
                SECURITY_GROUPS.name, found.id, other.id
            )));
        }
        if names::is_given(&found.name) {
            return Err(Error::invalid(format_args!(
                "annotation {}: {word:?} is the security group of a Service's own source ranges, which goes with that Service",
                SECURITY_GROUPS.name
            )));
        }
        if seen.insert(found.id.clone()) {
            ids.push(found.id.clone());
        }
    }
    match ids.len() {
        ..=MOST => Ok(ids),
        count => Err(Error::invalid(format_args!(
            "annotation {}: {count} security groups are more than {MOST}, which a load balancer takes",
            SECURITY_GROUPS.name
        ))),
    }
}
