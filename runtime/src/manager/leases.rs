//! The Leases that this process seeks: the main one, and that of a migration; and what the main one says of modules.

use ::controllers::{Recorder, RequestedChanges};
use kube::Client;
use rustix::system::uname;
use sandbox::Digest;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::warn;

use crate::flags::{LeaderElection, Settings};
use crate::leader::{self, Leader, Metrics};

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

/// Reads off the Lease which module was rolled back in this cluster, once the API server answers. It is not known if that
/// fails: then what the config names is loaded, and the quarantine is there.
pub(super) async fn refused_module(
    settings: &Settings,
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
