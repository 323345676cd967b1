//! The Leases that this process seeks: the main one, and that of a migration.

use ::controllers::{Recorder, RequestedChanges};
use kube::Client;
use rustix::system::uname;
use tokio::task::JoinSet;

use crate::flags::{LeaderElection, Settings};
use crate::leader::{Leader, Metrics};

/// The candidate for the main Lease, and the one for that of a migration. The senders of their events go to `events`.
pub(super) fn candidates(
    settings: &Settings,
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
