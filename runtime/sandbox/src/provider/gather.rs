//! Questions that wait for others: they are asked together once the first of them has waited long enough, or there are as many as one
//! call takes, and a call may run.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::task::JoinSet;

/// A function that answers several questions at once.
#[async_trait]
pub(super) trait Together: Send + Sync + 'static {
    type Question: Send + Sync + 'static;
    type Answer: Send + 'static;

    /// One answer for each question, in the same order.
    async fn answers(&self, questions: Vec<Self::Question>) -> Vec<Self::Answer>;

    /// How many questions one call takes now.
    fn size(&self) -> usize;
}

/// The questions of one function that wait.
pub(super) struct Gatherer<T: Together> {
    function: Arc<T>,
    time: Duration,
    /// The calls that may run, also of other functions.
    calls: Arc<Semaphore>,
    waiting: Mutex<VecDeque<WaitingQuestion<T>>>,
    /// Said when there are as many as one call takes.
    full: Notify,
    /// The calls that are being made. Dropping it ends them.
    tasks: Mutex<JoinSet<()>>,
}

struct WaitingQuestion<T: Together> {
    question: T::Question,
    answer: oneshot::Sender<T::Answer>,
}

impl<T: Together> Gatherer<T> {
    /// Questions wait for as long as `time` for further ones, and then until one of `calls` is free.
    pub(super) fn new(function: Arc<T>, time: Duration, calls: Arc<Semaphore>) -> Arc<Self> {
        let (waiting, full, tasks) = (Mutex::default(), Notify::new(), Mutex::default());
        Arc::new(Self { function, time, calls, waiting, full, tasks })
    }

    /// The answer to a question, which waits for others. `None` if the provider is gone before it was answered.
    pub(super) async fn ask(self: &Arc<Self>, question: T::Question) -> Option<T::Answer> {
        let (answer, answered) = oneshot::channel();
        let waiting = {
            let mut waiting = self.waiting.lock();
            waiting.push_back(WaitingQuestion { question, answer });
            waiting.len()
        };
        if waiting == 1 {
            self.begin(self.time);
        }
        if waiting >= self.function.size() {
            self.full.notify_one();
        }
        answered.await.ok()
    }

    /// Makes a call in a task of its own: whoever asks may go away meanwhile.
    fn begin(self: &Arc<Self>, wait: Duration) {
        let gatherer = Arc::downgrade(self);
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let Some(gatherer) = gatherer.upgrade() else { return };
            let _ = tokio::time::timeout(wait, gatherer.full.notified()).await;
            gatherer.call().await;
        });
    }

    async fn call(self: &Arc<Self>) {
        let function = &self.function;
        let _call = self.calls.acquire().await.expect("the semaphore is never closed");
        let (taken, is_rest): (Vec<_>, bool) = {
            let mut waiting = self.waiting.lock();
            let size = function.size().clamp(1, waiting.len().max(1)).min(waiting.len());
            // Whoever does not wait for the answer any more has nothing to ask.
            let taken = waiting.drain(..size).filter(|it| !it.answer.is_closed()).collect();
            (taken, !waiting.is_empty())
        };
        if is_rest {
            // They have waited already.
            self.begin(Duration::ZERO);
        } else {
            // What was said of those that are taken is not said of the next.
            let _ = self.full.notified().now_or_never();
        }
        if taken.is_empty() {
            return;
        }
        let (questions, answers): (Vec<_>, Vec<_>) = taken.into_iter().map(|it| (it.question, it.answer)).unzip();
        for (answer, waiting) in function.answers(questions).await.into_iter().zip(answers) {
            let _ = waiting.send(answer);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use futures::future::join_all;

    use super::*;

    /// Answers each question with itself, and remembers how many came together.
    #[derive(Default)]
    struct Echo {
        batches: Mutex<Vec<usize>>,
        running: AtomicUsize,
        most: AtomicUsize,
    }

    #[async_trait]
    impl Together for Echo {
        type Question = usize;
        type Answer = usize;

        async fn answers(&self, questions: Vec<usize>) -> Vec<usize> {
            self.most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
            self.batches.lock().push(questions.len());
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.running.fetch_sub(1, SeqCst);
            questions
        }

        fn size(&self) -> usize {
            10
        }
    }

    fn gatherer(calls: usize) -> (Arc<Echo>, Arc<Gatherer<Echo>>) {
        let echo = Arc::new(Echo::default());
        let calls = Arc::new(Semaphore::new(calls));
        (echo.clone(), Gatherer::new(echo.clone(), Duration::from_secs(2), calls))
    }

    #[tokio::test(start_paused = true)]
    async fn questions_within_the_time_are_one_call() {
        let (echo, gatherer) = gatherer(1);
        let start = tokio::time::Instant::now();
        let late = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            gatherer.ask(9).await
        };
        let (early, late) = tokio::join!(join_all((0..5).map(|it| gatherer.ask(it))), late);
        assert_eq!((early, late), ((0..5).map(Some).collect(), Some(9)));
        assert_eq!(*echo.batches.lock(), [6]);
        assert_eq!(start.elapsed(), Duration::from_secs(3), "two of waiting, one of work");
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_as_a_call_takes_wait_for_nobody() {
        let (echo, gatherer) = gatherer(1);
        let start = tokio::time::Instant::now();
        let answers = join_all((0..25).map(|it| gatherer.ask(it))).await;
        assert_eq!(answers, (0..25).map(Some).collect::<Vec<_>>());
        assert_eq!(*echo.batches.lock(), [10, 10, 5]);
        assert_eq!((echo.most.load(SeqCst), start.elapsed()), (1, Duration::from_secs(3)));
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_come_during_a_call_are_the_next_one() {
        let (echo, gatherer) = gatherer(1);
        let later = async {
            let ask = async |after: u64| {
                tokio::time::sleep(Duration::from_millis(after)).await;
                gatherer.ask(0).await
            };
            tokio::join!(ask(100), ask(900))
        };
        tokio::join!(join_all((0..10).map(|it| gatherer.ask(it))), later);
        assert_eq!(*echo.batches.lock(), [10, 2]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_goes_away_takes_no_answer_from_others() {
        let (echo, gatherer) = gatherer(1);
        let gone = tokio::time::timeout(Duration::from_secs(1), gatherer.ask(1));
        let (gone, answer) = tokio::join!(gone, gatherer.ask(2));
        assert!(gone.is_err());
        assert_eq!((answer, &*echo.batches.lock()), (Some(2), &vec![1]));
    }
}
