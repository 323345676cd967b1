//! Recorded events: from the call until they are sent.

use cloud_provider::{EventKind, printable};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// How long a message may be, in bytes, as `events.k8s.io` allows.
const MESSAGE: usize = 1024;

/// Something that happened, until it is sent: much smaller than the event that it becomes.
#[derive(Debug)]
pub(crate) struct RecordedEvent {
    pub(crate) about: ObjectReference,
    pub(crate) kind: EventKind,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(super) at: Timestamp,
}

impl RecordedEvent {
    /// The event as it is first written.
    pub(super) fn event(self, component: &str) -> Event {
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

/// The part of a message that an event may have: some of it may be the words of a kubelet, of a Service's author or of
/// a cloud.
pub(super) fn short(message: &str) -> String {
    printable(message, MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(about: ObjectReference, kind: EventKind, reason: &str, message: &str, at: Timestamp) -> RecordedEvent {
        RecordedEvent { about, kind, reason: reason.into(), message: message.into(), at }
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
}
