//! Load balancers that the vendor's controller has left, with the Service's name in its tag.

use super::*;
use crate::load_balancer::FINALIZER;

/// Leaves one with the tag of this cluster.
fn leave(played: &Played<FakeSlb>, cluster: Option<&str>) {
    let name = service().name;
    let mut tags = vec![json!({ "TagKey": "kubernetes.do.not.delete", "TagValue": name })];
    tags.extend(cluster.map(|it| json!({ "TagKey": "ack.aliyun.com", "TagValue": it })));
    let body = json!({ "Tags": tags, "Listeners": [], "Groups": [] });
    played.cloud.borrow_mut().cloud().balancers.make(&*name, body, testing::FakeMoment::default());
}

/// The Service with this finalizer.
fn held(mut service: LoadBalancer, finalizer: &str) -> LoadBalancer {
    service.extra = vec![("finalizer".to_owned(), finalizer.to_owned())];
    service
}

fn delete(played: &Played<FakeSlb>, service: &LoadBalancer) -> aerostat_sdk::Result<Deletion> {
    played.host.run(|| Alibaba::delete(service))
}

fn left(played: &Played<FakeSlb>) -> Vec<String> {
    played.cloud.borrow_mut().cloud().objects().into_iter().map(|it| it.id).collect()
}

#[test]
fn finalizers_stay_beside_a_load_balancer_of_the_vendor() {
    let deleted = |tag: Option<&str>, finalizer: &str| {
        let played = Played::new(FakeSlb::default());
        leave(&played, tag);
        let service = held(service(), finalizer);
        let deletion = played.host.run(|| Alibaba::delete(&service));
        let left = played.cloud.borrow_mut().cloud().objects().len();
        (deletion, left)
    };
    for tag in [Some("c2"), None] {
        let (refused, left) = deleted(tag, FINALIZER);
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains("lb-1") && why.contains("set clusterID")),
            "{tag:?}: {refused:?}"
        );
        assert_eq!(left, 1);
        assert_eq!(deleted(tag, "example.com/other"), (Ok(Deletion::Done), 1), "it holds nothing of the vendor's");
    }
    assert_eq!(deleted(Some(CLUSTER_ID), FINALIZER), (Ok(Deletion::Done), 0));
}

#[test]
fn no_second_one_is_made_beside_one_of_the_vendor() {
    for tag in [Some("c2"), None] {
        let played = Played::new(FakeSlb::default());
        leave(&played, tag);
        let mut service = service();
        let _ = played.call(&mut service);
        let refused = played.call(&mut service);
        let is_told = |why: &str| why.contains("lb-1") && why.contains("Set clusterID");
        assert!(
            matches!(&refused, Ok(Progress::Failed(it)) if matches!(&it.error, Error::Invalid(why) if is_told(why))),
            "{tag:?}: {refused:?}"
        );
        assert_eq!((service.memo.as_deref(), writes(&played.host.sent())), (None, Vec::new()), "{tag:?}");
    }
    let played = Played::new(FakeSlb::default());
    leave(&played, Some(CLUSTER_ID));
    let mut service = service();
    let _ = [played.call(&mut service), played.call(&mut service)];
    assert_eq!((service.memo.as_deref(), writes(&played.host.sent())), (Some("lb-1"), Vec::new()));
}

#[test]
fn one_of_the_vendor_beside_the_memos_goes_too() {
    for (tag, expected) in [(CLUSTER_ID, 0), ("c2", 1)] {
        let played = Played::new(FakeSlb::default());
        let mut service = service();
        played.settle(&mut service);
        leave(&played, Some(tag));
        let mut service = held(service, FINALIZER);
        let first = delete(&played, &service);
        assert_eq!(left(&played), ["lb-2"], "{tag}: {first:?}");
        if let Ok(Deletion::Pending(it)) = first {
            service = service.after(it.status);
            assert_eq!((service.memo.as_deref(), delete(&played, &service)), (Some("lb-2"), Ok(Deletion::Done)));
        } else {
            assert!(matches!(&first, Err(Error::Invalid(why)) if why.contains("lb-2")), "{tag}: {first:?}");
        }
        assert_eq!(left(&played).len(), expected, "{tag}");
    }
}

#[test]
fn one_that_is_not_proven_any_more_keeps_the_finalizer() {
    let played = Played::new(FakeSlb::default());
    leave(&played, Some("c2"));
    let taken = LoadBalancer { memo: Some("lb-1".to_owned()), ..service() };
    let kept = delete(&played, &held(taken.clone(), "example.com/other"));
    assert!(matches!(kept, Ok(Deletion::Kept(_))), "{kept:?}");
    let refused = delete(&played, &held(taken, FINALIZER));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("lb-1")), "{refused:?}");
    assert_eq!(left(&played), ["lb-1"]);
}
