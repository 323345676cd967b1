//! Load balancers that are to be deleted, beyond what the conformance suite shows.

use tests::vendor::{Behaviour, ProviderRig, Vendor};

use crate::setup::{NAME, Service};

tests::for_each_cloud! {
    a_load_balancer_of_its_name_is_deleted_without_a_mark,
    an_unproven_load_balancer_stays_and_is_told,
}

async fn rig<V: Vendor>() -> ProviderRig<V> {
    ProviderRig::new(Behaviour::default(), &[]).await
}

/// Its name holds the Service's UID.
async fn a_load_balancer_of_its_name_is_deleted_without_a_mark<V: Vendor>() {
    let rig = rig::<V>().await;
    V::add_foreign(rig.cloud.account(), NAME);
    Service::new(&rig).gone().await;
    assert_eq!(V::built(rig.cloud.account()), []);
}

async fn an_unproven_load_balancer_stays_and_is_told<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = Service::new(&rig).with("name", "web.example.com");
    service.served().await;
    let id = rig.only();
    V::unmark(rig.cloud.account(), &id);
    // Nobody remembers it, and where there is an annotation with its id, it stays on the Service.
    service.desired.memo = None;
    service.desired.current_ingress.clear();
    let message = service.gone_without(&id).await;
    assert!(message.contains("delete it in the cloud"), "{message}");
    assert_eq!(rig.only(), id);
}
