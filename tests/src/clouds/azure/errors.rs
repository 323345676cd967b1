//! How Azure says that something is wrong.

use http::StatusCode;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::id::name_of;
use super::kind::Kind;

/// A request that is refused, or an operation that fails.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) message: String,
    /// Codes and sentences beneath it.
    details: Vec<(&'static str, String)>,
    pub(super) retry_after: Option<u64>,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &str, message: impl Into<String>) -> Refusal {
        Refusal { status, code: code.to_owned(), message: message.into(), details: Vec::new(), retry_after: None }
    }

    fn because(mut self, code: &'static str, message: String) -> Refusal {
        self.details.push((code, message));
        self
    }

    /// The same, to be asked again after so many seconds.
    pub(super) fn after(mut self, seconds: Option<u64>) -> Refusal {
        self.retry_after = seconds;
        self
    }

    /// The answer that tells it.
    pub(super) fn answer(&self) -> Answer {
        let status = StatusCode::from_u16(self.status).expect("the simulator's statuses are statuses");
        let mut answer = Answer::json(status, &json!({ "error": self.told() }));
        if let Some(seconds) = self.retry_after {
            answer.set("retry-after", &seconds.to_string());
        }
        answer
    }

    /// Code, message and details.
    pub(super) fn told(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.details.is_empty() {
            let one = |(code, message): &(&str, String)| json!({ "code": code, "message": message });
            error["details"] = self.details.iter().map(one).collect();
        }
        error
    }
}

fn bad(code: &str, message: String) -> Refusal {
    Refusal::new(400, code, message)
}

pub(super) fn resource_not_found(id: &str, kind: Kind, group: &str) -> Refusal {
    let words = id.split('/').skip(7).collect::<Vec<_>>().join("/");
    let message = format!(
        "The Resource '{}/{words}' under resource group '{group}' was not found. For more details please go to \
         https://aka.ms/ARMResourceNotFoundFix",
        kind.words().0
    );
    Refusal::new(404, "ResourceNotFound", message)
}

/// A part of a resource that is there.
pub(super) fn part_not_found(id: &str) -> Refusal {
    Refusal::new(404, "NotFound", format!("Resource {id} not found."))
}

pub(super) fn parent_not_found(parent: &str) -> Refusal {
    let message = format!(
        "Can not perform requested operation on nested resource. Parent resource '{}' not found.",
        name_of(parent)
    );
    Refusal::new(404, "ParentResourceNotFound", message)
}

pub(super) fn group_not_found(group: &str) -> Refusal {
    Refusal::new(404, "ResourceGroupNotFound", format!("Resource group '{group}' could not be found."))
}

pub(super) fn subscription_not_found(subscription: &str) -> Refusal {
    Refusal::new(404, "SubscriptionNotFound", format!("The subscription '{subscription}' could not be found."))
}

pub(super) fn no_such_path(path: &str) -> Refusal {
    Refusal::new(404, "InvalidResourceType", format!("The resource type could not be found: {path}."))
}

pub(super) fn no_such_operation(operation: &str) -> Refusal {
    Refusal::new(404, "OperationNotFound", format!("The operation {operation} is not found."))
}

pub(super) fn no_version() -> Refusal {
    let message = "The api-version query parameter (?api-version=) is required for all requests.";
    bad("MissingApiVersionParameter", message.to_owned())
}

pub(super) fn wrong_version(version: &str, namespace: &str, supported: &[&str]) -> Refusal {
    let message = format!(
        "No registered resource provider found for API version '{version}' in the namespace '{namespace}'. The supported \
         api-versions are '{}'.",
        supported.join(", ")
    );
    bad("NoRegisteredProviderFound", message)
}

pub(super) fn no_json() -> Refusal {
    bad("InvalidRequestContent", "The request content was invalid and could not be deserialized.".to_owned())
}

pub(super) fn required(field: &str) -> Refusal {
    bad("InvalidRequestFormat", "Cannot parse the request.".to_owned())
        .because("MissingJsonProperty", format!("Required property '{field}' not found in JSON."))
}

/// A value that is not allowed, in a sentence.
pub(super) fn invalid(code: &'static str, why: impl Into<String>) -> Refusal {
    bad(code, why.into())
}

/// An etag of the network that is not that of the resource.
pub(super) fn stale(id: &str, given: &str, known: &str) -> Refusal {
    let why = format!(
        "Etag provided in if-match header {given} does not match etag {known} of resource {id} in NRP data store."
    );
    Refusal::new(412, "PreconditionFailed", "Precondition failed.").because("PreconditionFailedEtagMismatch", why)
}

