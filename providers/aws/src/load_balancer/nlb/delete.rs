//! The end of a Network Load Balancer, and of all that was made for it. Nothing is found through the load balancer: it
//! goes first, and a call may be lost after that.

use aerostat_sdk::{Change, Deletion, Result, events};

use super::{POLL, groups, live, write};
use crate::api::elbv2::load_balancers::{self as api, Balancer};
use crate::api::elbv2::tags;
use crate::api::elbv2::target_groups::TargetGroup;
use crate::load_balancer::Call;
use crate::load_balancer::tags::Tags;

/// Takes one step towards its absence. What cannot be proven to be the Service's stays.
///
/// # Errors
///
/// Whatever AWS answered.
pub(in crate::load_balancer) fn delete(call: &Call<'_>) -> Result<Deletion> {
    let found = api::named(&call.service.name)?;
    if let Some(balancer) = found.as_ref().filter(|it| it.kind == "network") {
        let tags = tags::of(&[&*balancer.arn])?.remove(&balancer.arn).unwrap_or_default();
        if let Err(why) = live::proof(call, balancer, &call.marks.ownership(&tags)) {
            events::warning(None, "LoadBalancerNotDeleted", &why);
            return Ok(Deletion::Done);
        }
        if let Some(why) = delete_balancer(balancer)? {
            return Ok(why);
        }
    }
    let arn = found.as_ref().map(|it| it.arn.as_str());
    if let Change::Busy(why) = delete_target_groups(call, arn)? {
        return Ok(pending(call, &why));
    }
    groups::refuse(call)?;
    match groups::delete_own(call)? {
        Change::Done(()) => Ok(Deletion::Done),
        Change::Busy(why) => Ok(pending(call, &why)),
    }
}

fn pending(call: &Call<'_>, why: &str) -> Deletion {
    Deletion::pending(call.service.status(), POLL, why)
}

/// Some, if it stays: the cloud protects it.
fn delete_balancer(balancer: &Balancer) -> Result<Option<Deletion>> {
    match api::delete(&balancer.arn) {
        Ok(()) => Ok(None),
        Err(refusal) if refusal.code == "OperationNotPermitted" => Ok(Some(Deletion::kept(format_args!(
            "load balancer {} is protected from deletion: {}",
            balancer.name,
            refusal.why()
        )))),
        Err(refusal) => Err(refusal.error),
    }
}

/// Deletes the target groups that were made for the Service, by their tags. Busy, if more are to come, or AWS still
/// sends to one.
fn delete_target_groups(call: &Call<'_>, balancer: Option<&str>) -> Result<Change<()>> {
    let found = live::groups(call, balancer)?;
    let arns: Vec<&str> = found.iter().map(|it| &*it.arn).collect();
    let tags = tags::of(&arns)?;
    let of = |arn: &str| tags.get(arn).cloned().unwrap_or_else(Tags::new);
    let is_elsewhere = |balancers: &[String]| balancers.iter().any(|it| Some(&**it) != balancer);
    let ours = found.iter().filter(|it| call.marks.ownership(&of(&it.arn)).is_ours());
    // What another load balancer sends to by now stays. One that AWS still shows beside a load balancer that is gone is
    // tried.
    let is_of_name = |arn: &String| super::name_in(arn) == Some(&*call.service.name);
    let gone = |it: &&TargetGroup| !is_elsewhere(&it.balancers) || it.balancers.iter().all(is_of_name);
    let mut busy = None;
    for (deleted, group) in ours.filter(gone).enumerate() {
        if deleted == write::MOST_REMOVALS {
            return Ok(Change::Busy("more target groups are to come".to_owned()));
        }
        if let Change::Busy(why) = write::delete_group(&group.arn, &group.name)? {
            busy = Some(why);
        }
    }
    Ok(busy.map_or(Change::Done(()), Change::Busy))
}
