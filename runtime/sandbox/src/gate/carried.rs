use std::net::SocketAddr;
use std::time::Duration;

use super::policy::Denied;
use super::wire::Answer;

/// What came of a permitted request.
#[derive(Debug)]
pub(super) struct Carried {
    /// The checked address that it went to, if there was a connection.
    pub(super) address: Option<SocketAddr>,
    pub(super) answer: Result<Answer, Failure>,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The Lease is gone, or the host has no address that may be dialled.
    Denied(Denied),
    /// Not sent: the endpoint is free again then.
    Paused(Duration),
    /// Certainly not carried out.
    Unreachable(String),
    /// Perhaps carried out.
    Interrupted(String),
}

impl Carried {
    /// How many bytes an answer has that says something about a moment later, too. A refusal or a fault may be over; and
    /// that something is not there is what deletions rest on, so that it has to be said each time anew.
    pub(super) fn lasting(&self) -> Option<usize> {
        let answer = self.answer.as_ref().ok()?;
        answer.status.is_success().then_some(answer.body.len())
    }
}
