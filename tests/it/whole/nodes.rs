//! No node is deleted, whatever the cloud answers, and for all nodes at once.

use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams};
use serde_json::json;
use tests::simulator::{Fault, Owner, Recorded};
use tests::vendor::{
    AlibabaCloud, Aws, AzureCloud, Behaviour, DigitalOcean, GoogleCloud, Hetzner, IbmCloud, OpenStack, Vendor,
};
use tests::{kubelet, wait};

use crate::setup::{CloudRig, worker};

const NODES: u64 = 100;
/// Many periods of the controller, each of them long enough for everything that it asks.
const WINDOW: Duration = Duration::from_secs(6);

/// The longest pause between lists that fail.
const LONGEST: Duration = Duration::from_secs(30);

/// The trouble in which a credential is of another account.
const FOREIGN: &str = "a foreign account";
/// All troubles.
const ALL: &[&str] = &[];
/// Those for which each cloud has words of its own. By the others it is the host that does not believe, as at DigitalOcean; and that a read
/// without an answer, with half of one or with a 500 proves nothing, conformance shows of each provider: `none-only-when-certain`.
const OWN_WORDS: &[&str] = &["401 for all", "404 for all", "an empty list", "half a list", FOREIGN];

/// A way in which a cloud is not to be believed.
struct Trouble<V: Vendor> {
    name: &'static str,
    begins: fn(&CloudRig<V>),
    ends: fn(&CloudRig<V>),
}

fn troubles<V: Vendor>() -> [Trouble<V>; 9] {
    [
        Trouble { name: "401 for all", begins: |rig| answer(rig, 401), ends: mended },
        Trouble { name: "404 for all", begins: |rig| answer(rig, 404), ends: mended },
        Trouble { name: "500 for all", begins: |rig| answer(rig, 500), ends: mended },
        Trouble {
            name: "an empty list",
            begins: |rig| rig.cloud.inject(Fault::empty_list("*", V::MACHINE_LISTS)),
            ends: mended,
        },
        Trouble { name: "an empty account", begins: |rig| removed(rig, 1), ends: restored },
        Trouble { name: "half a list", begins: half, ends: restored },
        Trouble {
            name: "half an answer",
            begins: |rig| rig.cloud.inject(Fault::half("*", V::MACHINE_LISTS)),
            ends: mended,
        },
        Trouble { name: "no answer", begins: |rig| rig.cloud.inject(Fault::hang("*", "/**")), ends: mended },
        Trouble { name: FOREIGN, begins: foreign, ends: |rig| rig.cloud.set_owner(Owner::Us) },
    ]
}

fn answer<V: Vendor>(rig: &CloudRig<V>, status: u16) {
    rig.cloud.inject(Fault::status("*", "/**", status));
}

fn mended<V: Vendor>(rig: &CloudRig<V>) {
    rig.cloud.clear_faults();
}

/// Takes all machines away from this one on.
fn removed<V: Vendor>(rig: &CloudRig<V>, first: u64) {
    (first..=NODES).for_each(|id| V::remove_machine(rig.cloud.account(), id));
}

fn restored<V: Vendor>(rig: &CloudRig<V>) {
    (1..=NODES).for_each(|id| rig.add_machine(id));
}

fn half<V: Vendor>(rig: &CloudRig<V>) {
    (1..=NODES / 2).for_each(|id| V::hide_machine(rig.cloud.account(), id));
}

fn foreign<V: Vendor>(rig: &CloudRig<V>) {
    for id in 1..=NODES {
        V::add_foreign_machine(rig.cloud.other_account(), 9_000 + id, &format!("foreign-{id}"));
    }
    rig.cloud.set_owner(Owner::Other);
}

async fn nodes<V: Vendor>(rig: &CloudRig<V>) -> usize {
    Api::<Node>::all(rig.cluster.admin.clone()).list(&ListParams::default()).await.unwrap().items.len()
}

