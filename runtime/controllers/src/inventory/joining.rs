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

use crate::inventory::ahead::{Awaited, FRESH};
use crate::inventory::instance_list::InstanceList;
use crate::inventory::{Inventory, Listed, machine};

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

/// How a node that joins is asked about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Way {
    /// About it alone.
    Get,
    /// Through all machines.
    List,
}

impl Inventory {
    /// The machine behind a node that joins.
    ///
    /// `Ok(None)`: the cloud is certain that there is none, and a sweep did not find one either.
    pub(crate) async fn joining(&self, node: &Node) -> Result<Option<Instance>> {
        let machine = self.known(node);
        let came = self.nodes.waiting_since(node).unwrap_or_else(Instant::now);
        let ahead = self.ahead.turn(&machine, came);
        let (mut way, mut fresh) = self.way(&machine, came).await;
        if ahead.is_none() && fresh.is_none() && way == Way::Get && self.nodes.waiting() > FEW {
            tokio::time::sleep(GATHER).await;
            (way, fresh) = self.way(&machine, came).await;
        }
        let mut listed = fresh.map(|machines| Listed { machines, new: false });
        if way == Way::Get && listed.is_none() {
            self.ask_ahead();
            // An answer that never comes is one that was not asked for.
            if let Some(Awaited { answer, since, .. }) = ahead
                && let Ok(answer) = answer.await
            {
                return self.answered(answer?, since, &machine, node, None);
            }
        }
        if listed.is_none() && way == Way::List {
            listed = Some(self.list_unless(|cache, now| cache.fresh_since(FRESH, came, now), self.gathered()).await?);
        }
        let Some(listed) = listed else { return self.get(&machine, node, None).await };
        match self.find_in(&listed.machines, &machine)? {
            Some(instance) => {
                self.doubtful().remove(&machine.name);
                Ok(Some(instance))
            }
            // `get` has just said so, and now the sweep has too.
            None if listed.new && listed.machines.incomplete.is_none() && self.is_doubtful(&machine) => Ok(None),
            None => self.get(&machine, node, Some(&listed.machines)).await,
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
        self.ahead.ask(&self.instances, waiting.filter(|it| self.covers(it)).map(|it| machine(&it)).collect());
    }

    /// How a node that came at `came` is asked about, and the list that answers for it if there is one.
    async fn way(&self, machine: &cloud_provider::Node, came: Instant) -> (Way, Option<Arc<InstanceList>>) {
        let way = way(self.nodes.waiting(), self.many(), self.is_doubtful(machine));
        let cache = match self.list_cache.try_lock() {
            Ok(cache) => Some(cache),
            // A sweep is under way: it may answer for this node too, unless it is asked about alone.
            Err(_) if way == Way::List => Some(self.list_cache.lock().await),
            Err(_) => None,
        };
        (way, cache.and_then(|it| it.fresh_since(FRESH, came, Instant::now())))
    }
}

/// How a node that joins is asked about, if there is no fresh sweep: `waiting` nodes join, from `many` on a sweep is
/// better, and `doubtful` says that `get` did not find this one.
pub(super) fn way(waiting: usize, many: usize, doubtful: bool) -> Way {
    if waiting >= many || doubtful { Way::List } else { Way::Get }
}
