//! Which events of a provider become events or log lines: not the same one again and again, and few about what is nothing
//! of this cluster.

use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::Event;
use tokio::time::Instant;

/// How long an event is not repeated.
const QUIET: Duration = Duration::from_secs(600);
/// How many events are remembered.
const REMEMBERED: usize = 4096;
/// So many events are logged in one [`SPAN`] that are about no object of the cluster.
const UNRELATED_PER_SPAN: u32 = 3;
/// How long those that are not logged are counted.
const SPAN: Duration = Duration::from_secs(60);

/// The events of the last minutes, by object.
#[derive(Debug, Default)]
pub(crate) struct ProviderEvents {
    recorded: HashMap<(String, Event), Instant>,
}

/// A sample of the events that are about no object of the cluster: an account may have thousands of machines that are
/// nothing of it.
#[derive(Debug, Default)]
pub(crate) struct UnrelatedEvents {
    /// When the last span began.
    began: Option<Instant>,
    recorded: u32,
    left_out: u64,
}

/// The verdict on an event that is about no object of the cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sample {
    /// It is logged, with the number of those that were not since the last time.
    Logged {
        /// How many.
        left_out: u64,
    },
    /// It is counted.
    Skipped,
}

impl ProviderEvents {
    /// Whether an event about an object is new; it is not for the next ten minutes.
    pub(crate) fn is_new(&mut self, object: &str, event: &Event, now: Instant) -> bool {
        if self.recorded.len() >= REMEMBERED {
            self.recorded.retain(|_, at| now - *at < QUIET);
        }
        if self.recorded.len() >= REMEMBERED {
            return false;
        }
        let key = (object.to_owned(), event.clone());
        let is_new = self.recorded.get(&key).is_none_or(|at| now - *at >= QUIET);
        if is_new {
            self.recorded.insert(key, now);
        }
        is_new
    }
}

impl UnrelatedEvents {
    /// Judges the next event.
    pub(crate) fn sample(&mut self, now: Instant) -> Sample {
        if self.began.is_none_or(|it| now.saturating_duration_since(it) >= SPAN) {
            (self.began, self.recorded) = (Some(now), 0);
        }
        if self.recorded >= UNRELATED_PER_SPAN {
            self.left_out = self.left_out.saturating_add(1);
            return Sample::Skipped;
        }
        self.recorded += 1;
        Sample::Logged { left_out: std::mem::take(&mut self.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_said_again_is_recorded_once_in_ten_minutes() {
        let (mut events, start) = (ProviderEvents::default(), Instant::now());
        let event = |message: &str| Event {
            about: None,
            kind: cloud_provider::EventKind::Warning,
            reason: "NodesSkipped".to_owned(),
            message: message.to_owned(),
        };
        assert!(events.is_new("default/web", &event("60 nodes"), start));
        assert!(!events.is_new("default/web", &event("60 nodes"), start + QUIET - Duration::from_secs(1)));
        assert!(events.is_new("default/web", &event("61 nodes"), start), "it says something else");
        assert!(events.is_new("default/other", &event("60 nodes"), start), "another Service's");
        assert!(events.is_new("default/web", &event("60 nodes"), start + QUIET));
    }

    #[test]
    fn three_of_ten_thousand_unrelated_events_are_logged() {
        let (mut unrelated, start) = (UnrelatedEvents::default(), Instant::now());
        let recorded = (0..10_000).filter(|_| unrelated.sample(start) != Sample::Skipped).count();
        assert_eq!(recorded, 3);
        let later = start + SPAN;
        assert_eq!(unrelated.sample(later), Sample::Logged { left_out: 9_997 });
        assert_eq!(unrelated.sample(later), Sample::Logged { left_out: 0 });
    }
}
