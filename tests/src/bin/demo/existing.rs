//! `CLUSTER=kubeconfig`: the demo in an existing cluster, of which it uses a part that goes with it.

mod checks;
mod clean;
mod rights;

use std::path::PathBuf;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, Config};
use tests::folder::Folder;

pub(crate) use self::checks::check;
pub(crate) use self::clean::clean;
use crate::ground::Ground;
use crate::vendor::Shown;
use crate::view::View;
use crate::{names, part};

/// How long aerostat's token is good, in seconds: longer than any demo.
const TOKEN: i64 = 3600;

/// The kubeconfig that `CLUSTER` names.
#[expect(clippy::disallowed_methods, reason = "CLUSTER=… is how a person chooses where the demo plays")]
pub(crate) fn asked_for() -> Option<PathBuf> {
    std::env::var_os("CLUSTER").filter(|it| !it.is_empty()).map(PathBuf::from)
}

/// An existing cluster that may be used, of which nothing was changed yet.
pub(crate) struct Found {
    pub(crate) admin: Client,
    pub(crate) version: String,
    config: Config,
}

impl Found {
    /// The address of the API server.
    pub(crate) fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }
}

/// Makes the namespace, and aerostat's rights in it and about the demo's nodes.
pub(crate) async fn prepare<V: Shown>(found: &Found) -> Result<Ground> {
    rights::grant(&found.admin, &names::all::<V>(), V::CONFIG_MAP).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(found.admin.clone(), part::NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(TOKEN), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request(rights::ACCOUNT, &PostParams::default(), &request).await?;
    let token = answer.status.context("the API server answered without a token")?.token;
    let mut config = found.config.clone();
    config.auth_info = serde_json::from_value(serde_json::json!({ "token": token }))?;
    let view = View::open(Client::try_from(config)?).await?;
    let folder = Folder::new();
    let kubeconfig = folder.path("kubeconfig");
    view.write_kubeconfig(&kubeconfig)?;
    Ok(Ground::part(found.admin.clone(), folder, kubeconfig, view))
}

/// All nodes, as the person sees them who runs the demo.
fn all_nodes(admin: &Client) -> Api<Node> {
    Api::all(admin.clone())
}
