//! Load balancers that are to be deleted: DO cases 41 and 42.

use cloud_provider::{Deletion, Error};
use tests::clouds::digitalocean::{Fault, LoadBalancer};

use crate::services::{NAME, Service, rig};

const FOREIGN: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

#[tokio::test]
async fn a_known_load_balancer_is_deleted_by_its_id() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig).with("name", "web.example.com");
    service.served().await;
    let id = rig.only();
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert_eq!(rig.requests().last(), Some(&format!("DELETE /v2/load_balancers/{id} → 204")));
    assert!(rig.cloud.load_balancers().all().is_empty());
}

#[tokio::test]
async fn do_41_what_is_gone_already_is_deleted() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.served().await;
    let id = rig.only();
    rig.cloud.load_balancers().remove(&id);
    let before = rig.requests().len();
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert_eq!(rig.requests()[before..], [format!("DELETE /v2/load_balancers/{id} → 404")]);
}

#[tokio::test]
async fn do_42_what_was_never_there_is_deleted() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().insert(LoadBalancer::new(FOREIGN, "foreign"));
    assert_eq!(Service::new(&rig).delete().await, Ok(Deletion::Done));
    assert_eq!(rig.requests(), ["GET /v2/load_balancers?page=1&per_page=200 → 200"]);
}

#[tokio::test]
async fn a_load_balancer_of_its_name_is_deleted_without_a_memo() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().insert(LoadBalancer::new(FOREIGN, NAME));
    assert_eq!(Service::new(&rig).delete().await, Ok(Deletion::Done));
    assert!(rig.cloud.load_balancers().all().is_empty());
}

#[tokio::test]
async fn a_deletion_that_fails_is_not_done() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.served().await;
    for (status, body) in [(500, ""), (404, "<html>nothing here</html>"), (401, "")] {
        let fault = Fault::status("DELETE", "/v2/load_balancers/*", status).undone().times(1);
        rig.cloud.inject(if body.is_empty() { fault } else { fault.body(body) });
        let deleted = service.delete().await;
        assert!(matches!(deleted, Err(Error::Unavailable(_) | Error::Denied(_))), "{status}: {deleted:?}");
    }
    service.gone().await;
    assert!(rig.cloud.load_balancers().all().is_empty());
}
