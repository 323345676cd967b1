//! Load balancers: a forwarding rule with a target pool for external ones, or with a backend service over instance groups for internal
//! ones; health checks and firewalls beside them. Objects have the names that the vendor's controller gives them, and the Service's UID is
//! in each name that is the Service's alone. Each call makes the writes that can be made side by side, keeps the names of their
//! operations in the memo, and waits for none.

mod annotations;
mod bodies;
mod call;
mod compare;
mod goal;
mod live;
mod memo;
mod names;
mod plan;
mod removal;
mod round;
mod tags;

pub(crate) use self::annotations::{FINALIZERS, OTHER_FINALIZERS, SUBNET_LABEL, TABLE, WRITTEN};
pub(crate) use self::names::{CLUSTER_LABEL, ID_MAP, SERVICE_LABEL, owner_in};

use std::time::Duration;

use aerostat_sdk::json::revision;
use aerostat_sdk::{
    BatchDescription, BatchItem, Deletion, Error, Ingress, LoadBalancer, LoadBalancerBatches, LoadBalancerStatus,
    LoadBalancers, Node, Progress, Result, events,
};

use serde_json::json;

use self::call::{POLL, SOON, SentWrites, follow, send, status};
use self::goal::{GceGoal, MIXED, is_elsewhere, mixed_protocols};
use self::live::{GceLive, unwanted_letters};
use self::memo::{GceMemo, GceStage};
use self::plan::{GceStep, are_backends, check_letters, plan, without_used};
use self::round::GceRound;
use crate::api::objects::GceObject;
use crate::api::writes::{GceVerb, GceWrite};
use crate::provider::Gcp;
use crate::settings::ProjectSettings;
use crate::settings::balancers::GceBalancerSettings;

/// The pause where the next call waits only for the memo to be kept.
const AT_ONCE: Duration = Duration::ZERO;
/// How often a step is planned again in one call because the credential may not write firewalls.
const PLANS: usize = 4;
/// Load balancers of one call: each may make as many requests as one of its own.
const BATCH: u32 = 10;
/// How many calls run at a time.
const CALLS: u32 = 4;
/// How long a call waits for further load balancers: those that follow one change, and come together.
const GATHER: Duration = Duration::from_millis(100);

impl LoadBalancers for Gcp {
    fn ensure(desired: &LoadBalancer) -> Result<Progress> {
        Self::ensure_alone(desired)
    }

    fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
        Self::delete_alone(unwanted)
    }
}

impl LoadBalancerBatches for Gcp {
    fn describe() -> Result<BatchDescription> {
        Ok(BatchDescription::new(BATCH).concurrency(CALLS).gather(GATHER))
    }

    fn ensure_batch(desired: &[BatchItem], nodes: &[Node]) -> Vec<Result<Progress>> {
        let round = GceRound::of(desired.iter().map(|it| &it.load_balancer));
        let each = desired.iter().map(|item| {
            let nodes = item.nodes_of(nodes).cloned().collect();
            ensured(&LoadBalancer { nodes, ..item.load_balancer.clone() }, &round)
        });
        each.collect()
    }

    fn delete_batch(unwanted: &[LoadBalancer]) -> Vec<Result<Deletion>> {
        let round = GceRound::of(unwanted.iter());
        unwanted.iter().map(|it| removal::delete(it, &GceBalancerSettings::read()?, &round)).collect()
    }
}

/// Takes one step with one of a call's load balancers.
fn ensured(desired: &LoadBalancer, round: &GceRound) -> Result<Progress> {
    let settings = GceBalancerSettings::read()?;
    if is_elsewhere(desired, &settings)? {
        return Ok(Progress::NotManaged);
    }
    if let Some(why) = mixed_protocols(desired) {
        events::warning(Some(&desired.owner.uid), MIXED, why);
        let error = Error::invalid(format_args!("mixed protocol is not supported for LoadBalancer: {why}"));
        return Ok(Progress::failed(desired.status().with_ports_error(MIXED, why), error));
    }
    let goal = GceGoal::of(desired, settings)?;
    let Some(memo) = GceMemo::of(desired)? else { return Ok(announce(desired, &goal)) };
    let known = match follow(&goal.settings.project, &memo, round) {
        Ok(known) => known,
        // A limit is no end of the operation: it is asked about again.
        Err(error @ Error::RetryAfter(_)) => return Err(error),
        Err(error) => return Ok(Progress::failed(status(desired, &memo.after_failure()), error)),
    };
    if !known.running.is_empty() {
        let why = format!("waits for operations {}", known.running.join(", "));
        let memo = GceMemo { operations: known.running, ..memo };
        return Ok(Progress::pending(status(desired, &memo), POLL, why));
    }
    let tags = tags::of(desired, &goal)?;
    let goal = GceGoal { tags, ..goal };
    match memo.stage == GceStage::New && memo.letters == goal.letters() {
        true if round.is_of_one() => Ok(begin(desired, &goal, memo, round)),
        // Load balancers that are made together share their reads: they look, and do not guess that shared objects are there.
        true => step(desired, &goal, memo.at(GceStage::Making), known.found_use, round),
        false => step(desired, &goal, memo, known.found_use, round),
    }
}

