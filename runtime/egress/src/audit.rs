//! The record of every request: one audit line, and the metrics.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cloud_provider::printable;
use http::StatusCode;

use crate::canonical;
use crate::metrics::Metrics;
use crate::outcome::{AnswerFailure, RequestOutcome};
use crate::policy::{Denied, Permitted};
use crate::request::{Body, GuestRequest, GuestResponse, Method, SendError};
use crate::watched::{LeavingRequest, RequestWatcher, WatchedRequest};

/// Which call of a provider something belongs to, in logs.
#[derive(Clone, Debug)]
pub struct CallId {
    /// The provider's name; before it has said it, the module's.
    pub provider: Arc<str>,
    /// The function's name in `wit/`.
    pub function: &'static str,
    /// Counted from 1 in each process.
    pub id: u64,
}

/// The longest path in a line.
const PATH_CHARACTERS: usize = 512;
/// The longest endpoint name in a line.
const NAME_CHARACTERS: usize = 64;

/// The record of one request. The line is written when it is dropped, so that a call that is cut off leaves one too.
pub(crate) struct AuditLine<'a> {
    call: &'a CallId,
    metrics: &'a Metrics,
    start: Instant,
    endpoint: String,
    method: &'static str,
    /// Escaped, and without the query, which may hold what the operator's log should not.
    path: String,
    rule: Option<String>,
    effect: Option<&'static str>,
    operation: Option<String>,
    code: Option<&'static str>,
    status: Option<u16>,
    address: Option<SocketAddr>,
    /// The proxy, whose address that is.
    proxy: Option<String>,
    error: Option<String>,
    /// Another request brought the answer.
    is_joined: bool,
    is_mute: bool,
    watched: Option<(Arc<dyn RequestWatcher>, WatchedRequest)>,
    /// The request that whoever watches has let through.
    leaving: Option<LeavingRequest>,
}

impl<'a> AuditLine<'a> {
    pub(crate) fn new(call: &'a CallId, metrics: &'a Metrics, request: &GuestRequest) -> Self {
        Self {
            call,
            metrics,
            start: Instant::now(),
            endpoint: request.endpoint.chars().take(NAME_CHARACTERS).collect(),
            method: request.method.as_str(),
            path: canonical::encode_path(&request.path).chars().take(PATH_CHARACTERS).collect(),
            rule: None,
            effect: None,
            operation: None,
            code: None,
            status: None,
            address: None,
            proxy: None,
            error: Some("the call ended first".to_owned()),
            is_joined: false,
            is_mute: false,
            watched: None,
            leaving: None,
        }
    }

    /// Tells somebody else of the request, too.
    pub(crate) fn watched_by(&mut self, watcher: Arc<dyn RequestWatcher>, request: &GuestRequest) {
        let sent = match &request.body {
            Some(Body::Bytes(bytes)) => bytes.len(),
            Some(Body::Form(_)) | None => 0,
        };
        self.watched = Some((watcher, WatchedRequest { sent, ..WatchedRequest::default() }));
    }

    /// Whether whoever watches lets the request leave.
    pub(crate) fn may_leave(&mut self, permitted: &Permitted) -> bool {
        let Some((watcher, watched)) = &mut self.watched else { return true };
        let leaving = LeavingRequest {
            endpoint: permitted.endpoint().name.clone(),
            method: permitted.method(),
            url: permitted.url(),
            operation: permitted.operation().map(str::to_owned),
            effect: permitted.effect(),
            rule: permitted.rule().to_owned(),
            body: permitted.body().clone(),
        };
        watched.url.clone_from(&leaving.url);
        (watched.effect, watched.sent) = (Some(leaving.effect), leaving.body.len());
        let may_leave = watcher.may_leave(&leaving);
        self.leaving = Some(leaving);
        may_leave
    }

    /// The answer of whoever watches, in the place of the cloud's.
    pub(crate) fn answer(&self) -> Option<Result<GuestResponse, SendError>> {
        let (watcher, _) = self.watched.as_ref()?;
        watcher.answer(self.leaving.as_ref()?)
    }

    /// Tells whoever watches what the provider gets to see.
    pub(crate) fn answered(&self, answer: &Result<GuestResponse, SendError>) {
        if let (Some((watcher, _)), Some(leaving)) = (&self.watched, &self.leaving) {
            watcher.answered(leaving, answer);
        }
    }

