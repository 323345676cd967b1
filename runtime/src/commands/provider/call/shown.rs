//! Requests as they are shown, and the first that would write, where a call has to stop.

use egress::{Effect, Egress, LeavingRequest, RequestWatcher, WatchedRequest};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// The text in the place of one that holds a secret. No provider knows any: it is for a fault of ours.
const WITHHELD: &str = "(it holds a credential, and is withheld)";

/// The requests of one call.
pub(super) struct ShownRequests {
    /// Knows the secrets.
    egress: Egress,
    stops_at_writes: bool,
    /// Whether each is printed when it has ended.
    is_live: bool,
    ended: Mutex<Vec<WatchedRequest>>,
    stopped: Mutex<Option<LeavingRequest>>,
    stop: Notify,
}

impl ShownRequests {
    pub(super) fn new(egress: Egress, stops_at_writes: bool, is_live: bool) -> Self {
        let (ended, stopped, stop) = (Mutex::default(), Mutex::default(), Notify::new());
        Self { egress, stops_at_writes, is_live, ended, stopped, stop }
    }

    /// Waits for a request that would write, if the call has to stop there.
    pub(super) async fn stopped(&self) -> Value {
        self.stop.notified().await;
        let request = self.stopped.lock().clone();
        let Some(request) = request else { return Value::Null };
        let LeavingRequest { endpoint, method, url, operation, effect, rule, body } = request;
        if self.is_live {
            let operation = operation.as_ref().map_or_else(String::new, |it| format!(" {it}"));
            eprintln!("stopped before {method} {}{operation} ({effect}, by {rule})", self.safe(&url));
        }
        json!({
            "endpoint": endpoint,
            "method": method.as_str(),
            "url": self.safe(&url),
            "operation": operation,
            "effect": effect.as_str(),
            "rule": rule,
            "body": self.body(&body),
        })
    }

    /// Whether a request was not sent because it would have written.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped.lock().is_some()
    }

    /// The requests that have ended, for programs.
    pub(super) fn requests(&self) -> Vec<Value> {
        let of = |request: &WatchedRequest| {
            json!({
                "endpoint": request.endpoint,
                "method": request.method,
                "url": self.safe(&request.url),
                "operation": request.operation,
                "effect": request.effect.map(Effect::as_str),
                "status": request.status,
                "milliseconds": request.duration.as_millis() as u64,
                "sentBytes": request.sent,
                "receivedBytes": request.received,
                "fromMemory": request.is_joined,
                "error": request.error.as_deref().map(|it| self.safe(it)),
            })
        };
        self.ended.lock().iter().map(of).collect()
    }

    /// A body as JSON, if it is JSON; else as text.
    fn body(&self, body: &[u8]) -> Value {
        if body.is_empty() {
            return Value::Null;
        }
        let text = String::from_utf8_lossy(body);
        match self.safe(&text) {
            WITHHELD => json!(WITHHELD),
            text => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        }
    }

    fn safe<'a>(&self, text: &'a str) -> &'a str {
        if self.egress.holds_secret(text) { WITHHELD } else { text }
    }

    /// `GET https://api.acme.example/v1/machines/web-1 200, 12 ms, 231 bytes`
    fn line(&self, request: &WatchedRequest) -> String {
        let operation = request.operation.as_ref().map_or_else(String::new, |it| format!(" {it}"));
        let milliseconds = request.duration.as_millis();
        let outcome = match (request.status, &request.error) {
            (Some(status), _) => {
                let from = if request.is_joined { ", from memory" } else { "" };
                format!("{status}, {milliseconds} ms, {} bytes{from}", request.received)
            }
            (None, Some(error)) => format!("no answer, {milliseconds} ms: {}", self.safe(error)),
            (None, None) => format!("no answer, {milliseconds} ms"),
        };
        format!("{} {}{operation} {outcome}", request.method, self.safe(&request.url))
    }
}

impl RequestWatcher for ShownRequests {
    fn may_leave(&self, request: &LeavingRequest) -> bool {
        let mut stopped = self.stopped.lock();
        if stopped.is_some() {
            return false;
        }
        if !self.stops_at_writes || request.effect == Effect::Read {
            return true;
        }
        *stopped = Some(request.clone());
        self.stop.notify_one();
        false
    }

    fn ended(&self, request: &WatchedRequest) {
        // The request before which the call has stopped, and whatever the provider tries then.
        if self.stopped.lock().is_some() {
            return;
        }
        if self.is_live {
            eprintln!("{}", self.line(request));
        }
        self.ended.lock().push(request.clone());
    }
}
