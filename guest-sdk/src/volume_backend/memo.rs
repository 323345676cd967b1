//! The memo of a creation, which the host keeps between two calls.

use crate::{DesiredVolume, Error, PendingVolume, Result};

/// The number in the memo of a volume that is given up: that of no creation.
const GIVEN_UP: u32 = 0;
/// Before the number in the memo of a creation that is announced: a sign that makes no other number of it.
const ANNOUNCED: &str = " number +";

/// The knowledge of a volume that was or may have been created. The time is in seconds since 1970; creations are counted from one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum VolumeMemo {
    /// The cloud has named this handle.
    Made { handle: String, since: u64, number: u32 },
    /// The cloud did not say what became of its creation.
    Lost { since: u64, number: u32 },
    /// The next call sends its creation, where the host says that no call before it has had this memo. Versions before this one read it as `Lost`.
    Announced { since: u64, number: u32 },
}

/// The number of the creation that is sent next for a desired volume, as its memo says it: for clouds in which a token is spent with the volume
/// that was made by it. One whose answer was lost is sent with the same number again, and the one after a volume that is gone with the next.
///
/// # Errors
///
/// [`Error::Invalid`] for a memo that this provider did not write.
pub fn creation_number(desired: &DesiredVolume) -> Result<u32> {
    Ok(VolumeMemo::of(desired, |_| true)?.as_ref().map_or(1, VolumeMemo::next_number))
}

/// Whether the answer announces a creation: the call after it sends that. It is no reason to wait for anything else.
#[must_use]
pub fn announces(pending: &PendingVolume) -> bool {
    pending.memo.as_ref().is_some_and(|it| it.contains(ANNOUNCED))
}

impl VolumeMemo {
    /// The memo that the host kept, if it kept one. `is_handle` says what a handle of this driver looks like.
    ///
    /// # Errors
    ///
    /// `invalid`, if this provider did not write it: without its own memo it might create a second volume.
    pub(super) fn of(desired: &DesiredVolume, is_handle: impl Fn(&str) -> bool) -> Result<Option<Self>> {
        let Some(text) = &desired.memo else { return Ok(None) };
        let words: Vec<_> = text.split(' ').collect();
        let (words, number) = match &*words {
            [words @ .., "number", number] => (words, number.parse().ok()),
            words => (words, Some(1)),
        };
        let of = |since: &str| Some((since.parse().ok()?, number?));
        let is_announced = text.contains(ANNOUNCED);
        let memo = match words {
            ["lost", "since", since] if is_announced => {
                of(since).map(|(since, number)| Self::Announced { since, number })
            }
            ["lost", "since", since] => of(since).map(|(since, number)| Self::Lost { since, number }),
            ["made", handle, "since", since] if is_handle(handle) => {
                of(since).map(|(since, number)| Self::Made { handle: (*handle).to_owned(), since, number })
            }
            _ => None,
        };
        let unknown =
            || Error::invalid(format_args!("the memo {text:?} of volume {} is not one of this provider", desired.name));
        memo.map(Some).ok_or_else(unknown)
    }

    /// As it is kept.
    pub(super) fn text(&self) -> String {
        let text = match self {
            Self::Made { handle, since, .. } => format!("made {handle} since {since}"),
            Self::Lost { since, .. } | Self::Announced { since, .. } => format!("lost since {since}"),
        };
        match self {
            Self::Announced { number, .. } => format!("{text}{ANNOUNCED}{number}"),
            _ if self.number() == 1 => text,
            _ => format!("{text} number {}", self.number()),
        }
    }

    pub(super) fn since(&self) -> u64 {
        match self {
            Self::Made { since, .. } | Self::Lost { since, .. } | Self::Announced { since, .. } => *since,
        }
    }

    /// The memo of a volume that is given up, and of which nothing was found since then.
    pub(super) fn given_up(since: u64) -> Self {
        Self::Lost { since, number: GIVEN_UP }
    }

    /// Since when nothing was found of a volume that is given up; `None` for the memo of a creation.
    pub(super) fn given_up_since(&self) -> Option<u64> {
        match self {
            Self::Lost { since, number: GIVEN_UP } => Some(*since),
            Self::Lost { .. } | Self::Made { .. } | Self::Announced { .. } => None,
        }
    }

    /// Of the creation that it is about.
    pub(super) fn number(&self) -> u32 {
        match self {
            Self::Made { number, .. } | Self::Lost { number, .. } | Self::Announced { number, .. } => *number,
        }
    }

    /// Of the creation that is sent next.
    fn next_number(&self) -> u32 {
        match self {
            // It was made, and is gone.
            Self::Made { number, .. } => number.saturating_add(1),
            Self::Lost { number, .. } | Self::Announced { number, .. } => *number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(memo: &str) -> Result<Option<VolumeMemo>> {
        let desired = DesiredVolume::of("default", "data", "uid", 1);
        VolumeMemo::of(&DesiredVolume { memo: Some(memo.to_owned()), ..desired }, |it| it.starts_with("v-"))
    }

    #[test]
    fn a_memo_is_read_as_it_is_written() {
        let made = |number| VolumeMemo::Made { handle: "v-1".to_owned(), since: 7, number };
        for (memo, text, next) in [
            (made(1), "made v-1 since 7", 2),
            (made(3), "made v-1 since 7 number 3", 4),
            (VolumeMemo::Lost { since: 7, number: 1 }, "lost since 7", 1),
            (VolumeMemo::Lost { since: 7, number: 2 }, "lost since 7 number 2", 2),
            (VolumeMemo::Announced { since: 7, number: 1 }, "lost since 7 number +1", 1),
            (VolumeMemo::Announced { since: 7, number: 2 }, "lost since 7 number +2", 2),
        ] {
            assert_eq!((memo.text().as_str(), memo.next_number()), (text, next));
            assert_eq!(read(text), Ok(Some(memo)));
        }
        for text in ["", "lost", "lost since x", "made x-1 since 7", "lost since 7 number", "lost since 7 number +"] {
            assert!(matches!(read(text), Err(Error::Invalid(why)) if why.contains("is not one of this provider")));
        }
    }
}
