//! How parts of the process end, and what that means for it.

use anyhow::anyhow;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use crate::failure::Failure;
use crate::leader::Leader;

/// Without leader election there is nothing to lose.
pub(super) async fn hold(leader: &mut Option<Leader>) -> Failure {
    match leader {
        Some(leader) => anyhow!(leader.hold().await).into(),
        None => std::future::pending().await,
    }
}

/// Ready once a sender of events has panicked. One that ends has nothing to do any more: nobody can record.
pub(super) async fn panicked(senders: &mut JoinSet<()>) -> JoinError {
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

pub(super) fn ended_early(ended: Result<&'static str, JoinError>) -> Failure {
    match ended {
        Ok(name) => anyhow!("{name} ended by itself; that is a bug in aerostat").into(),
        Err(panic) => anyhow!(panic).context("a task panicked; that is a bug in aerostat").into(),
    }
}
