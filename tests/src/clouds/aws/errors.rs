//! Errors in the form of each service.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::simulator::{Answer, Recorded};

/// An API of AWS.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    /// Machines and networks.
    Ec2,
    /// Load balancers of the second kind: Network Load Balancers.
    Elbv2,
    /// Classic Load Balancers.
    Elb,
    /// Sessions.
    Sts,
}

impl Service {
    const ALL: [Self; 4] = [Self::Ec2, Self::Elbv2, Self::Elb, Self::Sts];

    /// The API with this version.
    pub(super) fn of_version(version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.version() == version)
    }

    /// The API that a request is for, as the record names it.
    pub(super) fn of(request: &Recorded) -> Option<Self> {
        let name = request.path.split('/').nth(1)?;
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// As the SDK calls it, and the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ec2 => "ec2",
            Self::Elbv2 => "elbv2",
            Self::Elb => "elb",
            Self::Sts => "sts",
        }
    }

    /// Its version, which every request names.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Ec2 => "2016-11-15",
            Self::Elbv2 => "2015-12-01",
            Self::Elb => "2012-06-01",
            Self::Sts => "2011-06-15",
        }
    }
}

/// The body of a refusal: AWS's word for it, and a sentence.
#[must_use]
pub fn refusal(service: Service, code: &str, message: &str) -> String {
    let error = format!("<Code>{code}</Code><Message>{message}</Message>");
    match service {
        Service::Ec2 => {
            format!("<Response><Errors><Error>{error}</Error></Errors><RequestID>r</RequestID></Response>")
        }
        Service::Elbv2 | Service::Elb | Service::Sts => {
            let error = format!("<Error><Type>Sender</Type>{error}</Error>");
            format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>")
        }
    }
}

/// An answer in XML.
pub(super) fn xml(status: StatusCode, body: String) -> Answer {
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/xml;charset=UTF-8"))]);
    Answer { status, headers, body: body.into_bytes(), wrong: Vec::new() }
}

/// The answer of a service with this status. A request too many is told by the pages "Request throttling for the Amazon EC2 API"
/// (`RequestLimitExceeded`, 503) and "Common Errors" of Elastic Load Balancing (`Throttling`, 400).
pub(super) fn for_status(service: Service, status: StatusCode) -> Answer {
    let is_ec2 = service == Service::Ec2;
    let (code, message) = match status.as_u16() {
        401 if is_ec2 => ("AuthFailure", "AWS was not able to validate the provided access credentials"),
        401 => ("InvalidClientTokenId", "The security token included in the request is invalid."),
        403 if is_ec2 => ("UnauthorizedOperation", "You are not authorized to perform this operation."),
        403 => ("AccessDenied", "User is not authorized to perform this operation"),
        429 if is_ec2 => ("RequestLimitExceeded", "Request limit exceeded."),
        429 => ("Throttling", "Rate exceeded"),
        500 => ("InternalError", "An internal error has occurred."),
        503 if is_ec2 => ("Unavailable", "The service is unavailable. Please try again shortly."),
        503 => ("ServiceUnavailable", "The request has failed due to a temporary failure of the server."),
        _ => ("ValidationError", "The request is refused."),
    };
    let status = match status.as_u16() {
        429 if is_ec2 => StatusCode::SERVICE_UNAVAILABLE,
        429 => StatusCode::BAD_REQUEST,
        _ => status,
    };
    xml(status, refusal(service, code, message))
}
