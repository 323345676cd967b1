//! Playing the story.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::sidecars::Sidecars;
use super::stage::VolumeStage;
use super::story::{VolumeStep, story};
use crate::beside::ManagerState;
use crate::manager::Who;
use crate::operator::Process;
use crate::wait;

/// How long nothing is asked and nothing changes once a step is over.
const QUIET: Duration = Duration::from_secs(5);
/// How often one looks: all objects are read each time.
const LOOKS: Duration = Duration::from_millis(200);
/// How long a step may take. Sidecars try again what was refused, late and later.
const PATIENCE: Duration = Duration::from_mins(5);

/// The state after a step, and the requests in it.
#[derive(Clone, Debug)]
pub struct PlayedStep {
    /// In the recording.
    pub name: &'static str,
    /// Objects, disks and requests.
    pub state: ManagerState,
}

/// The manager of the volumes: the sidecars, or aerostat. Dropping it ends it.
enum Worker {
    Sidecars(Sidecars),
    Aerostat(Process),
}

impl Worker {
    async fn start(who: Who, stage: &VolumeStage) -> Self {
        match who {
            Who::Vendor => Self::Sidecars(Sidecars::start(&stage.cluster, &stage.cloud)),
            Who::Aerostat => {
                let mut process = stage.setup.start();
                process.says("started volume-provisioner").await;
                Self::Aerostat(process)
            }
        }
    }

    async fn stop(self) {
        if let Self::Aerostat(process) = self {
            process.stop().await;
        }
    }

    fn log_tail(&self) -> String {
        match self {
            Self::Sidecars(sidecars) => sidecars.log_tail(),
            // It says in events why it waits.
            Self::Aerostat(_) => String::new(),
        }
    }
}

impl VolumeStage {
    /// Plays the whole story. `say` is called with a line for each step.
    ///
    /// # Panics
    ///
    /// Panics if the API server or the cloud refuses a change, or a step does not end.
    pub async fn play(&self, who: Who, say: impl Fn(String)) -> Vec<PlayedStep> {
        let mut begun = self.cloud.requests().len();
        let mut worker = Worker::start(who, self).await;
        let mut played = Vec::new();
        for step in &story() {
            if step.restart {
                worker.stop().await;
                begun = self.cloud.requests().len();
                worker = Worker::start(who, self).await;
            }
            for change in &step.changes {
                self.apply(change).await;
            }
            let seen = self.settled(who, step, &worker).await;
            let asked = self.asked(begun);
            begun = self.cloud.requests().len();
            say(format!("{}: {} reads, {} writes", step.name, asked.reads(), asked.writes()));
            played.push(PlayedStep { name: step.name, state: ManagerState { seen, asked } });
        }
        worker.stop().await;
        played
    }

    /// Waits until a step is over, and then nothing is asked and nothing changes for a time. Returns what there is.
    async fn settled(&self, who: Who, step: &VolumeStep, worker: &Worker) -> Value {
        let mut last = (self.seen().await, Instant::now());
        let found = wait::within(PATIENCE, async || {
            tokio::time::sleep(LOOKS).await;
            let seen = self.seen().await;
            if seen != last.0 {
                last = (seen, Instant::now());
            }
            let is_quiet = self.last().is_none_or(|it| it.elapsed().is_ok_and(|it| it > QUIET));
            let is_over = is_quiet && last.1.elapsed() > QUIET && (step.is_over)(who, &last.0);
            is_over.then(|| last.0.clone())
        })
        .await;
        found.unwrap_or_else(|| panic!("{} does not end: {:#}\n{}", step.name, last.0, worker.log_tail()))
    }
}
