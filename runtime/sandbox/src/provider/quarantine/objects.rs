//! Which objects make the provider crash, and how long each is set aside. No clock, no call: times are arguments.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::super::object::ObjectKey;

/// So many objects are remembered: a flood of objects that crash must not eat the host's memory. With more, the one that
/// crashed longest ago is forgotten, and may crash once more than its back-off allows.
const REMEMBERED: usize = 1024;

/// The longest pause, in first pauses: with the usual 30 s it is ten minutes.
pub(super) const LONGEST: u32 = 20;

/// The objects over which the provider crashed.
#[derive(Debug, Default)]
pub(super) struct Objects(HashMap<ObjectKey, SetAside>);

#[derive(Debug)]
struct SetAside {
    crashed: Instant,
    pause: Duration,
    /// How it crashed: at most a few hundred bytes.
    text: String,
}

impl Objects {
    /// How long an object is still set aside; `None` if a call about it may run.
    pub(super) fn wait(&self, key: &ObjectKey, now: Instant) -> Option<Duration> {
        let it = self.0.get(key)?;
        (it.crashed + it.pause).checked_duration_since(now).filter(|it| !it.is_zero())
    }

    /// The provider crashed over an object: it is set aside for `first`, and for twice as long each time. Calls that ran
    /// side by side and crash count as one.
    pub(super) fn crashed(&mut self, key: &ObjectKey, first: Duration, now: Instant) {
        if self.wait(key, now).is_some() {
            return;
        }
        let before = self.0.get(key).map(|it| it.pause);
        if before.is_none() && self.0.len() >= REMEMBERED {
            let oldest = self.0.iter().min_by_key(|(_, it)| it.crashed).map(|(key, _)| key.clone());
            oldest.and_then(|it| self.0.remove(&it));
        }
        let pause = before.map_or(first, |it| longer(it, first));
        self.0.insert(key.clone(), SetAside { crashed: now, pause, text: String::new() });
    }

    /// Notes how the provider crashed over an object.
    pub(super) fn note(&mut self, key: &ObjectKey, text: &str) {
        if let Some(it) = self.0.get_mut(key) {
            text.clone_into(&mut it.text);
        }
    }

    /// How the provider crashed over an object.
    pub(super) fn text(&self, key: &ObjectKey) -> &str {
        self.0.get(key).map_or("it crashed", |it| &it.text)
    }

    /// A call about an object returned.
    pub(super) fn returned(&mut self, key: &ObjectKey) {
        self.0.remove(key);
    }
}

/// The pause after `pause`.
pub(super) fn longer(pause: Duration, first: Duration) -> Duration {
    pause.saturating_mul(2).min(first.saturating_mul(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Function;

    const FIRST: Duration = Duration::from_secs(30);

    fn key(name: &str) -> ObjectKey {
        (Function::Get, name.to_owned())
    }

    #[test]
    fn an_object_is_set_aside_for_longer_each_time() {
        let mut now = Instant::now();
        let mut objects = Objects::default();
        let pauses = [30, 60, 120, 240, 480, 600, 600];
        for expected in pauses {
            objects.crashed(&key("n1"), FIRST, now);
            objects.crashed(&key("n1"), FIRST, now);
            let pause = Duration::from_secs(expected);
            assert_eq!(objects.wait(&key("n1"), now), Some(pause), "calls side by side count as one");
            now += pause;
            assert_eq!(objects.wait(&key("n1"), now), None, "it is tried again");
        }
        objects.returned(&key("n1"));
        objects.crashed(&key("n1"), FIRST, now);
        assert_eq!(objects.wait(&key("n1"), now), Some(FIRST), "a call that returned makes it begin again");
        assert_eq!(objects.wait(&key("n2"), now), None, "others are not touched");
        assert_eq!(objects.wait(&(Function::Delete, "n1".to_owned()), now), None, "nor is another function");
    }

    #[test]
    fn adv_103_a_flood_of_crashing_objects_is_forgotten() {
        let start = Instant::now();
        let mut objects = Objects::default();
        for nth in 0..5000 {
            objects.crashed(&key(&nth.to_string()), FIRST, start + Duration::from_millis(nth));
        }
        let now = start + Duration::from_secs(5);
        assert_eq!(objects.0.len(), REMEMBERED);
        assert_eq!(objects.wait(&key("0"), now), None, "the oldest is forgotten");
        assert!(objects.wait(&key("4999"), now).is_some());
    }
}
