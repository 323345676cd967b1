//! The last step: a provider that tries what is forbidden.

use anyhow::{Context, Result, bail};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams};

use crate::ground::Ground;
use crate::screen::Colour;
use crate::stage::Stage;
use crate::vendor::Shown;

/// How the hostile provider calls the API of any cloud.
pub(crate) const ENDPOINT: &str = "api";

/// An attack of the hostile provider: the name of the node for which it makes the attack, what it does, and for what it is
/// refused.
pub(crate) type Attack = (&'static str, &'static str, &'static str);

/// Where rules allow paths.
pub(crate) const ON_PATHS: [Attack; 4] = [
    ("unnamed-endpoint", "asks for an endpoint that the operator has not named", "E-EGRESS-ENDPOINT"),
    ("forbidden-path", "reads a path that the operator has not allowed", "E-EGRESS-PATH"),
    ("write-while-reading", "deletes a machine while it is asked for one", "E-EGRESS-READONLY"),
    ("borrowed-token", "sends a token of its own", "E-EGRESS-HEADER"),
];

/// Where all requests go to one path, and rules allow operations.
pub(crate) const ON_OPERATIONS: [Attack; 5] = [
    ("unnamed-endpoint", "asks for an endpoint that the operator has not named", "E-EGRESS-ENDPOINT"),
    ("forbidden-operation", "ends a machine, which the operator has not allowed", "E-EGRESS-OPERATION"),
    ("delete-while-reading", "deletes a route while it is asked for a machine", "E-EGRESS-READONLY"),
    ("borrowed-signature", "sends a signature of its own", "E-EGRESS-HEADER"),
    ("signed-parameters", "sends a signature among the parameters", "E-EGRESS-QUERY"),
];

/// Where all requests go to one path, and a header names the operation.
pub(crate) const ON_HEADERS: [Attack; 5] = [
    ("unnamed-endpoint", "asks for an endpoint that the operator has not named", "E-EGRESS-ENDPOINT"),
    ("forbidden-action", "ends a machine, which the operator has not allowed", "E-EGRESS-OPERATION"),
    ("action-while-reading", "deletes a security group while it is asked for a machine", "E-EGRESS-READONLY"),
    ("borrowed-key", "sends the id of a key among the parameters", "E-EGRESS-QUERY"),
    ("borrowed-session", "sends a session's token of its own", "E-EGRESS-HEADER"),
];

/// Whether this is a node of the hostile provider. The demo shows what is refused, and not what happens to these nodes.
pub(crate) fn is_node<V: Shown>(name: &str) -> bool {
    V::ATTACKS.iter().any(|(it, ..)| *it == name)
}

/// The account on aerostat's Lease. A provider of any other account would be refused at once.
pub(crate) async fn account(ground: &Ground) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(ground.admin.clone(), ground.namespace());
    let lease = leases.get("cloud-controller-manager").await?;
    let account = lease.annotations().get("aerostat.dev/account");
    account.cloned().context("the Lease has no account")
}

/// Runs all attacks. Each must be refused, and no request may reach the cloud.
pub(crate) async fn commit<V: Shown>(stage: &mut Stage<V>, ground: &Ground) -> Result<()> {
    let before = stage.cloud.requests().len();
    for (index, (name, attack, code)) in V::ATTACKS.iter().enumerate() {
        stage.screen.happened(Colour::Yellow, "hostile", attack)?;
        ground.join(name).await?;
        let known: Vec<_> = stage.audit.refused.keys().cloned().collect();
        stage.refusals(index + 1).await?;
        if let Some(other) = stage.audit.refused.keys().find(|it| !known.contains(it) && it.0 != *code) {
            bail!("{name} is refused with {other:?}, and not with {code}");
        }
    }
    if let Some(request) = stage.cloud.requests_from(before).iter().find(|it| V::is_providers(it)) {
        bail!("a request of the hostile provider reached the cloud: {request}");
    }
    stage.screen.note("None of these requests reached the cloud, and the nodes keep their taint.")
}

/// Deletes its nodes.
pub(crate) async fn leave<V: Shown>(ground: &Ground) -> Result<()> {
    let nodes: Api<Node> = Api::all(ground.admin.clone());
    for (name, ..) in V::ATTACKS {
        nodes.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}
