//! Which machine stands behind a node that joins: asked about alone where few nodes join, and through one list where many
//! do.
//!
//! Whatever answers was asked for after the node came. A machine exists before its node does, so that an older answer may
//! be about the machine that had the name before.

use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Instance, Result};
use tokio::time::Instant;

use crate::freshness::{FreshnessRule, INITIALISATION, LATER_TURN, NodeCame};
use crate::inventory::Inventory;
use crate::inventory::instance_list::InstanceList;
use crate::nodes::Turn;

/// So many nodes that wait are asked about at once, if none has come just now. Otherwise more may be about to come, and it is
/// worth a moment to see: where a cloud has to list its machines to find one by its name, the first of many costs as much as
/// all of them.
pub(super) const FEW: usize = 1;
/// That moment. As long as nodes come in it, the next follows.
pub(super) const GATHER: Duration = Duration::from_millis(30);
/// But so many moments at most.
const MOMENTS: usize = 4;
/// A list is begun when no node has come for so long, or where many wait for as long as the list itself is likely to take:
/// one that comes later has to wait for the next.
const QUIET: Duration = Duration::from_millis(100);
/// The least that a cloud takes for one call.
const CALL_TAKES: Duration = Duration::from_millis(50);
/// A node that waits is worth so much of it.
const QUIET_FOR_EACH: Duration = Duration::from_millis(10);
/// The longest time for which no node has to come.
const LONGEST_QUIET: Duration = Duration::from_secs(1);
/// If nodes come all the time, a list is begun after so long for each of its calls. That is no more than three calls a
/// second and some, whatever comes.
const EACH_CALL: Duration = Duration::from_millis(300);
/// And after so long at the latest, unless very many come.
const LONGEST: Duration = Duration::from_secs(5);
/// Where nodes come faster than one in this time, a list that is begun has missed most of them, and would have to be read
/// whole once more: it waits until no more come.
const EACH_NODE: Duration = Duration::from_millis(10);
/// But no longer than this.
const LONGEST_STREAM: Duration = Duration::from_secs(20);

/// The facts that decide how a node that joins is asked about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Situation {
    /// Nodes that wait to be initialised, and that no list answers which is there.
    pub(super) waiting: usize,
    /// Nodes that came within [`QUIET`], those that are answered by now among them: counted up to two.
    pub(super) lately: usize,
    /// From so many on, a list takes no more calls than questions about each.
    pub(super) many: usize,
    /// `get` did not find this node.
    pub(super) is_doubtful: bool,
    /// There is a list that began after the node came, and is fresh.
    pub(super) has_list: bool,
    /// It was waited for a moment whether more nodes come, and none came, or for [`MOMENTS`].
    pub(super) has_gathered: bool,
}

/// How a node that joins is asked about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Strategy {
    /// Not at all: a list that is there already answers.
    KnownList,
    /// With a `get` now.
    Get,
    /// With a list, which answers for all nodes that wait.
    List,
    /// Later: more nodes may be about to come.
    Gather,
}

/// How a node that joins is asked about.
pub(super) fn strategy(it: Situation) -> Strategy {
    if it.has_list {
        Strategy::KnownList
    } else if prefers_list(it.waiting, it.many, it.is_doubtful) {
        Strategy::List
    } else if (it.waiting > FEW || it.lately > 0) && !it.has_gathered {
        Strategy::Gather
    } else {
        Strategy::Get
    }
}

/// How long a list is put off for more nodes that come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct JoinPatience {
    /// It is begun when no node has come for so long.
    quiet: Duration,
    /// And after so long at the latest.
    longest: Duration,
}

/// How long a list of so many pages is put off while so many nodes wait for it.
fn patience(pages: usize, waiting: usize) -> JoinPatience {
    let times = |each: Duration, count: usize| each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let stream = times(EACH_NODE, waiting).min(LONGEST_STREAM);
    JoinPatience {
        quiet: times(CALL_TAKES, pages).min(times(QUIET_FOR_EACH, waiting)).clamp(QUIET, LONGEST_QUIET),
        longest: times(EACH_CALL, pages).min(LONGEST).max(stream),
    }
}

