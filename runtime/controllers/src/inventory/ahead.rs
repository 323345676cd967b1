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

/// How old a list or an answer may be that serves a node which joins, if it is younger than the node is known.
pub(super) const FRESH: Duration = Duration::from_secs(30);
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

impl Default for Ahead {
    fn default() -> Self {
        Self { state: Mutex::default(), turns: Arc::new(Semaphore::new(SIDE_BY_SIDE)) }
    }
}

impl Ahead {
    /// The turn of a node that came at `came`: the answer that is there or on its way, unless the node has changed since
    /// or the answer is too old.
    pub(super) fn turn(&self, machine: &cloud_provider::Node, came: Instant) -> Option<Awaited> {
        let mut state = self.lock();
        state.asked.insert(machine.name.clone());
        let awaited = state.answers.remove(&machine.name)?;
        let serves = awaited.machine == *machine && awaited.since >= came && awaited.since.elapsed() < FRESH;
        serves.then_some(awaited)
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
