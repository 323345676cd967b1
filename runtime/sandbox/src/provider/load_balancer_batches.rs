//! Load balancers of a provider that takes several in one call: what Services ask for is gathered, asked together, and each gets its own
//! answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use async_trait::async_trait;
use cloud_provider::{Deletion, Error, Event, Freshness, LoadBalancer, LoadBalancers, Progress, Reply, Result};
use egress::Seen;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use wasmtime::Store;

use super::busy::Busy;
use super::describe;
use super::gather::{Gatherer, Together};
use super::guard::Stopped;
use super::judged;
use super::load_balancers;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::bindings::load_balancer_batches::{self as wit, ProvidesLoadBalancerBatchesPre};
use crate::bindings::load_balancers::exports::aerostat::cloud::load_balancers::{
    Deletion as WitDeletion, Progress as WitProgress,
};
use crate::call::{CallAnswer, Calls, Earlier, Function, StoreState, Success};
use crate::convert;
use crate::convert::load_balancer_batches::BatchLimits;
use crate::convert::texts::Texts;

/// The load balancers of a provider that exports `load-balancer-batches`.
pub(super) struct BatchesGuest {
    ensures: Arc<Gatherer<EnsureCalls>>,
    deletes: Arc<Gatherer<DeleteCalls>>,
}

/// The properties of batches, of a provider that exports them.
pub(super) async fn described(
    calls: &Calls,
    pre: Option<ProvidesLoadBalancerBatchesPre<StoreState>>,
) -> Result<Option<(ProvidesLoadBalancerBatchesPre<StoreState>, BatchLimits)>, String> {
    let Some(pre) = pre else { return Ok(None) };
    let asked = pre.clone();
    let answer =
        describe::ask(calls, Function::DescribeBatches, |store| Box::pin(async move { asked.describe(store).await }));
    let description = convert::load_balancer_batches::description(answer.await?);
    description.map(|it| Some((pre, it))).map_err(|it| format!("its description of batches is unusable: {it}"))
}

impl Success for wit::BatchDescription {}

impl BatchesGuest {
    pub(super) fn new(
        pre: ProvidesLoadBalancerBatchesPre<StoreState>,
        description: BatchLimits,
        loaded: Arc<Loaded>,
    ) -> Self {
        let calls =
            Arc::new(BatchCalls { pre, loaded, busy: Busy::default(), most: AtomicUsize::new(description.size) });
        let at_a_time = Arc::new(Semaphore::new(description.concurrency as usize));
        let BatchLimits { size, gather, .. } = description;
        Self {
            ensures: Gatherer::new(Arc::new(EnsureCalls(calls.clone(), size)), gather, at_a_time.clone()),
            deletes: Gatherer::new(Arc::new(DeleteCalls(calls, size)), gather, at_a_time),
        }
    }

    async fn ensured(&self, desired: &LoadBalancer, listed: Option<Freshness>) -> Reply<Result<Progress>> {
        let reply = self.ensures.ask(EnsureQuestion { desired: desired.clone(), listed }).await;
        reply.unwrap_or_else(|| Err(gone()).into())
    }
}

#[async_trait]
impl LoadBalancers for BatchesGuest {
    async fn ensure(&self, desired: &LoadBalancer) -> Reply<Result<Progress>> {
        self.ensured(desired, None).await
    }

    async fn ensure_listed(&self, desired: &LoadBalancer, freshness: Freshness) -> Reply<Result<Progress>> {
        self.ensured(desired, Some(freshness)).await
    }

    async fn delete(&self, unwanted: &LoadBalancer) -> Reply<Result<Deletion>> {
        self.deletes.ask(unwanted.clone()).await.unwrap_or_else(|| Err(gone()).into())
    }
}

/// The error where a call ended without an answer.
fn gone() -> Error {
    Error::Unavailable("the batch was given up: the provider is being replaced, or the process ends".to_owned())
}

/// A load balancer that is desired, and whether a list so fresh may answer its reads.
struct EnsureQuestion {
    desired: LoadBalancer,
    listed: Option<Freshness>,
}

/// The calls about several load balancers.
struct BatchCalls {
    pre: ProvidesLoadBalancerBatchesPre<StoreState>,
    loaded: Arc<Loaded>,
    busy: Busy,
    /// The largest batch, since larger ones took too long.
    most: AtomicUsize,
}

/// Calls of `ensure`, with the size of a batch.
struct EnsureCalls(Arc<BatchCalls>, usize);

