//! The leader, as the API server knows it.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams};
use tests::control_plane::ControlPlane;
use tests::wait;

/// How long an election may take. A Lease that was not released holds for 15 s, and is read every 2 to 4.4 s.
const PATIENCE: Duration = Duration::from_secs(60);

const LEASE: &str = "cloud-controller-manager";

/// The lease that all contenders lead by.
pub(crate) struct Leadership {
    leases: Api<Lease>,
}

impl Leadership {
    pub(crate) async fn of(control_plane: &ControlPlane) -> Result<Leadership> {
        Ok(Leadership { leases: Api::namespaced(control_plane.admin().await?, "kube-system") })
    }

    /// Takes the Lease from a holder that has not released it.
    pub(crate) async fn clear(&self) -> Result<()> {
        match self.leases.delete(LEASE, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            result => result.map(drop).context("cannot delete the lease"),
        }
    }

    /// The present leader.
    pub(crate) async fn leader(&self) -> Result<Option<String>> {
        let lease = self.leases.get_opt(LEASE).await?;
        Ok(lease.and_then(|it| it.spec?.holder_identity).filter(|it| !it.is_empty()))
    }

    /// Waits until another one than `before` leads.
    pub(crate) async fn wait_for_another(&self, before: Option<&str>) -> Result<String> {
        let found = wait::within(PATIENCE, async || self.leader().await.ok()?.filter(|it| Some(it.as_str()) != before));
        found.await.context("nobody leads")
    }
}
