//! Sending events, one after the other, each with twelve tries.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use tokio::sync::mpsc::Receiver;
use tracing::{debug, warn};

use crate::error::chain;
use crate::events::correlator::{Correlator, EventVerdict, patch};
use crate::events::recorded::RecordedEvent;
use crate::object::{Error, answer};

/// How many times an event is sent before it is given up.
const TRIES: u32 = 12;
/// The pause between them.
const PAUSE: Duration = Duration::from_secs(10);

/// Sends what comes, until nobody can record any more.
pub(super) async fn send(client: Client, component: &str, mut queue: Receiver<RecordedEvent>) {
    let mut correlator = Correlator::default();
    while let Some(recorded) = queue.recv().await {
        let verdict = correlator.correlate(recorded.event(component), Timestamp::now());
        for attempt in 1..=TRIES {
            match write(&client, &verdict).await {
                Ok(()) => break,
                Err(Error::Refused(status)) => {
                    if status.reason != "AlreadyExists" {
                        let because = status.message;
                        warn!(because, event = ?verdict, "the API server refused an event; it is not sent again");
                    }
                    break;
                }
                Err(error) if attempt < TRIES => {
                    debug!(error = chain(&error), "cannot send an event; trying again");
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => warn!(error = chain(&error), event = ?verdict, "cannot send an event; giving up"),
            }
        }
    }
}

async fn write(client: &Client, verdict: &EventVerdict) -> Result<(), Error> {
    match verdict {
        EventVerdict::Drop => Ok(()),
        EventVerdict::Create(event) => create(client, event).await,
        EventVerdict::Count(event) => {
            let (name, count) = (event.metadata.name.as_deref().unwrap_or_default(), Patch::Merge(patch(event)));
            let params = PatchParams::default();
            match answer(async { api(client, event).patch(name, &params, &count).await }).await {
                // The first one is not there any more: events live for an hour.
                Err(error) if error.is_gone() => create(client, event).await,
                written => written.map(drop),
            }
        }
    }
}

async fn create(client: &Client, event: &Event) -> Result<(), Error> {
    answer(async { api(client, event).create(&PostParams::default(), event).await }).await.map(drop)
}

fn api(client: &Client, event: &Event) -> Api<Event> {
    Api::namespaced(client.clone(), event.metadata.namespace.as_deref().unwrap_or("default"))
}
