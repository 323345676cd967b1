//! Why a Service could not be brought to where it should be, and who is told what.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::Error as CloudError;

use crate::error::{BackOff, LONGEST_RETRY_AFTER, Pause, chain};
use crate::object;
use crate::service::hosts::{Host, names};
use crate::service::wish::Invalid;

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
        hosts: Arc<[Host]>,
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
    /// The finalizer could not be taken off.
    #[error("failed to remove load balancer cleanup finalizer")]
    Release(#[source] object::Error),
}

impl Error {
    /// When the Service is tried again, after `failures` in a row before this one.
    pub(super) fn pause(&self, back_off: BackOff, failures: u32) -> Pause {
        match self.cloud() {
            Some(error) => back_off.pause(failures, error),
            None => Pause::AtLeast(back_off.after(failures)),
        }
    }

    /// The reason and the text of the event that shows it.
    pub(super) fn event(&self) -> (&'static str, String) {
        match self {
            Self::Update { hosts, source } => (
                "UpdateLoadBalancerFailed",
                format!(
                    "Error updating load balancer with new hosts {} [node names limited, total number of nodes: {}], \
                     error: {source}",
                    names(hosts),
                    hosts.len(),
                ),
            ),
            Self::Vanished(source) => ("DeleteLoadBalancerFailed", format!("Error deleting load balancer: {source}")),
            Self::Finalizer(_) | Self::Ensure(_) | Self::Status(_) | Self::Delete(_) | Self::Release(_) => {
                ("SyncLoadBalancerFailed", format!("Error syncing load balancer: {}", chain(self)))
            }
        }
    }

    /// Whether it is shown once, because it stays as it is until a person does something.
    pub(super) fn waits_for_a_person(&self) -> bool {
        matches!(self.cloud(), Some(CloudError::Invalid(_) | CloudError::Denied(_)))
    }

    /// What happens next, and who has to do it.
    pub(super) fn next(&self) -> &'static str {
        match self.cloud() {
            Some(CloudError::Denied(_)) => {
                "check the endpoint's credential, what it is entitled to, and what --cloud-config allows; tried again \
                 when the Service changes, and every 5 minutes"
            }
            Some(CloudError::Invalid(_)) => {
                "correct what the message names; tried again when the Service changes, and every 5 minutes"
            }
            Some(CloudError::RetryAfter { .. }) => "tried again after the cloud's own pause",
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
            Self::Finalizer(_) | Self::Status(_) | Self::Release(_) => None,
        }
    }
}

impl From<Invalid> for Error {
    fn from(error: Invalid) -> Self {
        Self::Ensure(CloudError::Invalid(error.to_string()))
    }
}
