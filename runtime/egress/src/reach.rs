//! Places that are not reached: for how long requests to each have failed, and for which cause.
//!
//! Each request over the wire is an [`WayAttempt`]. Every second [`Reach::watch`] looks at what became of them, publishes the
//! places that are not reached, and informs people.

mod attempts;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::attempts::{Attempts, OutOfReach};
use crate::cause::{Stop, WayCause};
use crate::destination::Destination;
use crate::metrics::Metrics;
use crate::reports::{Report, Reports};

/// How often all places are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How often people are informed of one place and one cause.
const TELL: Duration = Duration::from_secs(300);

/// A place that is not reached.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreached {
    /// The endpoint's name, as in `api`; a credential's own place is `sts of credential aws`.
    pub endpoint: String,
    /// The cause in one word: `dns`, `refused`, `timeout`, `route`, `tls`, `proxy`, `silent`, `broken`,
    /// `catalog`.
    pub cause: &'static str,
    /// The endpoint with host and port, the cause, and the next step, in sentences.
    pub sentence: String,
}

/// The places that are asked for something. Cloning shares them.
#[derive(Clone, Default)]
pub(crate) struct Reach(Arc<ReachState>);

#[derive(Default)]
struct ReachState {
    ways: Mutex<Vec<Arc<Way>>>,
    unreached: watch::Sender<Arc<[Unreached]>>,
}

/// The way to one place.
pub(crate) struct Way {
    destination: Destination,
    attempts: Mutex<Attempts>,
}

/// A request on its way. Dropped before its end it says nothing about the place.
pub(crate) struct WayAttempt<'a> {
    way: &'a Way,
    number: u64,
    began: Instant,
}

impl Reach {
    /// Adds a place.
    pub(crate) fn way(&self, destination: Destination) -> Arc<Way> {
        let way = Arc::new(Way { destination, attempts: Mutex::default() });
        self.0.ways.lock().push(way.clone());
        way
    }

    /// The places that are not reached now.
    pub(crate) fn unreached(&self) -> watch::Receiver<Arc<[Unreached]>> {
        self.0.unreached.subscribe()
    }

    /// Publishes and reports which places are not reached, as long as it is polled.
    pub(crate) async fn watch(&self, reports: &Reports, metrics: &Metrics) {
        let mut told = HashMap::new();
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.look(Instant::now(), &mut told, reports, metrics);
        }
    }

    fn look(&self, now: Instant, told: &mut HashMap<ReportKey, Instant>, reports: &Reports, metrics: &Metrics) {
        let ways = self.0.ways.lock().clone();
        let mut unreached = Vec::new();
        for way in &ways {
            let Some(it) = way.unreached(now) else { continue };
            let last = told.entry((it.endpoint.clone(), it.cause));
            let is_due = match &last {
                std::collections::hash_map::Entry::Occupied(last) => now.duration_since(*last.get()) >= TELL,
                std::collections::hash_map::Entry::Vacant(_) => true,
            };
            if is_due {
                last.insert_entry(now);
                tracing::warn!("{}", it.sentence);
                reports(Report::EndpointUnreachable(it.sentence.clone()));
            }
            unreached.push(it);
        }
        self.publish(unreached, metrics);
    }

    fn publish(&self, unreached: Vec<Unreached>, metrics: &Metrics) {
        self.0.unreached.send_if_modified(|before| {
            if **before == *unreached {
                return false;
            }
            for gone in before.iter().filter(|gone| !unreached.iter().any(|it| it.is_as(gone))) {
                // There is none if nobody has set it.
                let _ = metrics.endpoint_unreachable.remove_label_values(&[&gone.endpoint, gone.cause]);
                if !unreached.iter().any(|it| it.endpoint == gone.endpoint) {
                    tracing::info!("endpoint {} is no longer out of reach", gone.endpoint);
                }
            }
            for it in &unreached {
                metrics.endpoint_unreachable.with_label_values(&[&*it.endpoint, it.cause]).set(1);
            }
            *before = unreached.into();
            true
        });
    }
}

/// An endpoint, and the cause of which people were informed.
type ReportKey = (String, &'static str);

impl Unreached {
    fn is_as(&self, other: &Self) -> bool {
        self.endpoint == other.endpoint && self.cause == other.cause
    }
}

impl Way {
    /// A request sets out.
    pub(crate) fn attempt(&self) -> WayAttempt<'_> {
        let began = Instant::now();
        WayAttempt { way: self, number: self.attempts.lock().begin(began), began }
    }

    /// Requests that have failed before say nothing any more.
    pub(crate) fn forget(&self) {
        self.attempts.lock().reached();
    }

    /// The sentence about a cause on this way.
    pub(crate) fn sentence(&self, cause: &WayCause) -> String {
        cause.sentence(&self.destination, None)
    }

    fn unreached(&self, now: Instant) -> Option<Unreached> {
        let first = if self.destination.proxy.is_some() { Stop::Proxy } else { Stop::Place };
        let OutOfReach { cause, last } = self.attempts.lock().verdict(first, now)?;
        let name = &self.destination.name;
        Some(Unreached {
            endpoint: name.strip_prefix("endpoint ").unwrap_or(name).to_owned(),
            cause: cause.word(),
            sentence: cause.sentence(&self.destination, last.as_deref()),
        })
    }
}

impl WayAttempt<'_> {
    /// It has a connection: from now on the place takes its time to answer.
    pub(crate) fn connected(&self) {
        self.way.attempts.lock().connected(self.number);
    }

    /// The place has answered something.
    pub(crate) fn reached(self) {
        self.way.attempts.lock().reached();
    }

    /// It has not. `text` is how the request ended.
    pub(crate) fn failed(self, cause: WayCause, text: &str) {
        self.way.attempts.lock().failed(self.began, Instant::now(), cause, text.to_owned());
    }
}

impl Drop for WayAttempt<'_> {
    fn drop(&mut self) {
        self.connected();
    }
}

#[cfg(test)]
mod tests;
