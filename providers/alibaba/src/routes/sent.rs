//! Requests with many entries, and what became of each.

use std::time::Duration;

use aerostat_sdk::{Error, Result, RouteOutcome, in_halves};

use crate::api::route_tables::EntryAnswer;
use crate::api::{self, AcsRefusal};

/// When a table is asked again that carries out a change.
pub(super) const SOON: Duration = Duration::from_secs(2);

/// The end of the request that an entry was in.
pub(super) enum SentEntry {
    Answered(EntryAnswer),
    /// The request was refused as a whole.
    Refused(AcsRefusal),
    /// Refused with others, and nobody knows which of them is at fault: no request is left in this pass.
    Left,
}

/// Sends what belongs into one request, and answers each item with what became of it. A request that is refused as a whole is sent in halves,
/// so that an entry that cannot be written holds up few others.
pub(super) fn each<'i, T: Copy>(
    items: &'i [T],
    requests: &mut u32,
    send: &mut dyn FnMut(&'i [T]) -> Result<Vec<EntryAnswer>, AcsRefusal>,
) -> Vec<(T, SentEntry)> {
    let is_refused = |sent: &Result<Vec<EntryAnswer>, AcsRefusal>| matches!(sent, Err(refusal) if matches!(refusal.error, Error::Invalid(_)) && !refusal.is_busy());
    let mut ends = Vec::new();
    for (part, sent) in in_halves(items, requests, send, &is_refused) {
        match sent {
            Some(Ok(answers)) => ends.extend(part.iter().copied().zip(answers.into_iter().map(SentEntry::Answered))),
            Some(Err(refusal)) => ends.extend(part.iter().map(|it| (*it, SentEntry::Refused(refusal.clone())))),
            None => ends.extend(part.iter().map(|it| (*it, SentEntry::Left))),
        }
    }
    ends
}

impl SentEntry {
    /// The code with which it was refused, by itself or with its request.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Answered(EntryAnswer::Refused { code, .. }) => Some(code),
            Self::Refused(refusal) => Some(&refusal.code),
            Self::Answered(EntryAnswer::Taken | EntryAnswer::Unclear) | Self::Left => None,
        }
    }

    /// The outcome of one that was not taken, for the route to this destination.
    pub(super) fn refusal(self, destination: &str) -> Result<RouteOutcome> {
        let waits = |why: String| Ok(RouteOutcome::pending(SOON, why));
        match self {
            Self::Left => waits("one of several entries is refused: fewer are sent together".to_owned()),
            Self::Refused(refusal) if refusal.is_busy() => {
                waits(format!("the table carries out another change: {}", refusal.code))
            }
            Self::Refused(refusal) => Err(refusal.error),
            Self::Answered(EntryAnswer::Refused { code, message }) if api::is_busy(&code) => {
                waits(format!("{code}: {message}"))
            }
            // To the host, a table that is full is `invalid`: it asks again once a route goes.
            Self::Answered(EntryAnswer::Refused { code, message }) => {
                Err(Error::invalid(format_args!("the route to {destination} was refused: {code}: {message}")))
            }
            Self::Answered(EntryAnswer::Taken | EntryAnswer::Unclear) => {
                waits("the cloud has refused an entry, and did not say which".to_owned())
            }
        }
    }
}