/// Whether a list is better than a question about one node alone.
fn prefers_list(waiting: usize, many: usize, is_doubtful: bool) -> bool {
    waiting >= many || is_doubtful
}

impl Inventory {
    /// The machine behind a node that joins.
    ///
    /// `Ok(None)`: the cloud is certain that there is none, and a list did not show one either.
    pub(crate) async fn joining(&self, node: &KubeNode) -> Result<Option<Instance>> {
        let machine = self.known(node);
        let Turn { came, is_first } = self.nodes.turn(node);
        // A list of the version of the provider that served before is too old.
        let came = self.replaced().map_or(came, |it| it.max(came));
        let rule = if is_first { INITIALISATION } else { LATER_TURN };
        let freshness = rule.since(NodeCame(came));
        let waiting = || self.unlisted(rule);
        let (mut has_gathered, mut moments) = (false, 0);
        loop {
            let list = self.known_list(freshness);
            let situation = Situation {
                waiting: waiting(),
                lately: self.nodes.came_within(QUIET),
                many: self.many(),
                is_doubtful: self.is_doubtful(&machine),
                has_list: list.is_some(),
                has_gathered,
            };
            let (list, is_new) = match (strategy(situation), list) {
                (Strategy::Gather, _) => {
                    let last = self.nodes.last_came();
                    tokio::time::sleep(GATHER).await;
                    moments += 1;
                    has_gathered = moments == MOMENTS || self.nodes.last_came() == last;
                    continue;
                }
                (Strategy::KnownList, Some(list)) => (list, false),
                (Strategy::List, _) => {
                    let is_wanted = || prefers_list(waiting(), self.many(), self.is_doubtful(&machine));
                    let read = self.gathered_list(rule);
                    match self.last_list.get_if_wanted(freshness, is_wanted, read).await? {
                        Some(list) => list,
                        None => continue,
                    }
                }
                (Strategy::Get | Strategy::KnownList, _) => return self.get(&machine, node, None).await,
            };
            return match self.find_in(&list, &machine)? {
                Some(instance) => {
                    self.doubtful().remove(&machine.name);
                    Ok(Some(instance))
                }
                // `get` has just found nothing, and now the list has not either.
                None if is_new && list.is_complete() && self.is_doubtful(&machine) => Ok(None),
                None => {
                    // What an older list does not show is proof for a moment only.
                    let again = LATER_TURN.since(NodeCame(came));
                    let proof = Some(&*list).filter(|it| is_new || again.allows(it.began, Instant::now()));
                    self.get(&machine, node, proof).await
                }
            };
        }
    }

    /// How many nodes wait that the last list does not answer: those that came after it began, or all if it is too old by
    /// this rule.
    fn unlisted(&self, rule: FreshnessRule<NodeCame>) -> usize {
        let young = rule.at_any_time();
        let list = self.known_list(self.replaced().map_or(young, |it| young.and_since(it)));
        list.map_or_else(|| self.nodes.waiting(), |it| self.nodes.waiting_since(it.began))
    }

    /// A list that is begun once no more nodes come, or enough have: all of them share it.
    async fn gathered_list(&self, rule: FreshnessRule<NodeCame>) -> Result<InstanceList> {
        self.gathered(rule).await;
        self.read_list().await
    }

    async fn gathered(&self, rule: FreshnessRule<NodeCame>) {
        let began = Instant::now();
        while let Some(came) = self.nodes.last_came() {
            let patience = patience(self.pages(), self.unlisted(rule));
            let until = (came + patience.quiet).min(began + patience.longest);
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_nodes_come_the_longer_a_list_waits_for_them() {
        let of = |pages, waiting| {
            let JoinPatience { quiet, longest } = patience(pages, waiting);
            (quiet.as_millis(), longest.as_millis())
        };
        assert_eq!(of(1, 20), (100, 300), "few nodes in a small account");
        assert_eq!(of(5, 20), (200, 1_500), "as few, and they would have to be listed again");
        assert_eq!(of(5, 1_000), (250, 10_000));
        assert_eq!(of(26, 5_000), (1_000, 20_000));
        assert_eq!(of(26, 30), (300, 5_000), "few nodes in a large account");
        assert_eq!(of(1_000, 0), (100, 5_000));
    }
}
