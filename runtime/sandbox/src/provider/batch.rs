//! Questions that are asked together, and alone once the provider has crashed over them.

use async_trait::async_trait;
use cloud_provider::{EventList, Reply, Result};
use egress::Seen;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::guard::Stopped;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::call::Function;

/// One function of the contract that takes a list and answers each item of it.
#[async_trait]
pub(super) trait Batch: Clone + Send + Sync + 'static {
    type Question: Clone + Send + Sync + 'static;
    type Answer: Clone + Send + 'static;

    /// The most questions that are asked again, alone, because their answer is not believed where several were asked: the
    /// request that failed may have been about another.
    const ASKED_AGAIN: usize = 0;

    fn loaded(&self) -> &Loaded;

    /// For the texts of errors.
    fn function(&self) -> Function;

    fn object(question: &Self::Question) -> Object;

    /// One call of the guest, and what the egress saw of it. Its question began at this moment.
    async fn ask(
        &self,
        questions: &[Self::Question],
        subject: Subject<'_>,
        began: Instant,
    ) -> (Reply<Result<Vec<Result<Self::Answer>>, Stopped>>, Seen);

    /// The answer, or an error if it is not believed after what the egress saw of its call.
    fn judged(_seen: &Seen, answer: Result<Self::Answer>) -> Result<Self::Answer> {
        answer
    }
}

/// One answer for each question, in the same order, whatever happened; `size` of them go into one call.
///
/// Objects that are set aside are left out. If a call crashes, each question is asked alone: one object over which the
/// provider crashes must not stand for the others.
pub(super) async fn answers<B: Batch>(
    batch: &B,
    size: u32,
    questions: &[B::Question],
) -> Reply<Vec<Result<B::Answer>>> {
    let began = Instant::now();
    let chunks = questions.chunks(size.max(1) as usize).map(|it| chunk(batch.clone(), it.to_vec(), began));
    side_by_side(batch, chunks).await
}

async fn chunk<B: Batch>(batch: B, questions: Vec<B::Question>, began: Instant) -> Reply<Vec<Result<B::Answer>>> {
    let set_aside: Vec<_> = questions.iter().map(|it| batch.loaded().guard.is_set_aside(&B::object(it))).collect();
    let asked = questions.into_iter().zip(&set_aside).filter(|(_, error)| error.is_none());
    let asked: Vec<_> = asked.map(|(question, _)| question).collect();
    let Reply { answer, events, wrote } = match &asked[..] {
        [] => Reply::from(Vec::new()),
        [question] => alone(&batch, question, began).await,
        several => together(&batch, several, began).await,
    };
    let mut answers = answer.into_iter();
    let answer = set_aside.into_iter().map(|it| it.map_or_else(|| next(&batch, &mut answers), Err));
    Reply { answer: answer.collect(), events, wrote }
}

/// One call about several objects.
async fn together<B: Batch>(batch: &B, questions: &[B::Question], began: Instant) -> Reply<Vec<Result<B::Answer>>> {
    let (Reply { answer, mut events, mut wrote }, seen) = batch.ask(questions, Subject::Several, began).await;
    let answer = match answer {
        Ok(answers) => {
            let (mut believed, mut again) = (Vec::new(), 0);
            for (question, answer) in questions.iter().zip(as_many(batch, questions.len(), answers)) {
                let was_given = answer.is_ok();
                let mut answer = B::judged(&seen, answer);
                if was_given && answer.is_err() && again < B::ASKED_AGAIN {
                    again += 1;
                    let alone = alone(batch, question, began).await;
                    events.extend(alone.events);
                    wrote |= alone.wrote;
                    answer = next(batch, &mut alone.answer.into_iter());
                }
                believed.push(answer);
            }
            believed
        }
        Err(Stopped { crashed: true, .. }) => {
            let each = questions.iter().cloned().map(|question| {
                let batch = batch.clone();
                async move { alone(&batch, &question, began).await }
            });
            let each = side_by_side(batch, each).await;
            events.extend(each.events);
            wrote |= each.wrote;
            each.answer
        }
        Err(Stopped { error, .. }) => vec![Err(error); questions.len()],
    };
    Reply { answer, events, wrote }
}

/// One call about one object.
async fn alone<B: Batch>(batch: &B, question: &B::Question, began: Instant) -> Reply<Vec<Result<B::Answer>>> {
    let object = B::object(question);
    let (Reply { answer, events, wrote }, seen) =
        batch.ask(std::slice::from_ref(question), Subject::One(&object), began).await;
    let answers = answer.map_or_else(|it| vec![Err(it.error)], |it| as_many(batch, 1, it));
    Reply { answer: answers.into_iter().map(|it| B::judged(&seen, it)).collect(), events, wrote }
}

/// All answers, in order. A task for each call: they run on all threads, and a busy one holds up no other for longer than
/// a tick.
async fn side_by_side<B: Batch, F>(batch: &B, calls: impl Iterator<Item = F>) -> Reply<Vec<Result<B::Answer>>>
where
    F: Future<Output = Reply<Vec<Result<B::Answer>>>> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for (position, call) in calls.enumerate() {
        tasks.spawn(async move { (position, call.await) });
    }
    let mut replies = tasks.join_all().await;
    replies.sort_unstable_by_key(|(position, _)| *position);
    let (mut answer, mut events, mut wrote) = (Vec::new(), EventList::default(), false);
    for (_, reply) in replies {
        answer.extend(reply.answer);
        events.add(reply.events);
        wrote |= reply.wrote;
    }
    if events.dropped() > 0 {
        tracing::warn!(
            provider = &*batch.loaded().calls.provider,
            dropped = events.dropped(),
            "events of the provider are left out: one question about many objects may bring {} of them",
            EventList::MOST
        );
    }
    Reply { answer, events: events.into_vec(), wrote }
}

/// The answers, or an error for each question where they are not as many.
fn as_many<B: Batch>(batch: &B, questions: usize, answers: Vec<Result<B::Answer>>) -> Vec<Result<B::Answer>> {
    if answers.len() == questions {
        return answers;
    }
    let because = format!("{} answers for {questions} questions", answers.len());
    vec![Err(batch.loaded().unusable(batch.function(), &because)); questions]
}

fn next<B: Batch>(batch: &B, answers: &mut impl Iterator<Item = Result<B::Answer>>) -> Result<B::Answer> {
    answers.next().unwrap_or_else(|| Err(batch.loaded().unusable(batch.function(), "an answer is missing")))
}
