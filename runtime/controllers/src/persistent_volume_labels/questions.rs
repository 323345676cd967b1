//! Asking the cloud about volumes: those who ask at the same time share a call, and there are only so many calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, Event, PersistentVolumes, Result, Topology, Volume};
use token_bucket::TokenBucket;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::plan;
use crate::cloud_call::{CALL, late};

/// The most volumes of one call.
pub(super) const GATHERED: usize = 64;
/// How long a call waits for further volumes, where a cloud reads several at once.
const GATHER: Duration = Duration::from_millis(200);
/// Calls at once: fewer than a provider runs side by side, so that a cloud that hangs on some volumes leaves room.
const SIDE_BY_SIDE: usize = 3;
/// Calls a second, and how many may come at once: after a start there may be thousands of volumes, and nodes that join are
/// more urgent.
const RATE: f64 = 5.0;
const BURST: u32 = 20;

/// Where volumes are asked about. Clones share it.
#[derive(Clone)]
pub(super) struct Questions(Sender<AskedVolume>);

/// One volume, and who waits for the answer.
struct AskedVolume {
    volume: Volume,
    /// Whether it shares no call with others.
    alone: bool,
    answer: oneshot::Sender<VolumeAnswer>,
}

/// The cloud's answer about one volume, and the provider's events beside it.
pub(super) type VolumeAnswer = (Result<Option<Topology>>, Vec<Event>);

impl Questions {
    /// The future asks them. It ends when all clones are gone.
    pub(super) fn new(cloud: Arc<dyn PersistentVolumes>) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (questions, asked) = channel(GATHERED);
        (Self(questions), run(cloud, asked))
    }

    /// Where a volume is. One that is asked about `alone` cannot spoil the answer about others.
    pub(super) async fn ask(&self, volume: Volume, alone: bool) -> VolumeAnswer {
        let (answer, answered) = oneshot::channel();
        let gone = || (Err(Error::Unavailable("nobody asks the cloud any more".to_owned())), Vec::new());
        if self.0.send(AskedVolume { volume, alone, answer }).await.is_err() {
            return gone();
        }
        answered.await.unwrap_or_else(|_| gone())
    }
}

async fn run(cloud: Arc<dyn PersistentVolumes>, mut asked: Receiver<AskedVolume>) {
    let mut bucket = TokenBucket::per_second(RATE, BURST, Instant::now());
    let (mut calls, mut later) = (JoinSet::new(), VecDeque::new());
    while let Some(first) = next(&mut later, &mut asked).await {
        let batch = usize::try_from(cloud.description().batch_size).unwrap_or(GATHERED).clamp(1, GATHERED);
        let most = if first.alone { 1 } else { batch };
        let mut questions = vec![first];
        let until = Instant::now() + GATHER;
        while questions.len() < most {
            let Ok(Some(next)) = timeout_at(until, asked.recv()).await else { break };
            if next.alone { later.push_back(next) } else { questions.push(next) }
        }
        sleep(bucket.reserve(Instant::now())).await;
        if calls.len() >= SIDE_BY_SIDE {
            // Those who asked in a call that panicked are told that nobody asks any more.
            let _ = calls.join_next().await;
        }
        let cloud = cloud.clone();
        calls.spawn(async move { call(&*cloud, questions).await });
    }
    while calls.join_next().await.is_some() {}
}

async fn next(later: &mut VecDeque<AskedVolume>, asked: &mut Receiver<AskedVolume>) -> Option<AskedVolume> {
    match later.pop_front() {
        Some(question) => Some(question),
        None => asked.recv().await,
    }
}

async fn call(cloud: &dyn PersistentVolumes, questions: Vec<AskedVolume>) {
    let (volumes, waiting): (Vec<_>, Vec<_>) = questions.into_iter().map(|it| (it.volume, it.answer)).unzip();
    let (answers, events) = ask(cloud, &volumes).await;
    let is_one = volumes.len() == 1;
    for ((volume, waiting), answer) in volumes.into_iter().zip(waiting).zip(answers) {
        let about = |it: &&Event| it.about.as_ref().map_or(is_one, |about| *about == volume.name);
        let events = events.iter().filter(about).cloned().collect();
        // Nobody waits any more: the controller ends.
        let _ = waiting.send((answer, events));
    }
}

