//! The deletion of a load balancer: first what names others, then the rest; and at the end, by trying, what Services share.

use aerostat_sdk::{Deletion, Error, LoadBalancer, PendingStatus, Result, SortedSet};

use super::annotations::{self, OTHER_FINALIZERS};
use super::call::{POLL, SOON, command, send, status, still_running};
use super::live::{GceLive, own};
use super::memo::{GceMemo, GceStage};
use super::names::GceNames;
use super::plan::{idle_firewalls, tried};
use super::wish::shared_letter;
use crate::api::fields::text;
use crate::api::objects::{self, GceKind, GceObject};
use crate::api::writes::GceWrite;
use crate::settings::balancers::GceBalancerSettings;

/// The letters of the checks and instance groups that Services share.
const SHARED: &str = "gxy";

/// Takes one step towards its absence. What is another's stays.
///
/// # Errors
///
/// Whatever the API answered.
pub(super) fn delete(service: &LoadBalancer, settings: &GceBalancerSettings) -> Result<Deletion> {
    let kept = GceMemo::of(service)?;
    if kept.is_none() && service.finalizers().any(|it| OTHER_FINALIZERS.contains(&it)) {
        return Ok(Deletion::Done);
    }
    let memo = kept.unwrap_or_else(|| GceMemo::new(GceStage::Open, "")).with(SHARED);
    let project = &settings.project;
    let running = match still_running(project, &memo) {
        Ok(running) => running,
        Err(error @ Error::RetryAfter(_)) => return Err(error),
        Err(error) => return Ok(failed(service, &memo, &error)),
    };
    if !running.is_empty() {
        let why = format!("waits for operations {}", running.join(", "));
        return Ok(Deletion::pending(status(service, &GceMemo { operations: running, ..memo }), POLL, why));
    }
    let names = GceNames::of(service)?;
    let mut live = GceLive::read_unwanted(&names, project, &memo.letters)?;
    let memo = memo.with(&letters_of(service, &names, &live));
    for object in own(&names) {
        let is_other = live.get(&object).is_some_and(|it| names.not_ours(&object, it).is_some());
        if is_other {
            live.objects.remove(&object);
        }
    }
    let (writes, stage) = next(settings, &names, &live, &memo)?;
    if writes.is_empty() {
        return Ok(end(settings, &live));
    }
    let sent = send(project, &service.owner.uid, &memo, &writes);
    let forbidden: SortedSet<GceObject> = sent.forbidden.iter().cloned().collect();
    if let Some(error) = sent.refused {
        let after = memo.next(sent.operations);
        return match sent.any {
            true => Ok(failed(service, &after, &error)),
            false => Err(error),
        };
    }
    if !forbidden.is_empty() && !sent.any && sent.again.is_none() {
        return Ok(stays(settings, &forbidden));
    }
    let waits = !sent.operations.is_empty();
    let why = match (&sent.again, waits) {
        (_, true) => format!("waits for operations {}", sent.operations.join(", ")),
        (Some(why), false) => why.clone(),
        (None, false) => "the next step follows".to_owned(),
    };
    let pause = if waits { POLL } else { SOON };
    Ok(Deletion::Pending(PendingStatus::new(status(service, &memo.next(sent.operations).at(stage)), pause, why)))
}

/// An operation has failed. The contract has no failed deletion with a memo: the next call asks no more about it.
fn failed(service: &LoadBalancer, memo: &GceMemo, error: &Error) -> Deletion {
    aerostat_sdk::events::warning(None, "LoadBalancerDeletionFailed", error.why());
    Deletion::pending(status(service, &memo.next(Vec::new())), POLL * 5, error.why())
}

/// The next writes, and the stage after them.
fn next(
    settings: &GceBalancerSettings,
    names: &GceNames,
    live: &GceLive,
    memo: &GceMemo,
) -> Result<(Vec<GceWrite>, GceStage)> {
    let left: Vec<GceObject> = own(names).into_iter().filter(|it| live.has(it)).collect();
    let deleted = |all: Vec<GceObject>| all.into_iter().map(GceWrite::delete).collect::<Vec<_>>();
    let rank = |it: &GceObject| match it.kind {
        GceKind::ForwardingRules => 0,
        GceKind::TargetPools | GceKind::BackendServices => 1,
        GceKind::HealthChecks | GceKind::HttpHealthChecks => 2,
        // Nothing hangs on these: they go at once.
        GceKind::Addresses | GceKind::Firewalls | GceKind::InstanceGroups => 0,
    };
    if let Some(first) = left.iter().map(rank).min() {
        return Ok((deleted(left.into_iter().filter(|it| rank(it) == first).collect()), GceStage::Open));
    }
    if memo.stage != GceStage::Tried {
        let mut unused = tried(names, live, &memo.letters);
        let group = names.group();
        let zones = objects::zones_with_group(&settings.project, &group)?;
        unused.extend(zones.iter().map(|it| GceObject::group(it, &group)));
        if !unused.is_empty() {
            return Ok((deleted(unused), GceStage::Tried));
        }
    }
    let idle = idle_firewalls(names, live, &memo.letters);
    Ok((deleted(idle), GceStage::Tried))
}

/// The digits of backend services that this Service may share: that of its rule, and that of its annotations and ports.
fn letters_of(service: &LoadBalancer, names: &GceNames, live: &GceLive) -> String {
    let rule = live.get(&names.own(GceKind::ForwardingRules));
    let named = rule.and_then(|it| shared_letter(names, &text(it, "backendService")));
    let shares = annotations::shares_backend(service).unwrap_or(false);
    let is_udp = service.ports.iter().any(|it| it.protocol == aerostat_sdk::Protocol::Udp);
    let own = names.shared_backend(is_udp, service.client_ip_affinity_seconds.is_some());
    let own = shares.then(|| shared_letter(names, &own.name)).flatten();
    named.into_iter().chain(own).collect()
}

/// Everything is gone but what the credential may not see.
fn end(settings: &GceBalancerSettings, live: &GceLive) -> Deletion {
    if live.forbidden.is_empty() { Deletion::Done } else { stays(settings, &live.forbidden) }
}

/// Firewalls of a network's project stay, with the commands that delete them.
fn stays(settings: &GceBalancerSettings, forbidden: &SortedSet<GceObject>) -> Deletion {
    let commands: Vec<String> =
        forbidden.iter().map(|it| command(&settings.project, &GceWrite::delete(it.clone()))).collect();
    Deletion::kept(format_args!(
        "the credential may not delete firewalls in project {}. Let somebody who may run: {}",
        settings.project.network_project,
        commands.join("; ")
    ))
}
