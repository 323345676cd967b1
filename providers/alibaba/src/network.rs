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
pub(crate) use self::names::{BEGUN, CLASS, ID};

use aerostat_sdk::backend::{Backend as _, Found};
use aerostat_sdk::{Deletion, Error, LoadBalancer, Progress, Result};

use self::jobs::NlbJobs;
use crate::remembered::MemoWords;

/// The finalizer of the vendor's controller.
pub(crate) const FINALIZER: &str = "service.k8s.alibaba/nlb";

/// Takes one step towards it.
pub(crate) fn ensure(desired: &LoadBalancer, step: fn(&NlbCall<'_>) -> Result<Progress>) -> Result<Progress> {
    let (service, jobs) = NlbJobs::split(desired);
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
    let (service, jobs) = NlbJobs::split(unwanted);
    let call = NlbCall::of(&service, jobs)?;
    let answer = match call.waits() {
        Ok(None) => step(&call),
        Ok(Some(why)) => Ok(Deletion::pending(service.status(), call.change_pause(), why)),
        Err(failed) => Err(failed),
    };
    (&call.jobs as &dyn MemoWords).with_deletion(answer, unwanted, &service)
}

/// Those that have the vendor's tag with the Service's name.
pub(crate) fn named(service: &LoadBalancer) -> Result<Vec<Found>> {
    NlbCall::of(service, NlbJobs::default())?.list()
}

#[cfg(test)]
mod tests;
