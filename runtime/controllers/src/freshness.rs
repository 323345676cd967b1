//! The oldest answers of the cloud on which decisions may rest. The page ARCHITECTURE.md shows the same table.

use std::marker::PhantomData;
use std::time::Duration;

use cloud_provider::Freshness;
use tokio::time::Instant;

/// The oldest answer on which a decision may rest, beside the moment after which the question must have begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreshnessRule<M> {
    age: Age,
    moment: PhantomData<M>,
}

/// How old an answer may be.
#[derive(Clone, Copy, Debug)]
enum Age {
    Any,
    Seconds(u64),
    /// So many times the period of whoever decides.
    Periods(u32),
}

/// A moment after which a question must have begun.
pub(crate) trait AskedAfter {
    /// The same freshness, and the question began after this moment.
    fn bound(self, freshness: Freshness) -> Freshness;
}

/// No moment: how old the answer is decides alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnyTime;

/// When the check of a node began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckBegan(pub(crate) Instant);

/// When a node came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeCame(pub(crate) Instant);

/// When a pass over all nodes began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassBegan(pub(crate) Instant);

/// When the newest question about an instance began that was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastAnswered(pub(crate) Instant);

/// When the last call about a load balancer ended that wrote, if there was one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteEnded(pub(crate) Option<Instant>);

/// When the last call about a load balancer ended, if there was one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallEnded(pub(crate) Option<Instant>);

impl<M: AskedAfter> FreshnessRule<M> {
    const fn new(age: Age) -> Self {
        Self { age, moment: PhantomData }
    }

    /// How old an answer may be for someone who decides once in a period.
    pub(crate) const fn age(self, period: Duration) -> Duration {
        match self.age {
            Age::Any => Duration::MAX,
            Age::Seconds(seconds) => Duration::from_secs(seconds),
            Age::Periods(count) => period.saturating_mul(count),
        }
    }

    /// Answers to questions that began after this moment.
    pub(crate) fn since(self, moment: M) -> Freshness {
        moment.bound(self.at_any_time())
    }

    /// Answers that began whenever it was, and are not too old.
    pub(crate) const fn at_any_time(self) -> Freshness {
        Freshness::within(self.age(Duration::MAX))
    }
}

impl AskedAfter for AnyTime {
    fn bound(self, freshness: Freshness) -> Freshness {
        freshness
    }
}

impl AskedAfter for CheckBegan {
    fn bound(self, freshness: Freshness) -> Freshness {
        freshness.and_since(self.0)
    }
}

impl AskedAfter for NodeCame {
    fn bound(self, freshness: Freshness) -> Freshness {
        freshness.and_since(self.0)
    }
}

impl AskedAfter for PassBegan {
    fn bound(self, freshness: Freshness) -> Freshness {
        freshness.and_since(self.0)
    }
}

impl AskedAfter for LastAnswered {
    fn bound(self, freshness: Freshness) -> Freshness {
        freshness.and_since(self.0)
    }
}

impl AskedAfter for WriteEnded {
    fn bound(self, freshness: Freshness) -> Freshness {
        self.0.map_or(freshness, |it| freshness.and_after(it))
    }
}

impl AskedAfter for CallEnded {
    fn bound(self, freshness: Freshness) -> Freshness {
        self.0.map_or(freshness, |it| freshness.and_after(it))
    }
}

/// A node that joins. Where many wait, the last of them wait for minutes, and the list that was read for all is theirs too.
/// Addresses that have changed in the meantime, the address loop brings.
pub(crate) const INITIALISATION: FreshnessRule<NodeCame> = FreshnessRule::new(Age::Seconds(300));
/// A node that was not served at its first turn may wait for something that a newer list shows.
pub(crate) const LATER_TURN: FreshnessRule<NodeCame> = FreshnessRule::new(Age::Seconds(30));
/// A complete list and then a question about the node alone, in each of two checks.
pub(crate) const NODE_DELETION: FreshnessRule<CheckBegan> = FreshnessRule::new(Age::Any);
/// The taint of a stopped machine.
pub(crate) const TAINT: FreshnessRule<AnyTime> = FreshnessRule::new(Age::Periods(2));
/// The addresses of nodes.
pub(crate) const ADDRESSES: FreshnessRule<PassBegan> = FreshnessRule::new(Age::Any);
/// The nodes that were there at the start.
pub(crate) const FIRST_BACKENDS: FreshnessRule<LastAnswered> = FreshnessRule::new(Age::Seconds(300));
/// Nodes that came later.
pub(crate) const BACKENDS: FreshnessRule<LastAnswered> = FreshnessRule::new(Age::Seconds(30));
/// A load balancer that is searched for before it is created.
pub(crate) const LOAD_BALANCER_CREATION: FreshnessRule<WriteEnded> = FreshnessRule::new(Age::Seconds(10));
/// A load balancer that is there.
pub(crate) const LOAD_BALANCER_CHANGE: FreshnessRule<CallEnded> = FreshnessRule::new(Age::Seconds(3));
/// A load balancer that nobody has: each complete list of an hour has shown it, this one too.
pub(crate) const ORPHAN: FreshnessRule<AnyTime> = FreshnessRule::new(Age::Seconds(600));
/// A route that nobody needs. What the change says that is there must still be there.
pub(crate) const ROUTE_DELETION: FreshnessRule<AnyTime> = FreshnessRule::new(Age::Periods(2));
/// The pod networks that the cloud gives a node.
pub(crate) const POD_NETWORKS: FreshnessRule<NodeCame> = FreshnessRule::new(Age::Any);

#[cfg(test)]
mod tests;
