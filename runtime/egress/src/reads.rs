//! Equal reads at one endpoint: those that are in flight are joined, and an answer serves a little longer.
//!
//! Twenty load balancers that are being built, or a hundred workers that ask for the same thing, then cost the cloud's
//! quota once. Whatever writes at the endpoint ends that at once: what was asked before says nothing about after. A read
//! that still waits for its turn has not been asked, and goes on being joined: its answer is younger than the write.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cloud_provider::Freshness;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use http::{HeaderName, HeaderValue};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::outcome::RequestOutcome;
use crate::policy::Permitted;
use crate::request::Method;

/// The bytes that the answers that are kept may hold together, at one endpoint.
const KEPT_BYTES: usize = 4 << 20;

/// The parts in which two equal reads are equal.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct ReadKey {
    method: Method,
    /// Path and query.
    target: String,
    /// In the order of their names.
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The body of a form that reads.
    body: Bytes,
    /// The credential's generation.
    generation: u64,
}

impl ReadKey {
    pub(crate) fn new(permitted: &Permitted, generation: u64) -> Self {
        let headers = permitted.headers().iter().map(|(name, value)| (name.clone(), value.clone()));
        let mut headers: Vec<_> = headers.collect();
        headers.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
        let (method, body) = (permitted.method(), permitted.body().clone());
        Self { method, target: permitted.target().to_owned(), headers, body, generation }
    }

    /// About how much memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.target.len().saturating_add(self.body.len())
    }
}

/// The reads of one endpoint.
pub(crate) struct Reads {
    reuse: Duration,
    known: Mutex<KnownReads>,
}

#[derive(Default)]
struct KnownReads {
    reads: HashMap<ReadKey, KnownRead>,
    begun: u64,
}

enum KnownRead {
    /// Somebody waits for it. Who does drives it, so that it ends with the last of them.
    InFlight {
        number: u64,
        answer: WeakShared<BoxFuture<'static, Arc<RequestOutcome>>>,
        asked: Instant,
        left: Left,
    },
    Answered {
        answer: Arc<RequestOutcome>,
        asked: Instant,
        until: Instant,
    },
}

/// Whether a request has left. It is marked when its turn has come, before anything is sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Left(Arc<AtomicBool>);

