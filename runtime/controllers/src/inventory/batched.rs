//! Questions about single nodes that come at the same time, asked with one `get` where it takes several nodes.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use cloud_provider::{CurrentDescription, Error, Event, Instance, Instances, Node, Page, Reply, Result};
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// How long a question waits for others: a fraction of what a cloud takes to answer one.
const GATHER: Duration = Duration::from_millis(10);

type BatchAnswers = Vec<Result<Option<Instance>>>;

/// A cloud's machines, where questions that come within [`GATHER`] of one another are one call, as far as the provider's
/// `get_batch_size` goes.
///
/// A cloud that reads its machines one by one is asked at once. A call that takes too long fails for all of its nodes: their
/// next questions come at other times.
pub(super) struct Batched {
    instances: Arc<dyn Instances>,
    description: CurrentDescription,
    state: Arc<Mutex<BatchState>>,
}

#[derive(Default)]
struct BatchState {
    waiting: Vec<BatchQuestion>,
    /// Dropping them ends the calls that are under way.
    calls: JoinSet<()>,
}

struct BatchQuestion {
    node: Node,
    reply: oneshot::Sender<Reply<BatchAnswers>>,
}

impl Batched {
    pub(super) fn new(instances: Arc<dyn Instances>, description: CurrentDescription) -> Self {
        Self { instances, description, state: Arc::default() }
    }

    /// Asks about one node with the others that wait.
    async fn ask(&self, node: Node) -> Reply<BatchAnswers> {
        let (sender, reply) = oneshot::channel();
        {
            let mut state = self.state.lock();
            while state.calls.try_join_next().is_some() {}
            state.waiting.push(BatchQuestion { node, reply: sender });
            if state.waiting.len() == 1 {
                state.calls.spawn(ask_all(self.instances.clone(), Arc::downgrade(&self.state)));
            }
        }
        reply.await.unwrap_or_else(|_| {
            vec![Err(Error::Unavailable("the question about this node ended without an answer".into()))].into()
        })
    }
}

/// Asks about all nodes that wait once [`GATHER`] is over.
async fn ask_all(instances: Arc<dyn Instances>, state: Weak<Mutex<BatchState>>) {
    tokio::time::sleep(GATHER).await;
    let Some(mut questions) = state.upgrade().map(|it| std::mem::take(&mut it.lock().waiting)) else { return };
    questions.retain(|it| !it.reply.is_closed());
    if questions.is_empty() {
        return;
    }
    let nodes: Vec<_> = questions.iter().map(|it| it.node.clone()).collect();
    let all_gone = join_all(questions.iter_mut().map(|it| it.reply.closed()));
    let Reply { answer, events, wrote } = tokio::select! {
        reply = instances.get(&nodes) => reply,
        _ = all_gone => return,
    };
    let given = answer.len();
    let answers = answer.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
    let events = shared(events, &nodes);
    for ((question, answer), events) in questions.into_iter().zip(answers).zip(events) {
        let answer = answer.filter(|_| given == nodes.len()).unwrap_or_else(|| {
            Err(Error::Invalid(format!("the provider gave {given} answers about {} nodes", nodes.len())))
        });
        // Nobody may want it any more.
        let _ = question.reply.send(Reply { answer: vec![answer], events, wrote });
    }
}

/// The events for each node's question: those about the node. The rest goes with the first.
fn shared(events: Vec<Event>, nodes: &[Node]) -> Vec<Vec<Event>> {
    let mut each = vec![Vec::new(); nodes.len()];
    for event in events {
        let position = nodes.iter().position(|it| event.about.as_deref() == Some(&it.name)).unwrap_or(0);
        if let Some(events) = each.get_mut(position) {
            events.push(event);
        }
    }
    each
}

#[async_trait]
impl Instances for Batched {
    async fn get(&self, nodes: &[Node]) -> Reply<BatchAnswers> {
        if self.description.now().get_batch_size <= 1 {
            return self.instances.get(nodes).await;
        }
        let replies = join_all(nodes.iter().map(|it| self.ask(it.clone()))).await;
        let mut all = Reply::from(Vec::new());
        for Reply { answer, events, wrote } in replies {
            all.answer.extend(answer);
            all.events.extend(events);
            all.wrote |= wrote;
        }
        all
    }

    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<Page>> {
        self.instances.list(cursor, limit).await
    }

    async fn canonical_ids(&self, provider_ids: &[String]) -> Vec<Result<String>> {
        self.instances.canonical_ids(provider_ids).await
    }

    async fn check(&self) -> Result<()> {
        self.instances.check().await
    }
}
