//! Codes of errors, sorted by what they are about. Pure.
//!
//! From "Common error codes" of the documentation of OpenAPI, and from the errors of the actions that are asked for.

use aerostat_sdk::http::Refused;

/// Codes about the credential itself: what stands before their first full stop.
const UNKNOWN_KEYS: [&str; 7] = [
    "IncompleteSignature",
    "InvalidAccessKeyId",
    "InvalidSecurityToken",
    "InvalidTimeStamp",
    "MissingSecurityToken",
    "SignatureDoesNotMatch",
    "SignatureNonceUsed",
];

/// Whether the cloud does not know the credential, or does not accept it any more.
pub(super) fn is_about_keys(code: &str) -> bool {
    code.split('.').next().is_some_and(|it| UNKNOWN_KEYS.contains(&it))
}

/// Codes of what is still in use: security groups and lists of access of a load balancer that is changed or deleted.
const IN_USE: [&str; 2] = ["AclUsed", "DependencyViolation"];

/// Codes of Classic Load Balancers that carry out an earlier change: those with which the vendor's Terraform provider sends a request again.
const BUSY_BALANCER: [&str; 6] = [
    "BackendServer.configuring",
    "DomainExtensionProcessing",
    "OperationBusy",
    "ServiceIsConfiguring",
    "ServiceIsStopping",
    "SystemBusy",
];

/// Whether the object is carrying out an earlier change or is still in use, or the change has failed for now: the same request is sent again.
pub(crate) fn is_busy(code: &str) -> bool {
    let is_kind = |it: &str| code.strip_prefix(it).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    code.ends_with("Conflict")
        || ["Conflict", "IncorrectStatus", "OperationFailed"].into_iter().any(is_kind)
        || code == "VPC_ROUTE_ENTRY_STATUS_ERROR"
        || BUSY_BALANCER.contains(&code)
        || IN_USE.contains(&code)
}

/// Whether no more can be had of something.
fn is_quota(code: &str) -> bool {
    let kinds = ["QuotaExceeded", "QuotaInsufficient", "AuthorizationLimitExceed"];
    code.ends_with("OverLimit") || kinds.iter().any(|it| code.starts_with(it))
}

/// The kind of a refusal with this code; `None`, if it does not come from the API. Without a code, the status says it.
pub(super) fn refused(code: &str, status: u16) -> Option<Refused> {
    Some(match code {
        it if it.contains("Throttling") => Refused::RateLimit,
        it if is_about_keys(it) => Refused::Denied,
        it if it.starts_with("Forbidden") || it.starts_with("NoPermission") || it.starts_with("Unauthorized") => {
            Refused::Denied
        }
        it if it.ends_with(".NotFound") || it.starts_with("ResourceNotFound.") => Refused::NotFound,
        it if is_quota(it) => Refused::Quota,
        it if is_busy(it) => Refused::Busy,
        "InternalError" | "ServiceUnavailable" => Refused::Failure,
        "" => match status {
            401 | 403 => Refused::Denied,
            429 => Refused::RateLimit,
            503 => Refused::Failure,
            _ => return None,
        },
        _ if (400..500).contains(&status) => Refused::Invalid,
        _ => Refused::Failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_refusals_are_sorted() {
        for (code, status, expected) in [
            ("Throttling", 400, Refused::RateLimit),
            ("Throttling.User", 400, Refused::RateLimit),
            ("Throttling.Api", 429, Refused::RateLimit),
            ("", 429, Refused::RateLimit),
            ("Forbidden.RAM", 403, Refused::Denied),
            ("Forbidden", 403, Refused::Denied),
            ("NoPermission", 403, Refused::Denied),
            ("InvalidAccessKeyId.NotFound", 404, Refused::Denied),
            ("InvalidSecurityToken.Expired", 400, Refused::Denied),
            ("SignatureDoesNotMatch", 400, Refused::Denied),
            ("", 403, Refused::Denied),
            ("InvalidVpcId.NotFound", 404, Refused::NotFound),
            ("ResourceNotFound.loadBalancer", 404, Refused::NotFound),
            ("QuotaExceeded.ServersNum", 400, Refused::Quota),
            ("InstanceBackendServerNumberOverLimit", 400, Refused::Quota),
            ("InvalidOperation.Conflict", 400, Refused::Busy),
            ("Conflict.Lock", 400, Refused::Busy),
            ("OperationConflict", 400, Refused::Busy),
            ("IncorrectStatus.RouteEntry", 400, Refused::Busy),
            ("OperationFailed.Create", 400, Refused::Busy),
            ("VPC_ROUTE_ENTRY_STATUS_ERROR", 400, Refused::Busy),
            ("BackendServer.configuring", 400, Refused::Busy),
            ("ServiceIsConfiguring", 400, Refused::Busy),
            ("DomainExtensionProcessing", 400, Refused::Busy),
            ("DependencyViolation", 403, Refused::Busy),
            ("AclUsed", 400, Refused::Busy),
            ("ConflictingParameter", 400, Refused::Invalid),
            ("InvalidParameter", 400, Refused::Invalid),
            ("ServiceUnavailable", 503, Refused::Failure),
            ("InternalError", 500, Refused::Failure),
            ("Anything", 502, Refused::Failure),
        ] {
            assert_eq!(refused(code, status), Some(expected), "{code} {status}");
        }
        assert_eq!(refused("", 404).or(refused("", 400)), None, "a proxy may say so, too");
    }
}
