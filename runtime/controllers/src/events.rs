//! Events as client-go writes them: core/v1, in the background, repeated ones as a count, and never too many.

mod correlator;
mod sender;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{Client, Resource, ResourceExt};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};
use tracing::warn;

pub use cloud_provider::EventKind;
use cloud_provider::printable;

/// Events that may wait to be sent; further ones are dropped.
const QUEUE: usize = 1000;

/// How long a message may be, in bytes, as `events.k8s.io` allows.
const MESSAGE: usize = 1024;

/// Writes events, for one component.
///
/// It never waits: events are sent by the future that [`Recorder::new`] returns. Ones that repeat become a count, more
/// than ten similar ones within ten minutes become one, and an object that has too many gets no more for a while.
#[derive(Clone)]
pub struct Recorder {
    queue: Sender<Recorded>,
}

/// Something that happened, until it is sent: much smaller than the event that it becomes.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) about: ObjectReference,
    pub(crate) kind: EventKind,
    pub(crate) reason: String,
    pub(crate) message: String,
    at: Timestamp,
}

impl Recorder {
    /// A recorder whose events name `component` as their source, and the future that sends them: it ends when every
    /// clone of the recorder is gone and what was recorded has been sent.
    pub fn new(client: Client, component: &'static str) -> (Self, impl Future<Output = ()> + Send) {
        let (queue, recorded) = channel(QUEUE);
        (Self { queue }, sender::send(client, component, recorded))
    }

    /// A recorder whose events come out of a channel.
    #[cfg(test)]
    pub(crate) fn captured() -> (Self, tokio::sync::mpsc::Receiver<Recorded>) {
        let (queue, recorded) = channel(QUEUE);
        (Self { queue }, recorded)
    }

    /// Records that something happened to an object. `reason` is UpperCamelCase, `message` a sentence.
    pub fn record(&self, about: ObjectReference, kind: EventKind, reason: &str, message: &str) {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        let recorded = Recorded { about, kind, reason, message, at: Timestamp::now() };
        if let Err(TrySendError::Full(it) | TrySendError::Closed(it)) = self.queue.try_send(recorded) {
            let (object, reason, says) = (it.about.name, it.reason, it.message);
            warn!(object, reason, says, "an event was dropped: too many wait to be sent");
        }
    }
}

/// What events call an object, as it was when it was looked at.
#[must_use]
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference { resource_version: object.resource_version(), ..object.object_ref(&()) }
}

impl Recorded {
    /// The event as it is first written.
    fn event(self, component: &str) -> Event {
        let Self { about, kind, reason, message, at } = self;
        let name = format!("{}.{:x}", about.name.as_deref().unwrap_or_default(), at.as_nanosecond());
        let namespace = about.namespace.clone().filter(|it| !it.is_empty()).unwrap_or_else(|| "default".to_owned());
        let kind = match kind {
            EventKind::Normal => "Normal",
            EventKind::Warning => "Warning",
        };
        Event {
            metadata: ObjectMeta { name: Some(name), namespace: Some(namespace), ..ObjectMeta::default() },
            involved_object: about,
            type_: Some(kind.to_owned()),
            reason: Some(reason),
            message: Some(short(&message)),
            source: Some(EventSource { component: Some(component.to_owned()), host: None }),
            reporting_component: Some(component.to_owned()),
            reporting_instance: Some(String::new()),
            count: Some(1),
            first_timestamp: Some(Time(at)),
            last_timestamp: Some(Time(at)),
            ..Event::default()
        }
    }
}

/// What an event may say of a message: parts of it may be the words of a kubelet, of a Service's author or of a cloud.
fn short(message: &str) -> String {
    printable(message, MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(about: ObjectReference, kind: EventKind, reason: &str, message: &str, at: Timestamp) -> Recorded {
        Recorded { about, kind, reason: reason.into(), message: message.into(), at }
    }

    #[test]
    fn a_message_has_a_kibibyte_at_most() {
        assert_eq!(short(&"x".repeat(1024)), "x".repeat(1024));
        let cut = short(&"ä".repeat(600));
        assert_eq!((cut.len(), cut.ends_with("ä…")), (1023, true));
    }

    #[test]
    fn a_message_is_one_printable_line() {
        assert_eq!(short("node \"a\n\u{202e}b\""), "node \"a\\n\\u{202e}b\"");
    }

    #[test]
    fn an_event_has_what_client_go_writes() {
        let about = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Node".into()),
            name: Some("n1".into()),
            uid: Some("u-1".into()),
            resource_version: Some("7".into()),
            ..ObjectReference::default()
        };
        let now = Timestamp::from_nanosecond(1_800_000_000_000_000_255).unwrap();
        let event = recorded(about, EventKind::Normal, "Synced", "Node synced successfully", now)
            .event("cloud-node-controller");
        let expected = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "name": "n1.18fae27693b400ff", "namespace": "default" },
            "involvedObject": {
                "apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-1", "resourceVersion": "7",
            },
            "type": "Normal",
            "reason": "Synced",
            "message": "Node synced successfully",
            "source": { "component": "cloud-node-controller" },
            "reportingComponent": "cloud-node-controller",
            "reportingInstance": "",
            "count": 1,
            "firstTimestamp": "2027-01-15T08:00:00Z",
            "lastTimestamp": "2027-01-15T08:00:00Z",
        });
        assert_eq!(serde_json::to_value(event).unwrap(), expected);
    }

    #[test]
    fn an_event_lies_beside_its_object() {
        let about = ObjectReference { namespace: Some("kube-system".into()), ..ObjectReference::default() };
        let event = recorded(about, EventKind::Warning, "R", "m", Timestamp::UNIX_EPOCH).event("c");
        assert_eq!(event.metadata.namespace.as_deref(), Some("kube-system"));
        assert_eq!(event.type_.as_deref(), Some("Warning"));
    }

    #[test]
    fn a_recorder_drops_what_does_not_fit_into_its_queue() {
        let (recorder, mut queue) = Recorder::captured();
        for _ in 0..QUEUE + 5 {
            recorder.record(ObjectReference::default(), EventKind::Normal, "R", "m");
        }
        let mut queued = 0;
        while queue.try_recv().is_ok() {
            queued += 1;
        }
        assert_eq!(queued, QUEUE);
    }
}
