//! Modules out of ConfigMaps, read with aerostat's own client.

use async_trait::async_trait;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::Api;
use sandbox::ConfigMaps;
use tokio::sync::watch;

/// The cluster's ConfigMaps.
#[derive(Clone)]
pub(crate) struct ClusterConfigMaps {
    pub(crate) client: Client,
    /// Whether the API server answers by now.
    pub(crate) answered: watch::Receiver<bool>,
}

#[async_trait]
impl ConfigMaps for ClusterConfigMaps {
    async fn read(&self, namespace: &str, name: &str, key: &str) -> Result<Vec<u8>, String> {
        // An error means that nobody waits for the API server any more: the request tells.
        let _ = self.answered.clone().wait_for(|it| *it).await;
        match Api::<ConfigMap>::namespaced(self.client.clone(), namespace).get_opt(name).await {
            Ok(Some(config_map)) => value(config_map, namespace, name, key),
            Ok(None) => Err(format!(
                "there is no such ConfigMap. Make it: kubectl -n {namespace} create configmap {name} \
                 --from-file={key}=FILE.wasm"
            )),
            Err(kube::Error::Api(status)) if status.code == 403 => Err(format!(
                "{}. Allow it: add {name} to the resourceNames of configmaps in the Role of aerostat's identity in \
                 {namespace} (deploy/rbac.yaml)",
                status.message
            )),
            Err(error) => Err(format!("{}. Look at the API server and start again", controllers::chain(&error))),
        }
    }
}

/// The bytes under `key`.
fn value(config_map: ConfigMap, namespace: &str, name: &str, key: &str) -> Result<Vec<u8>, String> {
    let ConfigMap { binary_data, data, .. } = config_map;
    let (mut binary, mut text) = (binary_data.unwrap_or_default(), data.unwrap_or_default());
    if let Some(bytes) = binary.remove(key) {
        return Ok(bytes.0);
    }
    if let Some(text) = text.remove(key) {
        return Ok(text.into_bytes());
    }
    let keys: Vec<_> = binary.keys().chain(text.keys()).map(String::as_str).collect();
    let found = if keys.is_empty() { "it is empty".to_owned() } else { format!("it has {}", keys.join(", ")) };
    Err(format!(
        "the ConfigMap has no key {key}; {found}. Correct provider.module.configMap.key, or replace the ConfigMap: \
         kubectl -n {namespace} create configmap {name} --from-file={key}=FILE.wasm --dry-run=client -o yaml | \
         kubectl replace -f -"
    ))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn read(key: &str) -> Result<Vec<u8>, String> {
        let config_map = ConfigMap {
            binary_data: Some([("provider.wasm".to_owned(), ByteString(vec![0, 97]))].into()),
            data: Some([("note".to_owned(), "text".to_owned())].into()),
            ..ConfigMap::default()
        };
        value(config_map, "kube-system", "acme", key)
    }

    #[test]
    fn a_key_is_binary_or_text() {
        assert_eq!(read("provider.wasm"), Ok(vec![0, 97]));
        assert_eq!(read("note"), Ok(b"text".to_vec()));
    }

    #[test]
    fn a_missing_key_is_reported_with_the_existing_ones() {
        let error = read("wasm").unwrap_err();
        assert!(error.contains("no key wasm; it has provider.wasm, note"), "{error}");
        assert!(error.contains("kubectl -n kube-system create configmap acme --from-file=wasm=FILE.wasm"), "{error}");
    }
}
