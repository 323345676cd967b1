//! How many routes may be deleted or moved although nobody has seen a reason. No client, no clock, no log: times are
//! arguments.

use std::collections::BTreeSet;
use std::time::Duration;

use budgets::{Budget, Spent};
use cloud_provider::APPROVAL;
use tokio::time::Instant;

use crate::cidr::Cidr;
use crate::route::listed::ListedRoute;

/// So many destinations are named in a message.
const NAMED: usize = 5;

/// The limit of one plan's deletions and moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brake<'a> {
    /// So many further ones.
    pub(super) allowance: usize,
    /// Destinations that were counted already.
    pub(super) counted: &'a BTreeSet<Cidr>,
}

/// The facts that decide the allowance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Nodes in the cache.
    pub(super) nodes: usize,
    /// Routes that could be deleted.
    pub(super) routes: usize,
    /// How much of the first time is left.
    pub(super) warm_up: Duration,
    /// Whether a person has approved.
    pub(super) is_approved: bool,
}

/// The deletions and moves of late.
#[derive(Debug, Default)]
pub(super) struct RouteCount {
    spent: Spent,
    counted: BTreeSet<Cidr>,
}

impl RouteCount {
    /// The limit for a plan now.
    pub(super) fn brake(&mut self, facts: Facts, budget: &Budget, now: Instant) -> Brake<'_> {
        let left = self.spent.left(budget, facts.routes, now);
        let allowance = match facts {
            // No approval can mean that: it may have been given for something else.
            Facts { nodes: 0, .. } => 0,
            Facts { is_approved: true, .. } => usize::MAX,
            Facts { warm_up, .. } if !warm_up.is_zero() => 0,
            Facts { .. } => left,
        };
        Brake { allowance, counted: &self.counted }
    }

    /// Counts what is about to be deleted or moved. The same destination counts once until it is settled.
    pub(super) fn take(&mut self, cidr: Cidr, routes: usize, now: Instant) {
        if self.counted.insert(cidr) {
            self.spent.count(routes, now);
        }
    }

    /// A destination is settled: its change has happened, or is not wanted any more.
    pub(super) fn settle(&mut self, cidr: &Cidr) {
        self.counted.remove(cidr);
    }
}

/// Why routes are withheld, and what a person can do: one line that stays the same while the reason does.
pub(super) fn message(withheld: &[ListedRoute], facts: Facts, budget: &Budget) -> String {
    let named: Vec<_> = withheld.iter().take(NAMED).map(|it| it.cidr.to_string()).collect();
    let more = match withheld.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let minutes = budget.window.as_secs().div_ceil(60);
    let because = match facts {
        Facts { nodes: 0, .. } => {
            "the cluster seems to have no nodes: nothing is done until there is one. If it has none, delete them in the \
             cloud"
                .to_owned()
        }
        Facts { warm_up, .. } if !warm_up.is_zero() => format!(
            "this process has only just begun to lead: put the annotation {APPROVAL}: \"true\" on the Lease to have it \
             done now"
        ),
        Facts { .. } => format!(
            "without a node whose deletion or change was seen, at most {} percent of the routes, or one, are deleted or \
             moved in {minutes} min: put the annotation {APPROVAL}: \"true\" on the Lease to have it done now",
            budget.percent
        ),
    };
    format!("the routes to {}{more} are not deleted or moved yet: {because}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Route, RouteOwnership, RouteState};

    use super::*;

    const BUDGET: Budget = Budget { percent: 10, least: 1, window: Duration::from_secs(600) };
    const FACTS: Facts = Facts { nodes: 90, routes: 100, warm_up: Duration::ZERO, is_approved: false };

    fn cidr(nth: usize) -> Cidr {
        Cidr::parse(&format!("10.244.{nth}.0/24")).unwrap()
    }

    #[test]
    fn case_200_a_tenth_may_go_in_ten_minutes_but_always_one() {
        let now = Instant::now();
        let allowance = |facts: Facts| RouteCount::default().brake(facts, &BUDGET, now).allowance;
        assert_eq!(allowance(FACTS), 10);
        assert_eq!(allowance(Facts { routes: 3, ..FACTS }), 1);
        assert_eq!(allowance(Facts { routes: 1000, ..FACTS }), 100);
        assert_eq!(allowance(Facts { warm_up: Duration::from_millis(1), ..FACTS }), 0, "not in the first minute");
        assert_eq!(allowance(Facts { nodes: 0, ..FACTS }), 0, "not without a node");
        let approved = Facts { is_approved: true, warm_up: Duration::from_secs(9), ..FACTS };
        assert_eq!(allowance(approved), usize::MAX);
        assert_eq!(allowance(Facts { nodes: 0, ..approved }), 0, "not even then");
    }

    #[test]
    fn case_200_a_deleted_route_counts_for_ten_minutes() {
        let (mut count, start) = (RouteCount::default(), Instant::now());
        for nth in 0..9 {
            count.take(cidr(nth), 100, start);
        }
        let left = |count: &mut RouteCount, at: Duration, routes| {
            count.brake(Facts { routes, ..FACTS }, &BUDGET, start + at).allowance
        };
        assert_eq!(left(&mut count, Duration::ZERO, 91), 1, "the share is that of the most routes");
        count.take(cidr(9), 91, start);
        count.take(cidr(3), 90, start);
        let mut left = |at: Duration, routes| left(&mut count, at, routes);
        assert_eq!(left(Duration::ZERO, 90), 0, "and is spent");
        assert_eq!(left(Duration::from_secs(599), 90), 0);
        assert_eq!(left(Duration::from_secs(600), 90), 9);
    }

    #[test]
    fn a_message_names_the_first_five_of_many() {
        let listed = |nth: usize| ListedRoute {
            cidr: cidr(nth),
            route: Route {
                destination: cidr(nth).to_string(),
                next_hop: None,
                ownership: RouteOwnership::Ours,
                state: RouteState::Active,
                id: nth.to_string(),
                extra: Vec::new(),
            },
            is_guess: false,
        };
        let said = |routes: usize| message(&(0..routes).map(listed).collect::<Vec<_>>(), FACTS, &BUDGET);
        let five = "the routes to 10.244.0.0/24, 10.244.1.0/24, 10.244.2.0/24, 10.244.3.0/24, 10.244.4.0/24";
        assert!(said(5).starts_with(&format!("{five} are not deleted")), "{}", said(5));
        assert!(said(200).starts_with(&format!("{five} and 195 more are not deleted")), "{}", said(200));
        assert!(said(1).contains("at most 10 percent of the routes, or one, are deleted"), "{}", said(1));
        let begun = message(&[listed(1)], Facts { warm_up: Duration::from_secs(1), ..FACTS }, &BUDGET);
        assert!(begun.contains("has only just begun to lead"), "{begun}");
    }

    #[test]
    fn a_destination_counts_once_until_it_is_settled() {
        let (mut count, now) = (RouteCount::default(), Instant::now());
        count.take(cidr(1), 100, now);
        count.take(cidr(1), 100, now);
        assert!(count.brake(FACTS, &BUDGET, now).counted.contains(&cidr(1)));
        assert_eq!(count.brake(FACTS, &BUDGET, now).allowance, 9);
        count.settle(&cidr(1));
        assert!(count.brake(FACTS, &BUDGET, now).counted.is_empty());
        assert_eq!(count.brake(FACTS, &BUDGET, now).allowance, 9, "it happened all the same");
    }
}