impl Left {
    /// From now on it may have been asked.
    pub(crate) fn mark(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn is_marked(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl Reads {
    /// Answers are kept for `reuse` after they came.
    pub(crate) fn new(reuse: Duration) -> Self {
        Self { reuse, known: Mutex::default() }
    }

    /// The answer to a read, and whether somebody else's request brought it. `send` is asked only if there is none. One
    /// that has come, or is under way, serves if it was asked for as late as that; one that waits for its turn serves all.
    pub(crate) async fn answer(
        &self,
        key: ReadKey,
        freshness: Freshness,
        send: impl FnOnce(Left) -> BoxFuture<'static, Arc<RequestOutcome>>,
    ) -> (Arc<RequestOutcome>, bool) {
        let (number, answer, is_joined) = match self.find(&key, freshness, Instant::now(), send) {
            FoundRead::Answered(answer) => return (answer, true),
            FoundRead::InFlight { number, answer, is_joined } => (number, answer, is_joined),
        };
        let answer = answer.await;
        self.keep(key, number, &answer, Instant::now());
        (answer, is_joined)
    }

    /// To be held while something is written: nothing from before or meanwhile serves any longer.
    pub(crate) fn write(&self) -> Write<'_> {
        self.forget();
        Write(self)
    }

    fn find(
        &self,
        key: &ReadKey,
        freshness: Freshness,
        now: Instant,
        send: impl FnOnce(Left) -> BoxFuture<'static, Arc<RequestOutcome>>,
    ) -> FoundRead {
        let mut known = self.known();
        match known.reads.get(key) {
            Some(KnownRead::Answered { answer, asked, until }) if *until > now && freshness.allows(*asked, now) => {
                return FoundRead::Answered(answer.clone());
            }
            Some(KnownRead::InFlight { number, answer, asked, left }) => {
                let is_fresh = !left.is_marked() || freshness.allows(*asked, now);
                if let Some(answer) = answer.upgrade().filter(|_| is_fresh) {
                    return FoundRead::InFlight { number: *number, answer, is_joined: true };
                }
            }
            Some(KnownRead::Answered { .. }) | None => {}
        }
        known.reads.retain(|_, it| it.serves(now));
        known.begun += 1;
        let left = Left::default();
        let (number, answer) = (known.begun, send(left.clone()).shared());
        let weak = answer.downgrade().expect("it was not polled yet");
        known.reads.insert(key.clone(), KnownRead::InFlight { number, answer: weak, asked: now, left });
        FoundRead::InFlight { number, answer, is_joined: false }
    }

    /// Keeps an answer, unless something was written since it was asked for, or it says nothing about a moment later.
    fn keep(&self, key: ReadKey, number: u64, answer: &Arc<RequestOutcome>, now: Instant) {
        let mut known = self.known();
        let asked = match known.reads.get(&key) {
            Some(KnownRead::InFlight { number: it, asked, .. }) if *it == number => *asked,
            Some(_) | None => return,
        };
        known.reads.remove(&key);
        known.reads.retain(|_, it| it.serves(now));
        let kept: usize = known.reads.iter().map(|(key, read)| read.bytes(key)).sum();
        let fits = |bytes: usize| kept.saturating_add(bytes) <= KEPT_BYTES;
        if !self.reuse.is_zero() && answer.reusable_bytes().is_some_and(|it| fits(it.saturating_add(key.bytes()))) {
            known.reads.insert(key, KnownRead::Answered { answer: answer.clone(), asked, until: now + self.reuse });
        }
    }

    fn forget(&self) {
        self.known().reads.retain(|_, it| it.is_still_to_leave());
    }

    fn known(&self) -> MutexGuard<'_, KnownReads> {
        self.known.lock()
    }
}

enum FoundRead {
    Answered(Arc<RequestOutcome>),
    InFlight { number: u64, answer: Shared<BoxFuture<'static, Arc<RequestOutcome>>>, is_joined: bool },
}

impl KnownRead {
    fn serves(&self, now: Instant) -> bool {
        match self {
            Self::InFlight { answer, .. } => answer.upgrade().is_some(),
            Self::Answered { until, .. } => *until > now,
        }
    }

    fn is_still_to_leave(&self) -> bool {
        matches!(self, Self::InFlight { left, .. } if !left.is_marked())
    }

    fn bytes(&self, key: &ReadKey) -> usize {
        match self {
            Self::InFlight { .. } => 0,
            Self::Answered { answer, .. } => answer.reusable_bytes().unwrap_or(0).saturating_add(key.bytes()),
        }
    }
}

/// Something is being written. It counts until this is dropped, and so also if the writer gives up.
pub(crate) struct Write<'a>(&'a Reads);

impl Drop for Write<'_> {
    fn drop(&mut self) {
        self.0.forget();
    }
}

#[cfg(test)]
mod tests {
    use futures::channel::oneshot::{Receiver, Sender, channel};
    use futures::poll;
    use http::{HeaderMap, StatusCode};

    use super::*;
    use crate::outcome::CompleteAnswer;

    fn key() -> ReadKey {
        ReadKey {
            method: Method::Get,
            target: "/v2".to_owned(),
            headers: Vec::new(),
            body: Bytes::new(),
            generation: 1,
        }
    }

    fn outcome(body: &str) -> Arc<RequestOutcome> {
        let answer = CompleteAnswer { status: StatusCode::OK, headers: HeaderMap::new(), body: body.into() };
        Arc::new(RequestOutcome { address: None, answer: Ok(answer) })
    }

    /// A request that leaves at once, and is answered when the test says so.
    fn request() -> (Sender<Arc<RequestOutcome>>, impl FnOnce(Left) -> BoxFuture<'static, Arc<RequestOutcome>>) {
        let ((turn, comes), (answer, arrives)) = (channel(), channel());
        turn.send(()).unwrap();
        (answer, waiting(comes, arrives))
    }

