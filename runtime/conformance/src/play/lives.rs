//! Lives of load balancers: one in which nothing goes wrong, and one for each way in which each of its requests can.

use std::time::Duration;

use cloud_provider::{LoadBalancers, Node};
use futures::future::try_join_all;

use crate::error::{ConformanceError, Result};
use crate::host::HostProcess;
use crate::protocol::{AdminFailure, Orders};
use crate::transcript::{Life, Part, RecordedCall, SaidAnswer};
use crate::trouble::{Phase, Trouble, troubles};

use super::pace::{BegunWait, LAGGING_CALLS, Standstill, rest};
use super::sample::sample;
use super::service::PlayedService;
use super::stage::Stage;

/// After so many lives that did not come to an end, no others are tried.
const MOST_UNENDED: usize = 3;

/// All lives, side by side in these simulators of one cloud. `every` is one for all troubles, and greater for one of so many.
pub(crate) async fn play(stages: &mut [Stage], every: usize) -> Result<Vec<Life>> {
    let Some(first) = stages.first_mut() else { return Ok(Vec::new()) };
    let mut lives = vec![live(first, None).await?];
    let Some(measure) = lives.first().filter(|it| it.parts.iter().all(Part::is_over)) else { return Ok(lives) };
    let played = troubles_of(measure).into_iter().filter(|it| first.is_played(&it.title()));
    let troubles = sample(played, every.max(1));
    // In turn, so that what takes long is not all in one.
    let count = stages.len();
    let dealt = |at: usize| troubles.iter().skip(at).step_by(count).copied().collect();
    let played = stages.iter_mut().enumerate().map(|(at, stage)| troubled(stage, dealt(at)));
    lives.extend(try_join_all(played).await?.into_iter().flatten());
    Ok(lives)
}

/// The lives that one simulator plays, one after the other.
async fn troubled(stage: &mut Stage, troubles: Vec<Trouble>) -> Result<Vec<Life>> {
    let (mut lives, mut unended) = (Vec::new(), 0);
    for trouble in troubles {
        let life = live(stage, Some(trouble)).await?;
        unended += usize::from(!life.parts.iter().all(|it| it.is_over() || it.is_given_up));
        lives.push(life);
        if unended == MOST_UNENDED {
            break;
        }
    }
    Ok(lives)
}

/// The troubles that the requests of a life can meet.
fn troubles_of(measure: &Life) -> Vec<Trouble> {
    let requests = |phase| measure.part(phase).map(|it| it.requests().cloned().collect()).unwrap_or_default();
    troubles(&Phase::ALL.map(requests))
}

/// One life, from nothing to nothing.
pub(crate) async fn live(stage: &mut Stage, trouble: Option<Trouble>) -> Result<Life> {
    let mut process = stage.process().await?;
    let nodes = stage.nodes(&process).await;
    let before = stage.objects().await?;
    let mut service = PlayedService::new("web", &nodes[..1], stage.host.setup());
    let mut parts = Vec::new();
    for phase in Phase::ALL {
        let part = part(stage, &mut process, &mut service, phase, &nodes, trouble).await?;
        let (is_over, is_given_up) = (part.is_over(), part.is_given_up);
        parts.push(part);
        if is_given_up {
            parts.push(self::part(stage, &mut process, &mut service, Phase::Delete, &nodes, trouble).await?);
            break;
        }
        // Whatever was made has to go all the same, so that it is in nobody's way.
        if !is_over && phase == Phase::Create {
            parts.push(self::part(stage, &mut process, &mut service, Phase::Delete, &nodes, None).await?);
            break;
        }
    }
    Ok(Life { trouble, uid: service.desired.owner.uid, cloud: stage.number, before, parts })
}

async fn part(
    stage: &mut Stage,
    process: &mut HostProcess,
    service: &mut PlayedService,
    phase: Phase,
    nodes: &[Node],
    trouble: Option<Trouble>,
) -> Result<Part> {
    if phase == Phase::Change {
        service.change(&nodes[..2.min(nodes.len())]);
    }
    let gives_up = trouble.is_some_and(|it| it.gives_up);
    let lag = trouble.is_some_and(|it| it.lists_lag) && (phase == Phase::Create || gives_up);
    // Where lists lag, it is about the creation alone.
    let fail = trouble.filter(|it| !it.lists_lag || phase == Phase::Create);
    let fail = fail.map(|it| AdminFailure { nth: it.nth, how: it.how });
    stage.asked().await?;
    stage.admin.order(Orders { fail, lists_lag: lag }).await?;
    let mut calls: Vec<RecordedCall> = Vec::new();
    let (wait, mut made_at) = (BegunWait::new(stage.patience), (phase == Phase::Delete).then_some(0));
    let mut is_given_up = false;
    while wait.goes_on(calls.len()) {
        let (call, pause) = step(stage, process, service, phase, lag).await?;
        let is_over = is_last(phase, &call.said);
        made_at = made_at.or_else(|| call.requests.iter().any(|it| it.writes).then_some(calls.len()));
        calls.push(call);
        let asked: usize = calls.iter().map(|it| it.requests.len()).sum();
        is_given_up = phase == Phase::Create && trouble.is_some_and(|it| it.gives_up && asked >= it.nth);
        if is_over || is_given_up {
            break;
        }
        if lag && made_at.is_some_and(|it| calls.len() == it + LAGGING_CALLS) {
            stage.admin.order(Orders::default()).await?;
        }
        rest(pause, calls.len()).await;
    }
    stage.admin.order(Orders { fail: None, lists_lag: is_given_up }).await?;
    let after = stage.objects().await?;
    let part = Part { phase, calls, is_given_up, again: None, after };
    // One further call after each trouble is enough: most of what it could show, any story shows.
    if !part.is_over() || part.is_given_up || trouble.is_some() && phase != Phase::Create {
        return Ok(part);
    }
    let (again, _) = step(stage, process, service, phase, false).await?;
    Ok(Part { again: Some(again), ..part })
}

