//! The last list of something in the cloud, shared by all who ask: what it holds, or that it failed and when the next may
//! be tried.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, Freshness, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tracing::warn;

/// Something that was listed.
pub(crate) trait CloudList {
    /// Its name in messages.
    const NAME: &'static str;

    /// When the list began: what it holds was so then or later.
    fn began(&self) -> Instant;

    /// The pause after a list that failed, when `failures` in a row had before it.
    fn pause(failures: u32, error: &Error) -> Duration;
}

/// The last list.
pub(crate) struct LastList<T> {
    /// Held while a list is read: who comes meanwhile waits for it.
    reading: tokio::sync::Mutex<()>,
    state: Mutex<LastListState<T>>,
}

struct LastListState<T> {
    list: Option<Arc<T>>,
    failed: Option<FailedList>,
}

/// A list that failed.
struct FailedList {
    error: Error,
    /// How many had failed in a row before it.
    failures: u32,
    /// When the next may be tried.
    until: Instant,
}

impl<T> Default for LastList<T> {
    fn default() -> Self {
        let state = LastListState { list: None, failed: None };
        Self { reading: tokio::sync::Mutex::default(), state: Mutex::new(state) }
    }
}

impl<T: CloudList> LastList<T> {
    /// The last list, if it is so fresh.
    pub(crate) fn known(&self, freshness: Freshness) -> Option<Arc<T>> {
        let now = Instant::now();
        self.state().list.clone().filter(|it| freshness.allows(it.began(), now))
    }

    /// When the next list may be tried, if the last one failed.
    pub(crate) fn failed_until(&self) -> Option<Instant> {
        self.state().failed.as_ref().map(|it| it.until)
    }

    /// A list that is so fresh: the last one, one that is under way, or a new one. Returns also whether it is new.
    ///
    /// # Errors
    ///
    /// If it could not be read, or the one before could not a moment ago.
    pub(crate) async fn get(
        &self,
        freshness: Freshness,
        read: impl Future<Output = Result<T>>,
    ) -> Result<(Arc<T>, bool)> {
        let _reading = self.reading.lock().await;
        self.known_or_read(freshness, read).await
    }

    /// As [`get`](Self::get), but no list is begun if one was under way and is too old, and `is_wanted` says by then that
    /// another is not worth it: `None`.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub(crate) async fn get_if_wanted(
        &self,
        freshness: Freshness,
        is_wanted: impl Fn() -> bool,
        read: impl Future<Output = Result<T>>,
    ) -> Result<Option<(Arc<T>, bool)>> {
        let free = self.reading.try_lock();
        let has_waited = free.is_err();
        let _reading = match free {
            Ok(reading) => reading,
            Err(_) => self.reading.lock().await,
        };
        if has_waited && self.known(freshness).is_none() && !is_wanted() {
            return Ok(None);
        }
        self.known_or_read(freshness, read).await.map(Some)
    }

    /// A list that is so fresh: the last one, or a new one. Nobody else reads meanwhile.
    async fn known_or_read(
        &self,
        freshness: Freshness,
        read: impl Future<Output = Result<T>>,
    ) -> Result<(Arc<T>, bool)> {
        if let Some(list) = self.known(freshness) {
            return Ok((list, false));
        }
        if let Some(error) = self.refused(Instant::now()) {
            return Err(error);
        }
        let list = read.await;
        let mut state = self.state();
        match list {
            Ok(list) => {
                let list = Arc::new(list);
                *state = LastListState { list: Some(list.clone()), failed: None };
                Ok((list, true))
            }
            Err(error) => {
                let failures = state.failed.take().map_or(0, |it| it.failures.saturating_add(1));
                let pause = T::pause(failures, &error);
                warn!(error = error.to_string(), ?pause, "the cloud could not list its {}", T::NAME);
                state.failed = Some(FailedList { error: error.clone(), failures, until: Instant::now() + pause });
                Err(error)
            }
        }
    }

    /// Why there can be no list yet.
    fn refused(&self, now: Instant) -> Option<Error> {
        let state = self.state();
        let FailedList { error, until, .. } = state.failed.as_ref()?;
        let after = until.checked_duration_since(now).filter(|it| !it.is_zero())?;
        Some(match error {
            Error::RetryAfter { reason, .. } => Error::RetryAfter { after, reason: reason.clone() },
            error => error.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, LastListState<T>> {
        self.state.lock()
    }
}
