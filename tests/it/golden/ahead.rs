//! Recordings that are played before their tests ask for them. A play mostly waits; a test runner starts no more tests at
//! once than there are processors.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinSet, LocalSet};

use crate::scenario::{Recording, Scenario};
use crate::{SIDE_BY_SIDE, Verdict, play};

/// Plays that are under way, by file.
type Plays = Mutex<HashMap<&'static str, oneshot::Receiver<Result<Verdict>>>>;

static PLAYS: OnceLock<Plays> = OnceLock::new();

/// Plays one of these recordings, or waits until it was played: if all tests are to run, all recordings are played, the
/// longest first, as soon as one is asked for.
pub(crate) async fn verdict(file: &'static str, all: &[&'static str], folder: &Path) -> Result<Verdict> {
    // Whoever chooses tests wants these and no others.
    if std::env::args_os().len() > 1 {
        return play(&folder.join(file)).await;
    }
    let played = {
        let plays = PLAYS.get_or_init(|| begin(all, folder));
        plays.lock().unwrap_or_else(PoisonError::into_inner).remove(file)
    };
    played.context("it is played once")?.await.context("its play panicked; see above")?
}

fn begin(all: &[&'static str], folder: &Path) -> Plays {
    let length = |file: &str| match Scenario::read(&folder.join(file)) {
        Ok(Recording::Played(scenario)) => scenario.last(),
        Ok(Recording::LeftOut(_)) | Err(_) => 0.0,
    };
    let mut files: Vec<_> = all.iter().map(|file| (*file, length(file))).collect();
    files.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let (mut plays, mut to_play) = (HashMap::new(), Vec::new());
    for (file, _) in files {
        let (sender, receiver) = oneshot::channel();
        plays.insert(file, receiver);
        to_play.push((folder.join(file), sender));
    }
    // It ends with the process, or when everything was played.
    std::thread::spawn(move || {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads can be started");
        LocalSet::new().block_on(&runtime, async move {
            let (free, mut tasks) = (Arc::new(Semaphore::new(SIDE_BY_SIDE)), JoinSet::new());
            for (path, sender) in to_play {
                let place = free.clone().acquire_owned().await.expect("it is never closed");
                tasks.spawn_local(async move {
                    let verdict = play(&path).await;
                    drop(place);
                    // A test that has failed meanwhile does not listen any more.
                    let _ = sender.send(verdict);
                });
            }
            while tasks.join_next().await.is_some() {}
        });
    });
    Mutex::new(plays)
}
