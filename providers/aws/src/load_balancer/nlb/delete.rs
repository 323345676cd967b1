//! The end of a Network Load Balancer, and of all that was made for it. Nothing is found through the load balancer: it
//! goes first, and a call may be lost after that.

use aerostat_sdk::{Deletion, Result, events};

use super::desired::DesiredNlb;
use super::write::{self, Wait};
use super::{groups, live, names};
use crate::api::elbv2::load_balancers::{self as api, AnyLoadBalancer};
use crate::api::elbv2::tags;
use crate::api::elbv2::target_groups::{self, TargetGroup};
use crate::load_balancer::call::ServiceCall;
use crate::tags::{KEPT, Tags, is_kept};

/// The most listeners of which one call asks for the target groups by name. The host stops a call at 100 requests.
const MOST_NAMES: usize = 64;

/// Takes one step towards its absence. What cannot be proven to be the Service's stays.
///
/// # Errors
///
/// Whatever AWS answered.
pub(crate) fn delete(call: &ServiceCall<'_>) -> Result<Deletion> {
    let found = api::named(&call.service.name)?;
    if let Some(balancer) = found.as_ref().filter(|it| it.kind == "network") {
        let tags = tags::of(&[&*balancer.arn])?.remove(&balancer.arn).unwrap_or_default();
        if let Err(why) = live::proof(call, balancer, &call.marks.ownership(&tags)) {
            events::warning(None, "LoadBalancerNotDeleted", &why);
            return Ok(Deletion::Done);
        }
        if let Some(why) = delete_balancer(balancer)? {
            keep(balancer, &tags)?;
            return Ok(Deletion::Kept(why));
        }
    }
    let left = match delete_target_groups(call)? {
        None => {
            groups::refuse(call)?;
            Wait::of(groups::delete_own(call)?)
        }
        wait => wait,
    };
    let pending = |it: Wait| Deletion::pending(call.service.status(), it.pause, it.reason);
    Ok(left.map_or(Deletion::Done, pending))
}

/// Why it stays, if the cloud protects it.
fn delete_balancer(balancer: &AnyLoadBalancer) -> Result<Option<String>> {
    match api::delete(&balancer.arn) {
        Ok(()) => Ok(None),
        Err(refusal) if refusal.code == "OperationNotPermitted" => {
            Ok(Some(format!("load balancer {} is protected from deletion: {}", balancer.name, refusal.why())))
        }
        Err(refusal) => Err(refusal.error),
    }
}

/// Marks one that stays as kept, if it is not yet. Until it is marked, the Service keeps its finalizer.
fn keep(balancer: &AnyLoadBalancer, live: &Tags) -> Result<()> {
    if !is_kept(live) {
        tags::add(std::slice::from_ref(&balancer.arn), &[(KEPT.to_owned(), "true".to_owned())].into())?;
    }
    Ok(())
}

/// Deletes the target groups that were made for the Service, by their tags. `None`, once all are gone. What another load
/// balancer sends to by now stays. A group whose creation was not answered may not be listed yet: the names that the Service
/// would have are asked for, too.
fn delete_target_groups(call: &ServiceCall<'_>) -> Result<Option<Wait>> {
    let prefix = names::prefix(&call.service.owner);
    let mut found = target_groups::all()?;
    // A Service that cannot be read made no group.
    let desired = DesiredNlb::of(call).map(|it| it.listeners).unwrap_or_default();
    for listener in desired.iter().take(MOST_NAMES) {
        let name = &listener.group.name;
        if found.iter().all(|it| it.name != *name) {
            found.extend(target_groups::named(name)?);
        }
    }
    // AWS may still show a load balancer that is gone.
    let is_of_name = |arn: &String| names::name_in(arn) == Some(&*call.service.name);
    found.retain(|group| {
        let is_ours = !group.balancers.is_empty() || group.name.starts_with(&prefix);
        is_ours && group.balancers.iter().all(is_of_name)
    });
    let tags = tags::of(&found.iter().map(|it| &*it.arn).collect::<Vec<_>>())?;
    let is_ours = |it: &&TargetGroup| tags.get(&it.arn).is_some_and(|it| call.marks.ownership(it).is_ours());
    let ours: Vec<_> = found.iter().filter(is_ours).collect();
    let mut busy = None;
    for (deleted, group) in ours.iter().enumerate() {
        if deleted == write::MOST_REMOVALS {
            return Ok(Some(Wait::more(ours.len() - deleted)));
        }
        busy = Wait::of(write::delete_group(&group.arn, &group.name)?).or(busy);
    }
    Ok(busy)
}
