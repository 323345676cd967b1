//! A deletion that the project forbids: case 41, and adv 171.

use cloud_provider::Deletion;

use crate::setup::{LOCATION, Service, rig};

#[tokio::test]
async fn hcloud_41_a_protected_load_balancer_is_marked_and_kept() {
    let rig = rig(&[LOCATION]).await;
    let mut service = Service::new(&rig);
    service.served_with().await;
    let id = rig.cloud.load_balancers().all()[0].id;
    rig.cloud.load_balancers().update(id, |it| it.protected = true);
    let kept = service.delete().await;
    assert!(matches!(&kept, Ok(Deletion::Kept(why)) if why.contains("is protected from deletion")), "{kept:?}");
    let left = rig.cloud.load_balancers().all();
    assert_eq!((left.len(), left[0].labels["aerostat.dev/kept"].as_str()), (1, "true"));
    // By its mark alone, too.
    let inventory = rig.abilities.load_balancer_inventory.clone().unwrap();
    for (protected, why) in [(true, "is protected from deletion"), (false, "its label aerostat.dev/kept")] {
        rig.cloud.load_balancers().update(id, |it| it.protected = protected);
        let listed = inventory.list(None, 50).await.answer.unwrap().items.remove(0);
        assert!(listed.kept.as_ref().is_some_and(|it| it.contains(why)), "{listed:?}");
    }
}
