//! Creations of which the cloud does not say what became of them: one load balancer, and none after the deletion.

use std::time::Duration;

use cloud_provider::{Deletion, Progress};
use tests::clouds::digitalocean::Fault;
use tokio::time::{Instant, sleep};

use crate::services::{NAME, Service, rig, warning};
use crate::setup::Rig;

/// Longer than any test takes.
const FOR_EVER: Duration = Duration::from_secs(3_600);

const CREATE: &str = "/v2/load_balancers";

/// What may become of a creation that is carried out, as a fault.
fn losses() -> [Fault; 3] {
    [Fault::status("POST", CREATE, 500).done(), Fault::nothing("POST", CREATE), Fault::half("POST", CREATE)]
}

/// A cloud without unique names, whose lists are late until [`list`], and which loses the answer to one creation.
async fn forgetful(fault: Fault, settings: &[(&str, &str)]) -> Rig {
    let rig = rig(settings).await;
    rig.cloud.load_balancers().behave(|it| {
        it.names_are_unique = false;
        it.lists_late_by = FOR_EVER;
    });
    rig.cloud.inject(fault.times(1));
    rig
}

/// From now on lists show what there is.
fn list(rig: &Rig) {
    rig.cloud.load_balancers().behave(|it| it.lists_late_by = Duration::ZERO);
}

fn creations(rig: &Rig) -> usize {
    rig.cloud.requests_to("POST", CREATE).len()
}

#[tokio::test]
async fn a_creation_that_was_carried_out_is_found_in_a_late_list() {
    for fault in losses() {
        let rig = forgetful(fault, &[]).await;
        let mut service = Service::new(&rig);
        service.pending().await;
        let reply = service.ask().await;
        let (reason, message) = warning(&reply.events);
        assert_eq!(reason, "LoadBalancerCreationUnclear");
        let expected = format!("load balancer {NAME} may have been created or not: POST");
        assert!(message.starts_with(&expected), "{message}");
        let memo = service.desired.memo.clone().unwrap();
        assert!(memo.starts_with(&format!("lost {NAME} since ")), "{memo}");
        for _ in 0..3 {
            let pending_status = service.pending().await;
            assert_eq!(pending_status.status.memo.as_ref(), Some(&memo), "the time counts from the creation");
        }
        list(&rig);
        service.served().await;
        assert_eq!(service.desired.memo, Some(rig.only()));
        assert_eq!(creations(&rig), 1);
    }
}

#[tokio::test]
async fn a_creation_that_did_not_happen_is_repeated_later() {
    let fault = Fault::status("POST", CREATE, 503).undone();
    let rig = forgetful(fault, &[("createAgainAfter", "3s"), ("pollInterval", "1s")]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    service.pending().await;
    let lost = Instant::now();
    let deadline = lost + Duration::from_secs(60);
    while creations(&rig) == 1 {
        assert!(Instant::now() < deadline, "not repeated in time");
        let Ok(Progress::Pending(pending_status)) = service.step().await else { panic!("not pending") };
        sleep(pending_status.after).await;
    }
    // The provider counts whole seconds.
    assert!(lost.elapsed() >= Duration::from_secs(2), "{:?}", lost.elapsed());
    list(&rig);
    service.served().await;
    assert_eq!((service.desired.memo.clone(), creations(&rig)), (Some(rig.only()), 2));
}

#[tokio::test]
async fn a_deletion_waits_for_a_creation_that_may_still_appear() {
    for fault in losses() {
        let rig = forgetful(fault, &[]).await;
        let mut service = Service::new(&rig);
        service.pending().await;
        service.pending().await;
        rig.only();
        for _ in 0..3 {
            assert!(matches!(service.delete().await, Ok(Deletion::Pending(_))));
        }
        list(&rig);
        assert_eq!(service.delete().await, Ok(Deletion::Done));
        assert_eq!(rig.cloud.load_balancers().all().len(), 0);
    }
}

#[tokio::test]
async fn a_deletion_ends_when_nothing_appears() {
    let fault = Fault::status("POST", CREATE, 503).undone();
    let rig = forgetful(fault, &[("createAgainAfter", "2s"), ("pollInterval", "1s")]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    service.pending().await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Deletion::Pending(pending_status) = service.delete().await.unwrap() {
        assert!(Instant::now() < deadline, "not done in time");
        sleep(pending_status.after).await;
    }
    assert_eq!(creations(&rig), 1);
}

#[tokio::test]
async fn a_deletion_waits_when_the_creation_may_have_been_sent() {
    let rig = forgetful(Fault::nothing("POST", CREATE), &[]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    // The process dies after the creation and before the memo: what it said is not kept.
    let memo = service.desired.memo.clone();
    service.pending().await;
    service.desired.memo = memo;
    assert!(matches!(service.delete().await, Ok(Deletion::Pending(_))));
    list(&rig);
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert_eq!(rig.cloud.load_balancers().all().len(), 0);
}

#[tokio::test]
async fn a_repeated_creation_is_refused_and_the_first_is_found() {
    let rig = rig(&[]).await;
    rig.cloud.load_balancers().behave(|it| it.lists_late_by = FOR_EVER);
    let mut service = Service::new(&rig);
    service.pending().await;
    let memo = service.desired.memo.clone();
    service.pending().await;
    // The process dies after the creation and before the memo: what it said is not kept.
    service.desired.memo = memo;
    let reply = service.ask().await;
    let (_, message) = warning(&reply.events);
    assert!(message.contains("There is already a load balancer with that name"), "{message}");
    list(&rig);
    service.served().await;
    assert_eq!(service.desired.memo, Some(rig.only()));
}

#[tokio::test]
async fn what_was_not_sent_is_no_lost_creation() {
    let rig = rig(&[]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    rig.cloud.inject(Fault::status("GET", CREATE, 500).times(1));
    assert!(service.step().await.is_err());
    assert!(service.desired.memo.as_ref().unwrap().starts_with("creating "));
    service.served().await;
    assert_eq!(creations(&rig), 1);
}
