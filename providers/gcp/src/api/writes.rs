//! Writes to objects of load balancers. Each begins an operation, and none waits for it.

use aerostat_sdk::json::revision;
use aerostat_sdk::{Error, Method, Result};
use gcp_api::reason;
use serde_json::{Value, json};

use super::objects::GceObject;
use super::operations::{self, OperationState};
use crate::settings::ProjectSettings;

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GceWrite {
    pub(crate) object: GceObject,
    pub(crate) verb: GceVerb,
    /// Null for none.
    pub(crate) body: Value,
}

/// The verb of a write.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum GceVerb {
    /// POST to the objects of its kind.
    Insert,
    /// PUT.
    Put,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
    /// POST to a verb of the object's own: "addInstances".
    Call(&'static str),
}

/// The answer to a write.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum WriteAnswer {
    /// It is under way, or done.
    Begun(OperationState),
    /// Something has changed in between: what is there has to be read again.
    Again(String),
    /// Something else uses the object: it stays.
    InUse(String),
    /// The credential may not write it.
    Forbidden(Error),
}

impl GceWrite {
    pub(crate) fn new(object: GceObject, verb: GceVerb, body: Value) -> Self {
        Self { object, verb, body }
    }

    pub(crate) fn delete(object: GceObject) -> Self {
        Self::new(object, GceVerb::Delete, Value::Null)
    }

    /// Another text for each other write.
    pub(crate) fn revision(&self, settings: &ProjectSettings) -> String {
        revision(&self.words(settings))
    }

    fn words(&self, settings: &ProjectSettings) -> Value {
        json!([format!("{:?}", self.verb), self.object.reference(settings), self.body])
    }

    /// Sends it. `making` is another one with each making, and the same where an answer was lost: so the API does nothing twice.
    ///
    /// # Errors
    ///
    /// Whatever else the API answered, and the error that the operation ended with.
    pub(crate) fn send(&self, settings: &ProjectSettings, making: &str) -> Result<WriteAnswer> {
        let mut path = self.object.path(settings);
        let method = match self.verb {
            GceVerb::Insert => Method::Post,
            GceVerb::Put => Method::Put,
            GceVerb::Patch => Method::Patch,
            GceVerb::Delete => Method::Delete,
            GceVerb::Call(_) => Method::Post,
        };
        match self.verb {
            GceVerb::Insert => path = self.object.collection(settings),
            GceVerb::Call(word) => path.push(word.to_owned()),
            GceVerb::Put | GceVerb::Patch | GceVerb::Delete => {}
        }
        let id = request_id(&json!([making, self.words(settings)]));
        let request = self.object.api().request(method, path).query("requestId", id);
        let request = if self.body.is_null() { request } else { request.json(&self.body) };
        let response = request.answer()?;
        if response.is_success() {
            return operations::begun(&response).map(WriteAnswer::Begun);
        }
        let complaint = response.complaint();
        match (&*reason(&response), response.status(), self.verb) {
            ("notFound", 404, GceVerb::Delete) => Ok(WriteAnswer::Begun(OperationState::Done)),
            ("resourceInUseByAnotherResource", ..) => Ok(WriteAnswer::InUse(complaint)),
            (
                "alreadyExists"
                | "memberAlreadyExists"
                | "memberNotFound"
                | "conditionNotMet"
                | "notFound"
                | "resourceNotReady",
                ..,
            ) => Ok(WriteAnswer::Again(complaint)),
            ("forbidden" | "insufficientPermissions", 403, _) => {
                Ok(WriteAnswer::Forbidden(response.accepted().err().unwrap_or_else(|| Error::denied(complaint))))
            }
            _ => Err(response.accepted().err().unwrap_or_else(|| Error::unavailable(complaint))),
        }
    }
}

/// A UUID that is the same for the same values.
fn request_id(values: &Value) -> String {
    gcp_api::request_id(&revision(&json!([0, values])), &revision(&json!([1, values])))
}
