//! Creations that are not settled, and Services that ask for the other kind by then.

use aerostat_sdk::testing::protocol::{AdminFailure, How, Orders};

use super::*;

#[test]
fn the_other_kind_waits_for_a_creation() {
    let played = Played::new(FakeSlb::default());
    let fail = Some(AdminFailure { nth: 2, how: How::LostAfter });
    played.cloud.borrow_mut().order(Orders { fail, lists_lag: true });
    let mut service = service();
    let _ = [played.call(&mut service), played.call(&mut service)];
    let memo = service.memo.clone().unwrap();
    assert!(memo.starts_with("lost "), "{memo}");
    service = service.with_annotation(format!("{PREFIX}type"), "nlb");
    let refused = played.call(&mut service);
    assert!(
        matches!(&refused, Err(Error::Invalid(why)) if why.contains(&service.name) && why.contains("the other kind")),
        "{refused:?}"
    );
    played.cloud.borrow_mut().order(Orders::default());
    assert_eq!(played.host.run(|| Alibaba::delete(&service)), Ok(Deletion::Done));
    assert!(played.cloud.borrow_mut().cloud().objects().is_empty(), "the one that was made is gone");
}

#[test]
fn another_controller_waits_for_a_creation() {
    let played = Played::new(FakeSlb::default());
    let mut service = service();
    let _ = played.call(&mut service);
    service = service.with_annotation("service.beta.kubernetes.io/class", "nginx");
    let refused = played.call(&mut service);
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains(&service.name)), "{refused:?}");
}
