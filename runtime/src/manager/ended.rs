//! How parts of the process end, and what that means for it.

use std::time::Duration;

use anyhow::anyhow;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::timeout;
use tracing::warn;

use crate::failure::Failure;
use crate::leader::Leader;

/// How long what is in flight may take once the process is asked to end.
const DRAIN: Duration = Duration::from_secs(10);
/// How long the last events may take.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// Ready once one of these tasks has ended, or a sender of events has panicked.
pub(super) async fn any_ended(tasks: &mut JoinSet<&'static str>, senders: &mut JoinSet<()>) -> Failure {
    tokio::select! {
        Some(ended) = tasks.join_next() => ended_early(ended),
        panic = panicked(senders) => ended_early(Err(panic)),
    }
}

/// Lets the controllers finish what is in flight. Returns whether they did in time.
pub(super) async fn drained(controllers: &mut JoinSet<Result<&'static str, Failure>>) -> bool {
    let ended = timeout(DRAIN, async { while controllers.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        warn!("gave up what was still in flight after {DRAIN:?}");
    }
    ended.is_ok()
}

/// Waits a moment until the last events are sent.
pub(super) async fn last_events(mut senders: JoinSet<()>) {
    let sent = async {
        while let Some(ended) = senders.join_next().await {
            if let Err(panic) = ended {
                warn!("events are lost, because their sender panicked: {panic}; that is a bug in aerostat");
            }
        }
    };
    if timeout(LAST_EVENTS, sent).await.is_err() {
        warn!("the last events were not sent within {LAST_EVENTS:?}");
    }
}

/// Without leader election there is nothing to lose.
pub(super) async fn hold(leader: &mut Option<Leader>) -> Failure {
    match leader {
        Some(leader) => anyhow!(leader.hold().await).into(),
        None => std::future::pending().await,
    }
}

/// Ready once a sender of events has panicked. One that ends has nothing to do any more: nobody can record.
async fn panicked(senders: &mut JoinSet<()>) -> JoinError {
    loop {
        match senders.join_next().await {
            Some(Err(panic)) => return panic,
            Some(Ok(())) => {}
            None => std::future::pending().await,
        }
    }
}

pub(super) async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it the process.
    let _ = stop.wait_for(|it| *it).await;
}

pub(super) fn controller_ended(ended: Result<Result<&'static str, Failure>, JoinError>) -> Failure {
    match ended {
        Ok(Err(failure)) => failure,
        Ok(Ok(name)) => ended_early(Ok(name)),
        Err(panic) => ended_early(Err(panic)),
    }
}

fn ended_early(ended: Result<&'static str, JoinError>) -> Failure {
    match ended {
        Ok(name) => anyhow!("{name} ended by itself; that is a bug in aerostat").into(),
        Err(panic) => anyhow!(panic).context("a task panicked; that is a bug in aerostat").into(),
    }
}
