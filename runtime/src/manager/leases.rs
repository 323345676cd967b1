//! The Leases that this process seeks: the main one, and that of a migration; and what the main one says of modules.

use ::controllers::{Recorder, RequestedChanges};
use kube::Client;
use rustix::system::uname;
use sandbox::Digest;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use crate::flags::{LeaderElection, RunSettings};
use crate::leader::{self, Leader, Leadership, Metrics};

/// The candidate for the main Lease, and the one for that of a migration. The senders of their events go to `events`.
pub(super) fn candidates(
    settings: &RunSettings,
    client: &Client,
    requested: &RequestedChanges,
    metrics: &Metrics,
    events: &mut JoinSet<()>,
) -> (Option<Leader>, Option<Leader>) {
    let Some(main) = settings.leader_election.clone() else { return (None, None) };
    let migration =
        settings.leader_migration.as_ref().map(|it| LeaderElection { name: it.leader_name.clone(), ..main.clone() });
    let host = uname().nodename().to_string_lossy().into_owned();
    let (recorder, sender) = Recorder::new(client.clone(), "cloud-controller-manager");
    events.spawn(sender);
    let candidate = |election: LeaderElection| {
        Leader::new(client.clone(), election, &host, recorder.clone(), requested.clone(), metrics)
    };
    (Some(candidate(main)), migration.map(candidate))
}

/// Whether seeking one of the Leases is stuck; `None` without leader election.
pub(super) fn is_stuck(main: Option<&Leader>, migration: Option<&Leader>) -> Option<impl Fn() -> bool + use<>> {
    let [main, migration] = [main, migration].map(|it| it.map(Leader::leadership));
    let main = main?;
    Some(move || main.is_stuck() || migration.as_ref().is_some_and(Leadership::is_stuck))
}

/// Whether this process holds what it needs to write to the cloud.
pub(super) fn may_write(main: Option<&Leader>, migration: Option<&Leader>) -> impl Fn() -> bool + use<> {
    let [main, migration] = [main, migration].map(|it| it.map(Leader::leadership));
    move || {
        let is_lost = migration.as_ref().is_some_and(Leadership::is_lost);
        !is_lost && main.as_ref().is_none_or(Leadership::may_write)
    }
}

/// Gives the Leases back, if nothing is under way any more.
pub(super) async fn give_back(leaders: [Option<Leader>; 2], is_finished: bool) {
    for leader in leaders.into_iter().flatten() {
        if is_finished {
            leader.release().await;
        } else {
            // A Lease that is given back says that nothing is under way any more.
            warn!("the Lease is left to expire: a write of pod networks may still be under way");
        }
    }
}

/// Reads off the Lease which module was rolled back in this cluster, once the API server answers. It is not known if that
/// fails: then what the config names is loaded, and the quarantine is there.
pub(super) async fn refused_module(
    settings: &RunSettings,
    client: &Client,
    mut answered: watch::Receiver<bool>,
) -> Option<Digest> {
    let election = settings.leader_election.as_ref()?;
    // An error means that nobody waits for the API server any more: the request tells.
    let _ = answered.wait_for(|it| *it).await;
    let refused = leader::refused_module(client, election).await;
    refused.unwrap_or_else(|because| {
        let (namespace, name) = (&election.namespace, &election.name);
        warn!(
            "cannot read off the Lease {namespace}/{name} whether the module was rolled back in this cluster: {because}"
        );
        None
    })
}
