//! Creations that are not settled, and Services that ask for the other kind by then.

use aerostat_sdk::testing::protocol::{AdminFailure, How, Orders};

use super::*;

#[test]
fn a_classic_one_waits_for_a_network_creation() {
    let mut played = Played::new(FakeNlb::default());
    played.host = played.host.clone().setting("createAgainAfter", "5s");
    let fail = Some(AdminFailure { nth: 2, how: How::LostAfter });
    played.cloud.borrow_mut().order(Orders { fail, lists_lag: true });
    let mut service = service();
    let _ = [played.call(&mut service), played.call(&mut service)];
    let memo = service.memo.clone().unwrap();
    assert!(memo.starts_with("nlb lost "), "{memo}");
    let mut other = LoadBalancer { load_balancer_class: None, ..service.clone() };
    let refused = played.call(&mut other);
    assert!(
        matches!(&refused, Err(Error::Invalid(why)) if why.contains(&service.name) && why.contains("the other kind")),
        "{refused:?}"
    );
    played.cloud.borrow_mut().order(Orders::default());
    assert_eq!(delete(&played, &mut other), Deletion::Done);
    assert_eq!(count(&played), 0);
}

#[test]
fn a_network_creation_that_was_lost_is_found() {
    let played = Played::new(FakeNlb::default());
    let fail = Some(AdminFailure { nth: 2, how: How::LostAfter });
    played.cloud.borrow_mut().order(Orders { fail, lists_lag: false });
    let mut service = service();
    played.settle(&mut service);
    assert_eq!(service.memo.as_deref(), Some("nlb-1"));
    only(&played, "load balancer");
}
