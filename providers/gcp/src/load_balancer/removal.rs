//! The deletion of a load balancer: first what names others, then the rest; and at the end, by trying, what Services share.

use aerostat_sdk::{Deletion, Error, LoadBalancer, PendingStatus, Result, SortedSet, clock};

use super::annotations::{self, OTHER_FINALIZERS};
use super::call::{POLL, SOON, command, follow, send, status};
use super::goal::shared_letter;
use super::live::{GceLive, own};
use super::memo::{GceMemo, GceStage};
use super::names::GceNames;
use super::plan::{are_backends, check_letters, idle_firewalls, tried, without_used};
use super::round::GceRound;
use crate::api::fields::text;
use crate::api::objects::{GceKind, GceObject};
use crate::api::writes::GceWrite;
use crate::settings::balancers::GceBalancerSettings;

/// The letters of the checks and instance groups that Services share.
const SHARED: &str = "gxy";
/// How long after its beginning an operation that the API cannot tell of is asked about again, in seconds.
const UNREAD_FOR: u64 = 60;

/// Takes one step towards its absence. What is another's stays.
///
/// # Errors
///
/// Whatever the API answered.
pub(super) fn delete(service: &LoadBalancer, settings: &GceBalancerSettings, round: &GceRound) -> Result<Deletion> {
    let kept = GceMemo::of(service)?;
    if kept.is_none() && service.finalizers().any(|it| OTHER_FINALIZERS.contains(&it)) {
        return Ok(Deletion::Done);
    }
    let is_first = kept.is_none();
    let memo = kept.unwrap_or_else(|| GceMemo::new(GceStage::Open, ""));
    let memo = if memo.stage == GceStage::Open { memo.with(SHARED) } else { memo };
    let project = &settings.project;
    let known = match follow(project, &memo, round) {
        Ok(known) => known,
        Err(error @ Error::RetryAfter(_)) => return Err(error),
        Err(error) => return Ok(failed(service, &memo, &error)),
    };
    // The target of a deletion is there until its end: who reads that alone may take it for something that stays.
    let is_asked_again = !known.unread.is_empty() && clock::now() < memo.making + UNREAD_FOR;
    if !known.running.is_empty() || is_asked_again {
        let pause = if is_asked_again { POLL * 5 } else { POLL };
        let operations = [known.running, known.unread].concat();
        let why = format!("waits for operations {}", operations.join(", "));
        return Ok(Deletion::pending(status(service, &GceMemo { operations, ..memo }), pause, why));
    }
    let names = GceNames::of(service)?;
    let mut live = GceLive::read_unwanted(&names, project, &memo, round)?;
    for object in own(&names) {
        let is_other = live.get(&object).is_some_and(|it| names.not_ours(&object, it).is_some());
        if is_other {
            live.objects.remove(&object);
        }
    }
    // Once its own objects are gone, what was shared was tried: it is not tried again and again.
    let has_own = own(&names).iter().any(|it| live.has(it));
    // A try from before was of objects that it served with earlier.
    let memo = if has_own && memo.stage == GceStage::Tried { memo.at(GceStage::Open).with(SHARED) } else { memo };
    let mut memo = if has_own || is_first { memo.with(&letters_of(service, &names, &live)) } else { memo };
    if !has_own {
        live.read_shared(&names, project, &memo.letters, round)?;
    }
    if known.found_use {
        let letters = memo.letters.clone();
        memo = without_used(memo, &names, &live, &letters);
    }
    let (step, mut sent) = loop {
        let step = next(&names, &live, &memo, round)?;
        // A call in which something could not be read proves no end.
        if step.writes.is_empty() && !known.unread.is_empty() {
            let why = "an operation could not be read";
            return Ok(Deletion::pending(status(service, &memo.after_failure()), POLL, why));
        }
        if step.writes.is_empty() {
            return Ok(end(settings, &live));
        }
        let sent = send(project, &service.owner.uid, &memo, &step.writes, round);
        let goes_on = sent.any || sent.again.is_some() || sent.in_use.is_some() || sent.refused.is_some();
        if goes_on || sent.forbidden.is_empty() {
            break (step, sent);
        }
        // Objects that the credential may not delete stay, and the rest goes.
        memo = memo.refusing(sent.tried);
        for object in sent.forbidden {
            live.objects.remove(&object);
            live.forbidden.insert(object);
        }
        if !own(&names).iter().any(|it| live.has(it)) {
            live.read_shared(&names, project, &memo.letters, round)?;
        }
    };
    if let Some(error) = sent.refused {
        return match sent.any {
            true => Ok(failed(service, &GceMemo { operations: sent.operations, ..memo }.refusing(sent.tried), &error)),
            false => Err(error),
        };
    }
    if step.is_try {
        sent.in_use = None;
    }
    let again = sent.again.or(sent.in_use);
    let waits = !sent.operations.is_empty();
    let why = match (&again, waits) {
        (_, true) => format!("waits for operations {}", sent.operations.join(", ")),
        (Some(why), false) => why.clone(),
        (None, false) => "the next step follows".to_owned(),
    };
    let after = memo.next(sent.operations).refusing(sent.tried).without(&check_letters(&names, &sent.used));
    let after = match (step.is_try && again.is_none(), step.tries_backends) {
        (false, _) => after,
        (true, true) => after.without_backends(),
        // Firewalls that stay are told at the end, and so they are read again.
        (true, false) if !live.forbidden.is_empty() => after.at(GceStage::Tried),
        (true, false) => after.at(GceStage::Tried).without_own(),
    };
    let pause = if waits || again.is_some() { POLL } else { SOON };
    Ok(Deletion::Pending(PendingStatus::new(status(service, &after), pause, why)))
}

