//! Routes for pod networks.

use std::fmt::Display;
use std::time::Duration;

use crate::bindings::routes::exports::aerostat::cloud::routes::Guest;
use crate::{
    IpFamily, Pause, PodNetwork, Result, Route, RouteChange, RouteDescription, RouteOutcome, RouteOwnership, RoutePage,
    RouteState,
};

/// The capability of a cloud with routes for pods.
pub trait Routes {
    /// The description of the cloud's routes. Asked at load. No HTTP.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for settings that cannot work.
    fn describe() -> Result<RouteDescription>;

    /// To what a route for this pod network leads, spelled as [`Routes::list`] spells it. Reads only.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for a node that no route can lead to; whatever the cloud answered.
    fn next_hop(network: &PodNetwork) -> Result<String>;

    /// One answer for each pod network, in the same order. Implement it where the cloud has to be read, and can be for all
    /// of them at once.
    fn next_hops(networks: &[PodNetwork]) -> Vec<Result<String>> {
        networks.iter().map(Self::next_hop).collect()
    }

    /// One page of the routes in the cluster's route tables, at most `limit` of them, from `cursor` on (`None`: from the
    /// start). A route that is several entries in the cloud is one record.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn list(cursor: Option<&str>, limit: u32) -> Result<RoutePage>;

    /// Takes one step with each of these changes; one answer for each, in the same order. No two are about one
    /// destination.
    ///
    /// Reads first what it is about to touch. What is already as desired is [`RouteOutcome::Done`]; where something else is
    /// than `before`, `after` or nothing, it is [`Error::Invalid`](crate::Error::Invalid), and not touched. Safe to repeat
    /// and safe to lose.
    fn apply(changes: &[RouteChange]) -> Vec<Result<RouteOutcome>>;
}

impl<T: Routes> Guest for T {
    fn describe() -> Result<RouteDescription> {
        T::describe()
    }

    fn next_hops(networks: Vec<PodNetwork>) -> Vec<Result<String>> {
        T::next_hops(&networks)
    }

    fn list(cursor: Option<String>, limit: u32) -> Result<RoutePage> {
        T::list(cursor.as_deref(), limit)
    }

    fn apply(changes: Vec<RouteChange>) -> Vec<Result<RouteOutcome>> {
        T::apply(&changes)
    }
}

impl RouteDescription {
    /// Routes that are made one at a time, in one call after the other, and are one entry in the cloud each; a page has 100.
    pub fn new(ip_families: impl IntoIterator<Item = IpFamily>) -> Self {
        Self {
            batch_size: 1,
            concurrency: 1,
            page_size: 100,
            entries_per_route: 1,
            ip_families: ip_families.into_iter().collect(),
            extra: Vec::new(),
        }
    }

    /// How many changes one `apply` takes.
    #[must_use]
    pub fn batch_size(mut self, changes: u32) -> Self {
        self.batch_size = changes;
        self
    }

    /// How many calls of `apply` run at a time.
    #[must_use]
    pub fn concurrency(mut self, calls: u32) -> Self {
        self.concurrency = calls;
        self
    }

    /// How many routes one page of `list` has.
    #[must_use]
    pub fn page_size(mut self, routes: u32) -> Self {
        self.page_size = routes;
        self
    }

    /// The most entries of the cloud that one route is made of.
    #[must_use]
    pub fn entries_per_route(mut self, entries: u32) -> Self {
        self.entries_per_route = entries;
        self
    }
}

impl RoutePage {
    /// A page after which `next` comes; `None` on the last.
    pub fn new(routes: Vec<Route>, next: Option<String>) -> Self {
        Self { routes, next, incomplete: None }
    }

    /// Says why this page may lack routes: then nothing is deleted.
    #[must_use]
    pub fn incomplete(mut self, reason: impl Into<String>) -> Self {
        self.incomplete = Some(reason.into());
        self
    }
}

impl Route {
    /// An active route without a mark, known by its destination.
    pub fn new(destination: impl Into<String>, next_hop: impl Into<String>) -> Self {
        let destination = destination.into();
        Self {
            id: destination.clone(),
            destination,
            next_hop: Some(next_hop.into()),
            ownership: RouteOwnership::Unmarked,
            state: RouteState::Active,
            extra: Vec::new(),
        }
    }

    /// How it is.
    #[must_use]
    pub fn state(mut self, state: RouteState) -> Self {
        self.state = state;
        self
    }

    /// Its owner.
    #[must_use]
    pub fn ownership(mut self, ownership: RouteOwnership) -> Self {
        self.ownership = ownership;
        self
    }

    /// The cloud's name or id for it.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }
}

impl RouteChange {
    /// The reason with which this same change was [`RouteOutcome::Pending`] the last time: where it names what was begun,
    /// that can be asked about. `None` after a restart, and after every other answer.
    pub fn pending(&self) -> Option<&str> {
        self.extra.iter().find(|(key, _)| key == "pending").map(|(_, reason)| &**reason)
    }
}

impl RouteOutcome {
    /// A step was made, or the change waits for its turn: when to come back, and what is being waited for.
    pub fn pending(after: Duration, reason: impl Display) -> Self {
        let milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        Self::Pending(Pause { milliseconds, reason: reason.to_string() })
    }
}
