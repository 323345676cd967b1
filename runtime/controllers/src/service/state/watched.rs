//! Changes of one Service and of nodes that the watches bring, and their meaning for it.

use std::sync::Arc;

use cloud_provider::LoadBalancer;
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;

use super::ServiceState;
use super::stage::SyncStage;
use super::steps::EventEffect;
use crate::events::reference;
use crate::service::backends::BackendNode;
use crate::service::error::FailureKind;
use crate::service::status;
use crate::version;

impl ServiceState {
    /// Whether these annotations, which nobody knows, are others than those that were recorded last.
    pub(crate) fn are_new(&mut self, unknown: &[&str]) -> bool {
        let are_new = !unknown.is_empty() && self.observed.unknown != unknown;
        if self.observed.unknown != unknown {
            self.observed.unknown = unknown.iter().map(|it| (*it).to_owned()).collect();
        }
        are_new
    }

    /// The Service is as we left it.
    pub(crate) fn wrote(&mut self, written: &Arc<Service>) {
        self.work.current = status::current(written);
        self.observed.about = reference(written.as_ref());
        self.observed.written = Some(written.clone());
    }

    /// The newer one of what the watch knows and what we wrote.
    pub(crate) fn newest(&self, watched: Arc<Service>) -> Arc<Service> {
        match &self.observed.written {
            Some(written) if self.uid_of(&watched) && is_newer(written, &watched) => written.clone(),
            _ => watched,
        }
    }

    /// The meaning of the watch's present Service for the work: `desired` if it wants a load balancer, and
    /// whether that has to go otherwise.
    pub(crate) fn effect(&mut self, watched: &Service, desired: Option<&LoadBalancer>, has_to_go: bool) -> EventEffect {
        if !self.uid_of(watched) {
            return self.vanished();
        }
        if self.observed.written.as_ref().is_some_and(|it| is_newer(it, watched)) {
            return EventEffect::None;
        }
        self.observed.written = None;
        self.observed.about = reference(watched);
        let other_memo = status::memo(watched) != self.work.memo.as_deref();
        match (desired, self.work.state.stage()) {
            (Some(_), SyncStage::Deleting | SyncStage::Gone) => EventEffect::Add,
            (Some(desired), _) if self.desired() != Some(desired) => EventEffect::Add,
            (Some(_), _) if other_memo && self.work.unwritten.is_some() => EventEffect::AddIfIdle,
            (Some(_), _) if other_memo => EventEffect::Add,
            (Some(_), _) => EventEffect::None,
            (None, SyncStage::Deleting) if has_to_go => EventEffect::AddIfIdle,
            (None, _) if has_to_go => EventEffect::AddDespitePause,
            (None, SyncStage::Gone) => EventEffect::Forget,
            (None, _) => EventEffect::Add,
        }
    }

    /// The meaning of the Service's end for the work. A deletion that has begun keeps its own pause.
    pub(crate) fn vanished(&self) -> EventEffect {
        if self.is_deleting() { EventEffect::Add } else { EventEffect::AddDespitePause }
    }

    /// Whether it has to be asked about because other nodes take traffic. What failed comes back by itself, unless it had
    /// no nodes, or the wrong ones; so does what is pending. They see the nodes as they are by then.
    pub(crate) fn lacks(&self, backends: &[BackendNode]) -> bool {
        let waits_for_nodes = match self.work.state.stage() {
            SyncStage::Settled => true,
            SyncStage::New | SyncStage::Ensuring => {
                self.backends().is_empty() || self.work.failure_kind == FailureKind::InvalidSpec
            }
            SyncStage::Pending | SyncStage::Deleting | SyncStage::Gone => false,
        };
        waits_for_nodes && self.backends() != backends
    }

    fn uid_of(&self, service: &Service) -> bool {
        service.metadata.uid.as_deref().unwrap_or_default() == self.uid
    }
}

/// Whether one version of a Service is newer than another.
fn is_newer(one: &Service, other: &Service) -> bool {
    let version = |it: &Service| it.resource_version().unwrap_or_default();
    version::is_newer(&version(one), &version(other))
}
