//! Parts of Services in a balancer that another Service or a person has made: ports, each with a label that holds the Service's UID.

use std::collections::BTreeMap;

use aerostat_sdk::{Deletion, Error, LoadBalancer, Progress, Result, cluster, http};
use serde_json::{Value, json};

use crate::api::{self, Balancer};
use crate::fault::{self, Fault};
use crate::{API, SHARE};

/// The beginning of a label of a port that is a Service's part.
const PART: &str = "part-";

/// One step towards the part that a Service asks for; `None` if it asks for a balancer of its own.
pub(crate) fn step(desired: &LoadBalancer) -> Result<Option<Progress>> {
    let Some(id) = shared(desired) else { return Ok(None) };
    let Some(found) = api::find(id)? else {
        return Err(Error::invalid(format_args!("{SHARE}: there is no balancer {id}")));
    };
    if found.labels.get("cluster").is_some_and(|it| cluster().is_ok_and(|own| *it != own.uid)) {
        return Err(Error::invalid(format_args!("{SHARE}: balancer {id} is another cluster's")));
    }
    let (mut spec, mut labels) = (found.spec.clone(), found.labels.clone());
    for port in &desired.ports {
        let (number, label) = (port.port.to_string(), format!("{PART}{}", port.port));
        let is_own = labels.get(&label) == Some(&desired.owner.uid);
        if !spec["ports"][&number].is_null() && !is_own {
            return Err(Error::invalid(format_args!("{SHARE}: port {number} of balancer {id} is another's")));
        }
        spec["ports"][&number] = json!(port.required_node_port()?);
        labels.insert(label, desired.owner.uid.clone());
    }
    let memo = if fault::is(Fault::SharedMemo)? { id.to_owned() } else { format!("{id}/{}", desired.owner.uid) };
    let is_there = spec == found.spec && labels == found.labels;
    let balancer = if is_there { found } else { api::put(id, &spec, &labels)? };
    api::progress(balancer, Some(memo)).map(Some)
}

/// The balancer's ports with those of other Services.
pub(crate) fn with_parts(mut spec: Value, found: Option<&Balancer>) -> Value {
    for (number, _) in found.iter().flat_map(|it| parts(&it.labels)) {
        spec["ports"][number] = found.map_or(Value::Null, |it| it.spec["ports"][number].clone());
    }
    spec
}

/// Takes a Service away from a balancer that others have parts in; `None` if that is not so, and the whole of it may go.
pub(crate) fn remove(unwanted: &LoadBalancer, id: &str) -> Result<Option<Deletion>> {
    let part_of = shared(unwanted);
    let Some(Balancer { mut spec, mut labels, .. }) = api::find(part_of.unwrap_or(id))? else {
        return Ok(part_of.map(|_| Deletion::Done));
    };
    let is_last = !parts(&labels).any(|(_, uid)| *uid != unwanted.owner.uid);
    let goes = |number: &str, labels: &BTreeMap<String, String>| {
        let part = labels.get(&format!("{PART}{number}"));
        part.map_or(part_of.is_none(), |it| *it == unwanted.owner.uid)
    };
    if part_of.is_none() && (is_last || fault::is(Fault::EndsForAll)?) {
        return Ok(None);
    }
    if let Some(ports) = spec["ports"].as_object_mut() {
        ports.retain(|number, _| !goes(number, &labels));
    }
    labels.retain(|name, value| !(name.starts_with(PART) && *value == unwanted.owner.uid));
    labels.retain(|name, _| part_of.is_some() || name != "service");
    let is_empty = spec["ports"].as_object().is_none_or(serde_json::Map::is_empty);
    if is_empty && labels.contains_key("cluster") {
        http::delete(API, ["balancers", part_of.unwrap_or(id)]).send_or_gone()?;
        return Ok(Some(Deletion::Done));
    }
    api::put(part_of.unwrap_or(id), &spec, &labels)?;
    Ok(Some(Deletion::Done))
}

/// The balancer in which a Service has its part, or would have it.
fn shared(service: &LoadBalancer) -> Option<&str> {
    let known = service.memo.as_deref().and_then(|it| it.split_once('/')).map(|(id, _)| id);
    known.or_else(|| service.annotation(SHARE))
}

/// The ports that are parts, with the UIDs of their Services.
fn parts(labels: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &String)> {
    labels.iter().filter_map(|(name, uid)| Some((name.strip_prefix(PART)?, uid)))
}
