//! Which events of a provider become events or log lines: not the same one again and again, and few about what is nothing
//! of this cluster.

use std::collections::HashMap;
use std::time::Duration;

use cloud_provider::Event;
use tokio::time::Instant;

/// How long an event is not repeated.
const QUIET: Duration = Duration::from_secs(600);
/// ProviderEvents that are remembered.
const REMEMBERED: usize = 4096;
/// So many events are told in one [`SPAN`] that are about no object of the cluster.
const STRANGERS: u32 = 3;
/// How long those that are not told are counted.
const SPAN: Duration = Duration::from_secs(60);

/// The events of the last minutes, by object.
#[derive(Debug, Default)]
pub(crate) struct ProviderEvents {
    heard: HashMap<(String, Event), Instant>,
}

/// A sample of the events that are about no object of the cluster: an account may have thousands of machines that are
/// nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// When the last span began.
    began: Option<Instant>,
    told: u32,
    left_out: u64,
}

/// What becomes of an event that is about no object of the cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Sample {
    /// It is told, and before it that so many others were not since the last time.
    Told {
        /// How many.
        left_out: u64,
    },
    /// It is counted.
    LeftOut,
}

impl ProviderEvents {
    /// Whether an event about an object is news; it is none for the next ten minutes.
    pub(crate) fn is_news(&mut self, object: &str, event: &Event, now: Instant) -> bool {
        if self.heard.len() >= REMEMBERED {
            self.heard.retain(|_, at| now - *at < QUIET);
        }
        if self.heard.len() >= REMEMBERED {
            return false;
        }
        let key = (object.to_owned(), event.clone());
        let news = self.heard.get(&key).is_none_or(|at| now - *at >= QUIET);
        if news {
            self.heard.insert(key, now);
        }
        news
    }
}

impl Strangers {
    /// What becomes of the next event.
    pub(crate) fn sample(&mut self, now: Instant) -> Sample {
        if self.began.is_none_or(|it| now.saturating_duration_since(it) >= SPAN) {
            (self.began, self.told) = (Some(now), 0);
        }
        if self.told >= STRANGERS {
            self.left_out = self.left_out.saturating_add(1);
            return Sample::LeftOut;
        }
        self.told += 1;
        Sample::Told { left_out: std::mem::take(&mut self.left_out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ten_thousand_strangers_three_a_minute_are_told() {
        let (mut strangers, start) = (Strangers::default(), Instant::now());
        let told = (0..10_000).filter(|_| strangers.sample(start) != Sample::LeftOut).count();
        assert_eq!(told, 3);
        let later = start + SPAN;
        assert_eq!(strangers.sample(later), Sample::Told { left_out: 9_997 });
        assert_eq!(strangers.sample(later), Sample::Told { left_out: 0 });
    }
}
