//! Balancers as the cloud has them.

use std::collections::BTreeMap;
use std::time::Duration;

use aerostat_sdk::{Ingress, LoadBalancerStatus, Progress, Result, http};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::API;
use crate::fault::{self, Fault};

/// How often a call asks that does not wait to be called again.
const POLLS: usize = 12;

/// A balancer.
#[derive(Clone, Deserialize)]
pub(crate) struct Balancer {
    pub(crate) id: String,
    pub(crate) spec: Value,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) ip: Option<String>,
    #[serde(default)]
    pub(crate) protected: bool,
}

/// The answer about a balancer: it is ready once it has an address.
pub(crate) fn progress(mut balancer: Balancer, memo: Option<String>) -> Result<Progress> {
    let polls = if fault::is(Fault::PollsInCall)? { POLLS } else { 0 };
    for _ in 0..polls {
        balancer = find(&balancer.id)?.unwrap_or(balancer);
    }
    let status = LoadBalancerStatus::new(balancer.ip.into_iter().map(Ingress::ip));
    let status = LoadBalancerStatus { memo, ..status };
    let is_unready = status.ingress.is_empty() || fault::is(Fault::EndlessPending)?;
    let pause = Duration::from_secs(if fault::is(Fault::HastyPending)? { 0 } else { 1 });
    Ok(match is_unready {
        true => Progress::pending(status, pause, "the cloud builds the balancer"),
        false => Progress::Ready(status),
    })
}

/// All balancers.
pub(crate) fn all() -> Result<Vec<Balancer>> {
    #[derive(Deserialize)]
    struct Balancers {
        balancers: Vec<Balancer>,
    }
    let Balancers { balancers } = http::get(API, ["balancers"]).send()?.json()?;
    Ok(balancers)
}

pub(crate) fn find(id: &str) -> Result<Option<Balancer>> {
    http::get(API, ["balancers", id]).find()
}

pub(crate) fn put(id: &str, spec: &Value, labels: &BTreeMap<String, String>) -> Result<Balancer> {
    let mut body = spec.clone();
    body["labels"] = json!(labels);
    http::put(API, ["balancers", id]).json(&body).send()?.json()
}
