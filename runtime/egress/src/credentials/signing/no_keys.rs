//! Why there are no new keys.

use http::StatusCode;

use super::super::secrets::Secrets;

/// Why there are no new keys.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum NoKeys {
    /// There is no egress yet through which anybody could be asked.
    NotConnected,
    /// Time may heal it: a sentence without its full stop.
    Failed(String),
    /// The service refuses them: a sentence without its full stop.
    Refused(String),
}

impl NoKeys {
    /// From an answer with this status that is no success; `is_for_now` if the cloud's word for the reason says that another try may
    /// help.
    pub(crate) fn answered(status: StatusCode, is_for_now: bool, because: String) -> Self {
        let is_late = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status);
        let is_for_now = is_late || is_for_now;
        if status.is_client_error() && !is_for_now { Self::Refused(because) } else { Self::Failed(because) }
    }

    /// The same without the words, if these hold a secret.
    pub(crate) fn without(self, secrets: &Secrets) -> Self {
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
        let is_refused = |status: u16, is_for_now| {
            let status = StatusCode::from_u16(status).unwrap();
            NoKeys::answered(status, is_for_now, "why".to_owned()) == NoKeys::Refused("why".to_owned())
        };
        assert!(is_refused(400, false) && is_refused(403, false) && is_refused(404, false));
        for (status, is_for_now) in [(400, true), (429, false), (408, false), (503, false), (302, false)] {
            assert!(!is_refused(status, is_for_now), "{status}");
        }
    }
}
