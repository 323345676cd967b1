//! Troubles: in which story which request goes wrong, and how. Values only.
//!
//! The SDK's `testing::converge` plays the same stories, from this file.

use super::protocol::{ArrivedRequest, How};

/// The troubles of a creation while lists lag, and whether the Service is deleted at once.
const LATE: [(How, bool); 5] = [
    (How::FailedAfter, false),
    (How::FailedAfter, true),
    (How::DiesAfter, false),
    (How::DiesAfter, true),
    (How::DiesBefore, true),
];

/// One of the three parts of a load balancer's life.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// From nothing to one that serves.
    Create,
    /// One more node, and one more port.
    Change,
    /// Until it is gone.
    Delete,
}

impl Phase {
    pub(crate) const ALL: [Self; 3] = [Self::Create, Self::Change, Self::Delete];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}

/// The trouble of a story: the nth request of each phase goes wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Trouble {
    /// Counted from one.
    pub(crate) nth: usize,
    /// How.
    pub(crate) how: How,
    /// Whether lists do not show what was made, for some calls more.
    pub(crate) lists_lag: bool,
    /// Whether the Service is deleted right after it, before anybody has asked again.
    pub(crate) gives_up: bool,
}

impl Trouble {
    /// The story in words.
    pub(crate) fn title(&self) -> String {
        let Self { nth, how, lists_lag, gives_up } = self;
        let late = if *lists_lag { ", while lists lag" } else { "" };
        let deleted = if *gives_up { ", and the Service deleted then" } else { "" };
        format!("request {nth} {}{late}{deleted}", how.words())
    }
}

/// The troubles that the requests of a life can meet, by the number of each in its phase. `phases` are the requests of a life in
/// which nothing goes wrong, in the order of [`Phase::ALL`].
pub(crate) fn troubles(phases: &[Vec<ArrivedRequest>; 3]) -> Vec<Trouble> {
    let longest = phases.iter().map(Vec::len).max().unwrap_or_default();
    let mut troubles = Vec::new();
    for nth in 1..=longest {
        let writes = phases.iter().any(|it| it.get(nth - 1).is_some_and(|it| it.writes));
        let creates = phases[0].get(nth - 1).is_some_and(|it| it.writes);
        let all = [How::LostBefore, How::Failed, How::LostAfter, How::Busy, How::DiesBefore, How::DiesAfter];
        // A read changes nothing, carried out or not, and a lost answer to it is like a refused one: one trouble is enough.
        let of_reads = (nth - 1) % 2;
        let hows = if writes { &all[..] } else { &all[of_reads..=of_reads] };
        troubles.extend(hows.iter().map(|how| Trouble { nth, how: *how, lists_lag: false, gives_up: false }));
        let is_first = !phases[0].iter().take(nth - 1).any(|it| it.writes);
        if creates && is_first {
            troubles.push(Trouble { nth, how: How::Refused, lists_lag: false, gives_up: false });
        }
        let late = if creates { &LATE[..] } else { &[] };
        troubles.extend(late.iter().copied().map(|(how, gives_up)| Trouble { nth, how, lists_lag: true, gives_up }));
    }
    troubles
}
