//! Our providers keep every promise, whatever is lost on the way.
//!
//! Cases: lost-answer, theft-by-id, theft-by-name

use conformance::{ConformanceReport, PromiseOutcome};
use tests::go_guests;
use tests::guests;
use tests::published::{acme, acme_async, alibaba, aws, azure, digitalocean, gcp, hetzner, ibm, openstack, rancher};

use crate::setup::{tried, tried_beside};

/// The promise of providers whose load balancers several Services may share.
const SHARING: &str = "one-end-leaves-the-others";
/// The promises of an inventory.
const INVENTORY: [&str; 4] =
    ["inventory-shows-ours", "inventory-shows-ours-alone", "kept-is-no-orphan", "revision-tells-changes"];

/// The promises of routes.
const ROUTES: [&str; 9] = [
    "route-changes-converge",
    "route-is-made-once",
    "routes-are-listed",
    "route-list-tells-its-gaps",
    "done-route-is-not-written",
    "deleted-route-is-gone",
    "other-routes-stay",
    "changed-route-is-refused",
    "bad-change-stands-alone",
];
/// The promises of volumes.
const VOLUMES: [&str; 5] = [
    "volume-is-found",
    "volume-none-only-when-certain",
    "volume-none-when-gone",
    "volume-speaks-as-machines",
    "volume-answers-agree",
];

/// The promises of volumes of claims.
const CLAIMS: [&str; 7] = [
    "volume-steps-converge",
    "volume-is-made-once",
    "settled-volume-is-not-written",
    "attached-volume-is-not-moved",
    "used-volume-is-not-deleted",
    "volume-is-where-it-says",
    "volume-grows-and-never-shrinks",
];

/// Every promise is kept but for these, which cannot be tried. Nothing else is left out.
#[track_caller]
fn keeps_all_but(untried: &[&str], report: &ConformanceReport) {
    assert!(report.is_good(), "{report}");
    let open = report.tried.iter().filter(|it| it.outcome != PromiseOutcome::Kept).map(|it| it.promise.name);
    // No older version of any was released.
    let open = open.filter(|it| *it != "versions-go-on");
    assert_eq!(open.collect::<Vec<_>>(), untried, "{report}");
    // For whoever looks at the costs.
    eprintln!("{report}");
}

/// Cases: lost-answer, theft-by-id, theft-by-name, do 3, do 4, do 36, do 41, do 42
#[tokio::test]
async fn digitalocean_keeps_every_promise() {
    let served = digitalocean::serve(0).await.unwrap();
    // No annotation writes tags, and nothing protects a load balancer.
    let untried = [&[SHARING, "marks-are-not-forged", "kept-is-no-orphan"][..], &ROUTES, &VOLUMES].concat();
    keeps_all_but(&untried, &tried(guests::DIGITALOCEAN, &served.url, 1).await);
}

/// Cases: lost-answer, theft-by-id, theft-by-name, hcloud 3, hcloud 4, hcloud 40, hcloud 41, hcloud 42, hcloud 44
#[tokio::test]
async fn hetzner_keeps_every_promise() {
    let served = hetzner::serve(0).await.unwrap();
    keeps_all_but(&[SHARING, "marks-are-not-forged"], &tried(guests::HETZNER, &served.url, 1).await);
}

// Moto is waited for in the simulator's own thread: with one thread the two would take turns.
#[tokio::test(flavor = "multi_thread")]
async fn aws_keeps_every_promise() {
    let (one, other) = (aws::serve(0).await.unwrap(), aws::serve(0).await.unwrap());
    // A call makes three times as many requests as elsewhere: one of three ways in which they go wrong.
    let report = tried_beside(guests::AWS, &[&one.url, &other.url], 3).await;
    keeps_all_but(&[&[SHARING, "revision-tells-changes"][..], &CLAIMS].concat(), &report);
}

#[tokio::test(flavor = "multi_thread")]
async fn aws_ebs_keeps_every_promise_of_volumes() {
    let (one, other) = (aws::serve_volumes(0).await.unwrap(), aws::serve_volumes(0).await.unwrap());
    // It has nothing else. One of three ways in which requests go wrong.
    let report = tried_beside(guests::AWS_EBS, &[&one.url, &other.url], 3).await;
    assert!(report.is_good(), "{report}");
    let open: Vec<_> = CLAIMS.iter().filter(|it| report.outcome(it) != Some(&PromiseOutcome::Kept)).collect();
    assert!(open.is_empty(), "{open:?}: {report}");
    eprintln!("{report}");
}

#[tokio::test]
async fn openstack_keeps_every_promise() {
    let served = openstack::serve(0, None).await.unwrap();
    // No annotation writes tags, and nothing protects a load balancer. A call makes many requests: one of three ways in which they go wrong.
    let untried = [&["marks-are-not-forged", "kept-is-no-orphan"][..], &VOLUMES, &CLAIMS].concat();
    keeps_all_but(&untried, &tried(guests::OPENSTACK, &served.url, 3).await);
}

