//! The last step: a provider that does what a provider must not.

use anyhow::{Context, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use kube::{Client, ResourceExt};
use tests::kubelet;

use crate::screen::Colour;
use crate::stage::Stage;

/// The nodes for which the hostile provider commits a crime each, named after it.
const CRIMES: [(&str, &str); 4] = [
    ("unnamed-endpoint", "asks for an endpoint that the operator has not named"),
    ("forbidden-path", "reads a path that the operator has not allowed"),
    ("write-while-reading", "deletes a machine while it is asked for one"),
    ("borrowed-token", "sends a token of its own choice"),
];

/// Whether this is a node of the hostile provider. What is refused is shown, and not what becomes of these nodes.
pub(crate) fn is_node(name: &str) -> bool {
    CRIMES.iter().any(|(it, _)| *it == name)
}

/// The account that aerostat remembers on its Lease. Any other would be refused before it has begun.
pub(crate) async fn account(admin: &Client) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "kube-system");
    let lease = leases.get("cloud-controller-manager").await?;
    let account = lease.annotations().get("aerostat.dev/account");
    account.cloned().context("no account is remembered on the Lease")
}

/// Lets the provider commit its crimes. Each must be refused, and none may reach the cloud.
pub(crate) async fn commit(stage: &mut Stage, admin: &Client) -> Result<()> {
    let before = stage.cloud.requests().len();
    for (index, (name, crime)) in CRIMES.into_iter().enumerate() {
        stage.screen.happened(Colour::Yellow, "hostile", crime)?;
        kubelet::join(admin, name).await?;
        stage.refusals(index + 1).await?;
    }
    if stage.cloud.requests().len() != before {
        bail!("a request of the hostile provider reached the cloud");
    }
    stage.screen.note("Nothing of that reached the cloud, and its nodes keep their taint.")
}

/// Takes its nodes away.
pub(crate) async fn leave(admin: &Client) -> Result<()> {
    let nodes: Api<Node> = Api::all(admin.clone());
    for (name, _) in CRIMES {
        nodes.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