/// One call. If the process has died over it, nothing is kept, and the next call is another process's.
pub(super) async fn step(
    stage: &mut Stage,
    process: &mut HostProcess,
    service: &mut PlayedService,
    phase: Phase,
    lists_lag: bool,
) -> Result<(RecordedCall, Duration)> {
    let load_balancers = process.cloud.load_balancers.clone();
    let Some(load_balancers) = load_balancers else {
        return Err(ConformanceError::Setup("the provider has no load balancers".to_owned()));
    };
    let (function, heard) = call(phase, service, &*load_balancers).await;
    let (requests, dead) = stage.asked().await?;
    if dead {
        service.forget();
        stage.admin.order(Orders { fail: None, lists_lag }).await?;
        *process = stage.process().await?;
        let call = RecordedCall { function, said: SaidAnswer::Unheard, requests, events: Vec::new() };
        return Ok((call, Duration::ZERO));
    }
    service.keep(&heard);
    Ok((RecordedCall { function, said: heard.said, requests, events: heard.events }, heard.pause))
}

async fn call(
    phase: Phase,
    service: &PlayedService,
    load_balancers: &dyn LoadBalancers,
) -> (&'static str, super::service::Heard) {
    match phase {
        Phase::Create | Phase::Change => ("ensure", service.ensure(load_balancers).await),
        Phase::Delete => ("delete", service.delete(load_balancers).await),
    }
}

fn is_last(phase: Phase, said: &SaidAnswer) -> bool {
    match phase {
        Phase::Create | Phase::Change => matches!(said, SaidAnswer::Ready { .. } | SaidAnswer::NotManaged),
        Phase::Delete => matches!(said, SaidAnswer::Done | SaidAnswer::Kept(_)),
    }
}

/// A load balancer gets one node more, and nothing else changes: what that costs.
pub(crate) async fn node_change(stage: &mut Stage) -> Result<Part> {
    let mut process = stage.process().await?;
    let nodes = stage.nodes(&process).await;
    let mut service = PlayedService::new("web", &nodes[..1], stage.host.setup());
    settle(stage, &mut process, &mut service, Phase::Create).await?;
    service.desired.nodes = nodes[..2.min(nodes.len())].to_vec();
    let calls = settle(stage, &mut process, &mut service, Phase::Change).await?;
    let after = stage.objects().await?;
    settle(stage, &mut process, &mut service, Phase::Delete).await?;
    Ok(Part { phase: Phase::Change, calls, is_given_up: false, again: None, after })
}

/// Calls until a phase is over, while nothing goes wrong.
pub(crate) async fn settle(
    stage: &mut Stage,
    process: &mut HostProcess,
    service: &mut PlayedService,
    phase: Phase,
) -> Result<Vec<RecordedCall>> {
    called_until(stage, process, service, phase, |_| false).await
}

/// The same of a thief, who may never come to an end: also until each call only repeats the error of the one before it.
pub(super) async fn settle_or_stand_still(
    stage: &mut Stage,
    process: &mut HostProcess,
    service: &mut PlayedService,
    phase: Phase,
) -> Result<()> {
    let mut standstill = Standstill::new(stage.patience);
    let is_enough = |RecordedCall { said, requests, .. }: &RecordedCall| {
        let is_error = matches!(said, SaidAnswer::Error(_) | SaidAnswer::Failed { .. });
        standstill.is_reached(is_error.then(|| (said.clone(), requests.clone())))
    };
    called_until(stage, process, service, phase, is_enough).await.map(drop)
}

async fn called_until(
    stage: &mut Stage,
    process: &mut HostProcess,
    service: &mut PlayedService,
    phase: Phase,
    mut is_enough: impl FnMut(&RecordedCall) -> bool,
) -> Result<Vec<RecordedCall>> {
    let mut calls = Vec::new();
    let wait = BegunWait::new(stage.patience);
    while wait.goes_on(calls.len()) {
        let (call, pause) = step(stage, process, service, phase, false).await?;
        let is_final = matches!(&call.said, SaidAnswer::Error(wrong) if wrong.is_final);
        let is_over = is_last(phase, &call.said) || is_final || is_enough(&call);
        calls.push(call);
        if is_over {
            break;
        }
        rest(pause, calls.len()).await;
    }
    Ok(calls)
}
