//! One call: the operations of the last one, and the writes of this one.

use std::time::Duration;

use aerostat_sdk::{Error, LoadBalancer, LoadBalancerStatus, Result, events};
use serde_json::Value;

use super::live::is_of_other_project;
use super::memo::GceMemo;
use super::round::GceRound;
use crate::api::fields::items;
use crate::api::objects::{GceKind, GceObject, GceScope};
use crate::api::operations::{self, OperationState};
use crate::api::writes::{GceVerb, GceWrite, WriteAnswer};
use crate::settings::ProjectSettings;

/// How soon an operation is asked about.
pub(super) const POLL: Duration = Duration::from_secs(1);
/// How soon the next step is taken where nothing goes on.
pub(super) const SOON: Duration = Duration::from_millis(500);

/// The outcome of writes.
#[derive(Debug, Default)]
pub(super) struct SentWrites {
    /// Operations that go on, each with its scope.
    pub(super) operations: Vec<String>,
    /// Whether any was begun or done.
    pub(super) any: bool,
    /// Why something has to be read again.
    pub(super) again: Option<String>,
    /// Why something was not deleted: something else uses it.
    pub(super) in_use: Option<String>,
    /// Objects that were not deleted for that.
    pub(super) used: Vec<GceObject>,
    /// The first refusal.
    pub(super) refused: Option<Error>,
    /// Firewalls that only somebody of the network's project can write.
    pub(super) forbidden: Vec<GceObject>,
    /// The revisions of those writes, as far as they were tried.
    pub(super) tried: Vec<String>,
}

/// The status with this memo, and the addresses that the Service shows.
pub(super) fn status(service: &LoadBalancer, memo: &GceMemo) -> LoadBalancerStatus {
    service.status().memo(memo.text(&service.name))
}

/// The operations of a memo.
#[derive(Debug, Default)]
pub(super) struct KnownOperations {
    /// Those that still go on.
    pub(super) running: Vec<String>,
    /// Those of which the API could not tell.
    pub(super) unread: Vec<String>,
    /// Whether one could not delete its object, since something else uses it.
    pub(super) found_use: bool,
}

