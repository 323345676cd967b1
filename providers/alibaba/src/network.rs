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

pub(crate) use self::annotations::TABLE;
pub(crate) use self::names::{CLASS, ID};

use std::time::Duration;

use aerostat_sdk::backend;
use aerostat_sdk::{Deletion, LoadBalancer, LoadBalancerStatus, PendingStatus, Progress, Result};

use self::call::NlbCall;
use self::jobs::NlbJobs;
use crate::api::network_load_balancers as balancers;
use crate::load_balancer::annotations::renamed;
use crate::load_balancer::marks::{TagRelation, left_by_the_vendor};

/// The finalizer of the vendor's controller.
pub(crate) const FINALIZER: &str = "service.k8s.alibaba/nlb";

/// How long a deletion rests of which a job has failed.
const REST: Duration = Duration::from_secs(5);

/// Takes one step towards it.
pub(crate) fn ensure(desired: &LoadBalancer) -> Result<Progress> {
    let (service, jobs) = NlbJobs::split(&renamed(desired));
    let call = NlbCall::of(&service, jobs)?;
    match backend::ensure(&call) {
        Ok(Progress::Pending(it)) => {
            Ok(Progress::Pending(PendingStatus { status: remembering(it.status, &call.jobs), ..it }))
        }
        Ok(other) => Ok(other),
        Err(error) => {
            if error.is_refusal() {
                call.jobs.forget_announcement();
            }
            let status = remembering(service.status(), &call.jobs);
            // A failed one is not asked about again.
            if status.memo == desired.memo { Err(error) } else { Ok(Progress::failed(status, error)) }
        }
    }
}

/// Takes one step towards its absence.
pub(crate) fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
    let (service, jobs) = NlbJobs::split(&renamed(unwanted));
    let call = NlbCall::of(&service, jobs)?;
    match backend::delete(&call) {
        Ok(Deletion::Pending(it)) => {
            Ok(Deletion::Pending(PendingStatus { status: remembering(it.status, &call.jobs), ..it }))
        }
        Ok(other) => Ok(other),
        Err(error) => {
            let status = remembering(service.status(), &call.jobs);
            if status.memo == unwanted.memo { Err(error) } else { Ok(Deletion::pending(status, REST, error.why())) }
        }
    }
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

/// A status whose memo has the jobs, too.
fn remembering(status: LoadBalancerStatus, jobs: &NlbJobs) -> LoadBalancerStatus {
    let memo = status.memo.map(|it| jobs.memo(it));
    LoadBalancerStatus { memo, ..status }
}

#[cfg(test)]
mod tests;