/// Calls of `delete`, with the size of a batch.
struct DeleteCalls(Arc<BatchCalls>, usize);

#[async_trait]
impl Together for EnsureCalls {
    type Question = EnsureQuestion;
    type Answer = Reply<Result<Progress>>;

    async fn answers(&self, questions: Vec<EnsureQuestion>) -> Vec<Reply<Result<Progress>>> {
        answers(self, questions).await
    }

    fn size(&self) -> usize {
        self.0.most.load(Relaxed)
    }
}

#[async_trait]
impl Together for DeleteCalls {
    type Question = LoadBalancer;
    type Answer = Reply<Result<Deletion>>;

    async fn answers(&self, questions: Vec<LoadBalancer>) -> Vec<Reply<Result<Deletion>>> {
        answers(self, questions).await
    }

    fn size(&self) -> usize {
        self.0.most.load(Relaxed)
    }
}

/// One of the two functions.
#[async_trait]
trait BatchFunction: Together {
    /// The answer about one load balancer.
    type Said: Send;
    /// The same in the guest's words.
    type Words: Send;

    fn calls(&self) -> &BatchCalls;

    /// The size of a batch that the provider names.
    fn described(&self) -> usize;

    fn function(load_balancers: u32) -> Function;

    fn load_balancer(question: &Self::Question) -> &LoadBalancer;

    fn object(question: &Self::Question) -> Object;

    /// One call of the guest, and what the egress saw of it.
    async fn ask(
        &self,
        questions: &[Self::Question],
        subject: Subject<'_>,
    ) -> (Reply<Result<wit::Answers<Self::Words>, Stopped>>, Seen);

    /// An answer about one load balancer, held against what the egress saw that is about it, and warnings for people.
    fn judged(
        &self,
        question: &Self::Question,
        words: Result<Self::Words>,
        seen: &Seen,
        events: &[Event],
    ) -> (Result<Self::Said>, Vec<Event>);
}

/// One answer for each question, in the same order, whatever happened. Objects that are set aside are left out.
async fn answers<F: BatchFunction>(function: &F, questions: Vec<F::Question>) -> Vec<Reply<Result<F::Said>>> {
    let guard = &function.calls().loaded.guard;
    let set_aside: Vec<_> = questions.iter().map(|it| guard.is_set_aside(&F::object(it))).collect();
    let asked = questions.into_iter().zip(&set_aside).filter(|(_, error)| error.is_none());
    let asked: Vec<_> = asked.map(|(question, _)| question).collect();
    let mut answers = halves(function, &asked).await.into_iter();
    let missing = || function.calls().loaded.unusable(F::function(1), "an answer is missing");
    let each = set_aside.into_iter().map(|error| match error {
        Some(error) => Err(error).into(),
        None => answers.next().unwrap_or_else(|| Err(missing()).into()),
    });
    each.collect()
}

/// Asks about all of them at once. If that crashes, about one half and then about the other: one over which the provider crashes
/// costs no other its answer, and is found in a few calls.
fn halves<'a, F: BatchFunction>(
    function: &'a F,
    questions: &'a [F::Question],
) -> BoxFuture<'a, Vec<Reply<Result<F::Said>>>> {
    async move {
        let object = match questions {
            [] => return Vec::new(),
            [question] => Some(F::object(question)),
            _ => None,
        };
        let subject = object.as_ref().map_or(Subject::Several, Subject::One);
        let (Reply { answer, events, wrote }, seen) = function.ask(questions, subject).await;
        let answers = match answer {
            Ok(answers) => answers,
            Err(Stopped { crashed: true, .. }) if object.is_none() => {
                let (first, second) = questions.split_at(questions.len() / 2);
                let mut answers = halves(function, first).await;
                answers.extend(halves(function, second).await);
                // What was written before the crash was written.
                return answers.into_iter().map(|it| Reply { wrote: wrote || it.wrote, ..it }).collect();
            }
            Err(Stopped { error, .. }) => {
                return questions.iter().map(|_| Reply { wrote, ..Err(error.clone()).into() }).collect();
            }
        };
        if answers.len() != questions.len() {
            let because = format!("{} answers for {} load balancers", answers.len(), questions.len());
            let error = function.calls().loaded.unusable(F::function(1), &because);
            return questions.iter().map(|_| Reply { wrote, ..Err(error.clone()).into() }).collect();
        }
        let mut place = 0;
        let each = questions.iter().zip(answers).map(|(question, words)| {
            let marks = marks(F::load_balancer(question)).len();
            let own = seen.about(&(place..place + marks));
            place += marks;
            let uid = &F::load_balancer(question).owner.uid;
            let mut events = events_of(&events, uid, object.is_some());
            let (answer, warnings) = function.judged(question, words.map_err(convert::error), &own, &events);
            events.extend(warnings);
            Reply { answer, events, wrote }
        });
        each.collect()
    }
    .boxed()
}