async fn post_ready<V: Vendor>(rig: &CloudRig<V>, ready: bool) {
    for ids in (1..=NODES).collect::<Vec<_>>().chunks(25) {
        join_all(ids.iter().map(|id| async move {
            kubelet::post_ready(&rig.cluster.admin, &worker(*id), ready).await.unwrap();
        }))
        .await;
    }
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_the_cloud_deletes_a_node() {
    no_failure_deletes_a_node::<DigitalOcean>(ALL).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_aws_deletes_a_node() {
    no_failure_deletes_a_node::<Aws>(OWN_WORDS).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_azure_deletes_a_node() {
    // As elsewhere; and a refusal proves nothing without the code that says that the machine is not there.
    no_failure_deletes_a_node::<AzureCloud>(&["404 for all", "an empty account", FOREIGN]).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_hetzner_deletes_a_node() {
    no_failure_deletes_a_node::<Hetzner>(OWN_WORDS).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_openstack_deletes_a_node() {
    no_failure_deletes_a_node::<OpenStack>(OWN_WORDS).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_google_deletes_a_node() {
    no_failure_deletes_a_node::<GoogleCloud>(OWN_WORDS).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_ibm_cloud_deletes_a_node() {
    no_failure_deletes_a_node::<IbmCloud>(OWN_WORDS).await;
}

/// Cases: failing-cloud
#[tokio::test]
async fn no_failure_of_alibaba_cloud_deletes_a_node() {
    no_failure_deletes_a_node::<AlibabaCloud>(OWN_WORDS).await;
}

/// Plays troubles with these names, or all.
async fn no_failure_deletes_a_node<V: Vendor>(names: &[&str]) {
    let rig = CloudRig::<V>::with(Behaviour::default()).await;
    // Moto, too, answers for a hundred machines in less on a busy machine.
    let rig = rig.limits(&json!({ "total": "5s", "requestsPerSecond": 200 })).flags(&[
        "--node-monitor-period=1s",
        "--node-deletion-warm-up=1s",
        "--node-deletion-grace-period=1s",
    ]);
    let process = rig.start().await;
    rig.workers(NODES).await;
    assert!(names.iter().all(|name| troubles::<V>().iter().any(|it| it.name == *name)), "{names:?}");
    for Trouble { name, begins, ends } in troubles() {
        if names != ALL && !names.contains(&name) {
            continue;
        }
        let before = rig.cloud.requests().len();
        begins(&rig);
        post_ready(&rig, false).await;
        // In another account, only the account is asked about, every ten seconds.
        let what = format!("two questions although there is {name}");
        rig.cloud.wait_for(&what, |requests| requests.len() >= before + 2).await;
        rig.never(WINDOW, async || {
            let left = nodes(&rig).await;
            (left < NODES as usize).then(|| format!("with {name}, {left} nodes are left"))
        })
        .await;
        ends(&rig);
        // Pauses grow for as long as lists fail, whatever the reason: each trouble begins once the cloud has been heard again.
        let after = rig.cloud.requests().len();
        let is_list = |it: &Recorded| ["GET", "POST"].iter().any(|method| it.is(method, V::MACHINE_LISTS));
        let heard = |it: &Recorded| is_list(it) && it.status.is_some_and(|it| it < 300);
        let what = format!("a list after {name}");
        rig.cloud.wait_after(LONGEST, &what, |requests| requests[after..].iter().any(heard)).await;
        post_ready(&rig, true).await;
    }
    process.kill_and_shorten_its_lease(&rig.cluster).await;

    // A process that knows nothing of all that, and a cloud that says of each machine that it is gone.
    let process = rig.start().await;
    removed(&rig, 2);
    // Where lists are at such a path, too, the first machine is found.
    if V::MACHINE_LISTS == V::MACHINES {
        rig.cloud.inject(V::denial());
    }
    post_ready(&rig, false).await;
    let lost = async || Some(nodes(&rig).await).filter(|it| *it < NODES as usize);
    assert!(wait::within(wait::DEADLINE, lost).await.is_some(), "a machine that is gone has no node");
    rig.never(WINDOW, async || Some(nodes(&rig).await).filter(|it| *it < NODES as usize - 10)).await;
    assert!((90..100).contains(&nodes(&rig).await));
    let withheld = wait::within(wait::DEADLINE, async || {
        let events = rig.all_events().await;
        events.into_iter().find(|it| it.reason.as_deref() == Some("NodeDeletionWithheld"))
    });
    assert!(withheld.await.is_some(), "a withheld deletion is recorded");
    process.stop().await;
}
