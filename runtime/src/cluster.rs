//! The cluster as its provider knows it: by the UID of a namespace that every cluster has once.

use std::time::Duration;

use cloud_provider::Cluster;
use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::Api;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::flags::RunSettings;

/// The namespace whose UID is the cluster's: nobody can delete it.
const NAMESPACE: &str = "kube-system";

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The first pause between two attempts, and the longest: the first doubles.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Reads what names the cluster. Returns only once it is known: a provider that does not know it could not mark what it
/// makes as this cluster's.
pub(crate) async fn read(client: &Client, settings: &RunSettings) -> Cluster {
    let (mut pause, mut told) = (PAUSE, String::new());
    loop {
        match uid(client).await {
            Ok(uid) => {
                info!("the cluster is {uid}, by the UID of the namespace {NAMESPACE}");
                let pod_cidrs = settings.cluster_cidrs.iter().map(ToString::to_string).collect();
                return Cluster { name: settings.cluster_name.clone(), uid, pod_cidrs };
            }
            Err(cause) if cause != told => {
                warn!(
                    "cannot read the UID of the namespace {NAMESPACE}, which marks what belongs to this cluster: {cause}; \
                     aerostat's identity needs the right to get that namespace; trying again with growing pauses, and \
                     nothing is asked of the cloud until then"
                );
                told = cause;
            }
            Err(_) => {}
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn uid(client: &Client) -> Result<String, String> {
    let answer = timeout(LIMIT, Api::<Namespace>::all(client.clone()).get_metadata(NAMESPACE)).await;
    let namespace = answer
        .map_err(|_| format!("the API server did not answer within {} s", LIMIT.as_secs()))?
        .map_err(|error| controllers::chain(&error))?;
    namespace.metadata.uid.filter(|it| !it.is_empty()).ok_or_else(|| "it has no UID".to_owned())
}
