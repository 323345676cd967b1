//! Why a volume cannot be labelled, and when it is tried again.

use cloud_provider::Error as CloudError;

use crate::error::{self, Pause, SHOWN};
use crate::object;

/// Why a volume could not be labelled.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The cloud did not say where the volume is, or its answer cannot be used.
    #[error("error querying volume {volume}")]
    Cloud {
        /// The PersistentVolume's name.
        volume: String,
        /// Why.
        source: CloudError,
    },
    /// The PersistentVolume's own content cannot be used.
    #[error("cannot label volume {volume}: {objection}")]
    Volume {
        /// Its name.
        volume: String,
        /// The fault of its content.
        objection: String,
    },
    /// It could not be written.
    #[error("failed to update labels and node affinity of volume {volume}")]
    Write {
        /// Its name.
        volume: String,
        /// Why.
        source: object::Error,
    },
}

impl Error {
    /// When the volume is tried again, after `failures` in a row before this one.
    pub(super) fn pause(&self, failures: u32) -> Pause {
        match self {
            Self::Cloud { source, .. } => error::pause(failures, source),
            Self::Volume { .. } => Pause::AtLeast(SHOWN),
            Self::Write { source, .. } if source.is_refusal() => Pause::AtLeast(SHOWN),
            Self::Write { .. } => Pause::AtLeast(error::back_off(failures)),
        }
    }

    /// Whether a person is told by an event; a pause that the cloud asked for is none of theirs.
    pub(super) fn is_shown(&self) -> bool {
        !matches!(self, Self::Cloud { source: CloudError::RetryAfter { .. }, .. })
    }

    /// The next step, and who has to take it.
    pub(super) fn next(&self) -> &'static str {
        match self {
            Self::Cloud { source: CloudError::Denied(_), .. } => {
                "check the endpoint's credential, what it is entitled to, and what --cloud-config allows; tried again \
                 when the credential changes, and every 5 minutes"
            }
            Self::Cloud { source: CloudError::Invalid(_), .. } | Self::Volume { .. } => {
                "correct what the message names; tried again when the volume changes, and every 5 minutes"
            }
            Self::Cloud { source: CloudError::RetryAfter { .. }, .. } => "tried again after the cloud's own pause",
            Self::Cloud { source: CloudError::Crashed { .. }, .. } => "tried again as the message says",
            Self::Cloud { source: CloudError::Unavailable(_), .. } | Self::Write { .. } => {
                "tried again with growing pauses; the volume stays as it is"
            }
        }
    }
}
