//! Reconciling one volume: labelled, and with a node affinity if it had none.

use std::sync::Arc;

use cloud_provider::{Event as ProviderEvent, Topology};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::LabelController;
use super::error::Error;
use super::plan::{self, Ask, LabelMoment};
use crate::error::{self, BackOff, Pause, chain};
use crate::events::{EventKind, reference};
use crate::object::{self, ObjectPart};
use crate::worker::{NextSync, Reconcile, random};

/// So many of a provider's events about one answer are recorded.
const EVENTS: usize = 10;

impl LabelController {
    async fn reconcile(&self, name: &str) -> Result<(), Error> {
        let Some(pv) = self.get(name).filter(|it| plan::is_worth_a_look(None, it, &self.limits())) else {
            return Ok(());
        };
        let Some(topology) = self.topology(&pv).await? else { return Ok(()) };
        // The cloud took its time, and the volume may be another by now.
        let Some(pv) = self.get(name).filter(|it| it.metadata.uid == pv.metadata.uid) else { return Ok(()) };
        let Some(patch) = plan::patched(&pv, &topology, LabelMoment::Later) else { return Ok(()) };
        let planned = |pv: &PersistentVolume| {
            let patch = plan::patched(pv, &topology, LabelMoment::Later);
            Ok::<_, object::Error>(patch.map_or_else(|| pv.clone(), |patch| plan::with(pv, &patch)))
        };
        let latest = || self.get(name);
        match object::update_latest(&self.api, pv, ObjectPart::Object, planned, latest, random).await {
            Ok(Some(written)) => {
                let labels: Vec<_> = patch.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
                let affinity = patch.node_affinity.is_some();
                info!(volume = name, affinity, "the volume is labelled: {}", labels.join(", "));
                self.warn_without_nodes(&written, &topology);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(source) => Err(Error::Write { volume: name.to_owned(), source }),
        }
    }

    /// Where a volume is, by its own labels or by the cloud's word; `None` if there is nothing to write.
    async fn topology(&self, pv: &Arc<PersistentVolume>) -> Result<Option<Topology>, Error> {
        let name = pv.name_any();
        match plan::ask(pv, &self.limits()) {
            Ask::Nothing => Ok(None),
            Ask::FromLabels(topology) => Ok(Some(topology)),
            Ask::Invalid(objection) => Err(Error::Volume { volume: name, objection }),
            Ask::Cloud(volume) => {
                // It may be this one over which a provider fails that is asked about several.
                let alone = self.queue.failures(&name) > 0;
                let (answer, events) = self.questions.ask(volume, alone).await;
                self.record_provider_events(pv, events);
                let topology = answer.map_err(|source| Error::Cloud { volume: name.clone(), source })?;
                if topology.is_none() {
                    debug!(volume = name, "the cloud does not have the volume; its PersistentVolume stays as it is");
                }
                Ok(topology)
            }
        }
    }

    fn record_provider_events(&self, pv: &PersistentVolume, events: Vec<ProviderEvent>) {
        let mut recorded = self.events.lock();
        for event in events.into_iter().take(EVENTS) {
            if recorded.is_new(&pv.name_any(), &event, Instant::now()) {
                self.recorder.record(reference(pv), event.kind, &event.reason, &event.message);
            }
        }
    }

    /// Warns about a volume that no pod can use, because no node is where it is.
    fn warn_without_nodes(&self, pv: &PersistentVolume, topology: &Topology) {
        let nodes = self.nodes.all();
        for (key, values) in plan::without_nodes(topology, nodes.iter().filter_map(|it| it.metadata.labels.as_ref())) {
            let message = super::admission::without_nodes(key, &values);
            warn!(volume = pv.name_any(), "{message}");
            self.recorder.record(reference(pv), EventKind::Warning, "NoNodeInTopology", &message);
        }
    }
}

impl Reconcile for LabelController {
    type Error = Error;

    async fn sync(&self, name: &str) -> Result<NextSync, Error> {
        self.reconcile(name).await.map(|()| NextSync::Done)
    }

    // In the log, and on the volume.
    fn show(&self, name: &str, error: &Error, _: u32) {
        let text = chain(error);
        warn!(next = error.next(), "error syncing '{name}': {text}, requeuing");
        if let Some(pv) = self.get(name).filter(|_| error.is_shown()) {
            self.recorder.record(reference(pv.as_ref()), EventKind::Warning, "VolumeNotLabelled", &text);
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        error::NODES
    }
}
