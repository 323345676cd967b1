//! The recording as a cloud: it answers what was asked, and one request goes wrong.

use egress::{GuestResponse, LeavingRequest, RequestWatcher, SendError, WatchedRequest};
use parking_lot::Mutex;

use crate::conversation::{Conversation, RecordedExchange, ReplayOrder, Replayer};
use crate::protocol::{ArrivedRequest, How};

/// Answers requests from a conversation, but for one.
pub(super) struct TroubledReplayer {
    replayer: Replayer,
    state: Mutex<TroubledState>,
}

#[derive(Default)]
struct TroubledState {
    /// Which request goes wrong, counted from one, and how.
    trouble: Option<(usize, How)>,
    asked: Vec<ArrivedRequest>,
}

impl TroubledReplayer {
    pub(super) fn new(conversation: &Conversation) -> Self {
        let replayer = Replayer::new(conversation.exchanges(), ReplayOrder::ByKey);
        Self { replayer, state: Mutex::default() }
    }

    /// A story of one call or more begins.
    pub(super) fn begin(&self, trouble: Option<(usize, How)>) {
        *self.state.lock() = TroubledState { trouble, asked: Vec::new() };
    }

    /// The recorded call with this number is made now.
    pub(super) fn call(&self, number: usize) {
        self.replayer.begin(number);
    }

    /// The requests of the story until now.
    pub(super) fn asked(&self) -> Vec<ArrivedRequest> {
        self.state.lock().asked.clone()
    }

    /// The first request of the present call to which the recording has no answer, as a sentence.
    pub(super) fn unknown(&self) -> Option<String> {
        self.replayer.differences().into_iter().next()
    }
}

impl RequestWatcher for TroubledReplayer {
    fn may_leave(&self, _request: &LeavingRequest) -> bool {
        true
    }

    fn answer(&self, request: &LeavingRequest) -> Option<Result<GuestResponse, SendError>> {
        let mut state = self.state.lock();
        let number = state.asked.len() + 1;
        let answer = match state.trouble {
            Some((nth, how)) if nth == number => Some(troubled(how)),
            _ => self.replayer.answer(request),
        };
        let asked = RecordedExchange::asked(request);
        let status = answer.as_ref().and_then(|it| it.as_ref().ok()).map(|it| it.status);
        state.asked.push(ArrivedRequest { line: asked.line(), writes: asked.writes, status });
        answer
    }

    fn ended(&self, _request: &WatchedRequest) {}
}

/// The end of a request that goes wrong.
fn troubled(how: How) -> Result<GuestResponse, SendError> {
    match how {
        How::Failed | How::FailedAfter => Ok(GuestResponse { status: 500, headers: Vec::new(), body: Vec::new() }),
        _ => Err(SendError::Interrupted("the connection ended without an answer".to_owned())),
    }
}
