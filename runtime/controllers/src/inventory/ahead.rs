//! Questions about nodes whose turn has not come yet: those who wait for the cloud are the nodes, not the workers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Instance, Instances, Reply, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::inventory::list::{CALL, late};

/// How old an answer about a node that joins may be, or a list at a later turn than its first: all are younger than the node is
/// known.
pub(super) const FRESH: Duration = Duration::from_secs(30);
/// How old a list may be that serves a node whose first turn it is. Where many nodes wait, the last of them wait for
/// minutes, and the list that was read for all is theirs too. A node that was not served by it may wait for something
/// that a newer list shows. Addresses that have changed in the meantime, the address loop brings.
pub(super) const FIRST: Duration = Duration::from_secs(300);
/// Questions that are under way at once: fewer than one provider's calls side by side, so that other controllers have
/// room.
const SIDE_BY_SIDE: usize = 7;

/// What `get` answers, unless it took too long.
pub(super) type Answer = Result<Reply<Vec<Result<Option<Instance>>>>>;

/// Answers that nobody has come for yet. Dropping it ends the questions.
pub(super) struct Ahead {
    state: Mutex<State>,
    turns: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    /// Nodes that wait and have been asked about, ahead or in their turn. Each is asked about ahead once at the most: what
    /// fails has its back-off.
    asked: HashSet<String>,
    answers: HashMap<String, Awaited>,
    tasks: JoinSet<()>,
}

/// An answer that is there or on its way.
pub(super) struct Awaited {
    machine: cloud_provider::Node,
    /// The question began then or later.
    pub(super) since: Instant,
    pub(super) answer: oneshot::Receiver<Answer>,
}

/// A node's turn.
pub(super) struct Turn {
    /// How old a list may be that serves it.
    pub(super) age: Duration,
    /// What was asked ahead of it.
    pub(super) awaited: Option<Awaited>,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { state: Mutex::default(), turns: Arc::new(Semaphore::new(SIDE_BY_SIDE)) }
    }
}

impl Ahead {
    /// The turn of a node that came at `came`, with the answer that is there or on its way, unless the node has changed
    /// since or the answer is too old.
    pub(super) fn turn(&self, machine: &cloud_provider::Node, came: Instant) -> Turn {
        let mut state = self.lock();
        let age = if state.asked.insert(machine.name.clone()) { FIRST } else { FRESH };
        let serves = |it: &Awaited| it.machine == *machine && it.since >= came && it.since.elapsed() < FRESH;
        let awaited = state.answers.remove(&machine.name).filter(serves);
        Turn { age, awaited }
    }

    /// Asks about those of `waiting` that have not been asked about, side by side. All others are forgotten.
    pub(super) fn ask(&self, instances: &Arc<dyn Instances>, waiting: Vec<cloud_provider::Node>) {
        let mut state = self.lock();
        while state.tasks.try_join_next().is_some() {}
        let names: HashSet<_> = waiting.iter().map(|it| it.name.clone()).collect();
        state.asked.retain(|it| names.contains(it));
        state.answers.retain(|it, _| names.contains(it));
        for machine in waiting {
            if !state.asked.insert(machine.name.clone()) {
                continue;
            }
            let (sender, answer) = oneshot::channel();
            let (instances, asked, turns) = (instances.clone(), machine.clone(), self.turns.clone());
            state.tasks.spawn(async move {
                let _turn = turns.acquire().await;
                let answer = timeout(CALL, instances.get(std::slice::from_ref(&asked))).await.map_err(|_| late());
                // Nobody may want it any more.
                let _ = sender.send(answer);
            });
            state.answers.insert(machine.name.clone(), Awaited { machine, since: Instant::now(), answer });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
