//! Balancers, each under a name that holds its Service's UID: a PUT whose answer was lost makes nothing twice.

use std::collections::BTreeMap;
use std::time::Duration;

use aerostat_sdk::{Deletion, Error, Ingress, LoadBalancer, LoadBalancerStatus, LoadBalancers, Progress, Result, http};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fault::{self, Fault};
use crate::{API, Faulty, NAME};

/// A balancer.
#[derive(Clone, Deserialize)]
pub(crate) struct Balancer {
    pub(crate) id: String,
    pub(crate) spec: Value,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) ip: Option<String>,
}

impl LoadBalancers for Faulty {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        step(desired).map_err(sorted)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        remove(unwanted).map_err(sorted)
    }
}

fn step(desired: &LoadBalancer) -> Result<Progress> {
    if posts()? {
        return posted(desired);
    }
    let id = id(desired)?;
    let (mut labels, spec) = (marks(desired)?, spec(desired)?);
    let balancer = match find(&id)? {
        Some(it) if it.spec == spec && !fault::is(Fault::WritesAgain)? => it,
        found => {
            if !fault::is(Fault::DropsLabels)? {
                labels.extend(found.map(|it| it.labels).unwrap_or_default());
            }
            put(&id, &spec, &labels)?
        }
    };
    if fault::is(Fault::Leftover)? {
        put(&format!("{id}-2"), &spec, &BTreeMap::new())?;
    }
    let memo = match () {
        () if fault::is(Fault::OneMemo)? => "memo".to_owned(),
        () if fault::is(Fault::MovingMemo)? => format!("{id} {}", fault::moment()?),
        () => id,
    };
    progress(balancer, Some(memo))
}

/// A balancer with an id that the cloud chooses.
fn posted(desired: &LoadBalancer) -> Result<Progress> {
    let spec = spec(desired)?;
    let known = desired.memo.as_deref().map(find).transpose()?.flatten();
    let balancer = match known {
        Some(it) if it.spec == spec => it,
        Some(it) => put(&it.id, &spec, &it.labels)?,
        None => http::post(API, ["balancers"]).json(&spec).send()?.json()?,
    };
    let is_forgotten = fault::is(Fault::NoMemo)? || balancer.ip.is_some() && fault::is(Fault::MemoLost)?;
    let memo = Some(balancer.id.clone()).filter(|_| !is_forgotten);
    progress(balancer, memo)
}

/// Whether the cloud chooses the id.
fn posts() -> Result<bool> {
    Ok(fault::is(Fault::Unannounced)? || fault::is(Fault::MemoLost)? || fault::is(Fault::NoMemo)?)
}

fn progress(balancer: Balancer, memo: Option<String>) -> Result<Progress> {
    let status = LoadBalancerStatus::new(balancer.ip.into_iter().map(Ingress::ip));
    let status = LoadBalancerStatus { memo, ..status };
    let is_unready = status.ingress.is_empty() || fault::is(Fault::EndlessPending)?;
    Ok(match is_unready {
        true => Progress::pending(status, Duration::from_secs(1), "the cloud builds the balancer"),
        false => Progress::Ready(status),
    })
}

fn remove(unwanted: &LoadBalancer) -> Result<Deletion> {
    let posts = posts()?;
    let claimed = unwanted.annotation(NAME).map(str::to_owned);
    let id = match (&unwanted.memo, claimed) {
        (_, Some(claimed)) if fault::is(Fault::DeletesByName)? => claimed,
        (Some(memo), _) if posts => memo.clone(),
        (None, _) if posts => return Ok(Deletion::Done),
        (_, _) => id(unwanted)?,
    };
    if fault::is(Fault::ErrorOnGone)? && find(&id)?.is_none() {
        return Err(Error::unavailable(format_args!("balancer {id} does not exist")));
    }
    match http::delete(API, ["balancers", &id]).send_or_gone() {
        Err(_) if fault::is(Fault::SwallowedError)? => {}
        other => other?,
    }
    if fault::is(Fault::StuckDeletion)? {
        let status = LoadBalancerStatus::new([]).memo(id);
        return Ok(Deletion::pending(status, Duration::from_secs(1), "the balancer is being deleted"));
    }
    Ok(Deletion::Done)
}

/// The id of a Service's balancer.
fn id(desired: &LoadBalancer) -> Result<String> {
    let claimed = desired.annotation(NAME);
    Ok(match claimed {
        Some(claimed) if fault::is(Fault::ClaimsByName)? => claimed.to_owned(),
        _ if fault::is(Fault::NameOfService)? => format!("{}-{}", desired.owner.namespace, desired.owner.name),
        _ => desired.name.clone(),
    })
}

fn find(id: &str) -> Result<Option<Balancer>> {
    http::get(API, ["balancers", id]).find()
}

fn put(id: &str, spec: &Value, labels: &BTreeMap<String, String>) -> Result<Balancer> {
    let mut body = spec.clone();
    body["labels"] = json!(labels);
    http::put(API, ["balancers", id]).json(&body).send()?.json()
}

fn spec(desired: &LoadBalancer) -> Result<Value> {
    let mut ports = BTreeMap::new();
    for port in &desired.ports {
        ports.insert(port.port, port.required_node_port()?);
    }
    let machines: Vec<_> = desired.nodes.iter().map(|it| &it.name).collect();
    Ok(json!({ "ports": ports, "machines": machines }))
}

/// The marks of ownership.
fn marks(desired: &LoadBalancer) -> Result<BTreeMap<String, String>> {
    let mark = desired.owner.mark()?;
    Ok(BTreeMap::from([("cluster".to_owned(), mark.cluster), ("service".to_owned(), mark.service)]))
}

fn sorted(error: Error) -> Error {
    match fault::is(Fault::FinalErrors) {
        Ok(true) => Error::invalid(error.why()),
        _ => error,
    }
}
