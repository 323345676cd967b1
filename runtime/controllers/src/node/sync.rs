//! Reconciling one node: initialised, with labels that agree with each other.

use std::sync::Arc;
use std::time::Duration;

use crate::node_object::KubeNode;
use cloud_provider::{Error as CloudError, Instance};
use jiff::Timestamp;
use kube::ResourceExt;
use tracing::{debug, info, warn};

use crate::error::{self, BackOff, LONGEST_RETRY_AFTER, Pause, back_off, chain, pause};
use crate::events::{EventKind, reference};
use crate::node::controller::NodeController;
use crate::node::plan::{self, Discarded, Initialized};
use crate::node_fields::{is_waiting, provider_id};
use crate::object::{self, ObjectPart};
use crate::worker::{NextSync, Reconcile};

/// From so many failures in a row on, what time may heal is shown too: some ten seconds have passed.
const LASTING: u32 = 11;

/// Why a node could not be synced.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The cloud did not say which machine stands behind the node, or its answer was refused.
    #[error("failed to get instance metadata for node {node}")]
    Metadata {
        /// The node's name.
        node: String,
        /// Why.
        source: CloudError,
    },
    /// The cloud is certain that there is no machine. Another controller decides what becomes of the node.
    #[error("failed to get instance metadata for node {0}: instance not found")]
    NotFound(String),
    /// The machine and the node do not fit together.
    #[error(transparent)]
    Plan(#[from] plan::Error),
    /// The labels could not be written.
    #[error("failed update labels for node {node}")]
    Labels {
        /// The node's name.
        node: String,
        /// Why.
        source: object::Error,
    },
    /// The node could not be written.
    #[error(transparent)]
    Write(#[from] object::Error),
}

impl Error {
    /// When the node is tried again, after `failures` in a row before this one.
    pub(super) fn pause(&self, failures: u32) -> Pause {
        match self {
            Self::Metadata { source, .. } => pause(failures, source),
            Self::NotFound(_) | Self::Plan(_) | Self::Labels { .. } | Self::Write(_) => {
                Pause::AtLeast(back_off(failures))
            }
        }
    }

    /// The reason of the event that shows this to a person, after `failures` in a row before this one; `None` where time
    /// alone may heal it.
    pub(super) fn reason(&self, failures: u32) -> Option<&'static str> {
        let is_lasting = failures >= LASTING;
        match self {
            Self::Metadata { source: CloudError::Invalid(_), .. } => Some("InstanceMetadataInvalid"),
            Self::Metadata { source: CloudError::Denied(_), .. } => Some("InstanceMetadataDenied"),
            Self::NotFound(_) if is_lasting => Some("InstanceNotFound"),
            Self::Plan(plan::Error::NoProviderId(_)) if is_lasting => Some("NoProviderID"),
            Self::Plan(plan::Error::ProvidedNodeIp { .. }) if is_lasting => Some("ProvidedNodeIPInvalid"),
            _ => None,
        }
    }

    /// The rest of the event, after the error: how the node was looked for, and what a person can do.
    fn hint(&self, node: &KubeNode) -> Option<String> {
        let name = node.name_any();
        match self {
            Self::NotFound(_) => Some(match provider_id(node) {
                Some(id) => format!("; it was looked for by its provider id {id:?}"),
                None => format!("; it was looked for by the name {name:?}, which the machine must have in the cloud too"),
            }),
            Self::Plan(plan::Error::ProvidedNodeIp { .. }) => Some(
                "; correct the --node-ip of its kubelet, or name the private network in the provider's settings if the \
                 address is one of such a network"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// The next step, and who has to take it.
    pub(super) fn next(&self) -> &'static str {
        match self {
            Self::Metadata { source: CloudError::Denied(_), .. } => {
                "check the endpoint's credential, what it is entitled to, and what --cloud-config allows; \
                 tried again when the node changes, and every 5 minutes"
            }
            Self::Metadata { source: CloudError::Invalid(_), .. } => {
                "correct what the message names; tried again when the node changes, and every 5 minutes"
            }
            Self::Metadata { source: CloudError::RetryAfter { .. }, .. } => "tried again after the cloud's own pause",
            Self::Metadata { source: CloudError::Crashed { .. }, .. } => "tried again as the message says",
            Self::Metadata { source: CloudError::Unavailable(_), .. }
            | Self::NotFound(_)
            | Self::Plan(_)
            | Self::Write(_) => "tried again with growing pauses; the node keeps its taint",
            Self::Labels { .. } => "tried again with growing pauses",
        }
    }

    /// The pause that the cloud asked for, if it is longer than any that it gets.
    pub(super) fn cut_pause(&self) -> Option<Duration> {
        match self {
            Self::Metadata { source: CloudError::RetryAfter { after, .. }, .. } => {
                Some(*after).filter(|it| *it > LONGEST_RETRY_AFTER)
            }
            _ => None,
        }
    }
}

impl NodeController {
    /// Initialises a node that waits for it; of others, reconciles the labels.
    async fn reconcile(&self, name: &str) -> Result<(), Error> {
        let Some(node) = self.nodes.get(name) else { return Ok(()) };
        if !is_waiting(&node) {
            return self.reconcile_labels(&node).await;
        }
        if !self.inventory.covers(&node) {
            debug!(node = name, "the node belongs to another cloud; it is left alone");
            return Ok(());
        }
        let instance = self.inventory.joining(&node).await;
        let instance = instance.map_err(|source| Error::Metadata { node: name.to_owned(), source })?;
        let instance = instance.ok_or_else(|| Error::NotFound(name.to_owned()))?;

        // The cloud took its time, and kubelets write meanwhile: what was read before would be a conflict now.
        let fresh = self.nodes.get(name).filter(|it| it.metadata.uid == node.metadata.uid);
        let Some(node) = fresh else { return Ok(()) };
        let Some(initialized) = self.initialize(node.clone(), &instance).await? else { return Ok(()) };
        self.metrics.taint_removal_delay.observe(age(&node));
        // Addresses are status, which takes a write of its own. It comes after the taint has gone, as upstream has it
        // (`syncNode` and `updateNodeAddress`): for a moment a node has none but those that its kubelet has said.
        if let Err(error) = self.address(initialized.clone(), &instance).await {
            // The node works without: the next pass over all addresses tries again.
            tracing::error!(node = name, "Error patching node with cloud ip addresses = [{}]", chain(&error));
        }
        info!(node = name, provider_id = provider_id(&initialized), "the node is initialised");
        self.recorder.record(reference(initialized.as_ref()), EventKind::Normal, "Synced", "Node synced successfully");
        self.metrics.initial_sync_delay.observe(age(&node));
        Ok(())
    }

    /// Writes provider id and labels, and takes the taint away, all at once.
    async fn initialize(&self, node: Arc<KubeNode>, instance: &Instance) -> Result<Option<Arc<KubeNode>>, Error> {
        let name = node.name_any();
        let claimed = instance.provider_id.as_deref();
        if let Some(provider_id) = claimed
            && !self.nodes.claim(provider_id, &name, instance)
        {
            let error = format!("machine {provider_id} has just become another node's");
            return Err(Error::Metadata { node: name, source: CloudError::Invalid(error) });
        }
        let mut warned = false;
        let written = self.write(node, ObjectPart::Object, |current| {
            let Initialized { node, discarded } = plan::initialized(current, instance)?;
            if !std::mem::replace(&mut warned, true) {
                warn_of(&name, &discarded);
            }
            Ok(node)
        });
        let written = written.await;
        if let (Some(provider_id), Err(_) | Ok(None)) = (claimed, &written) {
            self.nodes.release(provider_id, &name);
        }
        written
    }

    /// Writes the addresses of the node's machine.
    pub(super) async fn address(&self, node: Arc<KubeNode>, instance: &Instance) -> Result<(), Error> {
        self.write(node, ObjectPart::Status, |it| Ok(plan::addressed(it, instance)?)).await.map(drop)
    }

    async fn reconcile_labels(&self, node: &KubeNode) -> Result<(), Error> {
        match object::update(&self.api, node, &plan::reconciled(node), ObjectPart::Object).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_gone() => Ok(()),
            Err(source) => Err(Error::Labels { node: node.name_any(), source }),
        }
    }
}

impl Reconcile for NodeController {
    type Error = Error;

    async fn sync(&self, name: &str) -> Result<NextSync, Error> {
        self.reconcile(name).await.map(|()| NextSync::Done)
    }

    // In the log, and where a person has to act also on the node.
    fn show(&self, name: &str, error: &Error, failures: u32) {
        let text = chain(error);
        warn!(next = error.next(), "error syncing '{name}': {text}, requeuing");
        if let Some(asked) = error.cut_pause() {
            warn!(node = name, "the cloud asks for a pause of {} s; it gets an hour", asked.as_secs());
        }
        if let (Some(reason), Some(node)) = (error.reason(failures), self.nodes.get(name)) {
            let message = text + error.hint(&node).as_deref().unwrap_or_default();
            self.recorder.record(reference(node.as_ref()), EventKind::Warning, reason, &message);
        }
    }

    fn pause(&self, error: &Error, failures: u32) -> Pause {
        error.pause(failures)
    }

    fn back_off(&self) -> BackOff {
        error::NODES
    }
}

fn warn_of(node: &str, discarded: &[Discarded]) {
    for label in discarded {
        match label {
            Discarded::Reserved(key) => warn!(node, "Discarding node label {key} with kubernetes namespace"),
            Discarded::Present(key) => warn!(node, "Discarding node label {key} that is already present"),
        }
    }
}

/// How long ago the node was created, in seconds.
fn age(node: &KubeNode) -> f64 {
    let created = node.metadata.creation_timestamp.as_ref().map_or_else(Timestamp::now, |it| it.0);
    Timestamp::now().duration_since(created).as_secs_f64().max(0.0)
}