    /// A request that leaves, and is answered, when the test says so.
    fn waiting(
        turn: Receiver<()>,
        answer: Receiver<Arc<RequestOutcome>>,
    ) -> impl FnOnce(Left) -> BoxFuture<'static, Arc<RequestOutcome>> {
        |left| {
            async move {
                turn.await.unwrap();
                left.mark();
                answer.await.unwrap()
            }
            .boxed()
        }
    }

    fn none(_: Left) -> BoxFuture<'static, Arc<RequestOutcome>> {
        panic!("nothing was to be sent")
    }

    fn body((outcome, is_joined): (Arc<RequestOutcome>, bool)) -> (String, bool) {
        (String::from_utf8(outcome.answer.as_ref().unwrap().body.clone()).unwrap(), is_joined)
    }

    #[tokio::test]
    async fn a_reader_joins_a_request_in_flight() {
        let reads = Reads::new(Duration::ZERO);
        let (answer, send) = request();
        let mut first = Box::pin(reads.answer(key(), Freshness::ANY, send));
        assert!(poll!(&mut first).is_pending());
        let mut second = Box::pin(reads.answer(key(), Freshness::ANY, none));
        assert!(poll!(&mut second).is_pending());
        answer.send(outcome("a")).unwrap();
        assert_eq!(body(second.await), ("a".to_owned(), true));
        assert_eq!(body(first.await), ("a".to_owned(), false));
        let (answer, send) = request();
        answer.send(outcome("b")).unwrap();
        assert_eq!(
            body(reads.answer(key(), Freshness::ANY, send).await),
            ("b".to_owned(), false),
            "and it is over for who comes later"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_change_asks_again_or_joins() {
        let reads = Reads::new(Duration::from_secs(60));
        let (answer, send) = request();
        answer.send(outcome("running")).unwrap();
        let before = Instant::now() - Duration::from_millis(1);
        assert_eq!(body(reads.answer(key(), Freshness::ANY, send).await).0, "running");
        assert_eq!(
            body(reads.answer(key(), Freshness::after(before), none).await).0,
            "running",
            "it was asked for after that"
        );
        let second = Duration::from_secs(1);
        tokio::time::advance(second - Duration::from_nanos(1)).await;
        assert_eq!(body(reads.answer(key(), Freshness::within(second), none).await).0, "running", "it is young enough");
        let now = Freshness::since(Instant::now());
        let (answer, send) = request();
        let mut first = Box::pin(reads.answer(key(), now, send));
        assert!(poll!(&mut first).is_pending(), "what was asked for before does not serve");
        let mut second = Box::pin(reads.answer(key(), now, none));
        assert!(poll!(&mut second).is_pending(), "what is in flight does");
        answer.send(outcome("success")).unwrap();
        assert_eq!(body(second.await), ("success".to_owned(), true));
        assert_eq!(body(first.await), ("success".to_owned(), false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_under_way_serves_no_later_question() {
        let reads = Reads::new(Duration::from_secs(60));
        let ((turn, comes), (answer, arrives)) = (channel(), channel());
        let mut first = Box::pin(reads.answer(key(), Freshness::ANY, waiting(comes, arrives)));
        assert!(poll!(&mut first).is_pending());
        tokio::time::advance(Duration::from_secs(1)).await;
        let now = Freshness::since(Instant::now());
        let mut second = Box::pin(reads.answer(key(), now, none));
        assert!(poll!(&mut second).is_pending(), "it joins: the request has not left yet");
        turn.send(()).unwrap();
        assert!(poll!(&mut first).is_pending());
        let (other, send) = request();
        let mut third = Box::pin(reads.answer(key(), now, send));
        assert!(poll!(&mut third).is_pending(), "the request that has left may have been answered already");
        let mut fourth = Box::pin(reads.answer(key(), Freshness::ANY, none));
        assert!(poll!(&mut fourth).is_pending());
        answer.send(outcome("before")).unwrap();
        other.send(outcome("after")).unwrap();
        let answers = [first.await, second.await, third.await, fourth.await].map(|it| body(it).0);
        assert_eq!(answers, ["before", "before", "after", "after"]);
        assert_eq!(body(reads.answer(key(), now, none).await), ("after".to_owned(), true), "the later one is kept");
    }

    #[tokio::test]
    async fn a_reader_that_joined_is_served_although_the_first_has_gone() {
        let reads = Reads::new(Duration::ZERO);
        let (answer, send) = request();
        let mut first = Box::pin(reads.answer(key(), Freshness::ANY, send));
        assert!(poll!(&mut first).is_pending());
        let mut second = Box::pin(reads.answer(key(), Freshness::ANY, none));
        assert!(poll!(&mut second).is_pending());
        drop(first);
        answer.send(outcome("a")).unwrap();
        assert_eq!(body(second.await), ("a".to_owned(), true));
    }

    #[tokio::test]
    async fn a_request_without_a_reader_is_sent_again() {
        let reads = Reads::new(Duration::from_secs(60));
        let (answer, send) = request();
        let mut first = Box::pin(reads.answer(key(), Freshness::ANY, send));
        assert!(poll!(&mut first).is_pending());
        drop(first);
        assert!(answer.is_canceled(), "the request was broken off");
        let (answer, send) = request();
        answer.send(outcome("b")).unwrap();
        assert_eq!(body(reads.answer(key(), Freshness::ANY, send).await), ("b".to_owned(), false));
    }

    #[tokio::test]
    async fn a_read_begun_before_a_write_ended_does_not_serve_after_it() {
        let reads = Reads::new(Duration::from_secs(60));
        let (early, send) = request();
        let mut before = Box::pin(reads.answer(key(), Freshness::ANY, send));
        assert!(poll!(&mut before).is_pending());
        let write = reads.write();
        let (late, send) = request();
        let mut meanwhile = Box::pin(reads.answer(key(), Freshness::ANY, send));
        assert!(poll!(&mut meanwhile).is_pending(), "it did not join what was asked before");
        early.send(outcome("before")).unwrap();
        assert_eq!(body(before.await).0, "before");
        late.send(outcome("meanwhile")).unwrap();
        assert_eq!(body(meanwhile.await).0, "meanwhile");
        assert_eq!(
            body(reads.answer(key(), Freshness::ANY, none).await),
            ("meanwhile".to_owned(), true),
            "the write is not over"
        );
        drop(write);
        let (answer, send) = request();
        answer.send(outcome("after")).unwrap();
        assert_eq!(body(reads.answer(key(), Freshness::ANY, send).await).0, "after");
        assert_eq!(body(reads.answer(key(), Freshness::ANY, none).await), ("after".to_owned(), true));
    }

    #[tokio::test]
    async fn a_read_that_waits_for_its_turn_outlives_writes() {
        let reads = Reads::new(Duration::from_secs(60));
        let ((turn, comes), (answer, arrives)) = (channel(), channel());
        let mut before = Box::pin(reads.answer(key(), Freshness::ANY, waiting(comes, arrives)));
        assert!(poll!(&mut before).is_pending());
        drop(reads.write());
        let mut after = Box::pin(reads.answer(key(), Freshness::ANY, none));
        assert!(poll!(&mut after).is_pending(), "it joins: what it waits for leaves after the write");
        turn.send(()).unwrap();
        assert!(poll!(&mut before).is_pending());
        drop(reads.write());
        let (other, send) = request();
        let mut later = Box::pin(reads.answer(key(), Freshness::ANY, send));
        assert!(poll!(&mut later).is_pending(), "it does not join what has left before the write");
        answer.send(outcome("a")).unwrap();
        other.send(outcome("b")).unwrap();
        let answers = [before.await, after.await, later.await].map(body);
        assert_eq!(answers, [("a".to_owned(), false), ("a".to_owned(), true), ("b".to_owned(), false)]);
        assert_eq!(
            body(reads.answer(key(), Freshness::ANY, none).await),
            ("b".to_owned(), true),
            "and only the last is kept"
        );
    }
}
