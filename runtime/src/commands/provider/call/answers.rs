//! Answers of calls as JSON. Pure.

use cloud_provider::{
    Deletion, Error, Event, EventKind, Ingress, Instance, InventoryItem, InventoryPage, InventoryState,
    LoadBalancerStatus, Page, PendingStatus, Progress, Proof, Result, Route, RouteOutcome, RouteOwnership, RoutePage,
    RouteState, State, Topology,
};
use serde_json::{Map, Value, json};

/// The answer of a call.
pub(super) struct CallOutcome {
    pub(super) answer: Value,
    /// Whether it is an error, or holds one.
    pub(super) is_error: bool,
    pub(super) events: Vec<Value>,
}

impl CallOutcome {
    /// The outcome of a call with one answer.
    pub(super) fn one<T>(answer: Result<T>, events: &[Event], shown: impl Fn(&T) -> Value) -> Self {
        let is_error = answer.is_err();
        Self { answer: either(&answer, shown), is_error, events: events.iter().map(event).collect() }
    }

    /// The outcome of a call with an answer for each of several.
    pub(super) fn several<T>(answers: &[Result<T>], events: &[Event], shown: impl Fn(&T) -> Value) -> Self {
        let is_error = answers.iter().any(Result::is_err);
        let answer = answers.iter().map(|it| either(it, &shown)).collect();
        Self { answer, is_error, events: events.iter().map(event).collect() }
    }
}

fn either<T>(answer: &Result<T>, shown: impl Fn(&T) -> Value) -> Value {
    match answer {
        Ok(answer) => shown(answer),
        Err(error) => json!({ "error": problem(error) }),
    }
}

fn problem(error: &Error) -> Value {
    match error {
        Error::Invalid(message) => json!({ "kind": "invalid", "message": message }),
        Error::Denied(message) => json!({ "kind": "denied", "message": message }),
        Error::Unavailable(message) => json!({ "kind": "unavailable", "message": message }),
        Error::RetryAfter { after, reason } => {
            json!({ "kind": "retryAfter", "message": reason, "milliseconds": after.as_millis() as u64 })
        }
        Error::Crashed { after, reason } => {
            json!({ "kind": "crashed", "message": reason, "milliseconds": after.as_millis() as u64 })
        }
    }
}

fn event(event: &Event) -> Value {
    let kind = match event.kind {
        EventKind::Normal => "Normal",
        EventKind::Warning => "Warning",
    };
    json!({ "about": event.about, "kind": kind, "reason": event.reason, "message": event.message })
}

pub(super) fn pairs(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<Map<_, _>>().into()
}

pub(super) fn instance(it: &Instance) -> Value {
    let addresses: Vec<_> =
        it.addresses.iter().map(|it| json!({ "kind": it.kind.as_str(), "value": it.value })).collect();
    json!({
        "name": it.name,
        "providerID": it.provider_id,
        "state": match it.state {
            State::Running => "running",
            State::Stopped => "stopped",
        },
        "machineType": it.machine_type,
        "zone": it.zone,
        "region": it.region,
        "addresses": addresses,
        "labels": pairs(&it.labels),
        "podCIDRs": it.pod_cidrs,
    })
}

pub(super) fn instance_page(page: &Page) -> Value {
    let gaps: Vec<_> = page.gaps.iter().map(|it| json!({ "zone": it.zone, "reason": it.reason })).collect();
    let instances: Vec<_> = page.instances.iter().map(instance).collect();
    json!({ "instances": instances, "next": page.next, "gaps": gaps })
}

fn ingress(all: &[Ingress]) -> Vec<Value> {
    let one =
        |it: &Ingress| json!({ "ip": it.ip, "hostname": it.hostname, "ipMode": it.ip_mode.map(|it| it.as_str()) });
    all.iter().map(one).collect()
}

fn status(it: &LoadBalancerStatus) -> Value {
    json!({ "ingress": ingress(&it.ingress), "memo": it.memo, "annotations": pairs(&it.annotations) })
}

fn pending(it: &PendingStatus) -> Value {
    json!({ "status": status(&it.status), "milliseconds": it.after.as_millis() as u64, "reason": it.reason })
}

pub(super) fn progress(it: &Progress) -> Value {
    match it {
        Progress::Ready(it) => json!({ "ready": status(it) }),
        Progress::Pending(it) => json!({ "pending": pending(it) }),
        Progress::Failed(it, error) => json!({ "failed": { "status": status(it), "error": problem(error) } }),
        Progress::NotManaged => json!("notManaged"),
    }
}

pub(super) fn deletion(it: &Deletion) -> Value {
    match it {
        Deletion::Done => json!("done"),
        Deletion::Pending(it) => json!({ "pending": pending(it) }),
        Deletion::Kept(because) => json!({ "kept": because }),
    }
}

pub(super) fn inventory_page(page: &InventoryPage) -> Value {
    let items: Vec<_> = page.items.iter().map(inventory_item).collect();
    json!({ "items": items, "next": page.next, "incomplete": page.incomplete })
}

fn inventory_item(it: &InventoryItem) -> Value {
    let owner = &it.owner;
    json!({
        "owner": {
            "clusterUID": owner.cluster_uid, "uid": owner.uid, "namespace": owner.namespace, "name": owner.name,
        },
        "proof": match it.proof {
            Proof::Unique => "unique",
            Proof::ByName => "byName",
        },
        "cloudObject": it.cloud_object,
        "memo": it.memo,
        "state": match &it.state {
            InventoryState::Ready => json!("ready"),
            InventoryState::Changing => json!("changing"),
            InventoryState::Failed(because) => json!({ "failed": because }),
        },
        "revision": it.revision,
        "outline": it.outline,
        "ingress": ingress(&it.ingress),
        "created": it.created,
        "kept": it.kept,
    })
}

pub(super) fn route_page(page: &RoutePage) -> Value {
    let routes: Vec<_> = page.routes.iter().map(route).collect();
    json!({ "routes": routes, "next": page.next, "incomplete": page.incomplete })
}

fn route(it: &Route) -> Value {
    json!({
        "destination": it.destination,
        "nextHop": it.next_hop,
        "ownership": match it.ownership {
            RouteOwnership::Ours => "ours",
            RouteOwnership::Unmarked => "unmarked",
            RouteOwnership::Foreign => "foreign",
        },
        "state": match &it.state {
            RouteState::Active => json!("active"),
            RouteState::Changing => json!("changing"),
            RouteState::Blackhole => json!("blackhole"),
            RouteState::Partial => json!("partial"),
            RouteState::Failed(because) => json!({ "failed": because }),
        },
        "id": it.id,
    })
}

pub(super) fn route_outcome(it: &RouteOutcome) -> Value {
    match it {
        RouteOutcome::Done => json!("done"),
        RouteOutcome::Pending { after, reason } => {
            json!({ "pending": { "milliseconds": after.as_millis() as u64, "reason": reason } })
        }
    }
}

pub(super) fn topology(it: &Topology) -> Value {
    let segments: Vec<_> = it.accessible_topologies.iter().map(|it| pairs(it)).collect();
    json!({ "region": it.region, "zones": it.zones, "labels": pairs(&it.labels), "accessibleTopologies": segments })
}