/// A step of a deletion.
struct RemovalStep {
    writes: Vec<GceWrite>,
    /// Whether these are of Services in common, and may be used.
    is_try: bool,
    tries_backends: bool,
}

impl RemovalStep {
    fn own(objects: Vec<GceObject>) -> Self {
        Self { writes: objects.into_iter().map(GceWrite::delete).collect(), is_try: false, tries_backends: false }
    }
}

/// An operation has failed. The contract has no failed deletion with a memo: the next call asks no more about it.
fn failed(service: &LoadBalancer, memo: &GceMemo, error: &Error) -> Deletion {
    aerostat_sdk::events::warning(Some(&service.owner.uid), "LoadBalancerDeletionFailed", error.why());
    Deletion::pending(status(service, &memo.after_failure()), POLL * 5, error.why())
}

/// The next writes.
fn next(names: &GceNames, live: &GceLive, memo: &GceMemo, round: &GceRound) -> Result<RemovalStep> {
    let left: Vec<GceObject> = own(names).into_iter().filter(|it| live.has(it)).collect();
    let rank = |object: &GceObject| match object.kind {
        // Nothing hangs on firewalls and addresses: they go at once.
        GceKind::ForwardingRules | GceKind::Addresses | GceKind::Firewalls | GceKind::InstanceGroups => 0,
        GceKind::TargetPools | GceKind::BackendServices => 1,
        GceKind::HealthChecks | GceKind::HttpHealthChecks => 2,
    };
    if let Some(first) = left.iter().map(rank).min() {
        return Ok(RemovalStep::own(left.into_iter().filter(|it| rank(it) == first).collect()));
    }
    // A check whose deletion was accepted may still be shown, since reads are reused. It is deleted once more: a read in the place of that
    // write would leave the check to somebody else, and nobody would delete its firewall.
    let mut unused = tried(names, live, &memo.letters);
    let tries_backends = are_backends(&unused);
    if memo.stage != GceStage::Tried && !tries_backends && memo.letters.contains('g') {
        unused.extend(round.groups(names)?);
    }
    if !unused.is_empty() {
        return Ok(RemovalStep { is_try: true, tries_backends, ..RemovalStep::own(unused) });
    }
    Ok(RemovalStep::own(idle_firewalls(names, live, &memo.letters)))
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
