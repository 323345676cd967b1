//! Calls and events about load balancers that ours makes differently, or not at all.

use std::collections::BTreeSet;

use crate::desired::desired;
use crate::events::{self, Occurrence};
use crate::scenario::{CloudCall, Event, Scenario};
use crate::state::{self, Change};

const COMPONENT: &str = "service-controller";

/// The recorder wrote down the second of a change when it had the answer: what follows from it may be earlier by so much.
pub(super) const NOTED_LATE: f64 = 0.05;

/// Changes at once, and the pause between further ones in seconds.
const BURST: f64 = 10.0;
const PAUSE: f64 = 10.0;

/// Changes the occurrences of events.
pub(super) fn change_occurrences(scenario: &mut Scenario, change: impl FnOnce(&mut Vec<Occurrence>)) {
    let mut occurrences = events::read(&scenario.observed);
    change(&mut occurrences);
    scenario.observed.events = events::write(occurrences);
}

/// The recorder's changes of a Service, in order.
fn changes_of(changes: &[Change], object: &str) -> Vec<Change> {
    changes.iter().filter(|it| it.name == object && !it.by_upstream).cloned().collect()
}

/// The recorder's last change of a Service before some second.
fn cause(changes: &[Change], t: f64) -> Option<&Change> {
    changes.iter().rfind(|it| it.t <= t + NOTED_LATE)
}

/// Whether a change alters the desired load balancer, or is that of a new Service.
fn spec_changed(change: &Change) -> bool {
    change.before.is_null() || desired(&change.before) != desired(&change.after)
}

/// Whether nothing of this is an attempt that was made before, after the last change.
fn is_first(changes: &[Change], earlier: impl Iterator<Item = f64>, t: f64) -> bool {
    let since = changes.iter().filter(|it| spec_changed(it) && it.t <= t + NOTED_LATE).map(|it| it.t).next_back();
    let since = since.unwrap_or(f64::NEG_INFINITY);
    !earlier.into_iter().any(|it| it < t && it + NOTED_LATE >= since)
}

pub(super) fn ensures(scenario: &Scenario) -> Vec<CloudCall> {
    let ensures = scenario.observed.cloud_calls.iter().filter(|it| it.function == "EnsureLoadBalancer");
    ensures.cloned().collect()
}

/// Takes some of upstream's calls away, with their events.
fn forget_calls(scenario: &mut Scenario, calls: &[CloudCall]) {
    let about = |occurrence: &Occurrence, call: &CloudCall| {
        (occurrence.is(&call.object(), "EnsuringLoadBalancer") || occurrence.is(&call.object(), "EnsuredLoadBalancer"))
            && occurrence.is_near(call.t)
    };
    change_occurrences(scenario, |occurrences| occurrences.retain(|it| !calls.iter().any(|call| about(it, call))));
    let is_one = |it: &CloudCall| calls.iter().any(|call| call.t == it.t && call.object() == it.object());
    scenario.observed.cloud_calls.retain(|it| it.function != "EnsureLoadBalancer" || !is_one(it));
}

pub(super) fn leave_out_calls_without_a_change(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let ensures = ensures(scenario);
    let idle = |call: &&CloudCall| {
        let changes = changes_of(&all, &call.object());
        let mut attempts = ensures.iter().filter(|it| it.object() == call.object());
        // What follows at once from a change, and not from the failure of an earlier attempt.
        cause(&changes, call.t).is_some_and(|it| !spec_changed(it) && call.t - it.t < 2.0 * NOTED_LATE)
            && attempts.rfind(|it| it.t < call.t).is_some_and(|it| it.result == "ok")
    };
    let idle: Vec<CloudCall> = ensures.iter().filter(idle).cloned().collect();
    forget_calls(scenario, &idle);
    idle.iter().map(CloudCall::object).collect()
}

pub(super) fn spare_the_account(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let ensures = ensures(scenario);
    let objects: BTreeSet<String> = ensures.iter().map(CloudCall::object).collect();
    let mut spared = BTreeSet::new();
    for object in objects {
        let changes = changes_of(&all, &object);
        let attempts: Vec<_> = ensures.iter().filter(|it| it.object() == object).collect();
        let earlier = |t: f64| attempts.iter().map(|it| it.t).filter(move |it| *it < t);
        let (mut tokens, mut filled, mut waits_until) = (BURST, f64::NAN, f64::NEG_INFINITY);
        let (mut late, mut held) = (Vec::new(), Vec::new());
        for call in attempts.iter().filter(|it| is_first(&changes, earlier(it.t), it.t)) {
            if call.t < waits_until {
                held.push((*call).clone());
                continue;
            }
            tokens = (tokens + (call.t - filled).max(0.0) / PAUSE).min(BURST);
            filled = call.t;
            if tokens < 1.0 {
                waits_until = call.t + (1.0 - tokens) * PAUSE;
                (tokens, filled) = (1.0, waits_until);
                held.push((*call).clone());
                late.push(CloudCall { t: waits_until, ..(*call).clone() });
            }
            tokens -= 1.0;
        }
        if held.is_empty() {
            continue;
        }
        forget_calls(scenario, &held);
        change_occurrences(scenario, |occurrences| {
            for call in &late {
                record_event(
                    occurrences,
                    call.t,
                    &object,
                    ("Normal", "EnsuringLoadBalancer", "Ensuring load balancer"),
                );
                record_event(
                    occurrences,
                    call.t + NOTED_LATE,
                    &object,
                    ("Normal", "EnsuredLoadBalancer", "Ensured load balancer"),
                );
            }
        });
        scenario.observed.cloud_calls.extend(late);
        spared.insert(object);
    }
    spared
}

/// Adds an event about a Service, with a higher count if there was one before.
pub(super) fn record_event(
    occurrences: &mut Vec<Occurrence>,
    t: f64,
    object: &str,
    (severity, reason, message): (&str, &str, &str),
) {
    let before = occurrences.iter().rfind(|it| it.is(object, reason) && it.event.message == message).cloned();
    let name = object.strip_prefix("Service ").unwrap_or(object);
    let event = Event::new(t, ("Service", name), COMPONENT, (severity, reason, message.to_owned()));
    occurrences.push(before.unwrap_or_else(|| Occurrence::new(event)).again(t));
}

pub(super) fn report_each_start_once(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let mut objects = BTreeSet::new();
    change_occurrences(scenario, |occurrences| {
        occurrences.sort_by(|one, other| one.t.total_cmp(&other.t));
        let before = occurrences.clone();
        occurrences.retain(|occurrence| {
            let begins = ["EnsuringLoadBalancer", "DeletingLoadBalancer"].contains(&occurrence.event.reason.as_str());
            let same = before
                .iter()
                .filter(|other| other.is(&occurrence.object, &occurrence.event.reason))
                .map(|other| other.t);
            let kept = !begins || is_first(&changes_of(&all, &occurrence.object), same, occurrence.t);
            if !kept {
                objects.insert(occurrence.object.clone());
            }
            kept
        });
    });
    objects
}
