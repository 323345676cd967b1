//! Calls about the load balancers of several Services, whose provider takes them together.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use cloud_provider::{Event, LoadBalancer, LoadBalancers, Reply};
use futures::future::join_all;
use serde_json::Value;

use super::answers::{CallOutcome, deletion, progress};
use super::function::BatchedFunction;

/// Asks about all of them at once: the host makes one call of them, or as few as the provider takes.
pub(super) async fn ask(
    balancers: &dyn LoadBalancers,
    function: BatchedFunction,
    asked: &[LoadBalancer],
) -> Result<CallOutcome> {
    let mut known = BTreeSet::new();
    if let Some(twice) = asked.iter().find(|it| !known.insert(&it.owner.uid)) {
        bail!("the Service with the UID {:?} is there twice; name each once", twice.owner.uid);
    }
    Ok(match function {
        BatchedFunction::Ensure => {
            outcome(asked, join_all(asked.iter().map(|it| balancers.ensure(it))).await, progress)
        }
        BatchedFunction::Delete => {
            outcome(asked, join_all(asked.iter().map(|it| balancers.delete(it))).await, deletion)
        }
    })
}

/// The answers in the order of the Services, and the events about each.
fn outcome<T>(
    asked: &[LoadBalancer],
    replies: Vec<Reply<cloud_provider::Result<T>>>,
    shown: impl Fn(&T) -> Value,
) -> CallOutcome {
    let (mut answers, mut events) = (Vec::new(), Vec::new());
    for (LoadBalancer { owner, .. }, reply) in asked.iter().zip(replies) {
        events.extend(reply.events.into_iter().map(|it| Event { about: Some(owner.uid.clone()), ..it }));
        answers.push(reply.answer);
    }
    CallOutcome::several(&answers, &events, shown)
}
