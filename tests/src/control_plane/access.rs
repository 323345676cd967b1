//! Ways into a control plane: kubeconfigs, clients, and aerostat's identity.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Namespace, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::ServiceCIDR;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::TypeMeta;
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};

use super::binaries::workspace;
use super::certificates::Identity;
use super::process::write_secret;
use crate::aerostat::USER;
use crate::wait;

const NAMESPACE: &str = "kube-system";
/// The ServiceAccount of the manifests in `deploy/`.
pub(super) const SERVICE_ACCOUNT: &str = "cloud-controller-manager";

/// The kinds of objects that give rights, and of those whom they are given to.
const RIGHTS: [&str; 6] = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];

/// Longer than any test run.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// The page of `deploy/` that everything begins with, by its path in that folder.
pub const FIRST_PAGE: &str = "README.md";

/// Applies the roles that a page of `deploy/` applies, as an operator who follows it, and waits until they hold. `page` is a path
/// in that folder.
///
/// # Errors
///
/// Fails if the page applies none, if a file cannot be parsed, or if the API server refuses an object.
pub async fn apply_roles(admin: &Client, page: &str) -> Result<()> {
    let deploy = workspace().join("deploy");
    let text = fs::read_to_string(deploy.join(page)).with_context(|| format!("cannot read deploy/{page}"))?;
    let files = roles(&text);
    ensure!(!files.is_empty(), "deploy/{page} applies no roles");
    for file in files {
        let manifests = fs::read_to_string(workspace().join(&file)).with_context(|| format!("cannot read {file}"))?;
        apply(admin, &manifests).await.with_context(|| file.clone())?;
        hold(admin, &manifests, USER).await.with_context(|| file.clone())?;
    }
    Ok(())
}

/// The manifests of roles that the commands of a page apply, each once: what stands behind `-f` in its blocks of commands.
#[must_use]
pub fn roles(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).filter_map(|it| it.split("```").next());
    let words: Vec<_> = blocks.flat_map(str::split_whitespace).collect();
    let files = words.windows(2).filter(|it| it[0] == "-f" && it[1].ends_with("rbac.yaml")).map(|it| it[1].to_owned());
    files.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Applies the ServiceAccount of manifests that install all for a provider, with its roles and their namespaces, and waits until they hold.
/// Returns its name. The rest is left: nothing here runs a Deployment.
pub(super) async fn apply_rights(admin: &Client, manifests: &str) -> Result<String> {
    let mut account = None;
    for object in parsed(manifests)? {
        let kind = object.types.as_ref().map_or("", |it| it.kind.as_str());
        if RIGHTS.contains(&kind) {
            apply_object(admin, &object).await?;
        }
        if kind == "ServiceAccount" {
            account = object.metadata.name;
        }
    }
    let account = account.context("the manifests have no ServiceAccount")?;
    hold(admin, manifests, &format!("system:serviceaccount:{NAMESPACE}:{account}")).await?;
    Ok(account)
}

/// Waits until the API server has read the roles of manifests: it allows this user the first right of each.
async fn hold(admin: &Client, manifests: &str, user: &str) -> Result<()> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(manifests).context("cannot parse the manifests")?;
    let reviews: Api<SubjectAccessReview> = Api::all(admin.clone());
    for role in objects.iter().filter(|it| it["kind"] == "ClusterRole" || it["kind"] == "Role") {
        let rule = &role["rules"][0];
        let review = serde_json::from_value(json!({ "spec": { "user": user, "resourceAttributes": {
            "namespace": role["metadata"]["namespace"],
            "group": rule["apiGroups"][0],
            "resource": rule["resources"][0],
            "name": rule["resourceNames"][0],
            "verb": rule["verbs"][0],
        } } }))?;
        let allowed = wait::within(wait::DEADLINE, async || {
            let answer = reviews.create(&PostParams::default(), &review).await.ok()?;
            answer.status.is_some_and(|it| it.allowed).then_some(())
        });
        allowed.await.with_context(|| format!("the API server does not allow {rule}"))?;
    }
    Ok(())
}

/// Applies manifests, as an operator would.
///
/// # Errors
///
/// Fails if they cannot be parsed or the API server refuses an object.
pub async fn apply(admin: &Client, manifests: &str) -> Result<()> {
    for object in parsed(manifests)? {
        apply_object(admin, &object).await?;
    }
    Ok(())
}

fn parsed(manifests: &str) -> Result<Vec<DynamicObject>> {
    serde_saphyr::from_multiple(manifests).context("cannot parse the manifests")
}

async fn apply_object(admin: &Client, object: &DynamicObject) -> Result<()> {
    let types = object.types.clone().unwrap_or_default();
    let kind = kind(&types)?;
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(admin.clone(), &namespace, &kind),
        None => Api::all_with(admin.clone(), &kind),
    };
    let name = object.name_any();
    api.patch(&name, &PatchParams::apply("tests").force(), &Patch::Apply(object))
        .await
        .with_context(|| format!("cannot apply {} {name}", types.kind))?;
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

/// A token of a ServiceAccount of aerostat.
pub(super) async fn token(admin: &Client, account: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_of_a_page_are_those_that_its_commands_apply() {
        let page = "text -f deploy/rbac.yaml\n```console\nkubectl apply -f deploy/other-rbac.yaml\n```\n```sh\nkubectl apply \\\n  \
                    -f deploy/rbac.yaml -f deploy/config.yaml\n```\n```sh\nkubectl apply -f deploy/rbac.yaml -f deploy/x/rbac.yaml\n```\n";
        assert_eq!(roles(page), ["deploy/rbac.yaml", "deploy/x/rbac.yaml"]);
    }
}
