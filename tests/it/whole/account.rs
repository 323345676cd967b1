//! The token of another account is put into the Secret.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use tests::simulator::{Authorization, Owner};
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, Vendor};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, FINALIZER, addresses, is_write, service, worker};

const LEASE: &str = "cloud-controller-manager";
const OTHERS: &str = "token-of-another-account";

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_the_account_stops_writes_until_the_token_is_right() {
    writes_stop_until_the_token_is_right::<DigitalOcean>().await;
}

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_a_project_stops_writes_until_the_token_is_right() {
    writes_stop_until_the_token_is_right::<Hetzner>().await;
}

async fn writes_stop_until_the_token_is_right<V: Vendor>() {
    let rig = CloudRig::<V>::with(Behaviour::default()).await.flags(&[
        "--node-monitor-period=1s",
        "--node-deletion-warm-up=1s",
        "--node-deletion-grace-period=1s",
    ]);
    let process = rig.start().await;
    rig.workers(5).await;
    for name in ["kept", "deleted", "changed"] {
        rig.create(&service(name, &[80], &[])).await;
        rig.served(name).await;
    }
    let leases: Api<Lease> = Api::namespaced(rig.cluster.admin.clone(), "kube-system");
    let lease = leases.get(LEASE).await.unwrap();
    let account = lease.annotations().get("aerostat.dev/account").cloned();
    assert!(account.is_some(), "the account is remembered: {lease:?}");

    let token = rig.cloud.token.clone();
    rig.cloud.set_token(OTHERS);
    rig.cloud.set_owner(Owner::Other);
    V::add_machine(rig.cloud.other_account(), 9_001, "foreign");
    rig.setup.folder.write("token", OTHERS);
    let asked = rig.cloud.requests().len();
    for id in 1..=5 {
        kubelet::post_ready(&rig.cluster.admin, &worker(id), false).await.unwrap();
    }
    rig.delete("deleted").await;
    rig.ports("changed", &[80, 81]).await;
    rig.create(&service("new", &[80], &[])).await;
    rig.warned(LEASE, "CloudAccountChanged", &["aerostat.dev/account", account.as_deref().unwrap()]).await;
    rig.warned("new", "SyncLoadBalancerFailed", &["belongs to the cloud account"]).await;
    rig.never(Duration::from_secs(8), async || {
        let nodes = Api::<Node>::all(rig.cluster.admin.clone()).list(&ListParams::default()).await.unwrap().items;
        let deleted = rig.services().get_opt("deleted").await.unwrap();
        let kept = deleted.is_some_and(|it| it.finalizers() == [FINALIZER]);
        // What was sent with the old token, before the new one was read, was for the old account.
        let mut written = rig.cloud.requests().split_off(asked);
        written.retain(|it| is_write(it) && it.authorization == Authorization::Accepted);
        (nodes.len() < 5 || !kept || !written.is_empty()).then(|| format!("{} nodes, {kept}, {written:?}", nodes.len()))
    })
    .await;
    assert_eq!(rig.built().len(), 3);
    assert_eq!(V::built(rig.cloud.other_account()), []);
    let lease = leases.get(LEASE).await.unwrap();
    assert_eq!(lease.annotations().get("aerostat.dev/account"), account.as_ref());
    assert!(!addresses(&rig.services().get("kept").await.unwrap()).is_empty());

    rig.cloud.set_token(&token);
    rig.cloud.set_owner(Owner::Us);
    rig.setup.folder.write("token", &token);
    // Nobody has to touch the Services: another credential is reason enough to try again.
    let well = wait::within(Duration::from_secs(60), async || {
        let served = !addresses(&rig.services().get("new").await.unwrap()).is_empty();
        let gone = rig.services().get_opt("deleted").await.unwrap().is_none();
        let built = rig.built();
        let changed = built.iter().any(|it| it.ports.len() == 2);
        (served && gone && changed && built.len() == 3).then_some(())
    });
    assert!(well.await.is_some(), "the right account serves again");
    process.stop().await;
}