/// Asks about a memo's operations. One that is lost is passed over: what it was about is read.
///
/// # Errors
///
/// The error that one ended with, and refusals of the API.
pub(super) fn follow(settings: &ProjectSettings, memo: &GceMemo, round: &GceRound) -> Result<KnownOperations> {
    let mut known = KnownOperations::default();
    let mut failed = None;
    for operation in &memo.operations {
        let Some((scope, name)) = operation.split_once('/') else { continue };
        let (scope, zone) = match scope {
            "g" => (GceScope::Global, ""),
            "n" => (GceScope::Network, ""),
            "r" => (GceScope::Region, ""),
            zone => (GceScope::Zone, zone),
        };
        match round.operation(operation, || operations::find(&scope.api(), scope.path(settings, zone), name)) {
            Ok(OperationState::Running(_)) => known.running.push(operation.clone()),
            Ok(OperationState::Unread) => known.unread.push(operation.clone()),
            Ok(OperationState::InUse) => known.found_use = true,
            Ok(OperationState::Done | OperationState::Lost) => {}
            Err(error @ Error::RetryAfter(_)) => return Err(error),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(known), Err)
}

/// Sends writes side by side. After one that says that requests come too fast, the rest is not sent.
pub(super) fn send(
    settings: &ProjectSettings,
    uid: &str,
    memo: &GceMemo,
    writes: &[GceWrite],
    round: &GceRound,
) -> SentWrites {
    let mut sent = SentWrites::default();
    let making = format!("{uid} {}", memo.making);
    for write in writes {
        // A firewall that may not be written is not tried, and told, by each call.
        if is_of_other_project(&write.object, settings) && memo.is_refused(&write.revision(settings)) {
            sent.forbidden.push(write.object.clone());
            continue;
        }
        match round.send(settings, write, &making) {
            Ok(WriteAnswer::Begun(state)) => {
                sent.any = true;
                if let OperationState::Running(name) = state {
                    sent.operations.push(format!("{}/{name}", scope(&write.object)));
                }
            }
            Ok(WriteAnswer::Again(why)) => sent.again = Some(why),
            Ok(WriteAnswer::InUse(why)) => {
                sent.in_use = Some(why);
                sent.used.push(write.object.clone());
            }
            Ok(WriteAnswer::Forbidden(_)) if is_of_other_project(&write.object, settings) => {
                tell(settings, uid, write);
                sent.tried.push(write.revision(settings));
                sent.forbidden.push(write.object.clone());
            }
            Ok(WriteAnswer::Forbidden(error)) | Err(error) => {
                let stops = matches!(error, Error::RetryAfter(_)) || error.is_quota();
                sent.refused = sent.refused.or(Some(error));
                if stops {
                    break;
                }
            }
        }
    }
    sent
}

/// The word of an object's scope in memos.
fn scope(object: &GceObject) -> &str {
    match object.kind.scope() {
        GceScope::Global => "g",
        GceScope::Network => "n",
        GceScope::Region => "r",
        GceScope::Zone => &object.zone,
    }
}

/// Tells the people of the network's project which command makes up for a write.
fn tell(settings: &ProjectSettings, uid: &str, write: &GceWrite) {
    let message = format!(
        "the credential may not write {} in project {}. Let somebody who may run: {}",
        write.object.title(),
        settings.network_project,
        command(settings, write)
    );
    events::warning(Some(uid), "LoadBalancerManualChange", &message);
}

/// The command of `gcloud` that does the same as the write of a firewall.
pub(super) fn command(settings: &ProjectSettings, write: &GceWrite) -> String {
    debug_assert!(write.object.kind == GceKind::Firewalls, "only networks are of another project");
    let (name, project) = (&write.object.name, &settings.network_project);
    let verb = match write.verb {
        GceVerb::Delete => return format!("gcloud compute firewall-rules delete {name} --project {project}"),
        GceVerb::Insert => "create",
        GceVerb::Put | GceVerb::Patch | GceVerb::Call(_) => "update",
    };
    let body = &write.body;
    let list = |field: &str| items(body, field).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    let mut words = vec![format!("gcloud compute firewall-rules {verb} {name} --project {project}")];
    if write.verb == GceVerb::Insert {
        words.push(format!("--network {}", settings.network));
    }
    if let Some(description) = body["description"].as_str() {
        words.push(format!("--description '{description}'"));
    }
    let is_deny = !body["denied"].is_null();
    let rules = items(body, if is_deny { "denied" } else { "allowed" }).iter().flat_map(|rule| {
        let protocol = rule["IPProtocol"].as_str().unwrap_or_default();
        let ports: Vec<&str> = items(rule, "ports").iter().filter_map(Value::as_str).collect();
        match ports.is_empty() {
            true => vec![protocol.to_owned()],
            false => ports.iter().map(|it| format!("{protocol}:{it}")).collect(),
        }
    });
    let rules: Vec<String> = rules.collect();
    match (is_deny, write.verb) {
        (true, GceVerb::Insert) => words.push(format!("--action DENY --rules {}", rules.join(","))),
        (true, _) => words.push(format!("--rules {}", rules.join(","))),
        (false, _) => words.push(format!("--allow {}", rules.join(","))),
    }
    for (flag, field) in [
        ("--source-ranges", "sourceRanges"),
        ("--destination-ranges", "destinationRanges"),
        ("--target-tags", "targetTags"),
    ] {
        let values = list(field);
        if !values.is_empty() {
            words.push(format!("{flag} {values}"));
        }
    }
    if let Some(priority) = body["priority"].as_u64() {
        words.push(format!("--priority {priority}"));
    }
    words.join(" ")
}
