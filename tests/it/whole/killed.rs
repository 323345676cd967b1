//! A process that is killed at requests that the cloud receives, and started again.

use std::fmt::{Debug, Write as _};
use std::time::Duration;

use serde_json::Value;
use tests::operator::Process;
use tests::random::Random;
use tests::simulator::{Chaos, Cloud, Hold, Recorded, Side, Simulator};
use tests::vendor::Vendor;
use tests::wait;

use crate::setup::{CloudRig, is_write};

/// How long it may take from one kill, or change, to the next.
const PATIENCE: Duration = Duration::from_secs(90);
/// How much of the log is shown.
const LINES: usize = 60;

/// A process that is killed again and again, with what is told of it where a test fails.
pub(crate) struct KilledProcess {
    random: Random,
    seed: u64,
    process: Option<Process>,
    /// How many objects were not yet as desired at a kill, in total.
    pub(crate) points: u64,
    /// The logs of the processes.
    log: Vec<String>,
}

/// How a run of the process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RunEnd {
    /// It runs, and all is as desired.
    Settled,
    /// It was killed.
    Killed,
    /// It ended by itself, as it must when the machine is so slow that the Lease is lost.
    Ended,
}

impl KilledProcess {
    /// One that does not run yet.
    pub(crate) fn new() -> Self {
        let (random, seed) = Random::seeded();
        Self { random, seed, process: None, points: 0, log: Vec::new() }
    }

    /// The process of the beginning, which was not killed yet.
    pub(crate) fn begin(&mut self, process: Process) {
        self.process = Some(process);
    }

    /// Faults of the same seed: one in so many requests fails, and some are never answered.
    pub(crate) fn chaos(&self, one_in: u64) -> Chaos {
        Chaos { seed: self.seed, one_in, hangs: true }
    }

    /// The request at which the process is killed next: one of the next so many of these that write, or of the next so many of these.
    pub(crate) fn hold<C: Cloud>(
        &mut self,
        cloud: &Simulator<C>,
        which: impl Fn(&Recorded) -> bool + Send + Sync + 'static,
        (writes, all): (usize, usize),
    ) -> Hold {
        let side = if self.random.below(2) == 0 { Side::Before } else { Side::After };
        if self.random.below(2) == 0 {
            let nth = 1 + self.random.below(writes);
            cloud.hold(nth, side, move |it| which(it) && is_write(it))
        } else {
            let nth = 1 + self.random.below(all);
            cloud.hold(nth, side, which)
        }
    }

    /// Runs the process until it is killed at `hold`, or until it is so. It is started if it does not run, and runs on where it was not killed.
    ///
    /// # Panics
    ///
    /// Panics with `desired` if it is not so after a long time.
    pub(crate) async fn run<V: Vendor>(
        &mut self,
        rig: &CloudRig<V>,
        desired: &impl Debug,
        hold: Option<&Hold>,
        is_so: impl AsyncFn() -> bool,
    ) -> RunEnd {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => rig.setup.start(),
        };
        let killed = async {
            match hold {
                Some(hold) => hold.reached().await,
                None => std::future::pending().await,
            }
        };
        let settled = wait::within(PATIENCE, async || is_so().await.then_some(()));
        let mut log = Vec::new();
        let ended = async {
            while let Some(entry) = process.aerostat.log.recv().await {
                log.push(Value::Object(entry).to_string());
            }
        };
        let mut ending = "=== not killed".to_owned();
        let end = tokio::select! {
            at = killed => {
                ending = format!("=== killed at {at}");
                Some(RunEnd::Killed)
            }
            settled = settled => settled.map(|()| RunEnd::Settled),
            () = ended => Some(RunEnd::Ended),
        };
        self.log.append(&mut log);
        self.log.push(ending);
        // The log of the process is shown.
        let Some(end) = end else { panic!("not all are {desired:?} within {PATIENCE:?}") };
        match end {
            RunEnd::Settled => self.process = Some(process),
            RunEnd::Killed => process.kill_and_let_its_window_pass(&rig.cluster).await,
            RunEnd::Ended => {}
        }
        end
    }

    /// Shows how to repeat it, and what was said and asked at last, where the test fails.
    pub(crate) fn show_failure<C: Cloud>(&self, cloud: &Simulator<C>) {
        if !std::thread::panicking() {
            return;
        }
        let mut text = format!("\nto repeat it: AEROSTAT_SEED={}\nafter {} points\n", self.seed, self.points);
        // Requests to the cloud are shown below, as the cloud has seen them: here they would hide the rest.
        let said: Vec<_> = self.log.iter().filter(|it| !it.contains(r#""target":"audit""#)).collect();
        for line in said.iter().rev().take(LINES).rev() {
            let _ = writeln!(text, "  {line}");
        }
        for request in cloud.requests().iter().rev().take(LINES).rev() {
            let _ = writeln!(text, "  {request} {}", request.fault.unwrap_or_default());
        }
        eprintln!("{text}");
    }
}
