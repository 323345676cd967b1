//! The security groups that a Service names for its load balancer.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, LoadBalancer, Result, SortedSet};

use super::annotations::SECURITY_GROUPS;
use crate::api::security_groups::{self as api, VpcSecurityGroup};

/// The most groups of a load balancer.
const MOST: usize = 5;

/// The ids of the security groups that a Service names, each once, in their order. Without the annotation nobody is asked.
///
/// # Errors
///
/// `invalid`, naming what is no group of the VPC, or too many; whatever the cloud answered.
pub(super) fn of_service(service: &LoadBalancer, vpc: &str) -> Result<Vec<String>> {
    let Some(words) = Annotations::of(service).read(&SECURITY_GROUPS)? else { return Ok(Vec::new()) };
    let all = api::all(vpc)?;
    let (mut ids, mut seen) = (Vec::new(), SortedSet::new());
    for word in &words {
        let found: &VpcSecurityGroup = all.iter().find(|it| it.id == *word || it.name == *word).ok_or_else(|| {
            Error::invalid(format_args!(
                "annotation {}: {word:?} is no id or name of a security group of this VPC",
                SECURITY_GROUPS.name
            ))
        })?;
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
