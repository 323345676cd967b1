//! Network Load Balancers that the vendor's controller has left, with the Service's name in its tag.

use super::*;
use crate::network::FINALIZER;

/// Leaves one with the tag of this cluster.
fn leave(played: &Played<FakeNlb>, cluster: &str) {
    let name = service().name;
    let tags =
        json!([{ "Key": "kubernetes.do.not.delete", "Value": name }, { "Key": "ack.aliyun.com", "Value": cluster }]);
    let body = json!({ "Tags": tags, "SecurityGroupIds": [], "IsNew": false });
    played.cloud.borrow_mut().cloud().balancers.make(&*name, body, testing::FakeMoment::default());
}

#[test]
fn network_finalizers_stay_beside_a_load_balancer_of_the_vendor() {
    for (tag, expected) in [("c2", 1), (CLUSTER_ID, 0)] {
        let played = Played::new(FakeNlb::default());
        let mut service = service();
        service.extra.push(("finalizer".to_owned(), FINALIZER.to_owned()));
        leave(&played, tag);
        if expected == 0 {
            assert_eq!(delete(&played, &mut service), Deletion::Done);
        } else {
            let refused = played.host.run(|| <Alibaba as LoadBalancers>::delete(&service));
            let is_told =
                matches!(&refused, Err(Error::Invalid(why)) if why.contains("nlb-1") && why.contains("set clusterID"));
            assert!(is_told, "{refused:?}");
            service.extra.clear();
            assert_eq!(delete(&played, &mut service), Deletion::Done, "there is no finalizer of the vendor's");
        }
        assert_eq!(count(&played), expected, "{tag}");
    }
}

#[test]
fn no_second_network_one_is_made_beside_the_vendors() {
    let played = Played::new(FakeNlb::default());
    leave(&played, "c2");
    let mut service = service();
    let _ = played.call(&mut service);
    let refused = played.call(&mut service);
    let is_told = |why: &str| why.contains("load balancer nlb-1 (") && why.contains("Set clusterID");
    assert!(
        matches!(&refused, Ok(Progress::Failed(it)) if matches!(&it.error, Error::Invalid(why) if is_told(why))),
        "{refused:?}"
    );
    assert_eq!((service.memo.as_deref(), writes(&played.host.sent())), (None, Vec::new()));
}

#[test]
fn a_network_one_of_the_vendor_beside_the_memos_goes_too() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    played.settle(&mut service);
    leave(&played, CLUSTER_ID);
    service.extra = vec![("finalizer".to_owned(), FINALIZER.to_owned())];
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert_eq!(count(&played), 0);
}
