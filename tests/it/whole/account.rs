//! The credential of another account is put into the Secret.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use tests::simulator::{Authorization, Owner, Recorded};
use tests::vendor::{AlibabaCloud, Aws, Behaviour, DigitalOcean, Hetzner, IbmCloud, Vendor};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, FINALIZER, addresses, is_write, service, worker};

const LEASE: &str = "cloud-controller-manager";

/// By what it is known that the account is another one.
enum Evidence {
    /// The cloud names the account: an event on the Lease, and one on each Service.
    ByName,
    /// The cloud does not show what is the cluster's: an event on each Service, with these words.
    ByAbsence(&'static str),
}

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_the_account_stops_writes_until_the_token_is_right() {
    writes_stop_until_the_token_is_right::<DigitalOcean>(&Evidence::ByName).await;
}

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_a_project_stops_writes_until_the_token_is_right() {
    writes_stop_until_the_token_is_right::<Hetzner>(&Evidence::ByName).await;
}

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_an_account_of_aws_stops_writes_until_it_is_right() {
    writes_stop_until_the_token_is_right::<Aws>(&Evidence::ByAbsence("the credential's account has no VPC")).await;
}

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_an_account_of_alibaba_cloud_stops_writes() {
    writes_stop_until_the_token_is_right::<AlibabaCloud>(&Evidence::ByName).await;
}

/// Cases: theft-by-account
#[tokio::test]
async fn theft_of_an_account_of_ibm_cloud_stops_writes() {
    let words = "setting accountID says acc0123456789";
    writes_stop_until_the_token_is_right::<IbmCloud>(&Evidence::ByAbsence(words)).await;
}

/// Whether a request got as far as it could have changed something.
fn is_accepted(request: &Recorded) -> bool {
    match request.authorization {
        Authorization::Judged(_) => request.status.is_some_and(|it| it < 400),
        _ => request.authorization == Authorization::Accepted,
    }
}

async fn writes_stop_until_the_token_is_right<V: Vendor>(evidence: &Evidence) {
    let behaviour = Behaviour { has_other_account: true, ..Behaviour::default() };
    let rig = CloudRig::<V>::with(behaviour).await.flags(&[
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

    V::add_machine(rig.cloud.other_account(), 9_001, "foreign");
    V::belong_to(Owner::Other, &rig.cloud, &rig.setup);
    let asked = rig.cloud.requests().len();
    for id in 1..=5 {
        kubelet::post_ready(&rig.cluster.admin, &worker(id), false).await.unwrap();
    }
    rig.delete("deleted").await;
    rig.ports("changed", &[80, 81]).await;
    rig.create(&service("new", &[80], &[])).await;
    let words = match evidence {
        Evidence::ByName => {
            rig.warned(LEASE, "CloudAccountChanged", &["aerostat.dev/account", account.as_deref().unwrap()]).await;
            "belongs to the cloud account"
        }
        Evidence::ByAbsence(words) => words,
    };
    rig.warned("new", "SyncLoadBalancerFailed", &[words]).await;
    rig.never(Duration::from_secs(8), async || {
        let nodes = Api::<Node>::all(rig.cluster.admin.clone()).list(&ListParams::default()).await.unwrap().items;
        let deleted = rig.services().get_opt("deleted").await.unwrap();
        let kept = deleted.is_some_and(|it| it.finalizers() == [FINALIZER]);
        // What was sent with the old token, before the new one was read, was for the old account.
        let mut written = rig.cloud.requests().split_off(asked);
        written.retain(|it| is_write(it) && is_accepted(it));
        (nodes.len() < 5 || !kept || !written.is_empty()).then(|| format!("{} nodes, {kept}, {written:?}", nodes.len()))
    })
    .await;
    assert_eq!(rig.built().len(), 3);
    assert_eq!(V::built(rig.cloud.other_account()), []);
    let lease = leases.get(LEASE).await.unwrap();
    assert_eq!(lease.annotations().get("aerostat.dev/account"), account.as_ref());
    assert!(!addresses(&rig.services().get("kept").await.unwrap()).is_empty());

    V::belong_to(Owner::Us, &rig.cloud, &rig.setup);
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
