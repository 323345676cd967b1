//! What is said of every request: one audit line, and the metrics.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use http::StatusCode;

use super::canonical;
use super::policy::{Denied, Permitted};
use super::request::{GuestRequest, SendError};
use crate::call::CallId;
use crate::metrics::Metrics;

/// The longest path in a line.
const PATH_CHARACTERS: usize = 512;
/// The longest endpoint name in a line.
const NAME_CHARACTERS: usize = 64;

/// What becomes of one request. The line is written when it is dropped, so that a call that is cut off leaves one too.
pub(super) struct Entry<'a> {
    call: &'a CallId,
    metrics: &'a Metrics,
    start: Instant,
    endpoint: String,
    method: &'static str,
    /// Escaped, and without the query, which may hold what the operator's log should not.
    path: String,
    rule: Option<String>,
    code: Option<&'static str>,
    status: Option<u16>,
    address: Option<SocketAddr>,
    error: Option<String>,
    is_mute: bool,
}

impl<'a> Entry<'a> {
    pub(super) fn new(call: &'a CallId, metrics: &'a Metrics, request: &GuestRequest) -> Self {
        Self {
            call,
            metrics,
            start: Instant::now(),
            endpoint: request.endpoint.chars().take(NAME_CHARACTERS).collect(),
            method: request.method.as_str(),
            path: canonical::encode_path(&request.path).chars().take(PATH_CHARACTERS).collect(),
            rule: None,
            code: None,
            status: None,
            address: None,
            error: Some("the call ended first".to_owned()),
            is_mute: false,
        }
    }

    /// Leaves the line out. The metrics count all the same.
    pub(super) fn mute(&mut self) {
        self.is_mute = true;
    }

    pub(super) fn permitted(&mut self, permitted: &Permitted) {
        self.rule = Some(permitted.rule().to_owned());
    }

    pub(super) fn denied(&mut self, denied: &Denied) -> SendError {
        self.code = Some(denied.code.as_str());
        self.error = Some(denied.to_string());
        self.metrics.egress_denied.with_label_values(&[denied.code.as_str()]).inc();
        SendError::Denied(denied.to_string())
    }

    pub(super) fn paused(&mut self, after: Duration) -> SendError {
        self.error = Some(format!("not sent, the endpoint is free again in {after:?}"));
        SendError::RetryAfter(after)
    }

    pub(super) fn unreachable(&mut self, because: String) -> SendError {
        self.error = Some(because.clone());
        SendError::Unreachable(because)
    }

    pub(super) fn interrupted(&mut self, because: String) -> SendError {
        self.error = Some(because.clone());
        SendError::Interrupted(because)
    }

    /// One attempt on the wire is over, with or without an answer.
    pub(super) fn attempted(&mut self, address: Option<SocketAddr>, status: Option<StatusCode>, duration: Duration) {
        self.address = address;
        self.status = status.map(|it| it.as_u16());
        let code = status.map_or_else(|| "error".to_owned(), |it| it.as_str().to_owned());
        let Self { metrics, endpoint, method, .. } = self;
        metrics.cloud_requests.with_label_values(&[endpoint.as_str(), method, &code]).inc();
        let seconds = metrics.cloud_request_duration.with_label_values(&[endpoint.as_str(), method]);
        seconds.observe(duration.as_secs_f64());
    }

    pub(super) fn answered(&mut self) {
        self.error = None;
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if self.is_mute {
            return;
        }
        let decision = if self.rule.is_some() && self.code.is_none() { "allow" } else { "deny" };
        // What was let through by a rule and refused later, by its address, was let through by none.
        let rule = self.rule.as_deref().filter(|_| self.code.is_none()).unwrap_or("none");
        tracing::info!(
            target: "audit",
            provider = &*self.call.provider,
            function = self.call.function,
            call = self.call.id,
            endpoint = self.endpoint.escape_debug().to_string(),
            method = self.method,
            path = self.path,
            decision,
            rule,
            code = self.code,
            status = self.status,
            address = self.address.map(tracing::field::display),
            duration_ms = self.start.elapsed().as_millis() as u64,
            error = self.error,
        );
    }
}
