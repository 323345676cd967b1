//! Balancers, each under a name that holds its Service's UID: a PUT whose answer was lost makes nothing twice.

use std::collections::BTreeMap;
use std::time::Duration;

use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancerStatus, LoadBalancers, Progress, Result, http};
use serde_json::{Value, json};

use crate::api::{Balancer, find, progress, put};

use crate::fault::{self, Fault};
use crate::{API, Faulty, LABELS, NAME, api, shared};

/// The label of a balancer that stays when its Service goes.
pub(crate) const KEPT: &str = "kept";

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
    if let Some(part) = shared::step(desired)? {
        return Ok(part);
    }
    let id = id(desired)?;
    let found = find(&id)?;
    let (mut labels, spec) = (marks(desired)?, shared::with_parts(spec(desired)?, found.as_ref()));
    let balancer = match found {
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

fn remove(unwanted: &LoadBalancer) -> Result<Deletion> {
    let posts = posts()?;
    let claimed = unwanted.annotation(NAME).map(str::to_owned);
    let id = match (&unwanted.memo, claimed) {
        (_, Some(claimed)) if fault::is(Fault::DeletesByName)? => claimed,
        (Some(memo), _) if posts => memo.clone(),
        (None, _) if posts => return Ok(Deletion::Done),
        (_, _) => id(unwanted)?,
    };
    if let Some(deletion) = shared::remove(unwanted, &id)? {
        return Ok(deletion);
    }
    if fault::is(Fault::ErrorOnGone)? && find(&id)?.is_none() {
        return Err(Error::unavailable(format_args!("balancer {id} does not exist")));
    }
    match http::delete(API, ["balancers", &id]).send_or_gone() {
        Err(_) if fault::is(Fault::SwallowedError)? => {}
        Err(refused) => return keep(&id, refused),
        Ok(()) => {}
    }
    if fault::is(Fault::StuckDeletion)? {
        let status = LoadBalancerStatus::new([]).memo(id);
        return Ok(Deletion::pending(status, Duration::from_secs(1), "the balancer is being deleted"));
    }
    Ok(Deletion::Done)
}

/// Marks a balancer that cannot be deleted, if that is why.
fn keep(id: &str, refused: Error) -> Result<Deletion> {
    let Some(Balancer { spec, mut labels, .. }) = find(id)?.filter(|it| it.protected) else { return Err(refused) };
    if !fault::is(Fault::KeptAsOrphan)? {
        labels.insert(KEPT.to_owned(), "true".to_owned());
        put(id, &spec, &labels)?;
    }
    Ok(Deletion::kept(format!("balancer {id} is protected")))
}

/// The id of a Service's balancer.
fn id(desired: &LoadBalancer) -> Result<String> {
    let claimed = desired.annotation(NAME);
    if let Some(address) = desired.load_balancer_ip.as_ref().filter(|_| fault::is(Fault::ClaimsByAddress) == Ok(true)) {
        let found = api::all()?.into_iter().find(|it| it.ip.as_ref() == Some(address));
        return Ok(found.map_or_else(|| desired.name.clone(), |it| it.id));
    }
    Ok(match claimed {
        Some(claimed) if fault::is(Fault::ClaimsByName)? => claimed.to_owned(),
        _ if fault::is(Fault::NameOfService)? => format!("{}-{}", desired.owner.namespace, desired.owner.name),
        _ if fault::is(Fault::OtherNames)? => format!("v2-{}", desired.name),
        _ => desired.name.clone(),
    })
}

fn spec(desired: &LoadBalancer) -> Result<Value> {
    let mut ports = BTreeMap::new();
    for port in &desired.ports {
        ports.insert(port.port, port.required_node_port()?);
    }
    let machines: Vec<_> = desired.nodes.iter().map(|it| &it.name).collect();
    Ok(json!({ "ports": ports, "machines": machines }))
}

/// The marks of ownership, and the author's labels beside them.
fn marks(desired: &LoadBalancer) -> Result<BTreeMap<String, String>> {
    let mark = desired.owner.mark()?;
    let marks = BTreeMap::from([("cluster".to_owned(), mark.cluster), ("service".to_owned(), mark.service)]);
    let pairs = desired.annotation(LABELS).unwrap_or_default().split(',').filter_map(|it| it.split_once('='));
    let mut labels: BTreeMap<_, _> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    if fault::is(Fault::ForgedMarks)? {
        return Ok(marks.into_iter().chain(labels).collect());
    }
    labels.extend(marks);
    Ok(labels)
}

fn sorted(error: Error) -> Error {
    match (fault::is(Fault::FinalErrors), fault::is(Fault::TriedForEver)) {
        (Ok(true), _) => Error::invalid(error.why()),
        (_, Ok(true)) => Error::unavailable(error.why()),
        _ => error,
    }
}