/// The events about the Service with this UID; where the call was about it alone, those that name nobody too.
fn events_of(events: &[Event], uid: &str, is_alone: bool) -> Vec<Event> {
    let is_own = |it: &&Event| it.about.as_deref().map_or(is_alone, |about| about == uid);
    events.iter().filter(is_own).map(|it| Event { about: None, ..it.clone() }).collect()
}

/// The texts by which a request shows that it is about a Service's load balancer.
fn marks(load_balancer: &LoadBalancer) -> [String; 2] {
    [load_balancer.owner.uid.clone(), load_balancer.name.clone()]
}

impl BatchCalls {
    /// One call about these load balancers.
    async fn call<T: Send>(
        &self,
        function: Function,
        subject: Subject<'_>,
        load_balancers: Vec<&LoadBalancer>,
        list: Option<egress::ListReads>,
        body: impl for<'a> FnOnce(&'a mut Store<StoreState>) -> BoxFuture<'a, wasmtime::Result<wit::Answers<T>>> + Send,
    ) -> (Reply<Result<wit::Answers<T>, Stopped>>, Seen)
    where
        wit::Answers<T>: CallAnswer + Texts,
    {
        let busy = load_balancers.iter().filter_map(|it| self.busy.since(&it.owner.uid)).max();
        let earlier = Earlier { list, freshness: busy.map_or(Freshness::ANY, Freshness::after) };
        let all: Vec<_> = load_balancers.iter().flat_map(|it| marks(it)).collect();
        self.loaded.attempt_marked(function, subject, earlier, &all, body).await
    }

    /// A call about so many has returned, or took longer than it may: batches grow and shrink.
    fn took(&self, load_balancers: usize, is_in_time: bool, described: usize) {
        let most = self.most.load(Relaxed);
        if is_in_time && load_balancers >= most {
            self.most.store(most.saturating_mul(2).min(described), Relaxed);
        } else if !is_in_time && load_balancers > 1 {
            let smaller = (load_balancers / 2).min(most);
            tracing::warn!(
                provider = &*self.loaded.calls.provider,
                "a batch of {load_balancers} load balancers took too long; the next ones have {smaller}"
            );
            self.most.store(smaller, Relaxed);
        }
    }

    fn ended(&self, of: &LoadBalancer, is_busy: bool) {
        self.busy.ended(&of.owner.uid, is_busy, Instant::now());
    }
}

/// Whether a call took no longer than it may, as far as its error says.
fn is_in_time<T>(answer: &Result<T, Stopped>) -> Option<bool> {
    match answer {
        Ok(_) => Some(true),
        Err(Stopped { is_late: true, .. }) => Some(false),
        Err(_) => None,
    }
}

#[async_trait]
impl BatchFunction for EnsureCalls {
    type Said = Progress;
    type Words = WitProgress;

    fn calls(&self) -> &BatchCalls {
        &self.0
    }

    fn described(&self) -> usize {
        self.1
    }

    fn function(load_balancers: u32) -> Function {
        Function::EnsureBatch { load_balancers }
    }

    fn load_balancer(question: &EnsureQuestion) -> &LoadBalancer {
        &question.desired
    }

    fn object(question: &EnsureQuestion) -> Object {
        Object::ensured(&question.desired)
    }

    async fn ask(
        &self,
        questions: &[EnsureQuestion],
        subject: Subject<'_>,
    ) -> (Reply<Result<wit::Answers<WitProgress>, Stopped>>, Seen) {
        let (calls, loaded) = (self.calls(), &self.0.loaded);
        let batch: Vec<_> = questions.iter().map(|it| &it.desired).collect();
        let keys = load_balancers::keys(loaded);
        let (mut desired, nodes) =
            convert::load_balancer_batches::desired(&batch, &loaded.description.shown_labels, &keys);
        // A list serves those alone for whom it is fresh enough, and a call has one.
        let lists = questions.iter().map(|it| loaded.load_balancer_lists.sealed(it.listed?, Instant::now()));
        let list = lists.collect::<Option<Vec<_>>>().and_then(|mut it| it.pop());
        for (item, question) in desired.iter_mut().zip(questions) {
            item.load_balancer.extra.extend(load_balancers::words(&question.desired, list.is_some()));
        }
        let function = Self::function(u32::try_from(batch.len()).unwrap_or(u32::MAX));
        let (pre, count) = (calls.pre.clone(), batch.len());
        let asked = calls
            .call(function, subject, batch, list, |store| {
                Box::pin(async move { pre.ensure(store, desired, nodes).await })
            })
            .await;
        if let Some(is_in_time) = is_in_time(&asked.0.answer) {
            calls.took(count, is_in_time, self.described());
        }
        asked
    }

