//! The Lease, as far as modules are concerned: it says what was rolled back, and gets the events.

use ::controllers::{EventKind, Recorder};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use sandbox::Digest;
use tokio::sync::watch;
use tracing::warn;

use crate::flags::LeaderElection;
use crate::leader::{self, Leader, Leadership, RefusedModule};

/// The Lease of this process.
pub(crate) struct OnLease {
    client: Client,
    election: LeaderElection,
    leadership: Leadership,
    refused: watch::Receiver<RefusedModule>,
    recorder: Recorder,
    lease: ObjectReference,
}

impl OnLease {
    pub(crate) fn new(client: Client, election: &LeaderElection, leader: &Leader) -> Self {
        Self {
            client,
            election: election.clone(),
            leadership: leader.leadership(),
            refused: leader.refused(),
            recorder: leader.recorder(),
            lease: leader.lease(),
        }
    }

    /// Its word on modules, and each change of it.
    pub(super) fn refused(&self) -> watch::Receiver<RefusedModule> {
        self.refused.clone()
    }

    /// Whether this process leads.
    pub(super) fn leads(&self) -> bool {
        self.leadership.may_write()
    }

    /// Events are about the Lease with this UID from now on.
    pub(super) fn has_uid(&mut self, uid: Option<String>) {
        self.lease.uid = uid;
    }

    /// Writes that a module was rolled back.
    pub(super) async fn note(&self, digest: Digest) {
        let Self { client, election, .. } = self;
        if let Err(because) = leader::refuse_module(client, election, digest).await {
            warn!(
                "cannot write the annotation {} on the Lease {}/{}: {because}. Other replicas do not know that module \
                 sha256:{digest} was rolled back. Configure another digest",
                leader::REFUSED,
                election.namespace,
                election.name
            );
        }
    }

    /// Records an event.
    pub(super) fn record(&self, kind: EventKind, reason: &str, message: &str) {
        self.recorder.record(self.lease.clone(), kind, reason, message);
    }
}
