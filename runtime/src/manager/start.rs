//! How a controller starts: at once, or when the API server allows what it needs, and nothing else waits for that.

use std::pin::pin;
use std::sync::Arc;

use ::controllers::{Context, EventKind, Recorder};
use anyhow::anyhow;
use cloud_provider::Cloud;
use k8s_openapi::api::core::v1::ObjectReference;
use tracing::{info, warn};

use super::{controllers, node_ipam};
use crate::failure::Failure;
use crate::flags::{ControllerName, RunSettings};
use crate::permissions::{Permissions, RoleRule};
use crate::telemetry::{Health, Metrics};

/// How a controller ends: with its name, when it was asked to, or with what keeps it from its work.
type TaskEnd = Result<&'static str, Failure>;

/// One controller, and what it is made of.
pub(super) struct ControllerStart {
    pub(super) controller: ControllerName,
    pub(super) context: Arc<Context>,
    pub(super) cloud: Cloud,
    pub(super) settings: RunSettings,
    /// The Leases under which it writes, if it has to know.
    pub(super) held: node_ipam::HeldLeases,
    /// The object of events that concern no object of the cluster; `None` without leader election.
    pub(super) lease: Option<ObjectReference>,
    pub(super) health: Arc<Health>,
    pub(super) running: Metrics,
}

/// The rights that a controller lacks, and how it learns that it has got them.
pub(super) struct Lacking {
    /// The rights that were missing before the Lease was sought.
    pub(super) missing: Vec<RoleRule>,
    pub(super) permissions: Permissions,
    /// The recorder of events on the Lease; `None` without leader election.
    pub(super) recorder: Option<Recorder>,
}

impl ControllerStart {
    /// Makes the controller, which counts as running from now on; `None` if it has nothing to do.
    pub(super) fn now(self) -> Option<impl Future<Output = TaskEnd> + Send + use<>> {
        let Self { controller, context, cloud, settings, held, lease, health, running } = self;
        let task = match controller {
            ControllerName::NodeIpam => node_ipam::task(&settings, held, &context, &cloud),
            _ => controllers::new(controller, &context, &cloud, &settings, lease),
        }?;
        let (name, liveness) = (controller.name(), task.liveness());
        health.add(name, move || !liveness.is_stuck());
        running.started(controller);
        info!("started {name}");
        Some(async move {
            let ended = task.await;
            ended.map(|()| name).map_err(|error| anyhow!("{name} cannot work: {error}").into())
        })
    }

    /// Waits for what the controller lacks, or until it is `stopped`, and then is the controller.
    pub(super) async fn when_allowed(self, lacking: Lacking, stopped: impl Future<Output = ()> + Send) -> TaskEnd {
        let (mut stopped, name) = (pin!(stopped), self.controller.name());
        let Lacking { missing, permissions, recorder } = lacking;
        self.health.stopped(name, true);
        let count = |missing: &[RoleRule]| {
            let rights = missing.iter().map(|it| it.verbs.len()).sum();
            self.running.waits(self.controller, rights);
        };
        count(&missing);
        let say = |missing: &[RoleRule], advice: &str| {
            count(missing);
            let message = format!(
                "{name} does not run: the API server does not allow what it needs: {advice}. It is asked again by itself, and the \
                 controller starts when that is allowed; no other controller waits for it"
            );
            warn!("{message}");
            if let Some((recorder, lease)) = recorder.as_ref().zip(self.lease.as_ref()) {
                recorder.record(lease.clone(), EventKind::Warning, "PermissionsMissing", &message);
            }
        };
        tokio::select! {
            () = &mut stopped => return Ok(name),
            () = permissions.wait_for(&missing, say) => {}
        }
        self.health.stopped(name, false);
        // It gives its recorder back, so that the last events can be sent.
        drop(recorder);
        match self.now() {
            Some(running) => running.await,
            None => {
                stopped.await;
                Ok(name)
            }
        }
    }
}
