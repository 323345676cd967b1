//! Services and their load balancers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::scenario::{CloudCall, Event, Request, Scenario};
use crate::state::{self, Change, list};
use crate::told::{self, Told};
use crate::wish::wish;

pub(super) const COMPONENT: &str = "service-controller";
const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// The recorder wrote down the second of a change when it had the answer: what follows from it may be earlier by so much.
const NOTED_LATE: f64 = 0.05;

/// Changes at once, and the pause between further ones in seconds.
const BURST: f64 = 10.0;
const PAUSE: f64 = 10.0;

/// Changes what was told.
pub(super) fn retell(scenario: &mut Scenario, change: impl FnOnce(&mut Vec<Told>)) {
    let mut told = told::read(&scenario.observed);
    change(&mut told);
    scenario.observed.events = told::write(told);
}

/// The recorder's changes of a Service, in order.
fn changes_of(changes: &[Change], object: &str) -> Vec<Change> {
    changes.iter().filter(|it| it.name == object && !it.by_upstream).cloned().collect()
}

/// The recorder's last change of a Service before some second.
fn cause(changes: &[Change], t: f64) -> Option<&Change> {
    changes.iter().rfind(|it| it.t <= t + NOTED_LATE)
}

/// Whether a Service wishes for something else afterwards, or is another one.
fn wishes_anew(change: &Change) -> bool {
    change.before.is_null() || wish(&change.before) != wish(&change.after)
}

/// Whether nothing of this is an attempt that was made before, after the last change.
fn is_first(changes: &[Change], earlier: impl Iterator<Item = f64>, t: f64) -> bool {
    let since = changes.iter().filter(|it| wishes_anew(it) && it.t <= t + NOTED_LATE).map(|it| it.t).next_back();
    let since = since.unwrap_or(f64::NEG_INFINITY);
    !earlier.into_iter().any(|it| it < t && it + NOTED_LATE >= since)
}

fn ensures(scenario: &Scenario) -> Vec<CloudCall> {
    let ensures = scenario.observed.cloud_calls.iter().filter(|it| it.function == "EnsureLoadBalancer");
    ensures.cloned().collect()
}

/// Takes some of upstream's calls away, with what was told of them.
fn forget_calls(scenario: &mut Scenario, calls: &[CloudCall]) {
    let about = |it: &Told, call: &CloudCall| {
        (it.is(&call.object(), "EnsuringLoadBalancer") || it.is(&call.object(), "EnsuredLoadBalancer"))
            && it.tells_about(call.t)
    };
    retell(scenario, |told| told.retain(|it| !calls.iter().any(|call| about(it, call))));
    let is_one = |it: &CloudCall| calls.iter().any(|call| call.t == it.t && call.object() == it.object());
    scenario.observed.cloud_calls.retain(|it| it.function != "EnsureLoadBalancer" || !is_one(it));
}

pub(super) fn leave_what_is_not_wished(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let ensures = ensures(scenario);
    let idle = |call: &&CloudCall| {
        let changes = changes_of(&all, &call.object());
        let mut attempts = ensures.iter().filter(|it| it.object() == call.object());
        // What follows at once from a change, and not from the failure of an earlier attempt.
        cause(&changes, call.t).is_some_and(|it| !wishes_anew(it) && call.t - it.t < 2.0 * NOTED_LATE)
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
        retell(scenario, |told| {
            for call in &late {
                tell(told, call.t, &object, ("Normal", "EnsuringLoadBalancer", "Ensuring load balancer"));
                tell(told, call.t + NOTED_LATE, &object, ("Normal", "EnsuredLoadBalancer", "Ensured load balancer"));
            }
        });
        scenario.observed.cloud_calls.extend(late);
        spared.insert(object);
    }
    spared
}

/// Tells something of a Service, once more if it was told before.
pub(super) fn tell(told: &mut Vec<Told>, t: f64, object: &str, (severity, reason, message): (&str, &str, &str)) {
    let before = told.iter().rfind(|it| it.is(object, reason) && it.event.message == message).cloned();
    let name = object.strip_prefix("Service ").unwrap_or(object);
    let event = Event::told(t, ("Service", name), COMPONENT, (severity, reason, message.to_owned()));
    told.push(before.unwrap_or_else(|| Told::new(event)).again(t));
}

pub(super) fn leave_namesakes_alone(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for call in ensures(scenario) {
        let (object, end) = (call.object(), call.t + call.took);
        let is_namesake =
            |it: &&crate::scenario::Given| state::name(&it.object) == object && it.t > call.t && it.t < end;
        if scenario.given.iter().find(is_namesake).is_none() {
            continue;
        }
        let follows = |t: f64| (end..end + NOTED_LATE).contains(&t);
        // The write is tried, and refused.
        let requests = scenario.observed.requests.iter_mut();
        let writes = requests.filter(|it| it.object() == object && follows(it.t) && !it.patch["status"].is_null());
        writes.for_each(|it| it.code = 409);
        retell(scenario, |told| told.retain(|it| !it.is(&object, "EnsuredLoadBalancer") || !follows(it.t)));
        names.insert(object);
    }
    names
}

pub(super) fn leave_ports_out(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut objects = BTreeSet::new();
    let mut leave_out = |object: String, status: &mut Value| {
        let ingress = status.pointer_mut("/loadBalancer/ingress").and_then(Value::as_array_mut);
        let places = ingress.into_iter().flatten().filter_map(Value::as_object_mut);
        // Every place loses them: nothing is short-circuited.
        if places.filter_map(|place| place.remove("ports")).count() > 0 {
            objects.insert(object);
        }
    };
    for request in scenario.observed.requests.iter_mut().filter(|it| it.resource == "services") {
        if let Some(status) = request.patch.get_mut("status") {
            leave_out(request.name.clone(), status);
        }
    }
    for (name, end) in &mut scenario.observed.end {
        if let (Some(service), Some(status)) = (name.strip_prefix("Service "), end.get_mut("status")) {
            leave_out(service.to_owned(), status);
        }
    }
    objects.into_iter().map(|it| format!("Service {it}")).collect()
}