    /// Leaves the line out. The metrics count all the same.
    pub(crate) fn mute(&mut self) {
        self.is_mute = true;
    }

    pub(crate) fn permitted(&mut self, permitted: &Permitted) {
        self.rule = Some(permitted.rule().to_owned());
        self.proxy = permitted.endpoint().proxy.as_ref().map(|it| it.url.to_string());
        self.effect = Some(permitted.effect().as_str());
        self.operation = permitted.operation().map(|it| printable(it, NAME_CHARACTERS));
    }

    pub(crate) fn denied(&mut self, denied: &Denied) -> SendError {
        self.code = Some(denied.code.as_str());
        self.error = Some(denied.to_string());
        self.metrics.egress_denied.with_label_values(&[denied.code.as_str()]).inc();
        SendError::Denied(denied.to_string())
    }

    /// It was sent, or an equal read was.
    pub(crate) fn outcome(&mut self, outcome: &RequestOutcome, is_joined: bool) {
        self.is_joined = is_joined;
        self.address = outcome.address;
        self.status = outcome.answer.as_ref().ok().map(|it| it.status.as_u16());
        if let Some((_, watched)) = &mut self.watched {
            watched.received = outcome.answer.as_ref().map_or(0, |it| it.body.len());
        }
        self.error = None;
    }

    pub(crate) fn failed(&mut self, failure: &AnswerFailure) -> SendError {
        let (error, answer) = match failure {
            AnswerFailure::Denied(denied) => return self.denied(denied),
            AnswerFailure::Paused(after) => {
                (format!("not sent, the endpoint is free again in {after:?}"), SendError::RetryAfter(*after))
            }
            AnswerFailure::Unreachable(because) => (because.clone(), SendError::Unreachable(because.clone())),
            AnswerFailure::Interrupted(because) => (because.clone(), SendError::Interrupted(because.clone())),
        };
        self.error = Some(error);
        answer
    }
}

/// Counts one attempt on the wire, with or without an answer.
pub(crate) fn attempted(
    metrics: &Metrics,
    endpoint: &str,
    method: Method,
    status: Option<StatusCode>,
    duration: Duration,
) {
    let code = status.map_or_else(|| "error".to_owned(), |it| it.as_str().to_owned());
    metrics.cloud_requests.with_label_values(&[endpoint, method.as_str(), &code]).inc();
    let seconds = metrics.cloud_request_duration.with_label_values(&[endpoint, method.as_str()]);
    seconds.observe(duration.as_secs_f64());
}

impl Drop for AuditLine<'_> {
    fn drop(&mut self) {
        if let Some((watcher, watched)) = self.watched.take() {
            watcher.ended(&WatchedRequest {
                endpoint: self.endpoint.clone(),
                method: self.method.to_owned(),
                url: if watched.url.is_empty() { self.path.clone() } else { watched.url },
                operation: self.operation.clone(),
                status: self.status,
                duration: self.start.elapsed(),
                is_joined: self.is_joined,
                error: self.error.clone(),
                ..watched
            });
        }
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
            effect = self.effect,
            operation = self.operation,
            decision,
            rule,
            code = self.code,
            status = self.status,
            address = self.address.map(tracing::field::display),
            proxy = self.proxy,
            duration_ms = self.start.elapsed().as_millis() as u64,
            joined = self.is_joined,
            error = self.error,
        );
    }
}

#[cfg(test)]
mod tests {
    use prometheus::Registry;

    use super::*;
    use crate::testing::request;

    #[test]
    fn a_line_has_the_beginning_of_long_names_and_paths() {
        let call = CallId { provider: "acme".into(), function: "instances.list", id: 1 };
        let metrics = Metrics::register(&Registry::new()).unwrap();
        let long = "x".repeat(1 << 16);
        let request = GuestRequest { endpoint: long.clone(), ..request(Method::Get, &[&long]) };
        let mut entry = AuditLine::new(&call, &metrics, &request);
        entry.mute();
        assert_eq!((entry.endpoint.len(), entry.path.len()), (NAME_CHARACTERS, PATH_CHARACTERS));
    }
}
