//! Services without a memo, where nobody can say whether there is a Network Load Balancer.

use super::*;

/// A cloud that says nothing of Network Load Balancers.
fn denying() -> Played<FakeSlb> {
    Played::new(FakeSlb { denies_networks: true, ..FakeSlb::default() })
}

/// The same with an operator who says that there are none.
fn without() -> Played<FakeSlb> {
    let mut played = denying();
    played.host = played.host.clone().setting("networkLoadBalancers", "false");
    played
}

fn delete(played: &Played<FakeSlb>, service: &LoadBalancer) -> aerostat_sdk::Result<Deletion> {
    played.host.run(|| Alibaba::delete(service))
}

#[test]
fn a_classic_one_goes_where_network_ones_are_not_shown() {
    let played = denying();
    let mut service = service();
    played.settle(&mut service);
    service.memo = None;
    let told = delete(&played, &service);
    assert!(matches!(&told, Err(Error::Denied(why)) if why.contains("nlb:ListLoadBalancers")), "{told:?}");
    assert!(played.cloud.borrow_mut().cloud().objects().is_empty());
}

#[test]
fn the_operator_says_that_there_are_no_network_ones() {
    let played = without();
    assert_eq!(delete(&played, &service()), Ok(Deletion::Done));
    assert!(played.host.sent().iter().all(|it| it.endpoint == "slb"));
    for unsettled in [annotated("type", "nlb"), LoadBalancer { memo: Some("nlb-1".to_owned()), ..service() }] {
        let told = delete(&played, &unsettled);
        assert!(told.is_err(), "one may be there: {told:?}");
    }
    let mut held = service();
    held.extra.push(("finalizer".to_owned(), crate::network::FINALIZER.to_owned()));
    assert!(delete(&played, &held).is_err(), "the vendor's controller may have made one");
}

#[test]
fn no_network_one_is_made_against_the_operators_word() {
    let played = without();
    let told = played.call(&mut annotated("type", "nlb"));
    assert!(matches!(&told, Err(Error::Invalid(why)) if why.contains("networkLoadBalancers")), "{told:?}");
    assert_eq!(writes(&played.host.sent()), [""; 0]);
}
