//! AWS's error codes, sorted by what they are about. Pure.
//!
//! From "Error codes for the Amazon EC2 API", "Common Errors" and the errors of each action of both APIs of Elastic Load
//! Balancing, and, for throttling, from what AWS's own SDKs retry as such.

use aerostat_sdk::http::Refused;

/// Codes about the credential itself.
const UNKNOWN_KEYS: [&str; 9] = [
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "MissingAuthenticationToken",
    "RequestExpired",
    "SignatureDoesNotMatch",
];

/// Whether AWS does not know the credential, or does not accept it any more.
#[inline]
pub(crate) fn is_about_keys(code: &str) -> bool {
    UNKNOWN_KEYS.contains(&code)
}

/// The kind of a refusal with this code; `None`, if it does not come from the API. Without a code, the status says it.
#[inline]
pub(crate) fn refused(code: &str, status: u16) -> Option<Refused> {
    Some(match code {
        "BandwidthLimitExceeded"
        | "DependencyThrottle"
        | "EC2ThrottledException"
        | "PriorRequestNotComplete"
        | "RequestLimitExceeded"
        | "RequestThrottled"
        | "RequestThrottledException"
        | "SlowDown"
        | "ThrottledException"
        | "Throttling"
        | "ThrottlingException"
        | "TooManyRequestsException" => Refused::RateLimit,
        "AccessDenied"
        | "AccessDeniedException"
        | "Blocked"
        | "NotAuthorized"
        | "OptInRequired"
        | "PendingVerification"
        | "UnauthorizedOperation" => Refused::Denied,
        it if is_about_keys(it) => Refused::Denied,
        // A limit of requests is none of the account.
        "FilterLimitExceeded" => Refused::Invalid,
        "InsufficientFreeAddressesInSubnet" | "InsufficientAddressCapacity" | "AddressLimitExceeded" => Refused::Quota,
        it if it.ends_with("LimitExceeded") || it.starts_with("TooMany") => Refused::Quota,
        "DuplicateListener"
        | "DuplicateLoadBalancerName"
        | "DuplicatePolicyName"
        | "DuplicateTargetGroupName"
        | "InvalidGroup.Duplicate"
        | "InvalidKeyPair.Duplicate"
        | "RouteAlreadyExists" => Refused::Taken,
        "ConcurrentTagAccess"
        | "DependencyViolation"
        | "IncorrectInstanceState"
        | "IncorrectState"
        | "InvalidGroup.InUse"
        | "InvalidPermission.Duplicate"
        | "ResourceInUse" => Refused::Busy,
        "OperationNotPermitted" => Refused::Protected,
        "ListenerNotFound" | "LoadBalancerNotFound" | "TargetGroupNotFound" => Refused::NotFound,
        it if it.ends_with(".NotFound") => Refused::NotFound,
        "InsufficientInstanceCapacity"
        | "InternalError"
        | "InternalFailure"
        | "RequestTimeout"
        | "RequestTimeTooSkewed"
        | "ServiceUnavailable"
        | "Unavailable" => Refused::Failure,
        "" => match status {
            401 | 403 => Refused::Denied,
            429 => Refused::RateLimit,
            503 => Refused::Failure,
            _ => return None,
        },
        _ if status == 503 => Refused::Failure,
        _ if (400..500).contains(&status) => Refused::Invalid,
        _ => Refused::Failure,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_167_codes_of_aws_are_sorted() {
        let table = [
            ("ThrottlingException", 400, Refused::RateLimit),
            ("RequestLimitExceeded", 503, Refused::RateLimit),
            ("TooManyRequestsException", 400, Refused::RateLimit),
            ("", 429, Refused::RateLimit),
            ("UnauthorizedOperation", 403, Refused::Denied),
            ("AccessDenied", 403, Refused::Denied),
            ("ExpiredToken", 400, Refused::Denied),
            ("", 403, Refused::Denied),
            ("TooManyLoadBalancers", 400, Refused::Quota),
            ("TooManyTargetGroups", 400, Refused::Quota),
            ("TooManyListeners", 400, Refused::Quota),
            ("SecurityGroupLimitExceeded", 400, Refused::Quota),
            ("RulesPerSecurityGroupLimitExceeded", 400, Refused::Quota),
            ("RouteLimitExceeded", 400, Refused::Quota),
            ("AddressLimitExceeded", 400, Refused::Quota),
            ("InsufficientFreeAddressesInSubnet", 400, Refused::Quota),
            ("DuplicateLoadBalancerName", 400, Refused::Taken),
            ("RouteAlreadyExists", 400, Refused::Taken),
            ("DependencyViolation", 400, Refused::Busy),
            ("ResourceInUse", 400, Refused::Busy),
            ("OperationNotPermitted", 400, Refused::Protected),
            ("LoadBalancerNotFound", 400, Refused::NotFound),
            ("InvalidInstanceID.NotFound", 400, Refused::NotFound),
            ("ServiceUnavailable", 503, Refused::Failure),
            ("InternalError", 500, Refused::Failure),
            ("AnythingNew", 503, Refused::Failure),
            ("FilterLimitExceeded", 400, Refused::Invalid),
            ("ValidationError", 400, Refused::Invalid),
            ("InvalidParameterValue", 400, Refused::Invalid),
            ("InvalidInstanceID.Malformed", 400, Refused::Invalid),
        ];
        for (code, status, expected) in table {
            assert_eq!(refused(code, status), Some(expected), "{code} {status}");
        }
        assert_eq!(refused("", 404), None);
    }
}
