//! Crimes of a provider that hides what its requests came to. The node's, cursor's or Service's name says as JSON what is sent
//! and what is answered then, whatever came of it.

use std::time::Duration;

use aerostat_sdk::bindings::host::aerostat::cloud::http::{Body, Request, send};
use aerostat_sdk::{
    Deletion, Error, Ingress, LoadBalancer, LoadBalancerStatus, Method, Node, Progress, Result, events,
};
use serde::Deserialize;

use crate::Answer;

#[derive(Deserialize)]
struct Crime {
    /// As in "GET /machines?page=2".
    sends: Vec<String>,
    /// "none", "ready", "pending", "error"; "ready lb-1" with a memo.
    answers: String,
    /// Whether it tells of a creation that is unclear.
    #[serde(default)]
    tells: bool,
}

/// `None` if the node's name is no such crime.
pub(crate) fn run(node: &Node) -> Option<Answer> {
    let crime = committed(&node.name)?;
    Some(if crime.answers == "none" { Ok(None) } else { Ok(Some(crate::honest("hidden"))) })
}

/// `None` if the Service's name is no such crime.
pub(crate) fn ensure(desired: &LoadBalancer) -> Option<Result<Progress>> {
    let crime = committed(&desired.owner.name)?;
    if crime.tells {
        events::warning(None, "LoadBalancerCreationUnclear", "the provider says so itself");
    }
    let (answer, memo) = crime.answers.split_once(' ').unwrap_or((&*crime.answers, ""));
    let status = LoadBalancerStatus::new([Ingress::ip("192.0.2.1")]);
    let status = if memo.is_empty() { status } else { status.memo(memo) };
    Some(match answer {
        "ready" => Ok(Progress::Ready(status)),
        "pending" => Ok(Progress::pending(status, Duration::from_secs(5), "it is being built")),
        _ => Err(Error::unavailable("it failed")),
    })
}

/// `None` if the Service's name is no such crime.
pub(crate) fn delete(unwanted: &LoadBalancer) -> Option<Result<Deletion>> {
    committed(&unwanted.owner.name).map(|_| Ok(Deletion::Done))
}

fn committed(name: &str) -> Option<Crime> {
    let crime: Crime = serde_json::from_str(name).ok()?;
    crime.sends.iter().for_each(|it| _ = send(&request(it)));
    Some(crime)
}

fn request(line: &str) -> Request {
    let (method, target) = line.split_once(" /").unwrap_or((line, ""));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let method = match method {
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        _ => Method::Get,
    };
    let query = query.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    Request {
        endpoint: "api".to_owned(),
        method,
        path: path.split('/').map(str::to_owned).collect(),
        query: query.into_iter().collect(),
        headers: Vec::new(),
        body: matches!(method, Method::Post | Method::Put).then(|| Body::Bytes(Vec::new())),
    }
}