/// The same of a machine or a scale set.
pub(super) fn stale_machine(given: &str, known: &str) -> Refusal {
    let why = format!("Etag provided in if-match header {given} does not match etag {known} of resource.");
    Refusal::new(412, "PreconditionFailed", why)
}

/// `If-None-Match: *` where something is.
pub(super) fn there_already(id: &str) -> Refusal {
    let why = format!("If-None-Match header is given, and resource {id} exists.");
    Refusal::new(412, "PreconditionFailed", "Precondition failed.").because("PreconditionFailedResourceExists", why)
}

pub(super) fn another_operation(operation: &str) -> Refusal {
    let message = format!(
        "Another operation on this or dependent resource is in progress. To retrieve status of the operation use uri: {operation}."
    );
    Refusal::new(409, "AnotherOperationInProgress", message)
}

/// A resource that is not `Succeeded`, and is used by another.
pub(super) fn retryable(id: &str, user: &str, state: &str) -> Refusal {
    let why = format!(
        "Cannot proceed with operation because resource {id} used by resource {user} is not in Succeeded state. Resource is in \
         {state} state and the last operation that updated/is updating the resource is {}.",
        if state == "Deleting" { "a deletion" } else { "a change" }
    );
    Refusal::new(429, "RetryableError", "A retryable error occurred.").because("ReferencedResourceNotProvisioned", why)
}

/// A reference to something that is not there.
pub(super) fn nothing_there(id: &str, user: &str) -> Refusal {
    let message = format!(
        "Resource {id} referenced by resource {user} was not found. Please make sure that the referenced resource exists, and that \
         both resources are in the same region."
    );
    bad("InvalidResourceReference", message)
}

/// A resource that cannot go, or change, because of another.
pub(super) fn in_use(code: &'static str, id: &str, by: &str) -> Refusal {
    bad(code, format!("Resource {id} cannot be deleted because it is in use by {by}."))
}

/// A deletion of an address that a frontend or an interface has.
pub(super) fn address_in_use(id: &str, by: &str) -> Refusal {
    let message = format!(
        "Public IP address {id} can not be deleted since it is still allocated to resource {by}. In order to delete the public IP, \
         disassociate/detach the Public IP address from the resource."
    );
    bad("PublicIPAddressCannotBeDeleted", message)
}

/// A change that Compute refuses because of the state of something.
pub(super) fn not_allowed(why: String) -> Refusal {
    Refusal::new(409, "OperationNotAllowed", why)
}

pub(super) fn over_quota(kind: Kind, limit: usize) -> Refusal {
    let code = match kind {
        Kind::PublicIp => "PublicIPCountLimitReached",
        Kind::LoadBalancer => "LoadBalancerCountLimitReached",
        Kind::SecurityGroup => "NetworkSecurityGroupCountLimitReached",
        _ => "QuotaExceeded",
    };
    bad(code, format!("Cannot create more than {limit} {} for this subscription in this region.", kind.many()))
}

pub(super) fn forbidden(action: &str, scope: &str) -> Refusal {
    let message = format!(
        "The client '88888888-0000-0000-0000-000000000002' with object id '77777777-0000-0000-0000-000000000003' does not have \
         authorization to perform action '{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, \
         please refresh your credentials."
    );
    Refusal::new(403, "AuthorizationFailed", message)
}

/// The refusal that Azure has for a status of its own accord.
pub(super) fn for_status(status: StatusCode) -> Answer {
    let (code, reason) = (status.as_u16(), status.canonical_reason().unwrap_or("Unknown"));
    let (word, message) = match code {
        401 => ("InvalidAuthenticationToken", "The access token is invalid."),
        403 => ("AuthorizationFailed", "The client does not have authorization to perform the action over this scope."),
        404 => ("ResourceNotFound", "The resource was not found."),
        409 => ("AnotherOperationInProgress", "Another operation on this or dependent resource is in progress."),
        412 => ("PreconditionFailed", "Precondition failed."),
        429 => ("TooManyRequests", "The request is being throttled as the limit has been reached."),
        500 => ("InternalServerError", "An error occurred."),
        503 => ("ServiceUnavailable", "The service is temporarily unavailable."),
        501.. => ("ServerTimeout", "The request timed out."),
        _ => ("BadRequest", reason),
    };
    Refusal::new(code, word, message).answer()
}