    fn judged(
        &self,
        EnsureQuestion { desired, .. }: &EnsureQuestion,
        words: Result<WitProgress>,
        seen: &Seen,
        events: &[Event],
    ) -> (Result<Progress>, Vec<Event>) {
        let loaded = &self.0.loaded;
        let answer = words.and_then(|progress| {
            let unusable = |because: String| loaded.unusable(Self::function(1), &because);
            convert::load_balancer::progress(progress, &load_balancers::keys(loaded)).map_err(unusable)
        });
        let is_busy = matches!(&answer, Ok(Progress::Pending(it)) if load_balancers::is_busy(it));
        self.0.ended(desired, is_busy);
        let warnings = judged::warnings(seen, events, desired.memo.as_deref(), &answer);
        (answer, warnings)
    }
}

#[async_trait]
impl BatchFunction for DeleteCalls {
    type Said = Deletion;
    type Words = WitDeletion;

    fn calls(&self) -> &BatchCalls {
        &self.0
    }

    fn described(&self) -> usize {
        self.1
    }

    fn function(load_balancers: u32) -> Function {
        Function::DeleteBatch { load_balancers }
    }

    fn load_balancer(question: &LoadBalancer) -> &LoadBalancer {
        question
    }

    fn object(question: &LoadBalancer) -> Object {
        Object::deleted(question)
    }

    async fn ask(
        &self,
        questions: &[LoadBalancer],
        subject: Subject<'_>,
    ) -> (Reply<Result<wit::Answers<WitDeletion>, Stopped>>, Seen) {
        let (calls, loaded) = (self.calls(), &self.0.loaded);
        let keys = load_balancers::keys(loaded);
        let mut unwanted = Vec::new();
        for question in questions {
            let mut asked = convert::load_balancer::desired(question, &loaded.description.shown_labels, &keys);
            asked.extra.extend(load_balancers::words(question, false));
            unwanted.push(asked);
        }
        let function = Self::function(u32::try_from(questions.len()).unwrap_or(u32::MAX));
        let pre = calls.pre.clone();
        let asked = calls
            .call(function, subject, questions.iter().collect(), None, |store| {
                Box::pin(async move { pre.delete(store, unwanted).await })
            })
            .await;
        if let Some(is_in_time) = is_in_time(&asked.0.answer) {
            calls.took(questions.len(), is_in_time, self.described());
        }
        asked
    }

    fn judged(
        &self,
        unwanted: &LoadBalancer,
        words: Result<WitDeletion>,
        seen: &Seen,
        _events: &[Event],
    ) -> (Result<Deletion>, Vec<Event>) {
        let loaded = &self.0.loaded;
        let answer = words.and_then(|deletion| {
            let unusable = |because: String| loaded.unusable(Self::function(1), &because);
            convert::load_balancer::deletion(deletion, &load_balancers::keys(loaded)).map_err(unusable)
        });
        let answer = answer.and_then(|it| judged::deletion(seen, it));
        self.0.ended(unwanted, matches!(&answer, Ok(Deletion::Pending(it)) if load_balancers::is_busy(it)));
        (answer, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::EventKind;

    use super::*;

    #[test]
    fn an_event_goes_to_the_service_that_it_names() {
        let event = |about: Option<&str>, message: &str| Event {
            about: about.map(str::to_owned),
            kind: EventKind::Warning,
            reason: "Note".to_owned(),
            message: message.to_owned(),
        };
        let events = [event(Some("u-1"), "one"), event(Some("u-2"), "two"), event(None, "nobody")];
        let told = |uid: &str, is_alone| events_of(&events, uid, is_alone);
        assert_eq!(told("u-1", false), [event(None, "one")]);
        assert_eq!(told("u-2", true), [event(None, "two"), event(None, "nobody")]);
        assert_eq!(told("u-3", false), []);
    }
}
