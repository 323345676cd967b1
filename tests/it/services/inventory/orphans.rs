//! Load balancers in the cloud whose Services do not exist.

use std::sync::Arc;

use cloud_provider::{InventoryItem, LoadBalancer, MarkedOwner, Proof};
use controllers::service::{InventoryOptions, Options};
use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::api::{Api, ListParams};
use tests::control_plane::{Cluster, cluster};
use tests::faults::Faults;
use tests::lagging::Recorded;
use tests::wait;

use super::cloud::{Listing, QUIET, item};
use super::{PERIOD, with};
use crate::cloud::Act;
use crate::controller::{Controller, create, patch, service};

const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";

/// Options with which an orphan is old after two seconds, and may be deleted.
fn deleting() -> Options {
    with(InventoryOptions { delete_orphans: true, ..quick() })
}

fn quick() -> InventoryOptions {
    InventoryOptions {
        resync_period: PERIOD / 4,
        orphan_age: 2 * PERIOD,
        orphan_pause: 2 * PERIOD,
        ..InventoryOptions::default()
    }
}

/// An orphan of this cluster.
async fn orphan(cluster: &Cluster, memo: &str, uid: &str) -> InventoryItem {
    let namespaces: Api<Namespace> = Api::all(cluster.admin.clone());
    let cluster_uid = namespaces.get("kube-system").await.expect("the namespace is there").metadata.uid;
    let owner = MarkedOwner {
        cluster_uid,
        uid: Some(uid.to_owned()),
        namespace: Some("default".to_owned()),
        name: Some("gone".to_owned()),
    };
    InventoryItem { owner, ..item(memo, None) }
}

/// A Service that has nothing to do with load balancers: without any, nothing is an orphan.
async fn bystander(cluster: &Cluster) {
    let mut bystander = service("bystander");
    bystander.spec.as_mut().expect("it has a spec").type_ = Some("ClusterIP".to_owned());
    create(cluster, &bystander).await;
}

/// The deletions that the cloud was asked for.
fn deleted(cloud: &Listing) -> Vec<LoadBalancer> {
    let calls = cloud.cloud.calls();
    calls.into_iter().filter(|it| it.act == Act::Delete).map(|it| it.desired).collect()
}

/// The events about orphans, with this reason.
async fn told(cluster: &Cluster, reason: &str) -> Vec<String> {
    let events =
        Api::<Event>::all(cluster.admin.clone()).list(&ListParams::default()).await.expect("events are listed").items;
    let about = events.into_iter().filter(|it| it.involved_object.kind.as_deref() == Some("Namespace"));
    about.filter(|it| it.reason.as_deref() == Some(reason)).filter_map(|it| it.message).collect()
}

async fn never_deleted(cloud: &Arc<Listing>, why: &str) {
    let deleted = wait::within(QUIET, async || deleted(cloud).pop()).await;
    assert_eq!(deleted, None, "{why}");
}

#[tokio::test]
async fn an_orphan_is_told_of_and_counted_and_stays() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    bystander(&cluster).await;
    cloud.shows(orphan(&cluster, "lb-1", UID).await);
    cloud.shows(InventoryItem { proof: Proof::ByName, ..item("lb-2", None) });
    let controller = Controller::start(&cluster, &cloud, with(quick()));
    let told = wait::until("both are told of", async || {
        let mut told = told(&cluster, "OrphanedLoadBalancer").await;
        told.sort();
        (told.len() == 2).then_some(told)
    })
    .await;
    let expected = format!(
        "load balancer lb-1 was made for Service default/gone with the UID {UID}, which does not exist, and costs money: \
         delete it in the cloud, or let the operator set --delete-orphaned-load-balancers"
    );
    assert_eq!(told[0], expected);
    assert!(told[1].contains("only its name says that it is this cluster's"), "{}", told[1]);
    never_deleted(&cloud, "the operator did not say so").await;
    let count = |proof| controller.orphans(proof);
    assert_eq!((count("unique"), count("by-name")), (1, 1));
}

