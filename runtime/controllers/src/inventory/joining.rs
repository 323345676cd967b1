//! Which machine stands behind a node that joins: asked about alone where few nodes join, and through one list where many
//! do.
//!
//! Whatever answers was asked for after the node came. A machine exists before its node does, so that an older answer may
//! be about the machine that had the name before.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Instance, Result};
use k8s_openapi::api::core::v1::Node;
use tokio::time::Instant;

use crate::inventory::ahead::{Awaited, FRESH, Turn};
use crate::inventory::instance_list::InstanceList;
use crate::inventory::{Inventory, Listed};

/// So many nodes that wait are asked about at once. If there are more, even more may be about to come, and it is worth a
/// moment to see.
pub(super) const FEW: usize = 2;
/// That moment.
pub(super) const GATHER: Duration = Duration::from_millis(30);
/// A list is begun when no node has come for so long: one that comes later has to wait for the next.
const QUIET: Duration = Duration::from_millis(100);
/// If nodes come all the time, a list is begun after so long for each of its calls. That is no more than three calls a
/// second and some, whatever comes.
const EACH_CALL: Duration = Duration::from_millis(300);
/// And after so long at the latest.
const LONGEST: Duration = Duration::from_secs(5);

/// What decides how a node that joins is asked about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Situation {
    /// Nodes that wait to be initialised.
    pub(super) waiting: usize,
    /// From so many on, a list takes no more calls than questions about each.
    pub(super) many: usize,
    /// `get` did not find this node.
    pub(super) is_doubtful: bool,
    /// There is a list that began after the node came, and is fresh.
    pub(super) has_list: bool,
    /// It was asked about ahead of its turn.
    pub(super) is_asked: bool,
    /// It was waited for a moment whether more nodes come.
    pub(super) has_gathered: bool,
}

/// How a node that joins is asked about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Strategy {
    /// Not at all: a list that is there already answers.
    KnownList,
    /// Not at all: the answer to a `get` ahead of its turn is there, or under way.
    GetAhead,
    /// With a `get` now; the other nodes that wait are asked about ahead of their turn.
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
    } else if it.is_asked {
        Strategy::GetAhead
    } else if it.waiting > FEW && !it.has_gathered {
        Strategy::Gather
    } else {
        Strategy::Get
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
    pub(crate) async fn joining(&self, node: &Node) -> Result<Option<Instance>> {
        let machine = self.known(node);
        let came = self.nodes.waiting_since(node).unwrap_or_else(Instant::now);
        // A list or an answer of the version of the provider that served before is too old.
        let came = self.replaced().map_or(came, |it| it.max(came));
        let Turn { age, awaited: mut ahead } = self.ahead.turn(&machine, came);
        let mut has_gathered = false;
        loop {
            let (mut situation, list) = self.situation(&machine, came, age).await;
            (situation.is_asked, situation.has_gathered) = (ahead.is_some(), has_gathered);
            let listed = match (strategy(situation), list, ahead.take()) {
                (Strategy::Gather, _, None) => {
                    tokio::time::sleep(GATHER).await;
                    has_gathered = true;
                    continue;
                }
                (Strategy::KnownList, Some(list), _) => Listed { list, is_new: false },
                (Strategy::List, ..) => {
                    self.list_unless(|cache, now| cache.fresh_since(age, came, now), self.gathered()).await?
                }
                (_, _, ahead) => {
                    self.ask_ahead();
                    // A question that was dropped has no answer: then it is asked now.
                    if let Some(Awaited { answer, since, .. }) = ahead
                        && let Ok(answer) = answer.await
                    {
                        return self.answered(answer?, since, &machine, node, None).await;
                    }
                    return self.get(&machine, node, None).await;
                }
            };
            return match self.find_in(&listed.list, &machine)? {
                Some(instance) => {
                    self.doubtful().remove(&machine.name);
                    Ok(Some(instance))
                }
                // `get` has just found nothing, and now the list has not either.
                None if listed.is_new && listed.list.is_complete() && self.is_doubtful(&machine) => Ok(None),
                None => {
                    // What an older list does not show is proof for a moment only.
                    let proof = Some(&*listed.list).filter(|it| listed.is_new || it.began.elapsed() < FRESH);
                    self.get(&machine, node, proof).await
                }
            };
        }
    }

    /// Waits until no more nodes come, or enough have: those that a list is begun for share it.
    async fn gathered(&self) {
        let pages = u32::try_from(self.pages()).unwrap_or(u32::MAX);
        let latest = Instant::now() + EACH_CALL.saturating_mul(pages).min(LONGEST);
        while let Some(quiet) = self.nodes.last_came().map(|it| it + QUIET) {
            let until = quiet.min(latest);
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    /// Asks about the other nodes that wait as well.
    fn ask_ahead(&self) {
        let waiting = self.nodes.waiting_names().into_iter().filter_map(|it| self.nodes.get(&it));
        self.ahead.ask(&self.instances, waiting.filter(|it| self.covers(it)).map(|it| self.machine(&it).0).collect());
    }

    /// What decides how a node that came at `came` is asked about, and the list that answers for it if there is one of
    /// this age or younger.
    async fn situation(
        &self,
        machine: &cloud_provider::Node,
        came: Instant,
        age: Duration,
    ) -> (Situation, Option<Arc<InstanceList>>) {
        let (waiting, many, is_doubtful) = (self.nodes.waiting(), self.many(), self.is_doubtful(machine));
        let cache = match self.list_cache.try_lock() {
            Ok(cache) => Some(cache),
            // A list is being read: it may answer for this node too, unless the node is asked about alone.
            Err(_) if prefers_list(waiting, many, is_doubtful) => Some(self.list_cache.lock().await),
            Err(_) => None,
        };
        let list = cache.and_then(|it| it.fresh_since(age, came, Instant::now()));
        (Situation { waiting, many, is_doubtful, has_list: list.is_some(), ..Situation::default() }, list)
    }
}
