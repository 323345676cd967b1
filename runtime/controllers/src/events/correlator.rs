//! Which events are written, and how: client-go's correlation as plain data, without a clock.
//!
//! An event that came before becomes a higher count of the first one. More than ten with different messages, but alike
//! in everything else, within ten minutes become one. An object that has had 25 gets one more every five minutes.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use token_bucket::TokenBucket;

use crate::events::recorded::short;

/// Events that are remembered, of each kind of memory.
const CACHE: usize = 4096;
/// Different messages after which similar events become one.
const SIMILAR: usize = 10;
/// How long similar events are counted together.
const SIMILAR_FOR: SignedDuration = SignedDuration::from_secs(600);
/// Events at once about one object.
const BURST: u32 = 25;
/// The time between further events about one object.
const INTERVAL: Duration = Duration::from_secs(300);

/// The verdict on an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EventVerdict {
    /// It is written as a new object.
    Create(Event),
    /// The one that was written before gets its count, message and last time.
    Count(Event),
    /// It is not written: the object has had too many.
    Drop,
}

/// The parts in which events of one kind agree, as one text: it is kept for thousands of them.
type EventKey = Arc<str>;

/// Events that were written, as far as they decide about the next ones.
#[derive(Debug, Default)]
pub(super) struct Correlator {
    similar: EventCache<Similar>,
    written: EventCache<WrittenEvent>,
    limits: EventCache<TokenBucket<Timestamp>>,
    hasher: RandomState,
}

/// The event that later ones of its kind are counted on.
#[derive(Clone, Debug)]
struct WrittenEvent {
    name: Option<String>,
    first: Option<Time>,
    count: i32,
}

#[derive(Clone, Debug)]
struct Similar {
    /// Their hashes: of thousands of kinds of events, each with ten messages of a kibibyte, the texts would be 40 MiB.
    messages: HashSet<u64>,
    last: Timestamp,
}

impl Correlator {
    /// Decides about an event, and remembers it as written.
    pub(super) fn correlate(&mut self, event: Event, now: Timestamp) -> EventVerdict {
        let (event, key) = self.aggregate(event, now);
        let verdict = self.count(event, key);
        let (EventVerdict::Create(event) | EventVerdict::Count(event)) = &verdict else { return verdict };
        if self.allow(event, now) { verdict } else { EventVerdict::Drop }
    }

    fn aggregate(&mut self, mut event: Event, now: Timestamp) -> (Event, EventKey) {
        let group = alike(&event);
        let similar = self.similar.entry(&group, || Similar { messages: HashSet::new(), last: now });
        if now.duration_since(similar.last) > SIMILAR_FOR {
            similar.messages.clear();
        }
        similar.last = now;
        let message = event.message.clone().unwrap_or_default();
        let hash = self.hasher.hash_one(&message);
        similar.messages.insert(hash);
        if similar.messages.len() < SIMILAR {
            let key = same(&event);
            return (event, key);
        }
        // The ones that came before stay themselves.
        similar.messages.remove(&hash);
        event.message = Some(short(&format!("(combined from similar events): {message}")));
        (event, group)
    }

    fn count(&mut self, mut event: Event, key: EventKey) -> EventVerdict {
        let Some(written) = self.written.get_mut(&key) else {
            let (name, first) = (event.metadata.name.clone(), event.first_timestamp.clone());
            self.written.insert(key, WrittenEvent { name, first, count: 1 });
            return EventVerdict::Create(event);
        };
        written.count = written.count.saturating_add(1);
        event.metadata.name.clone_from(&written.name);
        event.first_timestamp.clone_from(&written.first);
        event.count = Some(written.count);
        EventVerdict::Count(event)
    }

    fn allow(&mut self, event: &Event, now: Timestamp) -> bool {
        let bucket = self.limits.entry(&about(event), || TokenBucket::new(INTERVAL, BURST, now));
        bucket.try_take(now).is_ok()
    }
}

/// The patch that makes the event that was written before into this one.
pub(super) fn patch(event: &Event) -> serde_json::Value {
    serde_json::json!({
        "count": event.count,
        "lastTimestamp": event.last_timestamp.as_ref().map(|Time(it)| it),
        "message": event.message,
    })
}

/// The key of an event's source and object.
fn about(event: &Event) -> EventKey {
    let (object, source) = (&event.involved_object, event.source.as_ref());
    key([
        source.and_then(|it| it.component.as_deref()),
        source.and_then(|it| it.host.as_deref()),
        object.kind.as_deref(),
        object.namespace.as_deref(),
        object.name.as_deref(),
        object.uid.as_deref(),
        object.api_version.as_deref(),
    ])
}

/// The same, and what kind of thing is said.
fn alike(event: &Event) -> EventKey {
    key([
        Some(&*about(event)),
        event.type_.as_deref(),
        event.reason.as_deref(),
        event.action.as_deref(),
        event.reporting_component.as_deref(),
        event.reporting_instance.as_deref(),
    ])
}

