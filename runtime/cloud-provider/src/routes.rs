use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{IpFamily, Node, Reply, Result};

/// Routes for pod networks: to which machine the cloud's network sends the packets for a pod network.
#[async_trait]
pub trait Routes: Send + Sync {
    /// The properties of the cloud's routes now, as the provider that serves described them at load.
    fn description(&self) -> Arc<RouteDescription>;

    /// Whether calls are made at all now. It is asked before anything is concluded from what the cloud does not have.
    ///
    /// # Errors
    ///
    /// The error that every call would have for an answer now.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// To what a route for each of these pod networks leads, spelled as [`Routes::list`] spells it; one answer for each,
    /// in the same order. Reads only. A node that no route can lead to is [`Error::Invalid`](crate::Error::Invalid).
    async fn next_hops(&self, networks: &[PodNetwork]) -> Reply<Vec<Result<String>>>;

    /// One page of the routes in the cluster's route tables, at most `limit` of them, beginning at `cursor` (`None`: at
    /// the start).
    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<RoutePage>>;

    /// Takes one step with each of these changes; one answer for each, in the same order. No two are about one
    /// destination, and no more than [`RouteDescription::batch_size`] come at once.
    ///
    /// A change that is made already is [`RouteOutcome::Done`]; where something else is than `before`, `after` or nothing, it
    /// is [`Error::Invalid`](crate::Error::Invalid), and not touched. Safe to repeat and safe to lose.
    async fn apply(&self, changes: &[RouteChange]) -> Reply<Vec<Result<RouteOutcome>>>;
}

/// The properties of the cloud's routes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteDescription {
    /// Changes in one `apply`: 1 to 1,000.
    pub batch_size: u32,
    /// The most calls of `apply` at a time: 1 to 16.
    pub concurrency: u32,
    /// Routes in one page of `list`: at least 1.
    pub page_size: u32,
    /// The most entries of the cloud that one route is made of: 1 to 64. So many deletions may leave for each change.
    pub entries_per_route: u32,
    /// The families that routes can have; at least one.
    pub ip_families: Vec<IpFamily>,
}

/// A pod network and the node whose pods are in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PodNetwork {
    /// One of `spec.podCIDRs`, in canonical form.
    pub destination: String,
    /// The node.
    pub node: Node,
}

/// A part of the route tables.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RoutePage {
    /// In the cloud's order.
    pub routes: Vec<Route>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
    /// Why this page may lack routes, on one line: then nothing is deleted.
    pub incomplete: Option<String>,
}

/// A route as it is in the cloud.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Route {
    /// Its destination: a network in CIDR notation that parses, spelled as the cloud spells it.
    pub destination: String,
    /// To what it leads, in the provider's own words; `None` where it leads to nothing that a node could be. Never empty.
    pub next_hop: Option<String>,
    /// The owner of the route.
    pub ownership: RouteOwnership,
    /// How it is.
    pub state: RouteState,
    /// The cloud's name or id for it, for people and for [`RouteChange::before`]. One line, never empty.
    pub id: String,
    /// The provider's further words: they go back with [`RouteChange::before`], and nowhere else.
    pub extra: Vec<(String, String)>,
}

/// The owner of a route, as far as the cloud tells.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum RouteOwnership {
    /// It carries this cluster's mark of ownership.
    Ours,
    /// It carries no mark, or only one that another cluster could have too; it is of the kind that `apply` makes.
    Unmarked,
    /// It carries another's mark, or is of a kind that `apply` never makes. Never changed, never deleted.
    Foreign,
}

/// How a route is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum RouteState {
    /// Packets go there.
    Active,
    /// The cloud is making, changing or deleting it, or something it hangs on.
    Changing,
    /// It leads nowhere: its machine is gone or off.
    Blackhole,
    /// At least one of its entries in the cloud is missing.
    Partial,
    /// The cloud has given up making it, for this reason: one line.
    Failed(String),
}

/// A change of the route to one destination.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteChange {
    /// In canonical form.
    pub destination: String,
    /// The route that is there now, as [`Routes::list`] gave it; `None` if none is. Never a foreign one.
    pub before: Option<Route>,
    /// The target that the route is to have; `None` if no route is to be there.
    pub after: Option<RouteTarget>,
    /// The reason with which this same change was [`RouteOutcome::Pending`] the last time, in the provider's own words.
    pub pending: Option<String>,
}

/// To what a route shall lead.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RouteTarget {
    /// As [`Routes::next_hops`] gave it.
    pub next_hop: String,
    /// The node behind it.
    pub node: Node,
}

/// The outcome of a change.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RouteOutcome {
    /// Packets go there; or, without `after`, the route that was there is gone. Also if it had been so before.
    Done,
    /// A step was made, or this change has to wait for its turn. No failure: the same change again after this pause.
    Pending {
        /// Between a tenth of a second and five minutes.
        after: Duration,
        /// The step that is waited for, for a person: one line.
        reason: String,
    },
}
