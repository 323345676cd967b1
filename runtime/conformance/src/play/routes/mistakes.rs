//! Changes that were planned for something else than what is there.

use std::time::Duration;

use cloud_provider::{Route, RouteChange, RouteOutcome, RouteOwnership, RouteState};

use crate::error::Result;
use crate::host::HostProcess;
use crate::play::pace::{BegunWait, Standstill, rest};
use crate::play::stage::Stage;
use crate::protocol::ForeignChange;
use crate::transcript::routes::{MistakenChange, MixedChanges, SaidOfRoute};
use crate::trouble::Phase;

use super::calls::{applied, apply, batch_size, said};
use super::lists::clear;
use super::targets::{ROUTES, RouteTargets, destination, planned};

/// The number of the pod network at which somebody's route is.
const TAKEN: usize = 8;
/// How long is waited at most before a change that waits is asked for again.
const PAUSE: Duration = Duration::from_millis(50);

/// All of them, beside the routes of a cluster, which go in the end.
pub(super) async fn play(
    stage: &mut Stage,
    targets: &RouteTargets,
) -> Result<(Vec<MistakenChange>, Option<MixedChanges>)> {
    let mut process = stage.process().await?;
    let mut mistaken = Vec::new();
    applied(stage, &mut process, &targets.changes(Phase::Create, &[]), false).await?;
    let elsewhere = targets.get(1).map(|it| route(&destination(0), it.next_hop));
    for (title, before, after) in [
        ("a route is moved that was planned to lead elsewhere", elsewhere.clone(), targets.get(ROUTES)),
        ("a route is deleted that was planned to lead elsewhere", elsewhere, None),
        ("a route is made where another one is", None, targets.get(1)),
    ] {
        mistaken.push(mistake(stage, &process, title, RouteChange { before, ..planned(0, after) }).await?);
    }
    let taken = ForeignChange::AddForeignRoute { destination: destination(TAKEN) };
    let is_taken = stage.admin.change(&taken).await?.is_some();
    if is_taken {
        let change = planned(TAKEN, targets.get(0));
        mistaken.push(mistake(stage, &process, "a route is made where somebody else's is", change).await?);
    }
    clear(stage, &mut process, targets).await?;
    let mixed = if is_taken && batch_size(&process) >= 3 {
        Some(mixed(&process, targets, stage.patience).await?)
    } else {
        None
    };
    clear(stage, &mut process, targets).await?;
    Ok((mistaken, mixed))
}

/// A change, until it is done or refused.
async fn mistake(stage: &mut Stage, process: &HostProcess, title: &str, change: RouteChange) -> Result<MistakenChange> {
    let before = stage.objects().await?;
    let said = asked(process, vec![change], stage.patience).await?.pop();
    Ok(MistakenChange { title: title.to_owned(), said, before, after: stage.objects().await? })
}

/// Three changes in one call, of which the second cannot be made.
async fn mixed(process: &HostProcess, targets: &RouteTargets, patience: Duration) -> Result<MixedChanges> {
    let changes = vec![planned(0, targets.get(0)), planned(TAKEN, targets.get(1)), planned(2, targets.get(2))];
    let destinations = changes.iter().map(|it| it.destination.clone()).collect();
    Ok(MixedChanges { destinations, bad: 1, said: asked(process, changes, patience).await? })
}

/// The last answers: whatever waits is asked for again, with all others, until each call ends as the one before it.
async fn asked(process: &HostProcess, mut changes: Vec<RouteChange>, patience: Duration) -> Result<Vec<SaidOfRoute>> {
    let (wait, mut all) = (BegunWait::new(patience), Vec::new());
    let mut standstill = Standstill::new(patience);
    for calls in 1.. {
        let answers = apply(process, &changes).await?;
        all = answers.iter().map(said).collect();
        for (change, answer) in changes.iter_mut().zip(&answers) {
            change.pending = match answer {
                Ok(RouteOutcome::Pending { reason, .. }) => Some(reason.clone()),
                Ok(RouteOutcome::Done) | Err(_) => None,
            };
        }
        let is_last = |said: &SaidOfRoute| match said {
            SaidOfRoute::Done => true,
            SaidOfRoute::Error(wrong) => wrong.is_final,
            SaidOfRoute::Pending(_) | SaidOfRoute::Unheard => false,
        };
        let waits = all.iter().any(|it| matches!(it, SaidOfRoute::Pending(_)));
        if all.iter().all(is_last) || standstill.is_reached((!waits).then(|| all.clone())) || !wait.goes_on(calls) {
            break;
        }
        rest(PAUSE, calls).await;
    }
    Ok(all)
}

/// A route as a list would have told it.
fn route(destination: &str, next_hop: String) -> Route {
    Route {
        destination: destination.to_owned(),
        next_hop: Some(next_hop),
        ownership: RouteOwnership::Unmarked,
        state: RouteState::Active,
        id: destination.to_owned(),
        extra: Vec::new(),
    }
}
