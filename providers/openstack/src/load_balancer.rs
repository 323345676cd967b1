//! A load balancer for a Service: created by one request with as much in it as one request takes, then changed one step at a time, since
//! Octavia carries out one change of a load balancer at a time.

mod annotations;
mod bodies;
mod call;
mod context;
mod creation;
mod desired;
mod floating;
mod groups;
mod members;
mod names;
mod ownership;
mod plan;
mod removal;
mod serial;
mod shown;
mod update;

pub(crate) use self::annotations::{TABLE, WRITTEN};
pub(crate) use self::ownership::tagged;

use aerostat_sdk::{Deletion, LoadBalancer, LoadBalancers, Progress, Result, backend};

use self::context::BalancerCall;
use crate::provider::OpenStack;

impl LoadBalancers for OpenStack {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        backend::ensure(&BalancerCall::of(desired, false)?)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        let call = BalancerCall::of(unwanted, true)?;
        match backend::delete(&call)? {
            Deletion::Done => call.clean_up(),
            deletion => Ok(deletion),
        }
    }
}

#[cfg(test)]
mod tests;
