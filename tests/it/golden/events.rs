//! The occurrences of events, one by one: client-go writes a repeated event as a higher count, and no more than 25 events
//! at once about one object.

use std::collections::BTreeMap;

use serde_json::json;

use crate::scenario::{CloudCall, Event, Observed};

/// Events about one object at once, and further ones a second.
const BURST: f64 = 25.0;
const REFILL: f64 = 1.0 / 300.0;

/// An event is sent by another thread: so long after what it is about, in seconds, and so long before at most.
const SENT_WITHIN: f64 = 0.5;
const SENT_BEFORE: f64 = 0.05;

/// One occurrence of an event.
#[derive(Clone, Debug)]
pub(crate) struct Occurrence {
    pub(crate) t: f64,
    /// As in `Service s1`.
    pub(crate) object: String,
    /// As it would be written if it were the first one.
    pub(crate) event: Event,
    /// Which object of this name, if it was made again: from 0.
    life: usize,
}

impl Occurrence {
    pub(crate) fn new(event: Event) -> Occurrence {
        Occurrence { t: event.t, object: event.object(), event, life: 0 }
    }

    /// The same event at another second.
    pub(crate) fn again(self, t: f64) -> Occurrence {
        Occurrence { t, ..self }
    }

    pub(crate) fn is(&self, object: &str, reason: &str) -> bool {
        self.object == object && self.event.reason == reason
    }

    /// Whether it can be about what happened at some second.
    pub(crate) fn is_near(&self, t: f64) -> bool {
        (t - SENT_BEFORE..t + SENT_WITHIN).contains(&self.t)
    }

    fn same(&self, other: &Occurrence) -> bool {
        self.object == other.object
            && self.life == other.life
            && self.event.reason == other.event.reason
            && self.event.message == other.event.message
    }
}

/// All occurrences of upstream's events, also those that were not sent any more.
pub(crate) fn read(observed: &Observed) -> Vec<Occurrence> {
    let mut occurrences: Vec<Occurrence> = Vec::new();
    for event in &observed.events {
        if event.verb == "create" {
            let mut new = Occurrence::new(event.clone());
            new.life = occurrences
                .iter()
                .filter(|it| it.same(&Occurrence { life: it.life, ..new.clone() }))
                .map(|it| it.life + 1)
                .max()
                .unwrap_or(0);
            occurrences.push(new);
        } else if let Some(again) = counted(&occurrences, event, &observed.cloud_calls) {
            occurrences.push(again.again(event.t));
        }
    }
    add_unsent(&mut occurrences, &observed.cloud_calls);
    occurrences
}

/// The event that a higher count repeats. The count does not say about which object: if there are several, it is the one that the
/// cloud was asked about last.
fn counted(occurrences: &[Occurrence], event: &Event, calls: &[CloudCall]) -> Option<Occurrence> {
    let before = event.body["count"].as_u64()? - 1;
    let fits = |occurrence: &&Occurrence| {
        occurrence.event.message == event.body["message"].as_str().unwrap_or_default()
            && occurrences.iter().filter(|other| occurrence.same(other)).count() as u64 == before
    };
    let asked = |occurrence: &Occurrence| {
        let about = calls.iter().filter(|call| call.t <= event.t && call.object() == occurrence.object);
        about.map(|call| call.t).fold(f64::NEG_INFINITY, f64::max)
    };
    occurrences.iter().filter(fits).max_by(|one, other| asked(one).total_cmp(&asked(other))).cloned()
}

/// An object that had too many events got no more; what was done is known from the cloud's calls.
fn add_unsent(occurrences: &mut Vec<Occurrence>, calls: &[CloudCall]) {
    for call in calls.iter().filter(|call| call.result == "ok") {
        let object = call.object();
        let reasons: &[&str] = match call.function.as_str() {
            "EnsureLoadBalancer" => &["EnsuringLoadBalancer", "EnsuredLoadBalancer"],
            "UpdateLoadBalancer" => &["UpdatedLoadBalancer"],
            _ => &[],
        };
        let sent = occurrences.iter().filter(|it| it.object == object).count();
        for reason in reasons {
            let first = occurrences.iter().find(|it| it.is(&object, reason)).cloned();
            let is_there = occurrences.iter().any(|it| it.is(&object, reason) && it.is_near(call.t));
            if let Some(first) = first.filter(|_| !is_there && sent as f64 >= BURST) {
                // After what was sent of the same call.
                occurrences.push(first.again(call.t + SENT_WITHIN / 2.0));
            }
        }
    }
}

/// The events that are sent for these occurrences.
pub(crate) fn write(mut occurrences: Vec<Occurrence>) -> Vec<Event> {
    occurrences.sort_by(|one, other| one.t.total_cmp(&other.t));
    let mut events = Vec::new();
    let mut buckets: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (index, it) in occurrences.iter().enumerate() {
        let (tokens, filled) = buckets.entry(&it.object).or_insert((BURST, it.t));
        *tokens = (*tokens + (it.t - *filled) * REFILL).min(BURST);
        *filled = it.t;
        if *tokens < 1.0 {
            continue;
        }
        *tokens -= 1.0;
        let count = occurrences[..=index].iter().filter(|other| it.same(other)).count();
        events.push(if count == 1 {
            Event { t: it.t, ..it.event.clone() }
        } else {
            let body = json!({ "count": count, "lastTimestamp": "<time>", "message": it.event.message });
            Event { t: it.t, verb: "patch".to_owned(), body, ..Event::default() }
        });
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare;
    use crate::scenario::{Recording, Scenario};
    use crate::{files, vendored};

    #[test]
    fn recorded_events_are_written_as_they_were_read() {
        for file in files(&vendored()) {
            let Recording::Played(scenario) = Scenario::read(&file).unwrap() else { continue };
            let again = write(read(&scenario.observed));
            let mut differences = Vec::new();
            compare::events(&scenario.observed.events, &again, &mut differences);
            assert!(differences.is_empty(), "{}: {differences:#?}", scenario.name);
        }
    }

    #[test]
    fn events_that_were_not_sent_are_known_from_the_calls() {
        let file = files(&vendored()).into_iter().find(|it| it.to_string_lossy().contains("/39-")).unwrap();
        let Recording::Played(scenario) = Scenario::read(&file).unwrap() else { panic!("left out") };
        let occurrences = read(&scenario.observed);
        let ensures = scenario.observed.cloud_calls.iter().filter(|it| it.function == "EnsureLoadBalancer").count();
        for reason in ["EnsuringLoadBalancer", "EnsuredLoadBalancer"] {
            assert_eq!(occurrences.iter().filter(|it| it.is("Service s1", reason)).count(), ensures, "{reason}");
        }
        assert!(scenario.observed.events.len() < occurrences.len());
    }
}
