//! Creations of which the cloud does not say what became of them: one load balancer, and none after the deletion.

use std::time::Duration;

use cloud_provider::{Deletion, Event, Progress};
use tests::simulator::Fault;
use tests::vendor::{Behaviour, DigitalOcean, Hetzner, ProviderRig, Vendor};
use tokio::time::{Instant, sleep};

use crate::setup::{NAME, Service, warning};

tests::for_each_cloud! {
    a_creation_that_was_carried_out_is_found_in_a_late_list,
    a_creation_that_did_not_happen_is_repeated_later,
    a_deletion_waits_for_a_creation_that_may_still_appear,
    a_deletion_ends_when_nothing_appears,
    a_deletion_waits_when_the_creation_may_have_been_sent,
    what_was_not_sent_is_no_lost_creation,
}

/// Longer than any test takes.
const FOR_EVER: Duration = Duration::from_secs(3_600);

/// Faults that carry out a creation and lose its answer.
fn losses<V: Vendor>() -> [Fault; 3] {
    let path = V::LOAD_BALANCERS;
    [Fault::status("POST", path, 500).done(), Fault::nothing("POST", path), Fault::half("POST", path)]
}

/// A creation that is not carried out, and of which the cloud does not say so.
fn undone<V: Vendor>() -> Fault {
    Fault::status("POST", V::LOAD_BALANCERS, 503).undone()
}

/// A cloud whose lists are late until [`list`], and which loses the answer to one creation. Names are not unique where the cloud
/// leaves it open.
async fn forgetful<V: Vendor>(fault: Fault, settings: &[(&str, &str)]) -> ProviderRig<V> {
    let behaviour = Behaviour { names_are_unique: false, lists_late_by: FOR_EVER, ..Behaviour::default() };
    let rig = ProviderRig::<V>::new(behaviour, settings).await;
    rig.cloud.inject(fault.times(1));
    rig
}

/// From now on lists show what there is.
fn list<V: Vendor>(rig: &ProviderRig<V>) {
    V::lists_late_by(rig.cloud.account(), Duration::ZERO);
}

fn creations<V: Vendor>(rig: &ProviderRig<V>) -> usize {
    rig.cloud.requests_to("POST", V::LOAD_BALANCERS).len()
}

async fn a_creation_that_was_carried_out_is_found_in_a_late_list<V: Vendor>() {
    for fault in losses::<V>() {
        let rig = forgetful::<V>(fault, &[]).await;
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

async fn a_creation_that_did_not_happen_is_repeated_later<V: Vendor>() {
    let rig = forgetful::<V>(undone::<V>(), &[("createAgainAfter", "3s"), ("pollInterval", "1s")]).await;
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

async fn a_deletion_waits_for_a_creation_that_may_still_appear<V: Vendor>() {
    for fault in losses::<V>() {
        let rig = forgetful::<V>(fault, &[]).await;
        let mut service = Service::new(&rig);
        service.pending().await;
        service.pending().await;
        rig.only();
        for _ in 0..3 {
            assert!(matches!(service.delete().await, Ok(Deletion::Pending(_))));
        }
        list(&rig);
        assert_eq!(service.delete().await, Ok(Deletion::Done));
        assert_eq!(V::built(rig.cloud.account()), []);
    }
}

async fn a_deletion_ends_when_nothing_appears<V: Vendor>() {
    let rig = forgetful::<V>(undone::<V>(), &[("createAgainAfter", "2s"), ("pollInterval", "1s")]).await;
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

async fn a_deletion_waits_when_the_creation_may_have_been_sent<V: Vendor>() {
    let rig = forgetful::<V>(Fault::nothing("POST", V::LOAD_BALANCERS), &[]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    // The process dies after the creation and before the memo: what it said is not kept.
    let memo = service.desired.memo.clone();
    service.pending().await;
    service.desired.memo = memo;
    assert!(matches!(service.delete().await, Ok(Deletion::Pending(_))));
    list(&rig);
    assert_eq!(service.delete().await, Ok(Deletion::Done));
    assert_eq!(V::built(rig.cloud.account()), []);
}

#[tokio::test]
async fn a_repeated_creation_is_refused_and_the_first_is_found() {
    let events = the_first_is_found::<DigitalOcean>().await;
    let (_, message) = warning(&events);
    assert!(message.contains("There is already a load balancer with that name"), "{message}");
}

#[tokio::test]
async fn a_repeated_creation_at_hetzner_is_refused_and_waits() {
    // The cloud says for certain that it is the name.
    assert_eq!(the_first_is_found::<Hetzner>().await, []);
}

/// The events of a creation that is sent twice, in a cloud where names are unique.
async fn the_first_is_found<V: Vendor>() -> Vec<Event> {
    let behaviour = Behaviour { lists_late_by: FOR_EVER, ..Behaviour::default() };
    let rig = ProviderRig::<V>::new(behaviour, &[]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    let memo = service.desired.memo.clone();
    service.pending().await;
    // The process dies after the creation and before the memo: what it said is not kept.
    service.desired.memo = memo;
    let reply = service.ask().await;
    assert!(matches!(reply.answer, Ok(Progress::Pending(_))), "{reply:?}");
    list(&rig);
    service.served().await;
    assert_eq!(service.desired.memo, Some(rig.only()));
    reply.events
}

async fn what_was_not_sent_is_no_lost_creation<V: Vendor>() {
    let rig = ProviderRig::<V>::new(Behaviour::default(), &[]).await;
    let mut service = Service::new(&rig);
    service.pending().await;
    rig.cloud.inject(Fault::status("GET", V::LOAD_BALANCERS, 500).times(1));
    assert!(service.step().await.is_err());
    assert!(service.desired.memo.as_ref().unwrap().starts_with("creating "));
    service.served().await;
    assert_eq!(creations(&rig), 1);
}
