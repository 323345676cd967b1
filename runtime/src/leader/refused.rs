//! The module that was rolled back in this cluster. The Lease never says what to run, only what not.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use sandbox::Digest;
use serde_json::json;
use tokio::time::timeout;

use super::election::{self, REFUSED};
use crate::flags::LeaderElection;

/// How long one request may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The module that the Lease refuses, as far as is known.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum RefusedModule {
    /// It was not read yet.
    #[default]
    Unread,
    /// It was read.
    Read {
        /// The digest of the module that was rolled back, if one was.
        digest: Option<Digest>,
        /// The Lease's own UID.
        uid: Option<String>,
    },
}

/// Reads it off the Lease, once.
///
/// # Errors
///
/// A sentence without its full stop.
pub(crate) async fn refused_module(client: &Client, election: &LeaderElection) -> Result<Option<Digest>, String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), &election.namespace);
    let lease = within(leases.get_opt(&election.name)).await?;
    Ok(lease.as_ref().and_then(election::refused_module))
}

/// Writes on the Lease that a module was rolled back.
///
/// # Errors
///
/// A sentence without its full stop.
pub(crate) async fn refuse_module(client: &Client, election: &LeaderElection, digest: Digest) -> Result<(), String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), &election.namespace);
    let Some(lease) = within(leases.get_opt(&election.name)).await? else {
        return Err("there is no such Lease".to_owned());
    };
    let value = format!("sha256:{digest}");
    let patch = json!({ "metadata": { "annotations": { REFUSED: value }, "uid": lease.uid() } });
    within(leases.patch(&election.name, &PatchParams::default(), &Patch::Merge(patch))).await.map(drop)
}

async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
    match timeout(LIMIT, request).await {
        Ok(answer) => answer.map_err(|error| controllers::chain(&error)),
        Err(_) => Err(format!("no answer within {LIMIT:?}")),
    }
}
