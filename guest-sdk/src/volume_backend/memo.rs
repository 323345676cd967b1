//! The memo of a creation, which the host keeps between two calls.

use crate::{DesiredVolume, Error, Result};

/// The knowledge of a volume that was or may have been created. The time is in seconds since 1970.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum VolumeMemo {
    /// The cloud has named this handle.
    Made { handle: String, since: u64 },
    /// The cloud did not say what became of its creation.
    Lost { since: u64 },
}

impl VolumeMemo {
    /// The memo that the host kept, if it kept one. `is_handle` says what a handle of this driver looks like.
    ///
    /// # Errors
    ///
    /// `invalid`, if this provider did not write it: without its own memo it might create a second volume.
    pub(super) fn of(desired: &DesiredVolume, is_handle: impl Fn(&str) -> bool) -> Result<Option<Self>> {
        let Some(text) = &desired.memo else { return Ok(None) };
        let since = |text: &str| text.parse().ok();
        let memo = match &*text.split(' ').collect::<Vec<_>>() {
            ["lost", "since", time] => since(time).map(|since| Self::Lost { since }),
            ["made", handle, "since", time] if is_handle(handle) => {
                since(time).map(|since| Self::Made { handle: (*handle).to_owned(), since })
            }
            _ => None,
        };
        let unknown =
            || Error::invalid(format_args!("the memo {text:?} of volume {} is not one of this provider", desired.name));
        memo.map(Some).ok_or_else(unknown)
    }

    /// As it is kept.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Made { handle, since } => format!("made {handle} since {since}"),
            Self::Lost { since } => format!("lost since {since}"),
        }
    }

    pub(super) fn since(&self) -> u64 {
        match self {
            Self::Made { since, .. } | Self::Lost { since } => *since,
        }
    }
}
