//! The cluster as its provider knows it: by the UID of a namespace that every cluster has once.

use std::time::Duration;

use cloud_provider::{Cluster, ConfigMapKey, is_printable};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Client;
use kube::api::{Api, PostParams};
use sandbox::Digest;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::config::ConfigMapName;
use crate::flags::RunSettings;

/// The namespace whose UID is the cluster's: nobody can delete it.
const NAMESPACE: &str = "kube-system";

/// How long one answer may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest value of a ConfigMap that a provider is told.
const VALUE_BYTES: usize = 1 << 10;

/// The first pause between two attempts, and the longest: the first doubles.
const PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Reads what names the cluster. Returns only once it is known: a provider that does not know it could not mark what it
/// makes as this cluster's.
pub(crate) async fn read(
    client: &Client,
    settings: &RunSettings,
    config_maps: &[(ConfigMapName, Vec<String>)],
) -> Cluster {
    let mut cluster = Cluster {
        name: settings.cluster_name.clone(),
        uid: patiently(|| uid(client)).await,
        pod_cidrs: settings.cluster_cidrs.iter().map(ToString::to_string).collect(),
        config_maps: Vec::new(),
    };
    info!("the cluster is {}, by the UID of the namespace {NAMESPACE}", cluster.uid);
    for (config_map, ids) in config_maps {
        let values = patiently(|| values(client, config_map, ids, &cluster.uid)).await;
        cluster.config_maps.extend(values);
    }
    cluster
}

/// Asks the API server until it has an answer.
async fn patiently<T, F: Future<Output = Result<T, String>>>(ask: impl Fn() -> F) -> T {
    let (mut pause, mut told) = (PAUSE, String::new());
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(cause) if cause != told => {
                warn!("{cause}; trying again with growing pauses, and nothing is asked of the cloud until then");
                told = cause;
            }
            Err(_) => {}
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn uid(client: &Client) -> Result<String, String> {
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace = answered(namespaces.get_metadata(NAMESPACE)).await;
    let uid =
        namespace.and_then(|it| it.metadata.uid.filter(|it| !it.is_empty()).ok_or_else(|| "it has no UID".to_owned()));
    uid.map_err(|cause| {
        format!(
            "cannot read the UID of the namespace {NAMESPACE}, which marks what belongs to this cluster: {cause}; aerostat's \
             identity needs the right to get that namespace"
        )
    })
}

/// The values in a ConfigMap that a provider can be told; none if there is no such ConfigMap, and no keys of `ids` to make it with.
async fn values(
    client: &Client,
    config_map: &ConfigMapName,
    ids: &[String],
    uid: &str,
) -> Result<Vec<(ConfigMapKey, String)>, String> {
    let ConfigMapName { namespace, name } = config_map;
    let api = Api::<ConfigMap>::namespaced(client.clone(), namespace);
    let found = answered(api.get_opt(name)).await.map_err(|cause| {
        format!(
            "cannot read the ConfigMap {config_map}, which provider.configMaps names: {cause}; aerostat's identity needs the \
             right to get it"
        )
    })?;
    let found = match found {
        None if !ids.is_empty() => Some(make(&api, config_map, ids, uid).await?),
        found => found,
    };
    let Some(found) = found else {
        info!("there is no ConfigMap {config_map}: the provider is told no value of it");
        return Ok(Vec::new());
    };
    let values =
        found.data.into_iter().flatten().filter(|(_, value)| value.len() <= VALUE_BYTES && is_printable(value));
    Ok(values.map(|(key, value)| (ConfigMapKey { config_map: config_map.to_string(), key }, value)).collect())
}

/// Makes the ConfigMap with the cluster's id, unless somebody has made it meanwhile: then it is read again.
async fn make(
    api: &Api<ConfigMap>,
    config_map: &ConfigMapName,
    ids: &[String],
    uid: &str,
) -> Result<ConfigMap, String> {
    let id = cluster_id(uid);
    let mut made = ConfigMap::default();
    made.metadata.name = Some(config_map.name.clone());
    made.data = Some(ids.iter().map(|it| (it.clone(), id.clone())).collect());
    let answer = answered(api.create(&PostParams::default(), &made)).await.map_err(|cause| {
        format!(
            "cannot make the ConfigMap {config_map}, which provider.createsConfigMaps names: {cause}; aerostat's identity \
             needs the right to create ConfigMaps in that namespace, or make it by hand"
        )
    })?;
    info!("the ConfigMap {config_map} was missing, and was made with the cluster's id {id}");
    Ok(answer)
}

/// 16 hexadecimal digits that no other cluster has, and that are the same at each start.
fn cluster_id(uid: &str) -> String {
    format!("{:016x}", Digest::of(uid.as_bytes()).prefix())
}

async fn answered<T>(asked: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    let answer = timeout(LIMIT, asked).await;
    answer
        .map_err(|_| format!("the API server did not answer within {} s", LIMIT.as_secs()))?
        .map_err(|error| controllers::chain(&error))
}