/// The same, word for word.
fn same(event: &Event) -> EventKey {
    key([Some(&*alike(event)), event.message.as_deref()])
}

/// The parts with a separator that stands in no name.
fn key<const N: usize>(parts: [Option<&str>; N]) -> EventKey {
    parts.map(Option::unwrap_or_default).join("\u{1f}").into()
}

/// A map that forgets its oldest entries.
#[derive(Debug)]
struct EventCache<V> {
    entries: HashMap<EventKey, V>,
    order: VecDeque<EventKey>,
}

impl<V> Default for EventCache<V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new() }
    }
}

impl<V> EventCache<V> {
    fn get_mut(&mut self, key: &EventKey) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    fn entry(&mut self, key: &EventKey, value: impl FnOnce() -> V) -> &mut V {
        if !self.entries.contains_key(key) {
            self.insert(key.clone(), value());
        }
        self.entries.get_mut(key).expect("it is there, or was put there just now")
    }

    fn insert(&mut self, key: EventKey, value: V) {
        if self.entries.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
            if self.order.len() > CACHE
                && let Some(oldest) = self.order.pop_front()
            {
                self.entries.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(object: &str, message: &str) -> Event {
        let mut event = Event { message: Some(message.into()), reason: Some("Synced".into()), ..Event::default() };
        event.involved_object.name = Some(object.into());
        event.metadata.name = Some(format!("{object}.{}", message.len()));
        event.count = Some(1);
        event
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn verdict(correlator: &mut Correlator, message: &str, second: i64) -> (&'static str, Option<i32>, Option<String>) {
        match correlator.correlate(event("n1", message), at(second)) {
            EventVerdict::Create(event) => ("create", event.count, event.message),
            EventVerdict::Count(event) => ("count", event.count, event.message),
            EventVerdict::Drop => ("drop", None, None),
        }
    }

    #[test]
    fn a_repeated_event_becomes_a_count_of_the_first() {
        let mut correlator = Correlator::default();
        let EventVerdict::Create(first) = correlator.correlate(event("n1", "hello"), at(0)) else { panic!("not new") };
        let mut second = event("n1", "hello");
        second.metadata.name = Some("n1.later".into());
        second.last_timestamp = Some(Time(at(60)));
        let EventVerdict::Count(second) = correlator.correlate(second, at(60)) else { panic!("not counted") };
        assert_eq!((second.count, &second.metadata.name), (Some(2), &first.metadata.name));
        let expected = serde_json::json!({ "count": 2, "lastTimestamp": at(60), "message": "hello" });
        assert_eq!(patch(&second), expected);
        assert!(matches!(correlator.correlate(event("n2", "hello"), at(60)), EventVerdict::Create(_)));
        assert_eq!(verdict(&mut correlator, "hello", 61), ("count", Some(3), Some("hello".into())));
    }

    #[test]
    fn ten_similar_events_in_ten_minutes_become_one() {
        let mut correlator = Correlator::default();
        for nth in 1..10 {
            assert_eq!(verdict(&mut correlator, &format!("message {nth}"), nth).0, "create");
        }
        let combined = |nth| Some(format!("(combined from similar events): message {nth}"));
        assert_eq!(verdict(&mut correlator, "message 10", 10), ("create", Some(1), combined(10)));
        assert_eq!(verdict(&mut correlator, "message 11", 11), ("count", Some(2), combined(11)));
        assert_eq!(verdict(&mut correlator, "message 3", 12), ("count", Some(2), Some("message 3".into())));
        assert_eq!(verdict(&mut correlator, "message 12", 613).0, "create", "ten quiet minutes end it");
    }

    #[test]
    fn an_object_gets_25_events_and_one_more_every_five_minutes() {
        let mut correlator = Correlator::default();
        let dropped = ("drop", None, None);
        for nth in 1..=25 {
            assert_ne!(verdict(&mut correlator, "again", 0), dropped, "{nth}");
        }
        assert_eq!(verdict(&mut correlator, "again", 0), dropped);
        assert_eq!(verdict(&mut correlator, "again", 299), dropped);
        assert_eq!(verdict(&mut correlator, "again", 300).0, "count");
        assert_eq!(verdict(&mut correlator, "again", 301), dropped);
        assert!(
            matches!(correlator.correlate(event("n2", "again"), at(0)), EventVerdict::Create(_)),
            "the others still do"
        );
    }

    #[test]
    fn the_memory_of_events_is_bounded() {
        let mut correlator = Correlator::default();
        for nth in 0..2 * CACHE {
            correlator.correlate(event(&format!("n{nth}"), "hello"), at(0));
        }
        assert_eq!(correlator.written.entries.len(), CACHE);
        assert_eq!(correlator.written.order.len(), CACHE);
        assert!(matches!(correlator.correlate(event("n0", "hello"), at(1)), EventVerdict::Create(_)));
    }
}
