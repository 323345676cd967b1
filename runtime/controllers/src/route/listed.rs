//! The routes of the cloud, with their destinations understood. No client, no clock, no log.

use std::time::Duration;

use cloud_provider::{Freshness, Route};
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::freshness::ROUTE_DELETION;

/// A route of the cloud.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ListedRoute {
    pub(super) cidr: Cidr,
    pub(super) route: Route,
    /// Whether it is what a change should have made, and no list has shown it: its id may be another.
    pub(super) is_guess: bool,
}

/// The routes as far as they are known.
#[derive(Clone, Debug)]
pub(super) struct KnownRoutes {
    pub(super) routes: Vec<ListedRoute>,
    /// When the list began that showed them.
    pub(super) began: Instant,
    /// Why routes may be missing.
    pub(super) incomplete: Option<String>,
}

impl ListedRoute {
    /// The routes of a list, and the destinations that cannot be read: those are nobody's.
    pub(super) fn all(routes: Vec<Route>) -> (Vec<Self>, Vec<String>) {
        let (mut listed, mut unreadable) = (Vec::new(), Vec::new());
        for route in routes {
            match Cidr::parse(&route.destination) {
                Some(cidr) => listed.push(Self { cidr, route, is_guess: false }),
                None => unreadable.push(route.destination),
            }
        }
        (listed, unreadable)
    }
}

impl KnownRoutes {
    /// Whether no route is missing, in a list that is young enough for someone who lists once in a period: only then one that
    /// nobody needs is deleted.
    pub(super) fn is_complete(&self, period: Duration, now: Instant) -> bool {
        let freshness = Freshness::within(ROUTE_DELETION.age(period));
        self.incomplete.is_none() && freshness.allows(self.began, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_old_or_incomplete_deletes_no_route() {
        let second = Duration::from_secs(1);
        let known = KnownRoutes { routes: Vec::new(), began: Instant::now(), incomplete: None };
        assert!(known.is_complete(600 * second, known.began + 1_199 * second));
        assert!(!known.is_complete(600 * second, known.began + 1_200 * second));
        let incomplete = KnownRoutes { incomplete: Some("a table did not answer".to_owned()), ..known };
        assert!(!incomplete.is_complete(600 * second, incomplete.began));
    }
}
