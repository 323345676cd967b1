//! Keeps the requests of calls, with their answers.

use std::mem;

use egress::{GuestResponse, LeavingRequest, SendError};
use parking_lot::Mutex;

use super::exchange::RecordedExchange;

/// The requests since they were taken last. Secrets are taken out before anything is kept.
#[derive(Debug, Default)]
pub struct ExchangeRecorder(Mutex<Vec<RecordedExchange>>);

impl ExchangeRecorder {
    /// Keeps one.
    pub fn keep(&self, request: &LeavingRequest, answer: &Result<GuestResponse, SendError>) {
        self.0.lock().push(RecordedExchange::asked(request).with(answer));
    }

    /// All since this was asked last, in their order.
    #[must_use]
    pub fn take(&self) -> Vec<RecordedExchange> {
        mem::take(&mut self.0.lock())
    }
}
