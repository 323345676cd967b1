//! The outcome of a permitted request.

use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::policy::{Code, Denied};
use crate::request::{GuestResponse, SendError};

/// The outcome of a permitted request.
#[derive(Debug)]
pub(crate) struct RequestOutcome {
    /// The checked address that it went to, if there was a connection.
    pub(crate) address: Option<SocketAddr>,
    pub(crate) answer: Result<CompleteAnswer, AnswerFailure>,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub(crate) struct CompleteAnswer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(crate) enum AnswerFailure {
    /// The Lease is gone, or the host has no address that may be dialled.
    Denied(Denied),
    /// Not sent: the endpoint is free again then.
    Paused(Duration),
    /// Certainly not carried out.
    Unreachable(String),
    /// Perhaps carried out.
    Interrupted(String),
}

impl RequestOutcome {
    /// The outcome of a request that a recording answers. A header that is none, and a status that is none, cannot have been recorded: the
    /// first is left out, the second is an answer that was not understood.
    pub(crate) fn replayed(answer: Result<GuestResponse, SendError>) -> Self {
        let answer = match answer {
            Ok(GuestResponse { status, headers, body }) => match StatusCode::from_u16(status) {
                Ok(status) => {
                    let header = |(name, value): (String, String)| {
                        Some((HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?))
                    };
                    let headers = headers.into_iter().filter_map(header).collect();
                    Ok(CompleteAnswer { status, headers, body })
                }
                Err(_) => Err(AnswerFailure::Interrupted(format!("the recording has the status {status}"))),
            },
            Err(SendError::Denied(because)) => Err(AnswerFailure::Denied(Denied::new(Code::Leader, because))),
            Err(SendError::RetryAfter(pause)) => Err(AnswerFailure::Paused(pause)),
            Err(SendError::Unreachable(because)) => Err(AnswerFailure::Unreachable(because)),
            Err(SendError::Interrupted(because)) => Err(AnswerFailure::Interrupted(because)),
        };
        Self { address: None, answer }
    }

    /// Whether the request may have reached the cloud.
    pub(crate) fn has_left(&self) -> bool {
        match &self.answer {
            Ok(_) | Err(AnswerFailure::Interrupted(_)) => true,
            Err(AnswerFailure::Denied(_) | AnswerFailure::Paused(_) | AnswerFailure::Unreachable(_)) => false,
        }
    }

    /// The size of an answer that may serve further equal reads: a success. A refusal or a fault may be over; and a 404 is
    /// what deletions rest on, so that each one is asked for.
    pub(crate) fn reusable_bytes(&self) -> Option<usize> {
        let answer = self.answer.as_ref().ok()?;
        answer.status.is_success().then_some(answer.body.len())
    }
}
