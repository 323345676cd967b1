//! Load balancers that are to be deleted, beyond what the conformance suite shows: DO case 41, Hetzner's 42.

use cloud_provider::{Deletion, Error};
use tests::simulator::Fault;
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, ProviderRig, Vendor};

use crate::setup::{NAME, Service};

tests::for_each_cloud! {
    a_load_balancer_of_its_name_is_deleted_without_a_mark,
    an_unproven_load_balancer_stays_and_is_told,
    a_deletion_that_fails_is_not_done,
}

async fn rig<V: Vendor>() -> ProviderRig<V> {
    ProviderRig::new(Behaviour::default(), &[]).await
}

#[tokio::test]
async fn hcloud_42_one_that_is_gone_meanwhile_is_deleted() {
    one_that_is_gone_meanwhile_is_deleted::<Hetzner>().await;
}

#[tokio::test]
async fn do_41_one_that_is_gone_meanwhile_is_deleted() {
    one_that_is_gone_meanwhile_is_deleted::<DigitalOcean>().await;
}

async fn one_that_is_gone_meanwhile_is_deleted<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = Service::new(&rig);
    service.served().await;
    rig.cloud.inject(Fault::status("DELETE", &format!("{}/*", V::LOAD_BALANCERS), 404).done());
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert_eq!(V::built(rig.cloud.account()), []);
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

async fn a_deletion_that_fails_is_not_done<V: Vendor>() {
    let rig = rig::<V>().await;
    let mut service = Service::new(&rig);
    service.served().await;
    for (status, body) in [(500, ""), (404, "<html>nothing here</html>"), (401, "")] {
        let fault = Fault::status("DELETE", &format!("{}/*", V::LOAD_BALANCERS), status).undone().times(1);
        rig.cloud.inject(if body.is_empty() { fault } else { fault.body(body) });
        let deleted = service.delete().await;
        assert!(matches!(deleted, Err(Error::Unavailable(_) | Error::Denied(_))), "{status}: {deleted:?}");
    }
    service.gone().await;
    assert_eq!(V::built(rig.cloud.account()), []);
}
