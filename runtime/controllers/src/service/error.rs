//! Why a Service could not be brought to where it should be, and who is told what.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error as CloudError;

use crate::error::{BackOff, LONGEST_RETRY_AFTER, Pause, SHOWN, chain};
use crate::object;
use crate::service::backends::{BackendNode, names};
use crate::service::desired::Invalid;

/// The longest pause between two tries of a deletion, in first pauses: 30 s. Upstream looks at every Service that has to
/// be cleaned up each 30 s, whatever its back-off.
const LONGEST_OF_DELETIONS: u32 = 6;

/// Why a Service could not be synced.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The finalizer could not be written; the cloud was not asked.
    #[error("failed to add load balancer cleanup finalizer")]
    Finalizer(#[source] object::Error),
    /// The cloud did not do it, or its answer was refused.
    #[error("failed to ensure load balancer")]
    Ensure(#[source] CloudError),
    /// The same, when only the nodes had changed.
    #[error("failed to ensure load balancer")]
    Update {
        /// Those that should take traffic.
        backends: Arc<[BackendNode]>,
        /// Why.
        source: CloudError,
    },
    /// What the cloud answered could not be written.
    #[error("failed to update load balancer status")]
    Status(#[source] object::Error),
    /// The cloud did not delete it.
    #[error("failed to delete load balancer")]
    Delete(#[source] CloudError),
    /// The cloud did not delete what a Service had that is not there any more.
    #[error("failed to delete load balancer")]
    Vanished(#[source] CloudError),
    /// The API server did not say whether such a Service is gone.
    #[error("cannot find out whether the Service is gone")]
    Unknown(#[source] object::Error),
    /// Enough load balancers of such Services were deleted lately.
    #[error("{0}")]
    Withheld(String),
    /// The finalizer could not be taken off.
    #[error("failed to remove load balancer cleanup finalizer")]
    Release(#[source] object::Error),
    /// A fault of ours: its state was about to make a move that is not legal.
    #[error("{0}")]
    Fault(String),
}

/// What kind of failure keeps a load balancer from being as desired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FailureKind {
    /// What may pass by itself.
    Transient,
    /// The spec is wrong: it, or the nodes, have to change.
    InvalidSpec,
    /// The cloud or the policy denies it: the credential, or its rights, have to change.
    Denied,
}

impl FailureKind {
    /// Whether it stays until a person does something: then it is shown once.
    pub(super) fn needs_a_person(self) -> bool {
        match self {
            Self::Transient => false,
            Self::InvalidSpec | Self::Denied => true,
        }
    }
}

impl Error {
    /// When the Service is tried again, after `failures` in a row before this one.
    pub(super) fn pause(&self, back_off: BackOff, failures: u32) -> Pause {
        let longest = back_off.first.saturating_mul(LONGEST_OF_DELETIONS).min(back_off.longest);
        let back_off = if self.is_of_a_deletion() { BackOff { longest, ..back_off } } else { back_off };
        match self.cloud() {
            Some(CloudError::Invalid(_) | CloudError::Denied(_)) if self.is_of_a_deletion() => Pause::AtLeast(longest),
            Some(error) => back_off.pause(failures, error),
            None if matches!(self, Self::Withheld(_)) => Pause::AtLeast(SHOWN),
            None => Pause::AtLeast(back_off.after(failures)),
        }
    }

    /// Whether it stands in the way of a deletion.
    fn is_of_a_deletion(&self) -> bool {
        match self {
            Self::Delete(_) | Self::Vanished(_) | Self::Unknown(_) | Self::Release(_) => true,
            Self::Finalizer(_)
            | Self::Ensure(_)
            | Self::Update { .. }
            | Self::Status(_)
            | Self::Withheld(_)
            | Self::Fault(_) => false,
        }
    }

    /// The reason and the text of the event that shows it.
    pub(super) fn event(&self) -> (&'static str, String) {
        match self {
            Self::Update { backends, source } => (
                "UpdateLoadBalancerFailed",
                format!(
                    "Error updating load balancer with new hosts {} [node names limited, total number of nodes: {}], \
                     error: {source}",
                    names(backends),
                    backends.len(),
                ),
            ),
            Self::Vanished(source) => ("DeleteLoadBalancerFailed", format!("Error deleting load balancer: {source}")),
            Self::Unknown(_) => ("DeleteLoadBalancerFailed", format!("Error deleting load balancer: {}", chain(self))),
            Self::Withheld(why) => ("LoadBalancerNotDeleted", why.clone()),
            Self::Finalizer(_)
            | Self::Ensure(_)
            | Self::Status(_)
            | Self::Delete(_)
            | Self::Release(_)
            | Self::Fault(_) => ("SyncLoadBalancerFailed", format!("Error syncing load balancer: {}", chain(self))),
        }
    }

    /// What kind of failure it is.
    pub(super) fn failure_kind(&self) -> FailureKind {
        match self.cloud() {
            None if matches!(self, Self::Withheld(_)) => FailureKind::Denied,
            Some(CloudError::Invalid(_)) => FailureKind::InvalidSpec,
            Some(CloudError::Denied(_)) => FailureKind::Denied,
            Some(CloudError::RetryAfter { .. } | CloudError::Crashed { .. } | CloudError::Unavailable(_)) => {
                FailureKind::Transient
            }
            None => match self {
                // Another answer of the provider may do, and that may follow from other nodes.
                Self::Status(error) if error.is_refusal() => FailureKind::InvalidSpec,
                _ => FailureKind::Transient,
            },
        }
    }

    /// What happens next, and who has to do it.
    pub(super) fn next(&self) -> &'static str {
        match self.cloud() {
            Some(CloudError::Denied(_) | CloudError::Invalid(_)) if self.is_of_a_deletion() => {
                "correct what the message names; tried again every 30 seconds"
            }
            None if matches!(self, Self::Withheld(_)) => {
                "annotate the Lease as the message says, or wait; tried again when that is done, and every 5 minutes"
            }
            Some(CloudError::Denied(_)) => {
                "check the endpoint's credential, what it is entitled to, and what --cloud-config allows; tried again \
                 when the Service changes, and every 5 minutes"
            }
            Some(CloudError::Invalid(_)) => {
                "correct what the message names; tried again when the Service changes, and every 5 minutes"
            }
            Some(CloudError::RetryAfter { .. }) => "tried again after the cloud's own pause",
            Some(CloudError::Crashed { .. }) => "tried again as the message says",
            Some(CloudError::Unavailable(_)) | None => "tried again with growing pauses",
        }
    }

    /// The pause that the cloud asked for, if it is longer than any that it gets.
    pub(super) fn cut_pause(&self) -> Option<Duration> {
        match self.cloud() {
            Some(CloudError::RetryAfter { after, .. }) => Some(*after).filter(|it| *it > LONGEST_RETRY_AFTER),
            _ => None,
        }
    }

    fn cloud(&self) -> Option<&CloudError> {
        match self {
            Self::Ensure(error) | Self::Delete(error) | Self::Vanished(error) | Self::Update { source: error, .. } => {
                Some(error)
            }
            Self::Finalizer(_)
            | Self::Status(_)
            | Self::Release(_)
            | Self::Unknown(_)
            | Self::Withheld(_)
            | Self::Fault(_) => None,
        }
    }
}

impl From<Invalid> for Error {
    fn from(error: Invalid) -> Self {
        Self::Ensure(CloudError::Invalid(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(5), longest: Duration::from_secs(300) };

    fn unavailable() -> CloudError {
        CloudError::Unavailable("cloud is down".to_owned())
    }

    fn late() -> object::Error {
        object::Error::Late(Duration::from_secs(30))
    }

    fn check(error: &Error, reason: &str, message: &str) {
        assert_eq!(error.event(), (reason, message.to_owned()));
    }

    #[test]
    fn events_say_what_upstreams_say() {
        let failed = "SyncLoadBalancerFailed";
        let ensure = Error::Ensure(unavailable());
        check(&ensure, failed, "Error syncing load balancer: failed to ensure load balancer: cloud is down");
        let delete = Error::Delete(unavailable());
        check(&delete, failed, "Error syncing load balancer: failed to delete load balancer: cloud is down");
        check(
            &Error::Vanished(unavailable()),
            "DeleteLoadBalancerFailed",
            "Error deleting load balancer: cloud is down",
        );
        for (error, what) in [
            (Error::Finalizer(late()), "failed to add load balancer cleanup finalizer"),
            (Error::Release(late()), "failed to remove load balancer cleanup finalizer"),
            (Error::Status(late()), "failed to update load balancer status"),
        ] {
            let why = "the API server did not answer within 30 s";
            check(&error, failed, &format!("Error syncing load balancer: {what}: {why}"));
        }
        let update = Error::Update { backends: Arc::default(), source: unavailable() };
        let text = "Error updating load balancer with new hosts [] [node names limited, total number of nodes: 0], \
                    error: cloud is down";
        check(&update, "UpdateLoadBalancerFailed", text);
    }

    #[test]
    fn case_121_the_pauses_double_up_to_five_minutes() {
        let pauses: Vec<_> = (0..8).map(|it| Error::Ensure(unavailable()).pause(BACK_OFF, it)).collect();
        let expected = [5, 10, 20, 40, 80, 160, 300, 300].map(|it| Pause::AtLeast(Duration::from_secs(it)));
        assert_eq!(pauses, expected);
        assert_eq!(Error::Status(late()).pause(BACK_OFF, 1), Pause::AtLeast(Duration::from_secs(10)));
    }

    #[test]
    fn a_failing_deletion_is_tried_again_every_30_seconds() {
        let seconds = |it| Pause::AtLeast(Duration::from_secs(it));
        for error in [Error::Delete(unavailable()), Error::Vanished(unavailable()), Error::Release(late())] {
            let pauses: Vec<_> = (0..5).map(|it| error.pause(BACK_OFF, it)).collect();
            assert_eq!(pauses, [5, 10, 20, 30, 30].map(seconds), "{error}");
        }
        for error in [CloudError::Invalid("in use".to_owned()), CloudError::Denied("no".to_owned())] {
            let error = Error::Delete(error);
            assert_eq!(error.pause(BACK_OFF, 0), seconds(30));
            assert!(error.next().contains("30 seconds"));
        }
    }

    #[test]
    fn a_status_that_is_refused_waits_for_another_answer() {
        let refused = |code| {
            let status = kube::core::Status { code, ..kube::core::Status::default() };
            Error::Status(object::Error::Refused(Box::new(status))).failure_kind()
        };
        assert_eq!([400, 403, 413, 422].map(refused), [FailureKind::InvalidSpec; 4]);
        assert_eq!([409, 429, 500, 503].map(refused), [FailureKind::Transient; 4]);
    }

    #[test]
    fn case_146_deletions_obey_the_clouds_pause() {
        let after = Duration::from_secs(42);
        let retry = || CloudError::RetryAfter { after, reason: "busy".to_owned() };
        let deletion = "Error syncing load balancer: failed to delete load balancer: busy";
        check(&Error::Delete(retry()), "SyncLoadBalancerFailed", deletion);
        let update = Error::Update { backends: Arc::default(), source: retry() };
        for error in [Error::Ensure(retry()), Error::Delete(retry()), Error::Vanished(retry()), update] {
            assert_eq!(error.pause(BACK_OFF, 7), Pause::Exactly(after));
            assert_eq!(error.failure_kind(), FailureKind::Transient);
        }
    }

    #[test]
    fn an_error_for_a_person_is_tried_every_five_minutes() {
        let (invalid, denied) = (CloudError::Invalid("bad".to_owned()), CloudError::Denied("no".to_owned()));
        for (error, failure_kind) in [(invalid, FailureKind::InvalidSpec), (denied, FailureKind::Denied)] {
            let error = Error::Ensure(error);
            assert_eq!(error.failure_kind(), failure_kind);
            assert!(failure_kind.needs_a_person());
            assert_eq!(error.pause(BACK_OFF, 0), Pause::AtLeast(Duration::from_secs(300)));
        }
    }
}
