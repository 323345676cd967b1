//! Ways into a control plane: kubeconfigs, clients, and aerostat's identity.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::TypeMeta;
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};

use super::certificates::Identity;
use super::process::write_secret;

/// The user that aerostat is for the API server.
pub const AEROSTAT: &str = "system:serviceaccount:kube-system:cloud-controller-manager";

const NAMESPACE: &str = "kube-system";
const SERVICE_ACCOUNT: &str = "cloud-controller-manager";

/// Longer than any test run.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// Applies `deploy/rbac.yaml` and what providers that know volumes need beside it, as an operator would.
///
/// # Errors
///
/// Fails if the file cannot be parsed or the API server refuses an object.
pub async fn apply_rbac(admin: &Client) -> Result<()> {
    for (name, manifests) in [
        ("rbac.yaml", include_str!("../../../deploy/rbac.yaml")),
        ("persistent-volumes/rbac.yaml", include_str!("../../../deploy/persistent-volumes/rbac.yaml")),
    ] {
        apply(admin, manifests).await.with_context(|| format!("deploy/{name}"))?;
    }
    Ok(())
}

/// Applies manifests, as an operator would.
///
/// # Errors
///
/// Fails if they cannot be parsed or the API server refuses an object.
pub async fn apply(admin: &Client, manifests: &str) -> Result<()> {
    let objects: Vec<DynamicObject> = serde_saphyr::from_multiple(manifests).context("cannot parse the manifests")?;
    for object in objects {
        let types = object.types.clone().unwrap_or_default();
        let kind = kind(&types)?;
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, &kind),
            None => Api::all_with(admin.clone(), &kind),
        };
        let name = object.name_any();
        api.patch(&name, &PatchParams::apply("tests").force(), &Patch::Apply(&object))
            .await
            .with_context(|| format!("cannot apply {} {name}", types.kind))?;
    }
    Ok(())
}

/// Two crypto libraries may be compiled in, and rustls does not choose for us.
pub(crate) fn install_crypto() {
    // An error means that another test has installed it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// How a client uses a kubeconfig. Nothing is asked twice: tests count requests.
pub(super) async fn config(kubeconfig: &Path) -> Result<Config> {
    install_crypto();
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    Ok(config)
}

/// Whether everything is there that a cluster has from its first minute on.
pub(super) async fn ready(admin: &Client) -> Result<()> {
    let request = http::Request::get("/readyz").body(Vec::new())?;
    let answer = admin.request_text(request).await?;
    ensure!(answer == "ok", "/readyz says {answer:?}");
    let namespaces: Api<Namespace> = Api::all(admin.clone());
    for namespace in ["default", "kube-node-lease", NAMESPACE] {
        namespaces.get(namespace).await?;
    }
    let services: Api<Service> = Api::namespaced(admin.clone(), "default");
    services.get("kubernetes").await?;
    let ranges: Api<ServiceCIDR> = Api::all(admin.clone());
    ranges.get("kubernetes").await?;
    Ok(())
}

/// A token of aerostat's ServiceAccount.
pub(super) async fn token(admin: &Client) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(SERVICE_ACCOUNT, &PostParams::default(), &request)
        .await
        .context("cannot get a token for aerostat")?;
    answer.status.and_then(|status| status.token).context("the API server answered without a token")
}

/// A user of a kubeconfig with a client certificate.
pub(super) fn user(identity: &Identity) -> Value {
    json!({
        "client-certificate-data": STANDARD.encode(&identity.certificate),
        "client-key-data": STANDARD.encode(&identity.key),
    })
}

/// Writes a kubeconfig that needs no other file. It is JSON, which is YAML.
pub(super) fn write_kubeconfig(path: &Path, server: &str, authority: &str, user: &Value) -> Result<()> {
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "tests",
        "contexts": [{ "name": "tests", "context": { "cluster": "tests", "user": "tests" } }],
        "clusters": [{
            "name": "tests",
            "cluster": { "server": server, "certificate-authority-data": STANDARD.encode(authority) },
        }],
        "users": [{ "name": "tests", "user": user }],
    });
    write_secret(path, &serde_json::to_string_pretty(&kubeconfig)?)
        .with_context(|| format!("cannot write {}", path.display()))
}

fn kind(types: &TypeMeta) -> Result<ApiResource> {
    let gvk = GroupVersionKind::try_from(types).context("a manifest without a known kind")?;
    Ok(ApiResource::from_gvk(&gvk))
}
