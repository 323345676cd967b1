//! The last step: a provider that tries what is forbidden.

use anyhow::{Context, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams};
use kube::{Client, ResourceExt};
use tests::kubelet;

use crate::screen::Colour;
use crate::stage::Stage;
use crate::vendor::Shown;

/// How the hostile provider calls the API of any cloud.
pub(crate) const ENDPOINT: &str = "api";

/// The attacks of the hostile provider: the name of the node for which it makes the attack, what it does, and for what it is
/// refused.
const ATTACKS: [(&str, &str, &str); 4] = [
    ("unnamed-endpoint", "asks for an endpoint that the operator has not named", "E-EGRESS-ENDPOINT"),
    ("forbidden-path", "reads a path that the operator has not allowed", "E-EGRESS-PATH"),
    ("write-while-reading", "deletes a machine while it is asked for one", "E-EGRESS-READONLY"),
    ("borrowed-token", "sends a token of its own", "E-EGRESS-HEADER"),
];

/// Whether this is a node of the hostile provider. The demo shows what is refused, and not what happens to these nodes.
pub(crate) fn is_node(name: &str) -> bool {
    ATTACKS.iter().any(|(it, ..)| *it == name)
}

/// The account on aerostat's Lease. A provider of any other account would be refused at once.
pub(crate) async fn account(admin: &Client) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(admin.clone(), "kube-system");
    let lease = leases.get("cloud-controller-manager").await?;
    let account = lease.annotations().get("aerostat.dev/account");
    account.cloned().context("the Lease has no account")
}

/// Runs all attacks. Each must be refused, and no request may reach the cloud.
pub(crate) async fn commit<V: Shown>(stage: &mut Stage<V>, admin: &Client) -> Result<()> {
    let before = stage.cloud.requests().len();
    for (index, (name, attack, code)) in ATTACKS.into_iter().enumerate() {
        stage.screen.happened(Colour::Yellow, "hostile", attack)?;
        kubelet::join(admin, name).await?;
        let known: Vec<_> = stage.audit.refused.keys().cloned().collect();
        stage.refusals(index + 1).await?;
        if let Some(other) = stage.audit.refused.keys().find(|it| !known.contains(it) && it.0 != code) {
            bail!("{name} is refused with {other:?}, and not with {code}");
        }
    }
    if stage.cloud.requests().len() != before {
        bail!("a request of the hostile provider reached the cloud");
    }
    stage.screen.note("None of these requests reached the cloud, and the nodes keep their taint.")
}

/// Deletes its nodes.
pub(crate) async fn leave(admin: &Client) -> Result<()> {
    let nodes: Api<Node> = Api::all(admin.clone());
    for (name, ..) in ATTACKS {
        nodes.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
