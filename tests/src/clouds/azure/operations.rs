//! Operations: what a write begins, and what becomes of it.

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::{Answer, End};

use super::behaviour::Overlap;
use super::errors::{self, Refusal};
use super::id::key;
use super::kind::{Kind, Service};
use super::ongoing::Ongoing;
use super::world::{World, parts_mut, text};

/// The API version in links to operations.
const VERSION: &str = "2025-05-01";

impl World {
    /// Begins an operation on a resource that is there, and sets its state. Answers with the operation's id.
    pub(super) fn begin(&mut self, id: &str, method: &'static str, state: &str) -> String {
        let end = self.behaviour.operations.begun(self.time());
        let Some(stored) = self.stored(id) else { return String::new() };
        let kind = stored.kind;
        let location = text(&stored.body, "location").to_owned();
        let failure = self.behaviour.failures.iter().find(|it| it.method == method && it.kind == kind);
        let failure = failure.map(|it| Refusal::new(500, it.code, it.message.clone()));
        let operation = uuid::Uuid::new_v4().to_string();
        let ongoing = Ongoing {
            target: key(id),
            service: kind.service(),
            location,
            end,
            removes: method == "DELETE",
            failure,
            canceled: false,
            started: self.stamp(),
            ended: None,
        };
        self.operations.insert(operation.clone(), ongoing);
        self.set_state(id, state);
        operation
    }

    /// The operation at work on a resource.
    pub(super) fn work_on(&self, id: &str) -> Option<&str> {
        let target = key(id);
        let found = self.operations.iter().find(|(_, it)| it.target == target && !it.end.is_over());
        found.map(|(operation, _)| operation.as_str())
    }

    /// Refuses a write of a resource on which an operation is at work, or cancels that.
    pub(super) fn overlap(&mut self, id: &str) -> Result<(), Refusal> {
        let Some(operation) = self.work_on(id).map(str::to_owned) else { return Ok(()) };
        let retry = self.behaviour.retry_after;
        match self.behaviour.overlap {
            Overlap::Conflict => Err(errors::another_operation(&self.link(&operation, "operations")).after(retry)),
            Overlap::Retryable => {
                let state = self.get(id).map_or("Updating", |it| text(&it["properties"], "provisioningState"));
                Err(errors::retryable(id, id, state).after(retry))
            }
            Overlap::Supersedes => {
                let stamp = self.stamp();
                if let Some(it) = self.operations.get_mut(&operation) {
                    (it.end, it.canceled, it.ended) = (End::Over, true, Some(stamp));
                }
                Ok(())
            }
        }
    }

    /// Sets the state of a resource and its parts.
    pub(super) fn set_state(&mut self, id: &str, state: &str) {
        let Some(kind) = self.stored(id).map(|it| it.kind) else { return };
        let Some(body) = self.get_mut(id) else { return };
        body["properties"]["provisioningState"] = json!(state);
        for part in kind.parts() {
            for it in parts_mut(body, part) {
                it["properties"]["provisioningState"] = json!(state);
            }
        }
    }

    /// Ends what ends by now.
    pub(super) fn end_due(&mut self) {
        let now = self.time();
        let due: Vec<_> =
            self.operations.iter().filter(|(_, it)| it.end.is_due(now)).map(|(id, _)| id.clone()).collect();
        due.iter().for_each(|it| self.end(it));
    }

    /// Counts that an operation, or what it is about, was read.
    pub(super) fn count_read(&mut self, operation: Option<&str>, target: &str) {
        let target = key(target);
        for (id, it) in &mut self.operations {
            if operation == Some(id) || it.target == target {
                it.end.count_read();
            }
        }
    }

