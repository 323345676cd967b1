//! Webhooks: all replicas answer them, whoever leads.

use std::sync::Arc;

use anyhow::Result;
use cloud_provider::Cloud;
use controllers::persistent_volume_labels::Admission;
use controllers::{Account, Nodes};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::flags::RunSettings;
use crate::telemetry::Health;
use crate::webhooks::{Metrics, WebhookServer};

/// The server of webhooks, from outside.
pub(super) struct ServedWebhooks {
    /// The parts with which it answers.
    admission: watch::Sender<Option<Arc<Admission>>>,
}

impl ServedWebhooks {
    /// Serves what the flags ask for, if the provider can answer it; nobody is admitted yet.
    pub(super) async fn serve(
        settings: &RunSettings,
        cloud: &Cloud,
        metrics: Metrics,
        health: &Health,
        tasks: &mut JoinSet<&'static str>,
    ) -> Result<Option<Self>> {
        let Some(flags) = &settings.webhooks else { return Ok(None) };
        if cloud.persistent_volumes.is_none() {
            let provider = &cloud.description.now().name;
            warn!(
                "the webhook cloud-pvl-admission is not served: the provider {provider} does not export \
                 aerostat:cloud/persistent-volumes"
            );
            return Ok(None);
        }
        let (admission, admits) = watch::channel(None);
        let server = WebhookServer::bind(flags, admits.clone(), metrics).await?;
        tasks.spawn(async move { match server.run().await {} });
        // Until then another replica may answer.
        health.add_to_readiness("webhooks", move || admits.borrow().is_some());
        Ok(Some(Self { admission }))
    }

    /// Answers from now on.
    pub(super) fn admit(&self, cloud: &Cloud, account: &Account, nodes: &Nodes) {
        let admission = Admission::new(cloud, account, nodes.clone()).map(Arc::new);
        self.admission.send_replace(admission);
        info!("the webhook cloud-pvl-admission answers");
    }
}
