//! The last list: what it holds, or that it failed and when the next may be tried.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Error, Result};
use tokio::time::Instant;
use tracing::warn;

use crate::error::{Pause, back_off, pause};
use crate::inventory::instance_list::InstanceList;

/// The longest time for which a failed list is not tried again, unless the cloud asks for more.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The last list.
#[derive(Debug, Default)]
pub(super) struct ListCache {
    /// What it found.
    machines: Option<Arc<InstanceList>>,
    /// Why none was possible, how many times in a row, and when the next may be tried.
    failed: Option<(Error, u32, Instant)>,
}

impl ListCache {
    /// The last list, if it is not too old.
    pub(super) fn fresh(&self, age: Duration, now: Instant) -> Option<Arc<InstanceList>> {
        self.machines.clone().filter(|it| now.saturating_duration_since(it.began) < age)
    }

    /// The last list, if it is not too old and began at this time or later.
    pub(super) fn fresh_since(&self, age: Duration, began: Instant, now: Instant) -> Option<Arc<InstanceList>> {
        self.fresh(age, now).filter(|it| it.began >= began)
    }

    /// The last list.
    pub(super) fn newest(&self) -> Option<Arc<InstanceList>> {
        self.machines.clone()
    }

    /// The last list, if it began at this time or later.
    pub(super) fn since(&self, began: Instant) -> Option<Arc<InstanceList>> {
        self.machines.clone().filter(|it| it.began >= began)
    }

    /// For how long there can be no list yet.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let (_, _, until) = self.failed.as_ref()?;
        until.checked_duration_since(now).filter(|it| !it.is_zero())
    }

    /// Why there can be no list yet.
    pub(super) fn refused(&self, now: Instant) -> Option<Error> {
        let left = self.rest(now)?;
        let (error, ..) = self.failed.as_ref()?;
        Some(match error {
            Error::RetryAfter { reason, .. } => Error::RetryAfter { after: left, reason: reason.clone() },
            error => error.clone(),
        })
    }

    /// Remembers a list, or that there was none.
    pub(super) fn end(&mut self, machines: Result<InstanceList>, now: Instant) -> Result<Arc<InstanceList>> {
        match machines {
            Ok(machines) => {
                let machines = Arc::new(machines);
                self.failed = None;
                self.machines = Some(machines.clone());
                Ok(machines)
            }
            Err(error) => {
                let failures = self.failed.take().map_or(0, |(_, failures, _)| failures.saturating_add(1));
                let pause = match pause(failures, &error) {
                    Pause::Exactly(pause) => pause,
                    Pause::AtLeast(_) => back_off(failures).min(LONGEST_PAUSE),
                };
                warn!(error = error.to_string(), "the cloud could not list its machines");
                self.failed = Some((error.clone(), failures, now + pause));
                Err(error)
            }
        }
    }
}