/// There is no memo. One that the Service never had consists of nothing; of one that somebody else made, everything is read.
fn announce(desired: &LoadBalancer, goal: &GceGoal) -> Progress {
    let is_new = desired.current_ingress.is_empty() && desired.finalizers().next().is_none();
    // An address that is asked for is looked at first, and a backend service in common is there, or not.
    let is_plain = goal.ip.is_none() && !goal.shares_backend;
    let stage = match (is_new, is_plain) {
        (true, true) => GceStage::New,
        (true, false) => GceStage::Making,
        (false, _) => GceStage::Open,
    };
    let memo = GceMemo::new(stage, &goal.letters());
    Progress::pending(status(desired, &memo), AT_ONCE, "its parts are this Service's from now on")
}

/// The first writes of a new one: its target, as if all that it names were there, as it is where there is such a Service already; or a
/// check of its own. The next call reads what lacks.
fn begin(desired: &LoadBalancer, goal: &GceGoal, memo: GceMemo, round: &GceRound) -> Progress {
    let insert = |object, body| GceWrite::new(object, GceVerb::Insert, body);
    let writes = match (goal.is_local, goal.is_internal) {
        (true, false) => vec![insert(goal.check(), bodies::check(goal, None))],
        (true, true) => vec![
            insert(goal.check(), bodies::check(goal, None)),
            insert(goal.check_firewall(), bodies::check_firewall(goal, None)),
        ],
        (false, false) => vec![insert(goal.target(), bodies::pool(goal))],
        (false, true) => vec![insert(goal.target(), bodies::backend(goal))],
    };
    let mut sent = send(&goal.settings.project, &desired.owner.uid, &memo, &writes, round);
    sent.again = None;
    sent.refused = sent.refused.filter(|it| !matches!(it, Error::Invalid(_)));
    let memo = if sent.refused.is_none() { memo.at(GceStage::Making) } else { memo };
    after(desired, &memo, sent)
}

/// Reads what is there, and takes the next step.
fn step(desired: &LoadBalancer, goal: &GceGoal, memo: GceMemo, found_use: bool, round: &GceRound) -> Result<Progress> {
    let settings = &goal.settings.project;
    let labels = bodies::labels(&desired.owner)?;
    let mut live = GceLive::read(goal, &memo, round)?;
    let mut memo = warn_of_unread(desired, &live, settings, memo);
    if found_use {
        let unwanted = unwanted_letters(goal, &memo);
        memo = without_used(memo, &goal.names, &live, &unwanted);
    }
    for _ in 0..PLANS {
        let writes = match plan(goal, &live, &memo, &labels)? {
            GceStep::Elsewhere => return Ok(Progress::NotManaged),
            GceStep::Ready(ip) if live.unread.is_empty() => {
                return Ok(Progress::Ready(ready(desired, goal, &memo, &ip)));
            }
            GceStep::Ready(_) => {
                let forbidden = std::mem::take(&mut live.forbidden);
                live = GceLive::read(goal, &memo.clone().at(GceStage::Settled), round)?;
                forbidden.into_iter().for_each(|it| _ = live.forbidden.insert(it));
                continue;
            }
            GceStep::Open(why) => {
                let opened = memo.next(Vec::new()).at(GceStage::Open).with(&goal.letters());
                return Ok(Progress::pending(status(desired, &opened), SOON, why));
            }
            GceStep::Try(unused) => return try_unused(desired, goal, &memo, unused, round),
            GceStep::Write(writes) => writes,
        };
        if memo.stage.is_open() {
            memo = memo.with(&goal.letters());
        }
        let sent = send(settings, &desired.owner.uid, &memo, &writes, round);
        let waits = sent.again.is_some() || sent.in_use.is_some() || sent.refused.is_some();
        if !sent.forbidden.is_empty() && !sent.any && !waits {
            sent.forbidden.into_iter().for_each(|it| _ = live.forbidden.insert(it));
            memo = memo.refusing(sent.tried);
            continue;
        }
        return Ok(after(desired, &memo, sent));
    }
    Err(Error::unavailable("the firewalls of the network's project cannot be written"))
}

