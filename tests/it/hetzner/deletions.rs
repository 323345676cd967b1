//! A deletion that the project forbids: case 41.

use cloud_provider::Deletion;

use crate::setup::{LOCATION, Service, rig};

#[tokio::test]
async fn hcloud_41_what_is_protected_is_kept() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig);
    service.served_with().await;
    let id = rig.cloud.load_balancers().all()[0].id;
    rig.cloud.load_balancers().update(id, |it| it.protected = true);
    let kept = service.delete().await;
    assert!(matches!(&kept, Ok(Deletion::Kept(why)) if why.contains("is protected from deletion")), "{kept:?}");
    assert_eq!(rig.cloud.load_balancers().all().len(), 1);
}