    /// Whether no operation is at work.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.operations.values().all(|it| it.end.is_over())
    }

    /// Ends all operations now.
    pub fn finish(&mut self) {
        let open: Vec<_> =
            self.operations.iter().filter(|(_, it)| !it.end.is_over()).map(|(id, _)| id.clone()).collect();
        open.iter().for_each(|it| self.end(it));
    }

    fn end(&mut self, operation: &str) {
        let stamp = self.stamp();
        let Some(it) = self.operations.get_mut(operation) else { return };
        (it.end, it.ended) = (End::Over, Some(stamp));
        let (target, failed, removes) = (it.target.clone(), it.failure.is_some(), it.removes);
        if removes && !failed {
            let gone = self.remove(&target);
            gone.iter().for_each(|it| self.mark_referred(it));
        } else {
            self.set_state(&target, if failed { "Failed" } else { "Succeeded" });
            // The state is a part of what the etag stands for.
            self.mark(&target);
        }
    }

    /// Where an operation can be polled: `operations`, or `operationResults`.
    pub(super) fn link(&self, operation: &str, what: &str) -> String {
        let Some(it) = self.operations.get(operation) else { return String::new() };
        let subscription = it.target.split('/').nth(2).unwrap_or_default();
        format!(
            "{}/subscriptions/{subscription}/providers/{}/locations/{}/{what}/{operation}?api-version={VERSION}",
            self.base,
            it.service.namespace(),
            it.location
        )
    }

    /// Says in an answer where its operation is.
    pub(super) fn tell(&self, answer: &mut Answer, operation: &str) {
        answer.set("azure-asyncoperation", &self.link(operation, "operations"));
        if answer.status == StatusCode::ACCEPTED {
            answer.set("location", &self.link(operation, "operationResults"));
        }
        if let Some(seconds) = self.behaviour.retry_after {
            answer.set("retry-after", &seconds.to_string());
        }
    }
}

/// The answer to a poll.
pub(super) fn polled(world: &mut World, service: Service, operation: &str, is_result: bool) -> Result<Answer, Refusal> {
    world.count_read(Some(operation), "");
    world.end_due();
    let it = world.operations.get(operation).filter(|it| it.service == service);
    let it = it.ok_or_else(|| errors::no_such_operation(operation))?;
    let is_over = it.end.is_over();
    if is_result {
        if is_over {
            return Ok(Answer::no_content());
        }
        let mut answer = Answer { status: StatusCode::ACCEPTED, ..Answer::no_content() };
        answer.set("location", &world.link(operation, "operationResults"));
        if let Some(seconds) = world.behaviour.retry_after {
            answer.set("retry-after", &seconds.to_string());
        }
        return Ok(answer);
    }
    let mut answer = Answer::ok(&shown(it, operation));
    if let Some(seconds) = world.behaviour.retry_after.filter(|_| !is_over) {
        answer.set("retry-after", &seconds.to_string());
    }
    Ok(answer)
}

fn shown(it: &Ongoing, operation: &str) -> Value {
    let mut shown = match (it.end.is_over(), &it.failure, it.canceled) {
        (_, _, true) => json!({ "status": "Canceled", "error": {
            "code": "Canceled", "message": "Operation was canceled.", "details": [{
                "code": "CanceledAndSupersededDueToAnotherOperation",
                "message": "Operation was superseded by another operation on the same resource.",
            }],
        } }),
        (false, ..) => json!({ "status": "InProgress" }),
        (true, None, _) => json!({ "status": "Succeeded" }),
        (true, Some(failure), _) => json!({ "status": "Failed", "error": failure.told() }),
    };
    // Compute says more.
    if it.service == Service::Compute {
        shown["name"] = json!(operation);
        shown["startTime"] = json!(it.started);
        if let Some(ended) = &it.ended {
            shown["endTime"] = json!(ended);
        }
    }
    shown
}

/// The state of a resource that a write begins: Compute says `Creating`.
pub(super) fn state_of(kind: Kind, is_new: bool) -> &'static str {
    if is_new && kind.service() == Service::Compute { "Creating" } else { "Updating" }
}