/// The usable answers about each of these volumes, and the events beside them.
pub(super) async fn ask(
    cloud: &dyn PersistentVolumes,
    volumes: &[Volume],
) -> (Vec<Result<Option<Topology>>>, Vec<Event>) {
    let all = |error: Error| vec![Err(error); volumes.len()];
    let Ok(reply) = timeout(CALL, cloud.get_topology(volumes)).await else { return (all(late()), Vec::new()) };
    let answers = reply.answer;
    if answers.len() != volumes.len() {
        let error = format!(
            "the provider answers about {} of {} volumes; tell its vendor, since nothing it says can be used",
            answers.len(),
            volumes.len()
        );
        return (all(Error::Unavailable(error)), reply.events);
    }
    (answers.into_iter().map(usable).collect(), reply.events)
}

/// An answer, unless Kubernetes would refuse what it says.
fn usable(answer: Result<Option<Topology>>) -> Result<Option<Topology>> {
    match answer {
        Ok(Some(topology)) => match plan::objection(&topology) {
            Some(objection) => Err(Error::Invalid(format!("the provider {objection}; tell its vendor"))),
            None => Ok(Some(topology)),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::TopologyDescription;
    use futures::future::join_all;
    use scripted_cloud::ScriptedCloud;

    use super::*;

    /// A cloud that answers with the handle as the zone, or with some answers less.
    fn cloud(batch_size: u32, lacks: usize) -> Arc<ScriptedCloud> {
        let cloud = ScriptedCloud::default();
        cloud.describes_volumes(TopologyDescription { batch_size, sources: Vec::new(), drivers: Vec::new() });
        cloud.get_topology.answers(move |volumes| {
            let answer = |it: &Volume| Ok(Some(Topology { zones: vec![it.handle.clone()], ..Topology::default() }));
            volumes.iter().skip(lacks).map(answer).collect::<Vec<_>>().into()
        });
        Arc::new(cloud)
    }

    /// How many volumes each call was about.
    fn sizes(cloud: &ScriptedCloud) -> Vec<usize> {
        cloud.get_topology.calls().iter().map(Vec::len).collect()
    }

    async fn ask_all(
        cloud: &Arc<ScriptedCloud>,
        alone: bool,
        handles: impl Iterator<Item = String>,
    ) -> Vec<Result<Option<Topology>>> {
        let (questions, run) = Questions::new(cloud.clone());
        let ask = move |handle: String| {
            let questions = questions.clone();
            async move { questions.ask(Volume { handle, ..Volume::default() }, alone).await.0 }
        };
        // The run ends with the last who may ask.
        tokio::join!(join_all(handles.map(ask)), run).0
    }

    #[tokio::test(start_paused = true)]
    async fn volumes_share_calls_where_the_cloud_reads_several() {
        for (batch_size, calls) in [(1, [1; 6].as_slice()), (4, &[4, 2]), (500, &[6])] {
            let cloud = cloud(batch_size, 0);
            let answers = ask_all(&cloud, false, (1..=6).map(|it| format!("z{it}"))).await;
            for (answer, nth) in answers.into_iter().zip(1..) {
                assert_eq!(answer.unwrap().unwrap().zones, [format!("z{nth}")]);
            }
            assert_eq!(sizes(&cloud), calls);
        }
        let cloud = cloud(500, 0);
        ask_all(&cloud, true, (1..=3).map(|it| format!("z{it}"))).await;
        assert_eq!(sizes(&cloud), [1; 3], "what has failed before spoils no other's answer");
    }

    #[tokio::test(start_paused = true)]
    async fn thousands_of_volumes_are_asked_about_slowly() {
        let (cloud, began) = (cloud(1, 0), Instant::now());
        ask_all(&cloud, false, (0..120).map(|it| format!("z{it}"))).await;
        assert!(began.elapsed() >= Duration::from_secs(20), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn too_few_answers_are_none() {
        let cloud = cloud(10, 1);
        for answer in ask_all(&cloud, false, (0..3).map(|it| format!("z{it}"))).await {
            let Err(Error::Unavailable(text)) = answer else { panic!("{answer:?}") };
            assert!(text.contains("2 of 3 volumes"), "{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_label_that_kubernetes_would_refuse_is_an_error() {
        let cloud = cloud(10, 0);
        let answers = ask_all(&cloud, false, ["no label".to_owned(), "fine".to_owned()].into_iter()).await;
        assert!(matches!(&answers[0], Err(Error::Invalid(text)) if text.contains("\"no label\"")), "{answers:?}");
        assert!(answers[1].is_ok());
    }
}
