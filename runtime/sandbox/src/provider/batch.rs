//! Questions that are asked together, and alone once the provider has crashed over them.

use async_trait::async_trait;
use cloud_provider::{EventList, Reply, Result};
use futures::future::join_all;

use super::guard::Stopped;
use super::loaded::Loaded;
use super::object::{Object, Subject};
use crate::call::Function;

/// One function of the contract that takes a list and answers each item of it.
#[async_trait]
pub(super) trait Batch: Sync {
    type Question: Clone + Send + Sync;
    type Answer: Clone + Send;

    fn loaded(&self) -> &Loaded;

    /// For the texts of errors.
    fn function(&self) -> Function;

    fn object(question: &Self::Question) -> Object;

    /// One call of the guest, with as many answers as questions.
    async fn ask(
        &self,
        questions: &[Self::Question],
        subject: Subject<'_>,
    ) -> Reply<Result<Vec<Result<Self::Answer>>, Stopped>>;
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
    let chunks = questions.chunks(size.max(1) as usize).map(|it| chunk(batch, it));
    together(join_all(chunks).await)
}

async fn chunk<B: Batch>(batch: &B, questions: &[B::Question]) -> Reply<Vec<Result<B::Answer>>> {
    let set_aside: Vec<_> = questions.iter().map(|it| batch.loaded().guard.is_set_aside(&B::object(it))).collect();
    let asked = questions.iter().zip(&set_aside).filter(|(_, error)| error.is_none());
    let asked: Vec<_> = asked.map(|(question, _)| question.clone()).collect();
    let Reply { answer, events, wrote } = match &asked[..] {
        [] => Reply::from(Vec::new()),
        [question] => alone(batch, question).await,
        several => {
            let Reply { answer, events, wrote } = batch.ask(several, Subject::Several).await;
            match answer {
                Ok(answer) => Reply { answer, events, wrote },
                Err(Stopped { crashed: true, .. }) => {
                    let each = join_all(several.iter().map(|it| alone(batch, it))).await;
                    together([vec![Reply { answer: Vec::new(), events, wrote }], each].concat())
                }
                Err(Stopped { error, .. }) => Reply { answer: vec![Err(error); several.len()], events, wrote },
            }
        }
    };
    let mut answers = answer.into_iter();
    let missing = || Err(batch.loaded().unusable(batch.function(), "an answer is missing"));
    let answer = set_aside.into_iter().map(|it| it.map_or_else(|| answers.next().unwrap_or_else(missing), Err));
    Reply { answer: answer.collect(), events, wrote }
}

async fn alone<B: Batch>(batch: &B, question: &B::Question) -> Reply<Vec<Result<B::Answer>>> {
    let object = B::object(question);
    let Reply { answer, events, wrote } = batch.ask(std::slice::from_ref(question), Subject::One(&object)).await;
    Reply { answer: answer.unwrap_or_else(|it| vec![Err(it.error)]), events, wrote }
}

fn together<A>(replies: Vec<Reply<Vec<A>>>) -> Reply<Vec<A>> {
    let (mut answer, mut events, mut wrote) = (Vec::new(), EventList::default(), false);
    for reply in replies {
        answer.extend(reply.answer);
        events.add(reply.events);
        wrote |= reply.wrote;
    }
    Reply { answer, events: events.into_vec(), wrote }
}

/// The answers, or an error for each question where they are not as many.
pub(super) fn as_many<A: Clone>(
    loaded: &Loaded,
    function: Function,
    questions: usize,
    answers: Vec<Result<A>>,
) -> Vec<Result<A>> {
    if answers.len() == questions {
        return answers;
    }
    let error = loaded.unusable(function, &format!("{} answers for {questions} questions", answers.len()));
    vec![Err(error); questions]
}
