//! Writes on Services, and the end of their load balancers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::services::{NOTED_LATE, change_occurrences, ensures, record_event};
use crate::events::Occurrence;
use crate::scenario::{CloudCall, Given, Request, Scenario};
use crate::state::{self, Change, list};

const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

pub(super) fn leave_namesakes_alone(scenario: &mut Scenario) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for call in ensures(scenario) {
        let (object, end) = (call.object(), call.t + call.took);
        let is_namesake = |it: &&Given| state::name(&it.object) == object && it.t > call.t && it.t < end;
        if scenario.given.iter().find(is_namesake).is_none() {
            continue;
        }
        let follows = |t: f64| (end..end + NOTED_LATE).contains(&t);
        // The write is tried, and refused.
        let requests = scenario.observed.requests.iter_mut();
        let writes = requests.filter(|it| it.object() == object && follows(it.t) && !it.patch["status"].is_null());
        writes.for_each(|it| it.code = 409);
        change_occurrences(scenario, |occurrences| {
            occurrences.retain(|it| !it.is(&object, "EnsuredLoadBalancer") || !follows(it.t))
        });
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
    change_occurrences(scenario, |occurrences| {
        for (t, object) in &vanished {
            record_event(occurrences, *t, object, ("Normal", "DeletingLoadBalancer", "Deleting load balancer"));
            record_event(
                occurrences,
                t + NOTED_LATE,
                object,
                ("Normal", "DeletedLoadBalancer", "Deleted load balancer"),
            );
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
    change_occurrences(scenario, |occurrences| {
        for call in gets {
            let object = call.object();
            let deleted = |occurrence: &&mut Occurrence| {
                occurrence.is_near(call.t)
                    && (occurrence.is(&object, "DeletedLoadBalancer")
                        || occurrence.is(&object, "SyncLoadBalancerFailed"))
            };
            // A question may also be about an update that failed.
            let Some(next) = occurrences.iter_mut().find(deleted) else { continue };
            next.event.message = next.event.message.replace(QUESTION_FAILED, DELETION_FAILED);
            record_event(occurrences, call.t, &object, ("Normal", "DeletingLoadBalancer", "Deleting load balancer"));
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
    change_occurrences(scenario, |occurrences| {
        for request in &failed {
            let object = request.object();
            let too_early =
                occurrences.iter().position(|it| it.is(&object, "EnsuredLoadBalancer") && it.is_near(request.t));
            too_early.map(|index| occurrences.remove(index));
            if request.code == 409 {
                occurrences.retain(|it| !it.is(&object, "SyncLoadBalancerFailed") || !it.is_near(request.t));
            }
        }
    });
    objects
}

pub(super) fn release_in_one_write(scenario: &mut Scenario) -> BTreeSet<String> {
    let all = state::changes(scenario);
    let has_finalizer = |object: &Value| list(&object["metadata"]["finalizers"]).contains(&FINALIZER.into());
    let mut objects = BTreeSet::new();
    for change in all.iter().filter(|it| it.by_upstream && has_finalizer(&it.before) && !has_finalizer(&it.after)) {
        let is_reached = |object: &Value| !list(&object["status"]["loadBalancer"]["ingress"]).is_empty();
        let cleared = |later: &&Change| {
            later.by_upstream
                && later.name == change.name
                && later.t > change.t
                && is_reached(&later.before)
                && !is_reached(&later.after)
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
