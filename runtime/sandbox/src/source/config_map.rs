use async_trait::async_trait;

use super::error::SourceError;

const LIMIT: usize = 1 << 20;

/// Reads ConfigMaps. The sandbox knows no Kubernetes client, so its user brings one.
#[async_trait]
pub trait ConfigMaps: Send + Sync {
    /// The bytes under `key` in `binaryData`, or else in `data`.
    ///
    /// # Errors
    ///
    /// If there is no such ConfigMap or key, or it cannot be read: a sentence that says which, and what to do.
    async fn read(&self, namespace: &str, name: &str, key: &str) -> Result<Vec<u8>, String>;
}

pub(super) async fn read(
    config_maps: &dyn ConfigMaps,
    namespace: &str,
    name: &str,
    key: &str,
    module: String,
) -> Result<Vec<u8>, SourceError> {
    let bytes = config_maps
        .read(namespace, name, key)
        .await
        .map_err(|because| SourceError::ConfigMap { module: module.clone(), because })?;
    if bytes.len() > LIMIT {
        return Err(SourceError::TooLarge { module, limit: LIMIT >> 20 });
    }
    Ok(bytes)
}
