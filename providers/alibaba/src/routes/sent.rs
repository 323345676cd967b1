//! Requests with many entries, and what became of each.

use std::time::Duration;

use aerostat_sdk::{Error, Result, RouteOutcome, in_halves};

use crate::api::route_tables::EntryAnswer;
use crate::api::{self, AcsRefusal};

/// The codes of an entry that is not there.
const GONE: [&str; 2] = ["InvalidRouteEntry.NotFound", "VPC_ROUTER_ENTRY_NOT_EXIST"];
/// When a table is asked again that carries out a change.
pub(super) const SOON: Duration = Duration::from_secs(2);

/// The end of the request that an entry was in.
pub(super) enum SentEntry {
    Answered(EntryAnswer),
    /// The request was refused as a whole.
    Refused(AcsRefusal),
    /// Refused with others, and nobody knows which of them is at fault: no request is left in this pass, or the table is busy with others.
    Left,
    /// Others come first: the table takes one request at a time.
    Unsent,
}

/// Sends what belongs into one request, and answers each item with what became of it. A request that is refused as a whole is sent in halves,
/// so that an entry that cannot be written holds up few others; so is one of which the answer does not say which entries are refused. Once an
/// entry is taken, no request is left: the table takes no other one now.
pub(super) fn each<'i, T>(
    items: &'i [T],
    requests: &mut u32,
    send: &mut dyn FnMut(&'i [T]) -> Result<Vec<EntryAnswer>, AcsRefusal>,
) -> Vec<(&'i T, SentEntry)> {
    let mut is_busy = false;
    let mut send = |part| {
        let sent = (!is_busy).then(|| send(part))?;
        is_busy = sent.as_ref().is_ok_and(|it| it.iter().any(EntryAnswer::is_any_taken));
        Some(sent)
    };
    let is_refused = |sent: &Option<Result<Vec<EntryAnswer>, AcsRefusal>>| match sent {
        Some(Ok(answers)) => answers.contains(&EntryAnswer::Unclear { is_any_taken: false }),
        Some(Err(refusal)) => is_about_an_entry(refusal),
        None => false,
    };
    let mut ends = Vec::new();
    for (part, sent) in in_halves(items, requests, &mut send, &is_refused) {
        match sent.flatten() {
            Some(Ok(answers)) => ends.extend(part.iter().zip(answers.into_iter().map(SentEntry::Answered))),
            Some(Err(refusal)) => ends.extend(part.iter().map(|it| (it, SentEntry::Refused(refusal.clone())))),
            None if part.len() == items.len() => ends.extend(part.iter().map(|it| (it, SentEntry::Unsent))),
            None => ends.extend(part.iter().map(|it| (it, SentEntry::Left))),
        }
    }
    if is_busy {
        *requests = 0;
    }
    ends
}

/// Whether a request was refused as a whole for the sake of an entry in it.
fn is_about_an_entry(refusal: &AcsRefusal) -> bool {
    GONE.contains(&&*refusal.code) || (matches!(refusal.error, Error::Invalid(_)) && !refusal.is_busy())
}

impl SentEntry {
    /// The code with which it was refused, by itself or with its request.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Answered(EntryAnswer::Refused { code, .. }) => Some(code),
            Self::Refused(refusal) => Some(&refusal.code),
            Self::Answered(EntryAnswer::Taken | EntryAnswer::Unclear { .. }) | Self::Left | Self::Unsent => None,
        }
    }

    /// Whether the entry was gone. A request with others that is refused for that is sent in halves, so that this is about no other entry.
    pub(super) fn was_gone(&self) -> bool {
        self.code().is_some_and(|it| GONE.contains(&it))
    }

    /// The outcome of one that was not taken, for the route to this destination.
    pub(super) fn refusal(self, destination: &str) -> Result<RouteOutcome> {
        let waits = |why: String| Ok(RouteOutcome::pending(SOON, why));
        match self {
            Self::Unsent => waits("it is sent later: others come first".to_owned()),
            Self::Left => waits("one of several entries is refused: fewer are sent together".to_owned()),
            Self::Refused(refusal) => Err(refusal.error),
            Self::Answered(EntryAnswer::Refused { code, message }) if api::is_busy(&code) => {
                waits(format!("{code}: {message}"))
            }
            // To the host, a table that is full is `invalid`: it asks again once a route goes.
            Self::Answered(EntryAnswer::Refused { code, message }) => {
                Err(Error::invalid(format_args!("the route to {destination} was refused: {code}: {message}")))
            }
            Self::Answered(EntryAnswer::Taken | EntryAnswer::Unclear { .. }) => {
                waits("the cloud has refused an entry, and did not say which".to_owned())
            }
        }
    }
}