/// The answer after writes.
fn after(desired: &LoadBalancer, memo: &GceMemo, sent: SentWrites) -> Progress {
    let waits = !sent.operations.is_empty();
    let again = sent.again.as_ref().or(sent.in_use.as_ref());
    let why = match (again, waits) {
        (_, true) => format!("waits for operations {}", sent.operations.join(", ")),
        (Some(why), false) => why.clone(),
        (None, false) => "the next step follows".to_owned(),
    };
    let pause = if waits || again.is_some() { POLL } else { SOON };
    // Where nothing was begun, the requests of the next call are those of this one.
    let kept = if sent.any { memo.next(sent.operations) } else { memo.clone() };
    let kept = kept.refusing(sent.tried);
    let status = status(desired, &kept);
    match sent.refused {
        Some(error) => Progress::failed(status, error),
        None => Progress::pending(status, pause, why),
    }
}

/// Deletes what Services share and this one needs no more. What something else uses stays.
fn try_unused(
    desired: &LoadBalancer,
    goal: &GceGoal,
    memo: &GceMemo,
    mut unused: Vec<GceObject>,
    round: &GceRound,
) -> Result<Progress> {
    let backends = are_backends(&unused);
    if memo.stage == GceStage::Open && !backends && unwanted_letters(goal, memo).contains('g') {
        unused.extend(round.groups(&goal.names)?);
    }
    let writes: Vec<GceWrite> = unused.into_iter().map(GceWrite::delete).collect();
    let mut sent = send(&goal.settings.project, &desired.owner.uid, memo, &writes, round);
    sent.in_use = None;
    let is_over = sent.again.is_none() && sent.refused.is_none();
    sent.any |= is_over;
    let memo = memo.clone().without(&check_letters(&goal.names, &sent.used));
    let memo = match (is_over, backends) {
        (false, _) => memo,
        (true, true) => memo.without_backends(),
        (true, false) => memo.at(GceStage::Tried),
    };
    Ok(after(desired, &memo, sent))
}

/// The status of a load balancer that is as wanted.
fn ready(desired: &LoadBalancer, goal: &GceGoal, memo: &GceMemo, ip: &str) -> LoadBalancerStatus {
    let letters = goal.letters();
    let is_kept = memo.stage == GceStage::Settled && memo.operations.is_empty() && memo.letters == letters;
    let kept = match is_kept {
        true => memo.clone(),
        false => GceMemo { letters, ..memo.next(Vec::new()).at(GceStage::Settled) },
    };
    let status = LoadBalancerStatus { ingress: vec![Ingress::ip(ip)], ..status(desired, &kept) };
    match (goal.settings.write_annotations, goal.is_internal) {
        (false, _) => status,
        (true, true) => status.annotation(WRITTEN[0], goal.target().name),
        (true, false) => status.annotation(WRITTEN[1], goal.target().name),
    }
}

/// The memo of a load balancer of which a list has shown a part. `making` tells two parts of one Service apart.
pub(crate) fn memo_of(balancer: &str, making: u64) -> String {
    GceMemo { making, stage: GceStage::Open, letters: String::new(), operations: Vec::new(), refused: Vec::new() }
        .text(balancer)
}

/// Warns of firewalls that the credential may not read, of each once in a while.
fn warn_of_unread(service: &LoadBalancer, live: &GceLive, settings: &ProjectSettings, memo: GceMemo) -> GceMemo {
    let project = &settings.network_project;
    let mut told = Vec::new();
    for object in live.forbidden.iter() {
        let read = revision(&json!(["GET", object.reference(settings)]));
        if memo.is_refused(&read) {
            continue;
        }
        let message = format!(
            "the credential may not read {} in project {project}: let somebody who may see to it, as gcloud compute firewall-rules \
             describe {} --project {project} shows it",
            object.title(),
            object.name
        );
        events::warning(Some(&service.owner.uid), "LoadBalancerManualChange", &message);
        told.push(read);
    }
    memo.refusing(told)
}

#[cfg(test)]
mod tests;
