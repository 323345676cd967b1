//! A route of the cloud, with its destination understood. No client, no clock, no log.

use cloud_provider::Route;

use crate::cidr::Cidr;

/// A route of the cloud.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Listed {
    pub(super) cidr: Cidr,
    pub(super) route: Route,
    /// Whether it is what a change should have made, and no list has shown it: its id may be another.
    pub(super) is_guess: bool,
}

impl Listed {
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
