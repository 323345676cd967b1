//! Calls of `apply`, as the host makes them: in batches, and again for whatever is not done.

use std::collections::BTreeMap;
use std::time::Duration;

use cloud_provider::{Error, Result as Answered, RouteChange, RouteOutcome};

use crate::error::{ConformanceError, Result};
use crate::host::HostProcess;
use crate::play::pace::{BegunWait, LAGGING_CALLS, rest};
use crate::play::stage::{Stage, wrong};
use crate::protocol::Orders;
use crate::transcript::routes::{ApplyCall, SaidOfRoute};

/// Calls until each change is done, or nobody waits any longer.
pub(super) async fn applied(
    stage: &mut Stage,
    process: &mut HostProcess,
    changes: &[RouteChange],
    lists_lag: bool,
) -> Result<Vec<ApplyCall>> {
    let mut calls: Vec<ApplyCall> = Vec::new();
    let mut open: Vec<usize> = (0..changes.len()).collect();
    // The reasons with which changes were pending: gone when the process dies.
    let mut reasons: BTreeMap<usize, String> = BTreeMap::new();
    let (wait, mut lagging, mut made_at) = (BegunWait::new(stage.patience), lists_lag, None);
    while !open.is_empty() && wait.goes_on(calls.len()) {
        let (batch, mut longest) = (batch_size(process), Duration::ZERO);
        for numbers in open.clone().chunks(batch) {
            let asked = |at: &usize| RouteChange { pending: reasons.get(at).cloned(), ..changes[*at].clone() };
            let asked: Vec<_> = numbers.iter().map(asked).collect();
            let answers = apply(process, &asked).await?;
            let (requests, dead) = stage.asked().await?;
            let said = match dead {
                true => {
                    reasons.clear();
                    stage.admin.order(Orders { fail: None, lists_lag: lagging }).await?;
                    *process = stage.process().await?;
                    answers.iter().map(|_| SaidOfRoute::Unheard).collect()
                }
                false => heard(answers, numbers, &mut reasons, &mut longest),
            };
            let said: Vec<_> = numbers.iter().copied().zip(said).collect();
            open.retain(|at| !said.contains(&(*at, SaidOfRoute::Done)));
            made_at = made_at.or_else(|| requests.iter().any(|it| it.writes).then_some(calls.len()));
            calls.push(ApplyCall { said, requests });
        }
        if lagging && made_at.is_some_and(|it| calls.len() >= it + LAGGING_CALLS) {
            stage.admin.order(Orders::default()).await?;
            lagging = false;
        }
        if !open.is_empty() {
            rest(longest, calls.len()).await;
        }
    }
    Ok(calls)
}

/// The number of changes that one call takes.
pub(super) fn batch_size(process: &HostProcess) -> usize {
    let routes = process.cloud.routes.as_ref();
    routes.map_or(1, |it| usize::try_from(it.description().batch_size).unwrap_or(usize::MAX).max(1))
}

/// One call; one answer for each change.
pub(super) async fn apply(process: &HostProcess, changes: &[RouteChange]) -> Result<Vec<Answered<RouteOutcome>>> {
    let lacking = || ConformanceError::Setup("the provider has no routes".to_owned());
    let routes = process.cloud.routes.as_ref().ok_or_else(lacking)?;
    Ok(routes.apply(changes).await.answer)
}

/// An answer about one change.
pub(super) fn said(answer: &Answered<RouteOutcome>) -> SaidOfRoute {
    match answer {
        Ok(RouteOutcome::Done) => SaidOfRoute::Done,
        Ok(RouteOutcome::Pending { reason, .. }) => SaidOfRoute::Pending(reason.clone()),
        Err(error) => SaidOfRoute::Error(wrong(error)),
    }
}

/// The answers of a process that lives: the reasons of changes that wait are kept, and the longest pause.
fn heard(
    answers: Vec<Answered<RouteOutcome>>,
    numbers: &[usize],
    reasons: &mut BTreeMap<usize, String>,
    longest: &mut Duration,
) -> Vec<SaidOfRoute> {
    let mut all = Vec::new();
    for (at, answer) in numbers.iter().zip(answers) {
        reasons.remove(at);
        let pause = match &answer {
            Ok(RouteOutcome::Pending { after, reason }) => {
                reasons.insert(*at, reason.clone());
                *after
            }
            Err(Error::RetryAfter { after, .. } | Error::Crashed { after, .. }) => *after,
            Ok(RouteOutcome::Done) | Err(Error::Invalid(_) | Error::Denied(_) | Error::Unavailable(_)) => {
                Duration::ZERO
            }
        };
        *longest = pause.max(*longest);
        all.push(said(&answer));
    }
    all
}
