//! Calls about load balancers, made again: as they were recorded, and with each of their requests going wrong.

use cloud_provider::{LoadBalancer, LoadBalancers};

use crate::conversation::LoadBalancerInput;
use crate::error::Result;
use crate::play::service::PlayedService;
use crate::protocol::How;
use crate::transcript::{Life, Part, RecordedCall, SaidAnswer};
use crate::trouble::{Phase, Trouble};

use super::stage::{RecordedStage, TROUBLES};

/// A recorded call about a load balancer.
struct RecordedStep {
    number: usize,
    phase: Phase,
    desired: LoadBalancer,
}

/// Each Service's life, and each of its calls with a request that goes wrong.
pub(super) async fn lives(stage: &mut RecordedStage) -> Result<Vec<Life>> {
    let process = stage.process().await?;
    let Some(balancers) = process.cloud.load_balancers.clone() else { return Ok(Vec::new()) };
    let (mut lives, mut troubled): (Vec<Life>, Vec<Life>) = (Vec::new(), Vec::new());
    // The last call of each life, and what was asked for in it.
    let mut last: Vec<LoadBalancer> = Vec::new();
    for call in recorded(stage)? {
        let usual = made(stage, &*balancers, &call, None).await;
        if stage.is_unplayed(call.number) {
            continue;
        }
        for (nth, how) in (1..=usual.requests.len()).flat_map(|nth| TROUBLES.map(|how| (nth, how))) {
            let made = made(stage, &*balancers, &call, Some((nth, how))).await;
            troubled.push(one(&call, made, Trouble { nth, how, lists_lag: false, gives_up: false }));
        }
        let uid = &call.desired.owner.uid;
        let at = lives.iter().position(|it| it.uid == *uid).unwrap_or_else(|| {
            lives.push(Life { trouble: None, uid: uid.clone(), cloud: 0, before: Vec::new(), parts: Vec::new() });
            last.push(LoadBalancer::default());
            lives.len() - 1
        });
        add(&mut lives[at].parts, &call, &last[at], usual);
        last[at] = call.desired;
    }
    Ok(lives.into_iter().chain(troubled).collect())
}

fn recorded(stage: &RecordedStage) -> Result<Vec<RecordedStep>> {
    let mut calls = Vec::new();
    for (number, call) in stage.calls().iter().enumerate() {
        let phase = match call.function.as_str() {
            "load-balancers.ensure" => Phase::Create,
            "load-balancers.delete" => Phase::Delete,
            _ => continue,
        };
        let desired: LoadBalancerInput = stage.argument(number)?;
        let desired = desired.load_balancer(stage.cluster()).map_err(|it| stage.unusable(number, it))?;
        calls.push(RecordedStep { number, phase, desired });
    }
    Ok(calls)
}

async fn made(
    stage: &mut RecordedStage,
    balancers: &dyn LoadBalancers,
    call: &RecordedStep,
    trouble: Option<(usize, How)>,
) -> RecordedCall {
    stage.begin(trouble);
    stage.call(call.number);
    let service = PlayedService { desired: call.desired.clone() };
    let (function, heard) = match call.phase {
        Phase::Create | Phase::Change => ("ensure", service.ensure(balancers).await),
        Phase::Delete => ("delete", service.delete(balancers).await),
    };
    RecordedCall { function, said: heard.said, requests: stage.asked(), events: heard.events }
}

/// A life of one call, in which something goes wrong. Nobody waits for its end.
fn one(call: &RecordedStep, made: RecordedCall, trouble: Trouble) -> Life {
    let part = Part { phase: call.phase, calls: vec![made], is_given_up: true, again: None, after: Vec::new() };
    Life {
        trouble: Some(trouble),
        uid: call.desired.owner.uid.clone(),
        cloud: 0,
        before: Vec::new(),
        parts: vec![part],
    }
}

/// A call goes on with a part of a life, comes after its end with nothing to do, or begins a new one.
fn add(parts: &mut Vec<Part>, call: &RecordedStep, last: &LoadBalancer, made: RecordedCall) {
    let has_begun = parts.iter().any(|it| it.phase == Phase::Create);
    let phase = if call.phase == Phase::Create && has_begun { Phase::Change } else { call.phase };
    let deletes = phase == Phase::Delete;
    if let Some(part) = parts.last_mut().filter(|it| (it.phase == Phase::Delete) == deletes) {
        if !part.is_over() {
            return part.calls.push(made);
        }
        if part.again.is_none() && is_same(last, &call.desired, part) {
            part.again = Some(made);
            return;
        }
    }
    parts.push(Part { phase, calls: vec![made], is_given_up: false, again: None, after: Vec::new() });
}

/// Whether a call asks for what was there after the one before it, with the memo that this one gave.
fn is_same(last: &LoadBalancer, desired: &LoadBalancer, part: &Part) -> bool {
    let memo = part.calls.last().and_then(|call| match &call.said {
        SaidAnswer::Ready { memo, .. } => memo.clone(),
        _ => None,
    });
    let lasting = |asked: &LoadBalancer| LoadBalancer {
        memo: None,
        memo_is_new: false,
        current_ingress: Vec::new(),
        ..asked.clone()
    };
    lasting(last) == lasting(desired) && (part.phase == Phase::Delete || memo == desired.memo)
}
