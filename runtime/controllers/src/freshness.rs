//! The oldest answers of the cloud on which decisions may rest. The page ARCHITECTURE.md shows the same table.

use std::time::Duration;

use cloud_provider::Freshness;
use tokio::time::Instant;

/// The oldest answer on which a decision may rest, beside the moment after which the question must have begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule(Age);

/// How old an answer may be.
#[derive(Clone, Copy, Debug)]
enum Age {
    Any,
    Seconds(u64),
    /// So many times the period of whoever decides.
    Periods(u32),
}

impl Rule {
    /// How old an answer may be for someone who decides once in a period.
    pub(crate) const fn age(self, period: Duration) -> Duration {
        match self.0 {
            Age::Any => Duration::MAX,
            Age::Seconds(seconds) => Duration::from_secs(seconds),
            Age::Periods(count) => period.saturating_mul(count),
        }
    }

    /// Answers to questions that began then or later.
    pub(crate) fn since(self, not_before: Instant) -> Freshness {
        self.at_any_time().and_since(not_before)
    }

    /// Answers that began whenever it was, and are not too old.
    pub(crate) const fn at_any_time(self) -> Freshness {
        Freshness::within(self.age(Duration::MAX))
    }
}

/// A node that joins. Where many wait, the last of them wait for minutes, and the list that was read for all is theirs too.
/// Addresses that have changed in the meantime, the address loop brings.
pub(crate) const INITIALISATION: Rule = Rule(Age::Seconds(300));
/// A node that was not served at its first turn may wait for something that a newer list shows.
pub(crate) const LATER_TURN: Rule = Rule(Age::Seconds(30));
/// A complete list and then a question about the node alone, in each of two checks.
pub(crate) const NODE_DELETION: Rule = Rule(Age::Any);
/// The taint of a stopped machine.
pub(crate) const TAINT: Rule = Rule(Age::Periods(2));
/// The addresses of nodes.
pub(crate) const ADDRESSES: Rule = Rule(Age::Any);
/// The nodes that were there at the start.
pub(crate) const FIRST_BACKENDS: Rule = Rule(Age::Seconds(300));
/// Nodes that came later.
pub(crate) const BACKENDS: Rule = Rule(Age::Seconds(30));
/// A load balancer that is searched for before it is created.
pub(crate) const LOAD_BALANCER_CREATION: Rule = Rule(Age::Seconds(10));
/// A load balancer that is there.
pub(crate) const LOAD_BALANCER_CHANGE: Rule = Rule(Age::Seconds(3));
/// A load balancer that nobody has: each complete list of an hour has shown it, this one too.
pub(crate) const ORPHAN: Rule = Rule(Age::Seconds(600));
/// A route that nobody needs. What the change says that is there must still be there.
pub(crate) const ROUTE_DELETION: Rule = Rule(Age::Periods(2));
/// The pod networks that the cloud gives a node.
pub(crate) const POD_NETWORKS: Rule = Rule(Age::Any);

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../ARCHITECTURE.md");
    /// Decisions for which the cloud is asked whenever they are made.
    const ASKED: [&str; 3] = ["delete a load balancer", "label a volume", "make or move a route"];
    /// All of them, as the page calls them, with what the question began after. Those that delete or take away come first.
    const ALL: [(Rule, &str, &str); 12] = [
        (NODE_DELETION, "delete a node", "the check began"),
        (ORPHAN, "delete an orphan", "at any time"),
        (ROUTE_DELETION, "delete a route", "at any time"),
        (FIRST_BACKENDS, "take a node from load balancers, at the start", "the last answer about it"),
        (BACKENDS, "take a node from load balancers", "the last answer about it"),
        (INITIALISATION, "initialise a node", "the node came"),
        (LATER_TURN, "initialise a node that had a turn", "the node came"),
        (TAINT, "taint a node", "at any time"),
        (ADDRESSES, "update addresses", "the pass began"),
        (LOAD_BALANCER_CREATION, "create a load balancer", "the last call that wrote ended"),
        (LOAD_BALANCER_CHANGE, "change a load balancer", "the last call about it ended"),
        (POD_NETWORKS, "take a node's pod networks from the cloud", "the node came"),
    ];
    /// So many of them delete or take away.
    const DELETING: usize = 5;

    fn row((rule, decision, not_before): (Rule, &str, &str)) -> String {
        let age = match rule.0 {
            Age::Any => "no limit".to_owned(),
            Age::Seconds(seconds) => format!("{seconds} s"),
            Age::Periods(count) => format!("{count} periods"),
        };
        format!("| {decision} | {not_before} | {age} |")
    }

    #[test]
    fn the_page_says_how_old_an_answer_may_be() {
        let (_, section) = PAGE.split_once("| decision | the question began after | and is younger than |").unwrap();
        let (section, _) = section.split_once("\n\n").unwrap();
        let mut rows: Vec<_> = section.lines().filter(|it| it.starts_with("| ") && !it.contains("---")).collect();
        let expected: Vec<_> = ALL.into_iter().map(row).collect();
        let asked: Vec<_> = ASKED.iter().map(|it| format!("| {it} | it was decided | asked each time |")).collect();
        assert_eq!(rows.split_off(rows.len().min(ALL.len())), asked);
        assert_eq!(rows, expected);
    }

    #[test]
    fn nothing_is_deleted_by_an_answer_without_a_bound() {
        let (period, start) = (Duration::from_secs(600), Instant::now());
        for (rule, decision, not_before) in &ALL[..DELETING] {
            let decided = start + Duration::from_secs(3_600);
            let age = rule.age(period);
            // A rule without an age has a moment after which the question began.
            let freshness = match rule.0 {
                Age::Any => rule.since(decided),
                Age::Seconds(_) | Age::Periods(_) => Freshness::within(age),
            };
            assert!(freshness.allows(decided, decided), "{decision}");
            assert!(!freshness.allows(start, decided), "{decision}");
            let oldest = if age == Duration::MAX { decided } else { decided - age + Duration::from_nanos(1) };
            assert!(freshness.allows(oldest, decided), "{decision}");
            assert!(!freshness.allows(oldest - Duration::from_nanos(1), decided), "{decision}");
            assert!(*not_before != "at any time" || age < Duration::MAX, "{decision}");
        }
    }
}
