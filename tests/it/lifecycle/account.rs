//! The cluster's cloud account, remembered on a Lease that somebody deletes while the process lives.

use std::sync::Arc;

use cloud_provider::Error;
use controllers::{ACCOUNT_ANNOTATION, Account, Recorder};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use scripted_cloud::ScriptedCloud;
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::wait;
use tokio::task::JoinSet;

const LEASE: &str = "cloud-controller-manager";

fn leases(cluster: &Cluster) -> Api<Lease> {
    Api::namespaced(cluster.admin.clone(), "kube-system")
}

/// Makes the Lease, as whoever leads would.
async fn make(cluster: &Cluster) -> Lease {
    let lease: Lease = serde_json::from_value(json!({ "metadata": { "name": LEASE } })).expect("it is a Lease");
    leases(cluster).create(&PostParams::default(), &lease).await.expect("the Lease is created")
}

/// Deletes the Lease and makes it again.
async fn make_again(cluster: &Cluster) -> Lease {
    leases(cluster).delete(LEASE, &DeleteParams::default()).await.expect("the Lease is deleted");
    make(cluster).await
}

/// The account that the Lease holds.
async fn held(cluster: &Cluster) -> Option<String> {
    let lease = leases(cluster).get(LEASE).await.expect("there is a Lease");
    lease.annotations().get(ACCOUNT_ANNOTATION).cloned()
}

#[tokio::test]
async fn a_lease_made_again_gets_the_account_again() {
    let cluster = cluster().await;
    let credential = Arc::new(ScriptedCloud::of_account("ours"));
    let becomes = |account: &str| {
        credential.belongs_to(account);
        credential.gets_another_credential();
    };
    let lease = make(&cluster).await;
    let (recorder, sender) = Recorder::new(cluster.aerostat.clone(), "cloud-controller-manager");
    let mut events = JoinSet::new();
    events.spawn(sender);
    let about = ObjectReference {
        api_version: Some("coordination.k8s.io/v1".to_owned()),
        kind: Some("Lease".to_owned()),
        namespace: lease.namespace(),
        name: Some(LEASE.to_owned()),
        uid: lease.uid(),
        ..ObjectReference::default()
    };
    let account = Account::new(credential.clone(), Some((cluster.aerostat.clone(), about, recorder)));
    account.check().await.unwrap();
    assert_eq!(held(&cluster).await.as_deref(), Some("ours"));

    make_again(&cluster).await;
    becomes("ours");
    account.check().await.unwrap();
    assert_eq!(held(&cluster).await.as_deref(), Some("ours"), "it is written again");

    // Nor does a Lease without an annotation let another account in.
    let last = make_again(&cluster).await;
    for _ in 0..2 {
        becomes("another account");
        let denied = account.check().await;
        assert!(matches!(&denied, Err(Error::Denied(message)) if message.contains("\"ours\"")), "{denied:?}");
        assert_eq!(held(&cluster).await.as_deref(), Some("ours"));
    }
    wait::until("an event on the Lease that is there", async || {
        let events = cluster.audit().events().unwrap();
        let about = |it: &serde_json::Value| it["involvedObject"]["uid"] == last.uid().unwrap_or_default();
        events.iter().any(|it| it.body["reason"] == "CloudAccountChanged" && about(&it.body)).then_some(())
    })
    .await;

    // A person says that the cluster has moved.
    let moved = json!({ "metadata": { "annotations": { ACCOUNT_ANNOTATION: null } } });
    leases(&cluster).patch(LEASE, &PatchParams::default(), &Patch::Merge(moved)).await.unwrap();
    becomes("another account");
    account.check().await.unwrap();
    assert_eq!(held(&cluster).await.as_deref(), Some("another account"));
}
