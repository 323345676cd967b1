//! Why a volume is not there yet, not attached or not gone, and when it is tried again.

use std::time::Duration;

use cloud_provider::{Error as CloudError, printable};

use crate::error::{BackOff, Pause, SHOWN, chain};
use crate::object;

/// As the vendors' provisioners: from a second to five minutes.
pub(crate) const BACK_OFF: BackOff = BackOff { first: Duration::from_secs(1), longest: Duration::from_secs(300) };

/// How long it rests until a watch has shown what the API server knows.
pub(crate) const LAG: Duration = Duration::from_secs(1);

/// The most bytes of an error in a status, and of an event's text.
const KEPT: usize = 1_024;

/// An error as a status takes it: the API server refuses a longer one of an attachment, and nobody would see it.
pub(crate) fn kept(text: &str) -> &str {
    &text[..text.floor_char_boundary(KEPT)]
}

/// Why it could not be done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A person has to change something.
    #[error("{0}")]
    Refused(String),
    /// Something has to come first.
    #[error("{0}")]
    Waits(String),
    /// The vendor's own controller does the same work, or may do it.
    #[error("{0}")]
    Vendor(String),
    /// The machine takes no more volumes: it waits until one has left it.
    #[error("{0}")]
    Full(String),
    /// The cloud did not do it, or its answer was refused.
    #[error("the cloud did not do it")]
    Cloud(#[source] CloudError),
    /// Enough volumes were deleted lately.
    #[error("{0}")]
    Withheld(String),
    /// The API server did not answer: how the object is, is not known, and nothing is said on it.
    #[error("the API server did not say how {what} is")]
    Unread {
        /// The object.
        what: &'static str,
        /// Why.
        source: object::Error,
    },
    /// The API server did not take it.
    #[error("the API server did not take {what}")]
    Write {
        /// The object, or the question for one.
        what: &'static str,
        /// Why.
        source: object::Error,
    },
}

impl Error {
    /// When it is tried again, after `failures` in a row before this one.
    pub(crate) fn pause(&self, failures: u32) -> Pause {
        match self {
            Self::Refused(_) | Self::Full(_) | Self::Vendor(_) => Pause::AtLeast(SHOWN),
            Self::Write { source, .. } | Self::Unread { source, .. } if source.is_refusal() => Pause::AtLeast(SHOWN),
            Self::Withheld(_) | Self::Waits(_) | Self::Write { .. } | Self::Unread { .. } => {
                Pause::AtLeast(BACK_OFF.after(failures))
            }
            Self::Cloud(source) => BACK_OFF.pause(failures, source),
        }
    }

    /// Whether a person is told by an event; a pause that the cloud asked for is none of theirs, nor that another has written first.
    pub(crate) fn is_shown(&self) -> bool {
        match self {
            Self::Cloud(CloudError::RetryAfter { .. }) => false,
            Self::Write { source, .. } => !source.is_conflict(),
            Self::Unread { .. } | Self::Vendor(_) => false,
            Self::Refused(_) | Self::Waits(_) | Self::Full(_) | Self::Withheld(_) | Self::Cloud(_) => true,
        }
    }

    /// The text of an event: the cause, and the next step whole, however long the cause is.
    pub(crate) fn event_text(&self) -> String {
        const STEP: &str = "Next step: ";
        let cause = chain(self);
        if cause.contains(STEP) {
            return cause;
        }
        let step = format!(". {STEP}{}", self.next());
        printable(&cause, KEPT.saturating_sub(step.len())) + &step
    }

    /// The next step, and who has to take it.
    pub(crate) fn next(&self) -> &'static str {
        match self {
            Self::Refused(_) | Self::Cloud(CloudError::Invalid(_)) => {
                "correct what the message names; tried again when it changes, and every 5 minutes"
            }
            Self::Cloud(CloudError::Denied(_)) => {
                "check the endpoint's credential, what it is entitled to, and what --cloud-config allows; tried again when \
                 the credential changes, and every 5 minutes"
            }
            Self::Cloud(CloudError::RetryAfter { .. }) => "tried again after the cloud's own pause",
            Self::Cloud(CloudError::Crashed { .. }) => "tried again as the message says",
            Self::Vendor(_) => "tried again once the vendor's controller is away",
            Self::Full(_) => "tried again when a volume leaves the machine, and every 5 minutes",
            Self::Withheld(_) => "wait for the window to pass, or approve it on the Lease",
            Self::Waits(_) | Self::Cloud(CloudError::Unavailable(_)) | Self::Write { .. } | Self::Unread { .. } => {
                "tried again with growing pauses"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases: csi 54
    #[test]
    fn events_say_the_cause_and_the_next_step() {
        let denied = Error::Cloud(CloudError::Denied("403: not yours (request r-2)".to_owned())).event_text();
        assert!(
            denied.starts_with("the cloud did not do it: 403: not yours (request r-2). Next step: check"),
            "{denied}"
        );
        let long = Error::Cloud(CloudError::Unavailable("ä".repeat(2_500))).event_text();
        assert!(long.ends_with("ä…. Next step: tried again with growing pauses"), "{long}");
        assert!((1_020..=1_024).contains(&long.len()), "{}", long.len());
        let own = "the CSINode gives another machine. Next step: look at it";
        assert_eq!(Error::Refused(own.to_owned()).event_text(), own);
    }

    /// Cases: csi 53
    #[test]
    fn a_long_error_is_cut_between_characters() {
        let text = format!("{}ä", "x".repeat(1_023));
        assert_eq!(kept(&text), "x".repeat(1_023));
        assert_eq!(kept("short"), "short");
    }
}
