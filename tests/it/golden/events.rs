//! What was told in events, one by one: client-go writes what it tells again as a count, and no more than 25 at once
//! about one object.

use std::collections::BTreeMap;

use serde_json::json;

use crate::scenario::{CloudCall, Event, Observed};

/// Events about one object at once, and further ones a second.
const BURST: f64 = 25.0;
const REFILL: f64 = 1.0 / 300.0;

/// An event is sent by another thread: so long after what it tells about, in seconds, and so long before at most.
const SENT_WITHIN: f64 = 0.5;
const SENT_BEFORE: f64 = 0.05;

/// Something that was told once.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) t: f64,
    /// As in `Service s1`.
    pub(crate) object: String,
    /// As it would be written if it were told for the first time.
    pub(crate) event: Event,
    /// Which object of this name, if it was made again: from 0.
    life: usize,
}

impl Told {
    pub(crate) fn new(event: Event) -> Told {
        Told { t: event.t, object: event.object(), event, life: 0 }
    }

    /// The same, told at another second.
    pub(crate) fn again(self, t: f64) -> Told {
        Told { t, ..self }
    }

    pub(crate) fn is(&self, object: &str, reason: &str) -> bool {
        self.object == object && self.event.reason == reason
    }

    /// Whether it can tell about what happened at some second.
    pub(crate) fn tells_about(&self, t: f64) -> bool {
        (t - SENT_BEFORE..t + SENT_WITHIN).contains(&self.t)
    }

    fn same(&self, other: &Told) -> bool {
        self.object == other.object
            && self.life == other.life
            && self.event.reason == other.event.reason
            && self.event.message == other.event.message
    }
}

/// Everything that upstream told, also what was not sent any more.
pub(crate) fn read(observed: &Observed) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    for event in &observed.events {
        if event.verb == "create" {
            let mut new = Told::new(event.clone());
            new.life = told
                .iter()
                .filter(|it| it.same(&Told { life: it.life, ..new.clone() }))
                .map(|it| it.life + 1)
                .max()
                .unwrap_or(0);
            told.push(new);
        } else if let Some(again) = counted(&told, event, &observed.cloud_calls) {
            told.push(again.again(event.t));
        }
    }
    add_unsent(&mut told, &observed.cloud_calls);
    told
}

/// What a higher count tells again. It does not say about which object: if there are several, it is the one that the
/// cloud was asked about last.
fn counted(told: &[Told], event: &Event, calls: &[CloudCall]) -> Option<Told> {
    let before = event.body["count"].as_u64()? - 1;
    let fits = |it: &&Told| {
        it.event.message == event.body["message"].as_str().unwrap_or_default()
            && told.iter().filter(|other| it.same(other)).count() as u64 == before
    };
    let asked = |it: &Told| {
        let about = calls.iter().filter(|call| call.t <= event.t && call.object() == it.object);
        about.map(|call| call.t).fold(f64::NEG_INFINITY, f64::max)
    };
    told.iter().filter(fits).max_by(|one, other| asked(one).total_cmp(&asked(other))).cloned()
}

/// An object that had too many events got no more; what was done is known from the cloud's calls.
fn add_unsent(told: &mut Vec<Told>, calls: &[CloudCall]) {
    for call in calls.iter().filter(|call| call.result == "ok") {
        let object = call.object();
        let reasons: &[&str] = match call.function.as_str() {
            "EnsureLoadBalancer" => &["EnsuringLoadBalancer", "EnsuredLoadBalancer"],
            "UpdateLoadBalancer" => &["UpdatedLoadBalancer"],
            _ => &[],
        };
        let sent = told.iter().filter(|it| it.object == object).count();
        for reason in reasons {
            let first = told.iter().find(|it| it.is(&object, reason)).cloned();
            let is_there = told.iter().any(|it| it.is(&object, reason) && it.tells_about(call.t));
            if let Some(first) = first.filter(|_| !is_there && sent as f64 >= BURST) {
                // After what was sent of the same call.
                told.push(first.again(call.t + SENT_WITHIN / 2.0));
            }
        }
    }
}

/// The events that tell it.
pub(crate) fn write(mut told: Vec<Told>) -> Vec<Event> {
    told.sort_by(|one, other| one.t.total_cmp(&other.t));
    let mut events = Vec::new();
    let mut buckets: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (index, it) in told.iter().enumerate() {
        let (tokens, filled) = buckets.entry(&it.object).or_insert((BURST, it.t));
        *tokens = (*tokens + (it.t - *filled) * REFILL).min(BURST);
        *filled = it.t;
        if *tokens < 1.0 {
            continue;
        }
        *tokens -= 1.0;
        let count = told[..=index].iter().filter(|other| it.same(other)).count();
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
    fn what_was_recorded_is_written_as_it_was_read() {
        for file in files(&vendored()) {
            let Recording::Played(scenario) = Scenario::read(&file).unwrap() else { continue };
            let again = write(read(&scenario.observed));
            let mut differences = Vec::new();
            compare::events(&scenario.observed.events, &again, &mut differences);
            assert!(differences.is_empty(), "{}: {differences:#?}", scenario.name);
        }
    }

    #[test]
    fn what_was_not_sent_is_known_from_the_cloud() {
        let file = files(&vendored()).into_iter().find(|it| it.to_string_lossy().contains("/39-")).unwrap();
        let Recording::Played(scenario) = Scenario::read(&file).unwrap() else { panic!("left out") };
        let told = read(&scenario.observed);
        let ensures = scenario.observed.cloud_calls.iter().filter(|it| it.function == "EnsureLoadBalancer").count();
        for reason in ["EnsuringLoadBalancer", "EnsuredLoadBalancer"] {
            assert_eq!(told.iter().filter(|it| it.is("Service s1", reason)).count(), ensures, "{reason}");
        }
        assert!(scenario.observed.events.len() < told.len());
    }
}
