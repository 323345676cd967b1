//! The script of one function of a cloud: its answers, and the questions that it was asked.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

/// The questions of all functions, in order, as text.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

type Later<A> = Pin<Box<dyn Future<Output = A> + Send>>;
type Answering<Q, A> = Arc<dyn Fn(Q) -> Later<A> + Send + Sync>;

/// The script of one function: `Q` is what it is asked, `A` what it answers.
pub struct Script<Q, A> {
    /// The text of a question in the log of all; `None`: it is not logged.
    text: fn(&Q) -> Option<String>,
    log: Log,
    state: Mutex<State<Q, A>>,
    held: watch::Sender<bool>,
    cut: Notify,
}

struct State<Q, A> {
    next: VecDeque<A>,
    always: Answering<Q, A>,
    takes: Option<Duration>,
    calls: Vec<Q>,
    in_flight: usize,
    most_in_flight: usize,
}

/// A call that is under way, also one that is given up.
struct Flight<'a, Q, A> {
    script: &'a Script<Q, A>,
    has_ended: bool,
}

impl<Q: Clone + Send + 'static, A: Send + 'static> Script<Q, A> {
    /// A function that answers this until it is told otherwise.
    pub(crate) fn new(
        log: &Log,
        text: fn(&Q) -> Option<String>,
        always: impl Fn(Q) -> A + Send + Sync + 'static,
    ) -> Self {
        let state = State {
            next: VecDeque::new(),
            always: at_once(always),
            takes: None,
            calls: Vec::new(),
            in_flight: 0,
            most_in_flight: 0,
        };
        Self { text, log: log.clone(), state: Mutex::new(state), held: watch::Sender::default(), cut: Notify::new() }
    }

    /// Answers this from now on.
    pub fn answers(&self, always: impl Fn(Q) -> A + Send + Sync + 'static) {
        self.state().always = at_once(always);
    }

    /// Answers this from now on, once the future is there.
    pub fn answers_later<F>(&self, always: impl Fn(Q) -> F + Send + Sync + 'static)
    where
        F: Future<Output = A> + Send + 'static,
    {
        self.state().always = Arc::new(move |question| Box::pin(always(question)));
    }

    /// Answers these first, each to one call.
    pub fn answers_next(&self, answers: impl IntoIterator<Item = A>) {
        self.state().next.extend(answers);
    }

    /// Takes so long from now on before it answers.
    pub fn takes(&self, time: Duration) {
        self.state().takes = Some(time);
    }

    /// Holds answers back, or lets them go. The answer has been decided when it is held.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// The questions until now, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Q> {
        self.state().calls.clone()
    }

    /// How many questions there were until now.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.state().calls.len()
    }

    /// How many calls are under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.state().in_flight
    }

    /// The most calls that were under way at a time.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.state().most_in_flight
    }

    /// Waits until a call is given up before it is answered.
    pub async fn cut(&self) {
        self.cut.notified().await;
    }

    /// Answers a question.
    pub(crate) async fn call(&self, question: Q) -> A {
        self.log.lock().extend((self.text)(&question));
        let takes = {
            let mut state = self.state();
            state.calls.push(question.clone());
            state.in_flight += 1;
            state.most_in_flight = state.most_in_flight.max(state.in_flight);
            state.takes
        };
        let mut flight = Flight { script: self, has_ended: false };
        if let Some(takes) = takes {
            tokio::time::sleep(takes).await;
        }
        let (next, always) = {
            let mut state = self.state();
            (state.next.pop_front(), state.always.clone())
        };
        let answer = match next {
            Some(answer) => answer,
            None => always(question).await,
        };
        let _ = self.held.subscribe().wait_for(|it| !it).await;
        flight.has_ended = true;
        answer
    }
}

impl<Q, A> Script<Q, A> {
    fn state(&self) -> MutexGuard<'_, State<Q, A>> {
        self.state.lock()
    }
}

impl<Q, A> Drop for Flight<'_, Q, A> {
    fn drop(&mut self) {
        self.script.state().in_flight -= 1;
        if !self.has_ended {
            self.script.cut.notify_one();
        }
    }
}

fn at_once<Q: 'static, A: Send + 'static>(always: impl Fn(Q) -> A + Send + Sync + 'static) -> Answering<Q, A> {
    Arc::new(move |question| {
        let answer = always(question);
        Box::pin(std::future::ready(answer))
    })
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinSet;

    use super::*;

    fn script() -> Arc<Script<u32, u32>> {
        Arc::new(Script::new(&Log::default(), |it| Some(format!("twice {it}")), |it| 2 * it))
    }

    #[tokio::test]
    async fn prepared_answers_come_first_and_calls_are_remembered() {
        let script = script();
        script.answers_next([7, 8]);
        let answers = [script.call(1).await, script.call(2).await, script.call(3).await];
        assert_eq!((answers, script.calls(), script.asked()), ([7, 8, 6], vec![1, 2, 3], 3));
        script.answers(|_| 0);
        assert_eq!(script.call(4).await, 0);
        assert_eq!(*script.log.lock(), ["twice 1", "twice 2", "twice 3", "twice 4"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_takes_time_is_held_and_may_be_given_up() {
        let (script, second) = (script(), Duration::from_secs(1));
        script.takes(second);
        assert!(tokio::time::timeout(second / 2, script.call(1)).await.is_err());
        script.cut().await;
        script.hold(true);
        let (first, other) = (script.clone(), script.clone());
        let mut calls = JoinSet::new();
        calls.spawn(async move { tokio::join!(first.call(1), other.call(2)) });
        tokio::time::sleep(2 * second).await;
        assert_eq!((script.in_flight(), script.most_in_flight(), calls.try_join_next().is_none()), (2, 2, true));
        script.hold(false);
        assert_eq!((calls.join_all().await, script.in_flight()), (vec![(2, 4)], 0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_never_come() {
        let script = script();
        script.answers_later(|_| std::future::pending());
        assert!(tokio::time::timeout(Duration::from_secs(3600), script.call(1)).await.is_err());
    }
}
