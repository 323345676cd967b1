//! A Network Load Balancer for a Service.

pub(crate) mod annotations;
mod attributes;
mod call;
mod creation;
mod desired;
mod groups;
mod jobs;
mod listeners;
mod names;
mod parameters;
mod security;
mod step;
mod zones;

pub(crate) use self::annotations::TABLE;
pub(crate) use self::call::NlbCall;
pub(crate) use self::names::{CLASS, ID};

use aerostat_sdk::backend::Backend as _;
use aerostat_sdk::{Deletion, Error, LoadBalancer, Progress, Result};

use self::jobs::NlbJobs;
use crate::api::network_load_balancers as balancers;
use crate::load_balancer::annotations::renamed;
use crate::load_balancer::marks::{TagRelation, left_by_the_vendor};
use crate::remembered::MemoWords;

/// The finalizer of the vendor's controller.
pub(crate) const FINALIZER: &str = "service.k8s.alibaba/nlb";

/// Takes one step towards it.
pub(crate) fn ensure(desired: &LoadBalancer, step: fn(&NlbCall<'_>) -> Result<Progress>) -> Result<Progress> {
    let (service, jobs) = NlbJobs::split(&renamed(desired));
    let call = NlbCall { is_wanted: true, ..NlbCall::of(&service, jobs)? };
    let answer = match call.waits() {
        Ok(None) => step(&call),
        Ok(Some(why)) => Ok(Progress::pending(service.status(), call.change_pause(), why)),
        Err(failed) => Err(failed),
    };
    if answer.as_ref().is_err_and(Error::is_refusal) {
        call.jobs.forget_announcement();
    }
    // A failed one is not asked about again.
    (&call.jobs as &dyn MemoWords).with_progress(answer, desired, &service)
}

/// Takes one step towards its absence.
pub(crate) fn delete(unwanted: &LoadBalancer, step: fn(&NlbCall<'_>) -> Result<Deletion>) -> Result<Deletion> {
    let (service, jobs) = NlbJobs::split(&renamed(unwanted));
    let call = NlbCall::of(&service, jobs)?;
    let answer = match call.waits() {
        Ok(None) => step(&call),
        Ok(Some(why)) => Ok(Deletion::pending(service.status(), call.change_pause(), why)),
        Err(failed) => Err(failed),
    };
    (&call.jobs as &dyn MemoWords).with_deletion(answer, unwanted, &service)
}

/// Refuses the end of a deletion while the vendor's controller has left one for the Service that is not proven to be its own: its finalizer
/// goes with that end.
pub(crate) fn check_inherited(unwanted: &LoadBalancer) -> Result<()> {
    if !unwanted.finalizers().any(|it| it == FINALIZER) {
        return Ok(());
    }
    let call = NlbCall::of(unwanted, NlbJobs::default())?;
    let all = balancers::tagged(&call.region, call.mark())?;
    let left = all.iter().find(|it| call.relation(&it.tags) != TagRelation::Own);
    left.map_or(Ok(()), |it| Err(left_by_the_vendor(&it.title(), FINALIZER)))
}

#[cfg(test)]
mod tests;
