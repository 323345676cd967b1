//! Requests that are shown, and answered by a recording where there is one.

use conformance::Replayer;
use egress::{GuestResponse, LeavingRequest, RequestWatcher, SendError, WatchedRequest};

use super::shown::ShownRequests;

/// The requests of one call, and the recording in the place of the cloud.
pub(super) struct PlayedRequests {
    pub(super) shown: ShownRequests,
    pub(super) replayer: Option<Replayer>,
}

impl RequestWatcher for PlayedRequests {
    fn may_leave(&self, request: &LeavingRequest) -> bool {
        self.shown.may_leave(request)
    }

    fn answer(&self, request: &LeavingRequest) -> Option<Result<GuestResponse, SendError>> {
        self.replayer.as_ref().and_then(|it| it.answer(request))
    }

    fn ended(&self, request: &WatchedRequest) {
        self.shown.ended(request);
    }
}
