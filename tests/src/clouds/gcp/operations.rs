//! Operations: what a write answers with, and what becomes of it.

use serde_json::{Value, json};

use crate::simulator::{Answer, End, Recorded};

use super::collection::Collection;
use super::errors::{self, Refusal};
use super::ongoing::{Ongoing, Stored};
use super::place::{Place, Scope, link, name_of};
use super::world::{World, text};

/// The user in operations.
const USER: &str = "ccm@p1.iam.gserviceaccount.com";

/// A write that begins.
pub(super) struct Begun<'a> {
    pub(super) place: &'a Place,
    /// `insert`, `delete`, `patch`, `update`, or a verb.
    pub(super) verb: &'a str,
    /// The path of what it is about.
    pub(super) target: &'a str,
    /// The resources that a failure brings back, by path.
    pub(super) before: Vec<(String, Option<Stored>)>,
    /// The refusal with which it ends.
    pub(super) failure: Option<Refusal>,
}

impl World {
    /// Begins an operation. Answers with it.
    pub(super) fn begin(&mut self, begun: Begun<'_>) -> Answer {
        let Begun { place, verb, target, before, failure } = begun;
        let end = self.behaviour.operations.begun(self.time());
        let collection = Collection::of(target);
        let planned = self.behaviour.failures.iter().find(|it| it.verb == verb && Some(it.collection) == collection);
        let planned = planned.map(|it| errors::planned(it.status, it.code, &it.message));
        let number = self.number();
        let name = format!("operation-{}-{}", number, uuid::Uuid::new_v4().simple());
        let path = format!("{place}/operations/{name}");
        let mut body = json!({
            "kind": "compute#operation", "id": number, "name": name, "operationType": verb, "user": USER,
            "targetLink": link(target), "status": "RUNNING", "progress": 0,
            "insertTime": self.stamp(), "startTime": self.stamp(), "selfLink": link(&path),
        });
        if let Some(id) = self.get(target).and_then(|it| it["id"].as_str()) {
            body["targetId"] = json!(id);
        }
        match &place.scope {
            Scope::Global => {}
            Scope::Region(_) => body["region"] = json!(link(&place.to_string())),
            Scope::Zone(_) => body["zone"] = json!(link(&place.to_string())),
        }
        if let Some(origin) = self.behaviour.operation_links {
            for field in ["targetLink", "selfLink", "region", "zone"] {
                if let Some(link) = body[field].as_str() {
                    body[field] = json!(link.replace("https://www.googleapis.com", origin));
                }
            }
        }
        let target = target.to_owned();
        let removes = verb == "delete";
        let ongoing = Ongoing { body, end, target, before, removes, failure: failure.or(planned) };
        self.operations.insert(path.clone(), ongoing);
        // An operation that lasts no time has not ended before it was answered.
        Answer::ok(&self.operations[&path].body)
    }

    /// Whether an operation is at work on a resource.
    pub(super) fn is_busy(&self, path: &str) -> bool {
        self.operations.values().any(|it| it.target == path && !it.end.is_over())
    }

    /// Whether a resource is being deleted.
    pub(super) fn is_going(&self, path: &str) -> bool {
        self.operations.values().any(|it| it.target == path && it.removes && !it.end.is_over())
    }

    /// Says in an operation with which id it was asked for.
    pub(super) fn ask(&mut self, path: &str, id: &str) {
        if let Some(it) = self.operations.get_mut(path) {
            it.body["clientOperationId"] = json!(id);
        }
    }

    /// Whether a resource is being made.
    pub(super) fn is_made(&self, path: &str) -> bool {
        let is_insert = |it: &Ongoing| text(&it.body, "operationType") == "insert" && !it.end.is_over();
        self.operations.values().any(|it| it.target == path && is_insert(it))
    }

    /// Ends what ends by now.
    pub(super) fn end_due(&mut self) {
        let now = self.time();
        let due: Vec<_> =
            self.operations.iter().filter(|(_, it)| it.end.is_due(now)).map(|(path, _)| path.clone()).collect();
        due.iter().for_each(|it| self.end(it));
    }

    /// Counts that an operation, or what it is about, was read.
    pub(super) fn count_read(&mut self, path: &str) {
        for (own, it) in &mut self.operations {
            if it.target == path || own == path {
                it.end.count_read();
            }
        }
    }

    /// Whether no operation goes on about an object with this in its path.
    #[must_use]
    pub fn is_at_rest(&self, about: &str) -> bool {
        self.operations.values().all(|it| matches!(it.end, End::Over) || !it.target.contains(about))
    }

    /// Ends all operations now.
    pub fn finish(&mut self) {
        let open = self.operations.iter().filter(|(_, it)| !it.end.is_over());
        let open: Vec<_> = open.map(|(path, _)| path.clone()).collect();
        open.iter().for_each(|it| self.end(it));
    }

    fn end(&mut self, path: &str) {
        let stamp = self.stamp();
        let Some(it) = self.operations.get_mut(path) else { return };
        it.end = End::Over;
        it.body["status"] = json!("DONE");
        it.body["progress"] = json!(100);
        it.body["endTime"] = stamp;
        let (target, before, failure) = (it.target.clone(), std::mem::take(&mut it.before), it.failure.clone());
        if let Some(failure) = &failure {
            it.body["error"] = failure.in_operation();
            it.body["httpErrorStatusCode"] = json!(failure.status);
            it.body["httpErrorMessage"] = json!(failure.reason_phrase());
        }
        match (failure, it.removes) {
            (None, true) => drop(self.remove(&target)),
            (None, false) => {}
            (Some(_), _) => before.into_iter().for_each(|(path, earlier)| self.restore(&path, earlier)),
        }
    }
}

/// `GET …/operations/{name}` and `POST …/operations/{name}/wait`, which answers at once: Google says that it
/// may answer before the end.
pub(super) fn answer(world: &mut World, request: &Recorded, place: &Place, path: &[&str]) -> Result<Value, Refusal> {
    let name = match (request.method.as_str(), path) {
        ("GET", [name]) | ("POST", [name, "wait"]) => name,
        _ => return Err(errors::not_found(&format!("{place}/operations"))),
    };
    let path = format!("{place}/operations/{name}");
    world.count_read(&path);
    world.end_due();
    world.operations.get(&path).map(|it| it.body.clone()).ok_or_else(|| errors::not_found(&path))
}

/// All operations of a place, the oldest first.
pub(super) fn within(world: &World, place: &Place) -> Vec<(String, Value)> {
    let prefix = format!("{place}/operations/");
    let all = world.operations.iter().filter(|(path, _)| path.starts_with(&prefix));
    all.map(|(path, it)| (name_of(path).to_owned(), it.body.clone())).collect()
}
