//! Why there are no new keys.

use http::StatusCode;

use super::super::secrets::Secrets;
use super::refusal;

/// AWS's word, with a status of the client's fault, where another try may help: "Common errors" of the STS API Reference, and
/// `AssumeRoleWithWebIdentity` there.
const FOR_NOW: &str = "IDPCommunicationError";

/// Why there are no new keys.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NoKeys {
    /// There is no egress yet through which anybody could be asked.
    NotConnected,
    /// Time may heal it: a sentence without its full stop.
    Failed(String),
    /// The service refuses them: a sentence without its full stop.
    Refused(String),
}

impl NoKeys {
    /// From an answer with this status that is no success, and the cloud's word for the reason, where it has one.
    pub(super) fn answered(status: StatusCode, code: Option<&str>, because: String) -> Self {
        let is_late = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let is_for_now = is_late || code.is_some_and(|it| it == FOR_NOW || refusal::is_about_throttling(it));
        if status.is_client_error() && !is_for_now { Self::Refused(because) } else { Self::Failed(because) }
    }

    /// The same without the words, if these hold a secret.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        let checked = |text: String| match secrets.are_in(text.as_bytes()) {
            true => "whoever gives keys answers with words that hold a credential and are withheld".to_owned(),
            false => text,
        };
        match self {
            Self::NotConnected => Self::NotConnected,
            Self::Failed(because) => Self::Failed(checked(because)),
            Self::Refused(because) => Self::Refused(checked(because)),
        }
    }
}

impl From<String> for NoKeys {
    fn from(because: String) -> Self {
        Self::Failed(because)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_time_does_not_heal_is_refused() {
        let is_refused = |status: u16, code| {
            let status = StatusCode::from_u16(status).unwrap();
            NoKeys::answered(status, code, "why".to_owned()) == NoKeys::Refused("why".to_owned())
        };
        assert!(is_refused(400, Some("InvalidIdentityToken")));
        assert!(is_refused(400, Some("ExpiredTokenException")));
        assert!(is_refused(403, Some("AccessDenied")));
        assert!(is_refused(404, None));
        for (status, code) in [(400, "Throttling"), (400, "IDPCommunicationError"), (429, "?"), (408, "?"), (503, "?")]
        {
            assert!(!is_refused(status, Some(code)), "{status} {code}");
        }
    }
}
