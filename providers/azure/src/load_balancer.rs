//! Load balancers: one that all Services share, or one of several, with public addresses, security rules and pools. Names, tags and rules
//! are those of the vendor's controller. Whatever Services share is written once for all that are waiting, over the version that was
//! read.

mod addresses;
mod annotations;
mod balancer;
mod batch;
mod cloud;
mod goal;
mod groups;
mod members;
mod memo;
mod names;
mod placement;
mod pools;
mod private_link;
mod probes;
mod reach;
mod removal;
mod security;
mod subnets;
mod tree;
mod turn;
mod writing;

pub(crate) use self::annotations::TABLE;
pub(crate) use self::cloud::family_of;
pub(crate) use self::memo::memo_of;
pub(crate) use self::names::{CLUSTER_TAG, MARK_TAG, SERVICE_TAG, base_in, base_of};
pub(crate) use self::pools::CONTROL_PLANE;

use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancers, Progress, Result};

use self::batch::BatchService;
use crate::provider::Azure;

impl LoadBalancers for Azure {
    /// A batch of one.
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        let nodes = desired.nodes.iter().collect();
        one(batch::ensure(&[BatchService { service: desired, nodes }]))
    }

    /// A batch of one.
    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        one(removal::delete(std::slice::from_ref(unwanted)))
    }
}

fn one<T>(mut answers: Vec<Result<T>>) -> Result<T> {
    answers.pop().unwrap_or_else(|| Err(Error::unavailable("there is no answer")))
}

#[cfg(test)]
mod tests;
