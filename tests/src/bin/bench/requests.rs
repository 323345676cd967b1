//! Requests to the cloud and to the API server.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use kube::Client;
use tests::audit_log::AuditLog;
use tests::clouds::openstack::Service;
use tests::simulator::{Cloud, Recorded, Simulator};
use tests::wait;

use crate::contender::Contender;

/// How many requests there were of each kind, as in `GET /v2/droplets/*` or `patch nodes/status`.
pub(crate) type Kinds = BTreeMap<String, f64>;

/// Requests to the cloud that arrived from `from` until `until`.
pub(crate) fn between<C: Cloud>(cloud: &Simulator<C>, from: SystemTime, until: SystemTime) -> Vec<Recorded> {
    cloud.requests().into_iter().filter(|it| (from..until).contains(&it.at)).collect()
}

/// Counts requests to the cloud by what they are.
pub(crate) fn kinds(requests: &[Recorded]) -> Kinds {
    let mut kinds = Kinds::new();
    for request in requests {
        *kinds.entry(kind(request)).or_default() += 1.0;
    }
    kinds
}

/// How many requests there were of all kinds.
pub(crate) fn sum(kinds: &Kinds) -> f64 {
    total(kinds.values())
}

/// Counts in all: none are 0, where a sum of none would be shown as -0.
pub(crate) fn total<'a>(counts: impl Iterator<Item = &'a f64>) -> f64 {
    counts.fold(0.0, |all, it| all + it)
}

/// How many requests the cloud has answered with this status.
pub(crate) fn answered(requests: &[Recorded], status: u16) -> f64 {
    requests.iter().filter(|it| it.status == Some(status)).count() as f64
}

/// How many requests the cloud has refused because they were too many.
pub(crate) fn refused(requests: &[Recorded]) -> f64 {
    answered(requests, 429)
}

/// Waits until the cloud was asked for nothing for so long, from now on at the earliest: the first request of a step may still come.
pub(crate) async fn quiet<C: Cloud>(cloud: &Simulator<C>, pause: Duration, patience: Duration) -> Result<()> {
    let begun = SystemTime::now();
    let silent = wait::within(patience, async || {
        let last = cloud.requests().last().map_or(begun, |it| it.at.max(begun));
        last.elapsed().is_ok_and(|it| it >= pause).then_some(())
    });
    silent.await.context("the cloud is asked again and again")
}

/// The requests of a contender to the API server about objects that the benchmark made. Conflicts are kinds of their own.
pub(crate) async fn api_requests(audit: &AuditLog, admin: &Client, contender: Contender) -> Result<Kinds> {
    audit.settle(admin).await?;
    let mut kinds = Kinds::new();
    for request in audit.everything()? {
        let object = &request.object;
        let about = match object.resource.as_str() {
            "nodes" | "services" => true,
            "events" => object.namespace == "default",
            _ => false,
        };
        let once = !matches!(request.verb.as_str(), "list" | "watch");
        if about && once && request.user.username == contender.user() {
            let conflict = if request.response.code == 409 { ", conflict" } else { "" };
            *kinds.entry(format!("{} {}{conflict}", request.verb, request.resource())).or_default() += 1.0;
        }
    }
    Ok(kinds)
}

fn kind(request: &Recorded) -> String {
    if let Some(path) = request.path.strip_prefix("/compute/v1/projects/") {
        return format!("{} {}", request.method, of_google(path));
    }
    if let Some((_, path)) = request.path.split_once("/providers/Microsoft.") {
        return format!("{} {}", request.method, of_azure(path));
    }
    if Service::of(&request.path).is_some() {
        return format!("{} {}", request.method, of_openstack(&request.path));
    }
    // The second segment is the kind of object, the third an id, the fourth a part of it.
    let path = request.path.split('/').enumerate().map(|(index, it)| if index == 3 { "*" } else { it });
    format!("{} {}", request.method, path.collect::<Vec<_>>().join("/"))
}

/// A path of a service of OpenStack, with `*` for ids.
fn of_openstack(path: &str) -> String {
    path.split('/').map(|it| if uuid::Uuid::parse_str(it).is_ok() { "*" } else { it }).collect::<Vec<_>>().join("/")
}

/// A path of Azure behind its namespace, with `*` for names: they follow their types.
fn of_azure(path: &str) -> String {
    let segments = path.split('/').enumerate();
    segments.map(|(index, it)| if index > 0 && index % 2 == 0 { "*" } else { it }).collect::<Vec<_>>().join("/")
}

/// A path of Compute Engine behind `projects/`, with `*` for names: they follow their collections.
fn of_google(path: &str) -> String {
    let mut is_name = true;
    let segments = path.split('/').map(|segment| {
        let shown = if is_name { "*" } else { segment };
        is_name = !is_name && !["global", "aggregated"].contains(&segment);
        shown
    });
    segments.skip(1).collect::<Vec<_>>().join("/")
}
