//! A creation whose answer is an error, and which was carried out all the same, in a cloud that is slow to show it.
//!
//! Cases: lost-answer

use std::time::Duration;

use tests::simulator::Fault;
use tests::vendor::{Aws, Behaviour, DigitalOcean, Hetzner, Vendor};
use tests::wait;

use crate::setup::{CloudRig, addresses, service};

const LATE: Duration = Duration::from_secs(20);

/// Names are not unique where the cloud leaves it open, and a new load balancer is listed after twenty seconds. One creation answers 500.
async fn forgetful<V: Vendor>() -> CloudRig<V> {
    let behaviour = Behaviour { names_are_unique: false, lists_late_by: LATE, ..Behaviour::default() };
    let rig = CloudRig::<V>::with(behaviour).await.settings(V::PATIENT);
    rig.cloud.inject(Fault::status("POST", V::LOAD_BALANCERS, 500).done().times(1));
    rig
}

#[tokio::test]
async fn a_creation_done_despite_a_500_makes_one_load_balancer() {
    one_is_made::<DigitalOcean>().await;
}

#[tokio::test]
async fn a_creation_done_despite_a_500_makes_one_at_aws() {
    one_is_made::<Aws>().await;
}

#[tokio::test]
async fn a_creation_done_despite_a_500_is_deleted_at_aws() {
    it_is_deleted_with_its_service::<Aws>().await;
}

#[tokio::test]
async fn a_creation_done_despite_a_500_makes_one_at_hetzner() {
    one_is_made::<Hetzner>().await;
}

async fn one_is_made<V: Vendor>() {
    let rig = forgetful::<V>().await;
    let process = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("web", &[80], &[])).await;
    let served = wait::within(Duration::from_secs(60), async || {
        Some(rig.services().get("web").await.unwrap()).filter(|it| !addresses(it).is_empty())
    });
    let served = served.await.expect("it is found when the list shows it");
    assert_eq!(addresses(&served), rig.only_built().addresses);
    assert_eq!(rig.cloud.requests_to("POST", V::LOAD_BALANCERS).len(), 1);
    rig.delete("web").await;
    rig.gone("web").await;
    assert_eq!(rig.built(), []);
    process.stop().await;
}

#[tokio::test]
async fn a_creation_done_despite_a_500_is_deleted_with_its_service() {
    it_is_deleted_with_its_service::<DigitalOcean>().await;
}

#[tokio::test]
async fn a_creation_done_despite_a_500_is_deleted_at_hetzner() {
    it_is_deleted_with_its_service::<Hetzner>().await;
}

async fn it_is_deleted_with_its_service<V: Vendor>() {
    let rig = forgetful::<V>().await;
    let process = rig.start().await;
    rig.workers(2).await;
    rig.create(&service("web", &[80], &[])).await;
    rig.cloud.wait_for("a creation", |requests| requests.iter().any(|it| it.status == Some(500))).await;
    rig.only_built();
    rig.delete("web").await;
    let gone = wait::within(Duration::from_secs(60), async || {
        rig.services().get_opt("web").await.unwrap().is_none().then_some(())
    });
    assert!(gone.await.is_some(), "the Service goes when its load balancer has");
    assert_eq!(rig.built(), []);
    assert_eq!(rig.cloud.requests_to("POST", V::LOAD_BALANCERS).len(), 1);
    process.stop().await;
}
