//! Questions about routes, and their answers.

use cloud_provider::{Route, RouteChange};

use crate::protocol::{ArrivedRequest, CloudObject, How};
use crate::trouble::{Phase, Trouble};

use super::wrong::Wrong;

/// An answer about one change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SaidOfRoute {
    /// `done`.
    Done,
    /// `pending`, for this reason.
    Pending(String),
    /// An error.
    Error(Wrong),
    /// An answer that nobody heard, because the process died.
    Unheard,
}

/// A call of `apply`: what was said of which change, by the change's number in its part.
#[derive(Clone, Debug)]
pub(crate) struct ApplyCall {
    pub(crate) said: Vec<(usize, SaidOfRoute)>,
    pub(crate) requests: Vec<ArrivedRequest>,
}

/// Changes that belong together: routes are made, one of them is moved, or all go.
#[derive(Clone, Debug)]
pub(crate) struct RoutePart {
    pub(crate) phase: Phase,
    pub(crate) changes: Vec<RouteChange>,
    /// All calls until each change was done, or nobody waited any longer.
    pub(crate) calls: Vec<ApplyCall>,
    /// The same changes once more, after all were done.
    pub(crate) again: Option<ApplyCall>,
    /// The list afterwards.
    pub(crate) listed: RouteListing,
    /// The objects afterwards.
    pub(crate) after: Vec<CloudObject>,
}

/// The life of some routes.
#[derive(Clone, Debug)]
pub(crate) struct RouteStory {
    /// The trouble; `None`: nothing goes wrong.
    pub(crate) trouble: Option<Trouble>,
    /// The objects before it.
    pub(crate) before: Vec<CloudObject>,
    /// In their order.
    pub(crate) parts: Vec<RoutePart>,
}

/// The routes of a page, and why some may be missing.
pub(crate) type RoutePageRead = (Vec<Route>, Option<String>);

/// A list of routes, page after page.
#[derive(Clone, Debug)]
pub(crate) struct RouteListing {
    /// The largest page that was asked for.
    pub(crate) limit: u32,
    /// The trouble of its requests.
    pub(crate) trouble: Option<(usize, How)>,
    /// In their order.
    pub(crate) pages: Vec<Result<RoutePageRead, Wrong>>,
    /// Whether nobody read any further, because there was no end.
    pub(crate) is_endless: bool,
}

/// A change that is to be refused, because something else is there than it was planned for.
#[derive(Clone, Debug)]
pub(crate) struct MistakenChange {
    /// In words: "a route that leads elsewhere by now is moved".
    pub(crate) title: String,
    /// The last answer.
    pub(crate) said: Option<SaidOfRoute>,
    /// The objects before it.
    pub(crate) before: Vec<CloudObject>,
    /// The objects afterwards.
    pub(crate) after: Vec<CloudObject>,
}

/// Changes of one call, of which one cannot be made.
#[derive(Clone, Debug)]
pub(crate) struct MixedChanges {
    /// The destinations, in the order of the call.
    pub(crate) destinations: Vec<String>,
    /// The number of the one that cannot be made.
    pub(crate) bad: usize,
    /// The last answers.
    pub(crate) said: Vec<SaidOfRoute>,
}

/// Everything about routes.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRoutes {
    /// The first is the one in which nothing goes wrong.
    pub(crate) stories: Vec<RouteStory>,
    /// Lists of the same routes, in pages of several lengths and with requests that go wrong.
    pub(crate) lists: Vec<RouteListing>,
    pub(crate) mistaken: Vec<MistakenChange>,
    /// `None` where a call takes fewer changes than that.
    pub(crate) mixed: Option<MixedChanges>,
    /// The destination of a route that is nobody's here; `None` if the cloud cannot make one.
    pub(crate) foreign: Option<String>,
    /// Why no route can lead to some nodes.
    pub(crate) unreached: Vec<String>,
}

impl RouteListing {
    /// All routes of all pages.
    pub(crate) fn routes(&self) -> impl Iterator<Item = &Route> {
        self.pages.iter().flatten().flat_map(|(routes, _)| routes)
    }

    /// Why routes may be missing.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = &String> {
        self.pages.iter().flatten().filter_map(|(_, gap)| gap.as_ref())
    }
}

impl RoutePart {
    /// The last answer about a change.
    pub(crate) fn last(&self, change: usize) -> Option<&SaidOfRoute> {
        let all = self.calls.iter().flat_map(|it| &it.said);
        all.rev().find(|(at, _)| *at == change).map(|(_, said)| said)
    }

    /// Whether each change came to its end.
    pub(crate) fn is_over(&self) -> bool {
        (0..self.changes.len()).all(|it| self.last(it) == Some(&SaidOfRoute::Done))
    }

    /// All its requests, but those of the further call.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &ArrivedRequest> + Clone {
        self.calls.iter().flat_map(|it| &it.requests)
    }
}

impl RouteStory {
    /// The story in words.
    pub(crate) fn title(&self) -> String {
        route_title(self.trouble)
    }

    pub(crate) fn part(&self, phase: Phase) -> Option<&RoutePart> {
        self.parts.iter().find(|it| it.phase == phase)
    }

    /// Whether each part came to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.parts.iter().all(RoutePart::is_over)
    }
}

/// A story of routes in words.
pub(crate) fn route_title(trouble: Option<Trouble>) -> String {
    match trouble {
        None => "routes, and nothing goes wrong".to_owned(),
        Some(trouble) => format!("routes, {}", trouble.title()),
    }
}
