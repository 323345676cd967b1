//! Deletions: cases 40 to 42.

use cloud_provider::Deletion;
use tests::clouds::hetzner::Fault;

use crate::services::{LOCATION, Service};
use crate::setup::Rig;

#[tokio::test]
async fn hcloud_40_what_is_not_there_is_deleted() {
    let rig = Rig::new(&[LOCATION]).await;
    assert_eq!(Service::new(&rig).delete().await, Ok(Deletion::Done));
    assert_eq!(rig.writes(), [""; 0]);
}

#[tokio::test]
async fn hcloud_41_what_is_protected_is_kept() {
    let rig = Rig::new(&[LOCATION]).await;
    let mut service = Service::new(&rig);
    service.served_with().await;
    let id = rig.cloud.load_balancers().all()[0].id;
    rig.cloud.load_balancers().update(id, |it| it.protected = true);
    let kept = service.delete().await;
    assert!(matches!(&kept, Ok(Deletion::Kept(why)) if why.contains("is protected from deletion")), "{kept:?}");
    assert_eq!(rig.cloud.load_balancers().all().len(), 1);
}

#[tokio::test]
async fn hcloud_42_one_that_is_gone_meanwhile_is_deleted() {
    let rig = Rig::new(&[LOCATION]).await;
    let mut service = Service::new(&rig);
    service.served_with().await;
    rig.cloud.inject(Fault::status("DELETE", "/v1/load_balancers/*", 404));
    assert_eq!(service.delete().await, Ok(Deletion::Done));
}

#[tokio::test]
async fn a_deletion_without_a_memo_finds_the_mark() {
    let rig = Rig::new(&[LOCATION]).await;
    Service::new(&rig).served_with().await;
    assert_eq!(Service::new(&rig).delete().await, Ok(Deletion::Done));
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
}
