//! Questions about nodes whose turn has not come yet: those who wait for the cloud are the nodes, not the workers.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloud_provider::{Instance, Instances, Machine, Reply, Result};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::inventory::FRESH;
use crate::inventory::sweep::{CALL, late};

/// What `get` answers, unless it took too long.
pub(super) type Answer = Result<Reply<Vec<Result<Option<Instance>>>>>;

/// Answers that nobody has come for yet. Dropping it ends the questions.
#[derive(Default)]
pub(super) struct Ahead(Mutex<State>);

#[derive(Default)]
struct State {
    /// Nodes that wait and have been asked about, ahead or in their turn. Each is asked about ahead once at the most: what
    /// fails has its back-off.
    asked: HashSet<String>,
    answers: HashMap<String, Awaited>,
    tasks: JoinSet<()>,
}

struct Awaited {
    machine: Machine,
    since: Instant,
    answer: oneshot::Receiver<Answer>,
}

impl Ahead {
    /// The turn of a node: the answer that is there or on its way, unless the node has changed since or it is too old.
    pub(super) fn turn(&self, machine: &Machine) -> Option<oneshot::Receiver<Answer>> {
        let mut state = self.lock();
        state.asked.insert(machine.name.clone());
        let awaited = state.answers.remove(&machine.name)?;
        (awaited.machine == *machine && awaited.since.elapsed() < FRESH).then_some(awaited.answer)
    }

    /// Asks about those of `waiting` that have not been asked about, side by side. All others are forgotten.
    pub(super) fn ask(&self, instances: &Arc<dyn Instances>, waiting: Vec<Machine>) {
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
            let (instances, asked) = (instances.clone(), machine.clone());
            state.tasks.spawn(async move {
                let answer = timeout(CALL, instances.get(std::slice::from_ref(&asked))).await.map_err(|_| late());
                // Nobody may want it any more.
                let _ = sender.send(answer);
            });
            state.answers.insert(machine.name.clone(), Awaited { machine, since: Instant::now(), answer });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Its operations do not panic half way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