#[tokio::test]
async fn openstack_cinder_keeps_every_promise_of_volumes() {
    let served = openstack::serve_volumes(0).await.unwrap();
    // It has nothing else.
    let report = tried(guests::OPENSTACK_CINDER, &served.url, 1).await;
    assert!(report.is_good(), "{report}");
    let open: Vec<_> = CLAIMS.iter().filter(|it| report.outcome(it) != Some(&PromiseOutcome::Kept)).collect();
    assert!(open.is_empty(), "{open:?}: {report}");
    eprintln!("{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn gcp_keeps_every_promise() {
    let (one, other) = (gcp::serve(0, None).await.unwrap(), gcp::serve(0, None).await.unwrap());
    // Services share parts and no load balancer, no annotation writes labels, nothing protects a load balancer, and the list has no
    // revisions. A call makes many requests: one of five ways in which they go wrong.
    let untried =
        [&[SHARING, "marks-are-not-forged", "kept-is-no-orphan", "revision-tells-changes"][..], &CLAIMS].concat();
    keeps_all_but(&untried, &tried_beside(guests::GCP, &[&one.url, &other.url], 5).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn gcp_pd_keeps_every_promise_of_volumes() {
    let (one, other) = (gcp::serve_volumes(0).await.unwrap(), gcp::serve_volumes(0).await.unwrap());
    // It has nothing else. One of three ways in which requests go wrong.
    let report = tried_beside(guests::GCP_PD, &[&one.url, &other.url], 3).await;
    assert!(report.is_good(), "{report}");
    let open: Vec<_> = CLAIMS.iter().filter(|it| report.outcome(it) != Some(&PromiseOutcome::Kept)).collect();
    assert!(open.is_empty(), "{open:?}: {report}");
    eprintln!("{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn azure_keeps_every_promise() {
    let (one, other) = (azure::serve(0, None).await.unwrap(), azure::serve(0, None).await.unwrap());
    // Locks are another service's, and the list has no revisions. A call makes many requests: one of five ways in which they go wrong.
    let untried = [&[SHARING, "kept-is-no-orphan", "revision-tells-changes"][..], &CLAIMS].concat();
    keeps_all_but(&untried, &tried_beside(guests::AZURE, &[&one.url, &other.url], 5).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn ibm_cloud_keeps_every_promise() {
    let (one, other) = (ibm::serve(0, None).await.unwrap(), ibm::serve(0, None).await.unwrap());
    // Load balancers have neither tags nor protection nor revisions, and a change is a merge patch that replaces nothing. A call makes
    // many requests: one of three ways in which they go wrong.
    let untried =
        [&[SHARING, "marks-are-not-forged", "rest-stays", "kept-is-no-orphan", "revision-tells-changes"][..], &CLAIMS]
            .concat();
    keeps_all_but(&untried, &tried_beside(guests::IBM, &[&one.url, &other.url], 3).await);
}

/// Cases: alibaba 15, alibaba 16, alibaba 32, alibaba 37
#[tokio::test(flavor = "multi_thread")]
async fn alibaba_cloud_keeps_every_promise() {
    let (one, other) = (alibaba::serve(0, None).await.unwrap(), alibaba::serve(0, None).await.unwrap());
    // The provider protects each load balancer itself, and the list has no revisions. A call makes many requests: one of three ways in which
    // they go wrong.
    let untried = [&[SHARING, "kept-is-no-orphan", "revision-tells-changes"][..], &CLAIMS].concat();
    keeps_all_but(&untried, &tried_beside(guests::ALIBABA, &[&one.url, &other.url], 3).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rancher_keeps_every_promise() {
    let (one, other) = (rancher::serve(0).await.unwrap(), rancher::serve(0).await.unwrap());
    // No annotation writes marks, and there is no inventory. A load balancer is many steps, and each goes
    // wrong in each way.
    let untried = [&[SHARING, "marks-are-not-forged"], &INVENTORY[..], &ROUTES, &VOLUMES, &CLAIMS].concat();
    keeps_all_but(&untried, &tried_beside(guests::RANCHER, &[&one.url, &other.url], 1).await);
}

#[tokio::test]
async fn the_example_of_the_sdk_keeps_every_promise() {
    let served = acme::serve(0, &[]).await.unwrap();
    keeps_all_but(
        &[&[SHARING], &INVENTORY[..], &ROUTES, &VOLUMES, &CLAIMS].concat(),
        &tried(guests::ACME, &served.url, 1).await,
    );
}

#[tokio::test]
async fn a_cloud_with_ids_and_actions_keeps_every_promise() {
    let served = acme_async::serve(0).unwrap();
    keeps_all_but(
        &[&[SHARING, "marks-are-not-forged"], &INVENTORY[..], &ROUTES, &VOLUMES, &CLAIMS].concat(),
        &tried(guests::ACME_ASYNC, &served.url(), 1).await,
    );
}

#[tokio::test]
async fn the_example_in_go_keeps_every_promise() {
    let served = acme::serve(0, &[]).await.unwrap();
    keeps_all_but(
        &[&[SHARING], &INVENTORY[..], &ROUTES, &VOLUMES, &CLAIMS].concat(),
        &tried(go_guests::acme(), &served.url, 1).await,
    );
}