pub(super) fn remember_what_vanishes(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let ensured = ensures(scenario);
    let vanished = |change: &&Change| {
        let deletes = |it: &CloudCall| it.function == "EnsureLoadBalancerDeleted" && it.object() == change.name;
        let had = |it: &CloudCall| it.object() == change.name && it.t < change.t;
        change.after.is_null()
            && !change.by_upstream
            && ensured.iter().any(had)
            && !scenario.observed.cloud_calls.iter().any(|it| deletes(it) && it.t > change.t - NOTED_LATE)
    };
    let vanished: Vec<(f64, String)> = all.iter().filter(vanished).map(|it| (it.t, it.name.clone())).collect();
    retell(scenario, |told| {
        for (t, object) in &vanished {
            tell(told, *t, object, ("Normal", "DeletingLoadBalancer", "Deleting load balancer"));
            tell(told, t + NOTED_LATE, object, ("Normal", "DeletedLoadBalancer", "Deleted load balancer"));
        }
    });
    for (t, object) in &vanished {
        let last = ensured.iter().rfind(|it| it.object() == *object && it.t < *t).cloned();
        let function = "EnsureLoadBalancerDeleted".to_owned();
        scenario.observed.cloud_calls.extend(last.map(|call| CloudCall { t: *t, took: 0.0, function, ..call }));
    }
    vanished.into_iter().map(|(_, object)| object).collect()
}

/// The words of upstream for what its question before a deletion was answered, and ours.
const QUESTION_FAILED: &str = "failed to check if load balancer exists before cleanup: ";
const DELETION_FAILED: &str = "failed to delete load balancer: ";

pub(super) fn delete_without_asking(scenario: &mut Scenario) -> BTreeSet<String> {
    let gets = scenario.observed.cloud_calls.iter().filter(|it| it.function == "GetLoadBalancer");
    let gets: Vec<CloudCall> = gets.filter(|it| it.result != "exists=true").cloned().collect();
    let mut objects = BTreeSet::new();
    retell(scenario, |told| {
        for call in gets {
            let object = call.object();
            let deleted = |it: &&mut Told| {
                it.tells_about(call.t)
                    && (it.is(&object, "DeletedLoadBalancer") || it.is(&object, "SyncLoadBalancerFailed"))
            };
            // A question may also be about an update that failed.
            let Some(next) = told.iter_mut().find(deleted) else { continue };
            next.event.message = next.event.message.replace(QUESTION_FAILED, DELETION_FAILED);
            tell(told, call.t, &object, ("Normal", "DeletingLoadBalancer", "Deleting load balancer"));
            objects.insert(object);
        }
    });
    objects
}

pub(super) fn tell_what_is_written(scenario: &mut Scenario) -> BTreeSet<String> {
    let failed = |it: &&Request| it.resource == "services" && it.is_write() && it.code >= 400 && it.injected;
    let failed = scenario.observed.requests.iter().filter(failed).filter(|it| !it.patch["status"].is_null());
    let failed: Vec<Request> = failed.cloned().collect();
    let objects = failed.iter().map(Request::object).collect();
    retell(scenario, |told| {
        for request in &failed {
            let object = request.object();
            let too_early =
                told.iter().position(|it| it.is(&object, "EnsuredLoadBalancer") && it.tells_about(request.t));
            too_early.map(|index| told.remove(index));
            if request.code == 409 {
                told.retain(|it| !it.is(&object, "SyncLoadBalancerFailed") || !it.tells_about(request.t));
            }
        }
    });
    objects
}

pub(super) fn tell_each_beginning_once(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let mut objects = BTreeSet::new();
    retell(scenario, |told| {
        told.sort_by(|one, other| one.t.total_cmp(&other.t));
        let before = told.clone();
        told.retain(|it| {
            let begins = ["EnsuringLoadBalancer", "DeletingLoadBalancer"].contains(&it.event.reason.as_str());
            let same = before.iter().filter(|other| other.is(&it.object, &it.event.reason)).map(|other| other.t);
            let kept = !begins || is_first(&changes_of(&all, &it.object), same, it.t);
            if !kept {
                objects.insert(it.object.clone());
            }
            kept
        });
    });
    objects
}

pub(super) fn release_in_one_write(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let has_finalizer = |object: &Value| list(&object["metadata"]["finalizers"]).contains(&FINALIZER.into());
    let mut objects = BTreeSet::new();
    for change in all.iter().filter(|it| it.by_upstream && has_finalizer(&it.before) && !has_finalizer(&it.after)) {
        let is_reached = |object: &Value| !list(&object["status"]["loadBalancer"]["ingress"]).is_empty();
        let cleared = |it: &&Change| {
            it.by_upstream
                && it.name == change.name
                && it.t > change.t
                && is_reached(&it.before)
                && !is_reached(&it.after)
        };
        let Some(cleared) = all.iter().find(cleared) else { continue };
        let find = |t: f64| scenario.observed.requests.iter().position(|it| it.t == t && it.object() == change.name);
        if let (Some(first), Some(second)) = (find(change.t), find(cleared.t)) {
            scenario.observed.requests[first].patch["status"] =
                scenario.observed.requests[second].patch["status"].clone();
            scenario.observed.requests.remove(second);
            objects.insert(change.name.clone());
        }
    }
    objects
}
