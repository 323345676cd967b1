//! Events about volumes, each once in ten minutes.

use cloud_provider::Event as ProviderEvent;
use k8s_openapi::api::core::v1::ObjectReference;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::events::{EventKind, Recorder};
use crate::provider_events::ProviderEvents;

/// So many of a provider's events about one answer are recorded.
const EVENTS: usize = 10;

/// The events of one controller of volumes.
pub(crate) struct VolumeEvents {
    recorder: Recorder,
    recorded: Mutex<ProviderEvents>,
}

impl VolumeEvents {
    pub(crate) fn new(recorder: Recorder) -> Self {
        Self { recorder, recorded: Mutex::default() }
    }

    /// Records what has happened, however often.
    pub(crate) fn tell(&self, about: ObjectReference, kind: EventKind, reason: &str, message: &str) {
        self.recorder.record(about, kind, reason, message);
    }

    /// Records a provider's events about an object, each once in ten minutes.
    pub(crate) fn record(&self, object: &str, about: &ObjectReference, events: Vec<ProviderEvent>) {
        let mut recorded = self.recorded.lock();
        for event in events.into_iter().take(EVENTS) {
            if recorded.is_new(object, &event, Instant::now()) {
                self.recorder.record(about.clone(), event.kind, &event.reason, &event.message);
            }
        }
    }

    /// Records a warning unless it was recorded in the last ten minutes, but for the numbers of requests in it.
    /// Returns whether it is recorded.
    pub(crate) fn warn_once(&self, object: &str, about: &ObjectReference, reason: &str, message: &str) -> bool {
        let kind = EventKind::Warning;
        let message_alone = without_requests(message);
        let event = ProviderEvent { about: None, kind, reason: reason.to_owned(), message: message_alone };
        let is_new = self.recorded.lock().is_new(object, &event, Instant::now());
        if is_new {
            self.recorder.record(about.clone(), kind, reason, message);
        }
        is_new
    }
}

/// A message without the ids of requests, which are others each time.
pub(crate) fn without_requests(message: &str) -> String {
    let mut text = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (request ") {
        text.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases: csi 31
    #[test]
    fn messages_that_differ_in_a_request_id_are_one() {
        let one = without_requests("POST /volumes: 500 busy (request a1): later");
        assert_eq!(one, without_requests("POST /volumes: 500 busy (request b2): later"));
        assert_eq!(one, "POST /volumes: 500 busy: later");
        assert_eq!(without_requests("no id (request"), "no id (request");
        assert_eq!(without_requests("cut (request a"), "cut");
    }
}
