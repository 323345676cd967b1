//! Events as client-go writes them: core/v1, in the background, repeated ones as a count, and never too many.

mod correlator;
pub(crate) mod recorded;
mod sender;

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Resource, ResourceExt};
use parking_lot::Mutex;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, UnboundedSender, channel, unbounded_channel};
use tracing::warn;

use self::recorded::{RecordedEvent, short};

pub use cloud_provider::EventKind;

/// Events that may wait to be sent; further ones are dropped.
const QUEUE: usize = 1000;

/// Writes events, for one component.
///
/// It never waits: events are sent by the future that [`Recorder::new`] returns. Ones that repeat become a count, more
/// than ten similar ones within ten minutes become one, and an object that has too many gets no more for a while.
#[derive(Clone)]
pub struct Recorder {
    queue: Sender<RecordedEvent>,
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
    pub(crate) fn captured() -> (Self, tokio::sync::mpsc::Receiver<RecordedEvent>) {
        let (queue, recorded) = channel(QUEUE);
        (Self { queue }, recorded)
    }

    /// Records that something happened to an object. `reason` is UpperCamelCase, `message` a sentence.
    pub fn record(&self, about: ObjectReference, kind: EventKind, reason: &str, message: &str) {
        // Cut before it waits: parts of it may be the words of others, and a thousand may wait.
        let (reason, message) = (reason.to_owned(), short(message));
        let recorded = RecordedEvent { about, kind, reason, message, at: Timestamp::now() };
        if let Err(TrySendError::Full(it) | TrySendError::Closed(it)) = self.queue.try_send(recorded) {
            let (object, reason, says) = (it.about.name, it.reason, it.message);
            warn!(object, reason, says, "an event was dropped: too many wait to be sent");
        }
    }
}

/// Where controllers get their [`Recorder`]s from: one for each component. Clones share them.
#[derive(Clone)]
pub struct Events {
    client: Client,
    recorders: Arc<Mutex<HashMap<&'static str, Recorder>>>,
    senders: UnboundedSender<BoxFuture<'static, ()>>,
}

impl Events {
    /// The future sends what is recorded: it ends when the events, and every recorder of theirs, are gone and what was
    /// recorded has been sent. It panics if a sender does.
    pub fn new(client: Client) -> (Self, impl Future<Output = ()> + Send) {
        let (senders, mut added) = unbounded_channel::<BoxFuture<'static, ()>>();
        let send = async move {
            let mut sending = FuturesUnordered::new();
            loop {
                tokio::select! {
                    Some(sender) = added.recv() => sending.push(sender),
                    Some(()) = sending.next() => {}
                    else => return,
                }
            }
        };
        (Self { client, recorders: Arc::default(), senders }, send)
    }

    /// The recorder whose events name `component` as their source.
    #[must_use]
    pub fn recorder(&self, component: &'static str) -> Recorder {
        let mut recorders = self.recorders.lock();
        let make = || {
            let (recorder, sender) = Recorder::new(self.client.clone(), component);
            // Without anybody who sends, events are dropped with a warning.
            let _ = self.senders.send(Box::pin(sender));
            recorder
        };
        recorders.entry(component).or_insert_with(make).clone()
    }
}

/// The namespace whose UID is the cluster's. Events about what has no object in the cluster any more are its.
pub(crate) const CLUSTER: &str = "kube-system";

/// The reference to that namespace.
pub(crate) fn cluster() -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Namespace".to_owned()),
        name: Some(CLUSTER.to_owned()),
        ..ObjectReference::default()
    }
}

/// The reference by which events name an object, as it was when it was read.
#[must_use]
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference { resource_version: object.resource_version(), ..object.object_ref(&()) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