#[tokio::test]
async fn orphans_are_deleted_one_by_one_if_the_operator_says_so() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    bystander(&cluster).await;
    let other = "11111111-2222-4333-8444-555566667777";
    cloud.shows(orphan(&cluster, "lb-1", UID).await);
    cloud.shows(orphan(&cluster, "lb-2", other).await);
    let _controller = Controller::start(&cluster, &cloud, deleting());
    wait::until("one is deleted", async || (!deleted(&cloud).is_empty()).then_some(())).await;
    let first = deleted(&cloud).remove(0);
    let memo = first.memo.clone().unwrap();
    cloud.hides(&memo);
    assert_eq!((first.nodes.len(), first.ports.len(), first.owner.namespace.as_str()), (0, 0, "default"));
    let uid = if memo == "lb-1" { UID } else { other };
    assert_eq!(first.owner.uid, uid);
    assert_eq!(first.name, format!("a{}", uid.replace('-', "")).chars().take(32).collect::<String>());
    wait::until("the other one is deleted", async || (deleted(&cloud).len() == 2).then_some(())).await;
    let calls = cloud.cloud.calls();
    let apart = calls[1].began - calls[0].began;
    assert!(apart >= 2 * PERIOD, "{apart:?} between two deletions");
    wait::until("it is told of", async || {
        (told(&cluster, "DeletedOrphanedLoadBalancer").await.len() == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_orphan_without_proof_is_not_deleted() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    bystander(&cluster).await;
    let mine = create(&cluster, &service("mine")).await;
    let orphan = async |memo: &str, uid: &str| orphan(&cluster, memo, uid).await;
    // Of a Service that exists, by its UID; and by its memo.
    cloud.cloud.ensures("mine", crate::cloud::ready("192.0.2.1", "lb of mine"));
    cloud.shows(orphan("lb-1", mine.metadata.uid.as_deref().unwrap()).await);
    cloud.shows(orphan("lb of mine", UID).await);
    // By its name alone; of another cluster; of nobody.
    cloud.shows(InventoryItem { proof: Proof::ByName, ..orphan("lb-3", UID).await });
    let mut foreign = orphan("lb-4", UID).await;
    foreign.owner.cluster_uid = Some("99999999-2222-4333-8444-555566667777".to_owned());
    cloud.shows(foreign);
    let mut nobodys = orphan("lb-5", UID).await;
    nobodys.owner.uid = None;
    cloud.shows(nobodys);
    let _controller = Controller::start(&cluster, &cloud, deleting());
    never_deleted(&cloud, "none of them is an orphan of this cluster").await;
}

#[tokio::test]
async fn adv_171_a_kept_one_is_no_orphan_also_after_a_restart() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    bystander(&cluster).await;
    let kept = InventoryItem { kept: Some("it is protected".to_owned()), ..orphan(&cluster, "lb-1", UID).await };
    // What else was made for its Service, beside an orphan that goes.
    let part = InventoryItem { cloud_object: "target group 1".to_owned(), ..orphan(&cluster, "part", UID).await };
    let other = "11111111-2222-4333-8444-555566667777";
    for item in [kept, part, orphan(&cluster, "lb-2", other).await] {
        cloud.shows(item);
    }
    let controller = Controller::start(&cluster, &cloud, deleting());
    wait::until("the orphan is deleted", async || (!deleted(&cloud).is_empty()).then_some(())).await;
    cloud.hides("lb-2");
    assert_eq!(controller.gauge("aerostat_kept_load_balancers"), 1.0);
    controller.stop().ended().await;
    let _controller = Controller::start(&cluster, &cloud, deleting());
    let second = wait::within(QUIET, async || deleted(&cloud).into_iter().nth(1)).await;
    assert_eq!(second, None, "it is kept");
    let memos: Vec<_> = deleted(&cloud).into_iter().map(|it| it.memo).collect();
    assert_eq!(memos, [Some("lb-2".to_owned())]);
    let told = told(&cluster, "OrphanedLoadBalancer").await;
    assert!(told.iter().all(|it| it.starts_with("load balancer lb-2")), "{told:?}");
}

#[tokio::test]
async fn nothing_is_deleted_by_an_incomplete_list() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    cloud.shows(orphan(&cluster, "lb-1", UID).await);
    bystander(&cluster).await;
    cloud.is_incomplete();
    let _controller = Controller::start(&cluster, &cloud, deleting());
    never_deleted(&cloud, "the list is incomplete").await;
}

#[tokio::test]
async fn nothing_is_deleted_in_another_account() {
    let (cluster, cloud) = (cluster().await, Listing::new());
    bystander(&cluster).await;
    cloud.cloud.is_of("ours");
    let account = controllers::Account::new(cloud.cloud.script.clone(), None);
    account.check().await.unwrap();
    cloud.shows(orphan(&cluster, "lb-1", UID).await);
    cloud.cloud.is_of("theirs");
    let _controller = Controller::start_with(cluster.aerostat.clone(), &cloud, account, deleting());
    never_deleted(&cloud, "it is another account").await;
}

#[tokio::test]
async fn a_service_that_the_watch_lacks_keeps_its_load_balancer() {
    let (cluster, cloud, faults) = (cluster().await, Listing::new(), Faults::new());
    bystander(&cluster).await;
    let before = Recorded::now(&cluster.admin, "services").await;
    let late = create(&cluster, &service("late")).await;
    // It has not said that it wants one: what matters is that it is there.
    patch(&cluster, "late", serde_json::json!({ "spec": { "type": "ClusterIP" } })).await;
    cloud.shows(orphan(&cluster, "lb-1", late.metadata.uid.as_deref().unwrap()).await);
    // The watch begins with a list from before, and tells nothing more. Whoever lists without a watch sees what is there.
    before.stay(&faults);
    let _controller = Controller::start_as(cluster.faulty(&faults), &cloud, deleting());
    wait::until("it is taken for an orphan", async || {
        (!told(&cluster, "OrphanedLoadBalancer").await.is_empty()).then_some(())
    })
    .await;
    never_deleted(&cloud, "its Service is there").await;
    assert_ne!(Recorded::answered(&faults), 0);

    // What is an orphan is deleted by a controller whose watch lags, too: it was asked whether the Service is there.
    crate::controller::delete(&cluster, "late").await;
    wait::until("it is deleted", async || deleted(&cloud).pop()).await;
}
