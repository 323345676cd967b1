//! The owner of a load balancer, and of what belongs to it.

use aerostat_sdk::{Deletion, Progress};

use super::*;
use crate::tags::Tags;

/// Takes our tags away from everything, as if the vendor's controller had made it.
fn as_the_vendor(cloud: &Cloud) {
    for tags in cloud.0.borrow_mut().tags.values_mut() {
        tags.retain(|key, _| !key.starts_with("aerostat.dev/"));
    }
}

fn set_tags(cloud: &Cloud, change: impl Fn(&mut Tags)) {
    let arn = cloud.0.borrow().balancers[0].arn.clone();
    change(cloud.0.borrow_mut().tags.get_mut(&arn).unwrap());
}

#[test]
fn a_load_balancer_of_the_vendor_is_taken_over_unwritten() {
    let cloud = Cloud::default();
    ready(&cloud, &service());
    as_the_vendor(&cloud);
    let arn = cloud.0.borrow().balancers[0].arn.clone();
    for memo in [None, Some(arn)] {
        assert_eq!(writes(&cloud, &LoadBalancer { memo, current_ingress: hostname(), ..service() }), [""; 0]);
    }
    let more = with_nodes(service(), 3);
    assert_eq!(actions(&writes(&cloud, &more)), ["RegisterTargets", "AddTags"], "tags come with a write");
    assert_eq!(writes(&cloud, &more), [""; 0]);
}

#[test]
fn a_load_balancer_of_the_vendor_goes_with_its_service() {
    let cloud = Cloud::default();
    ready(&cloud, &service());
    as_the_vendor(&cloud);
    assert_eq!(delete(&cloud.host(), &service()), Ok(Deletion::Done));
    assert_eq!((cloud.0.borrow().balancers.len(), cloud.0.borrow().groups.len()), (0, 0));
}

#[test]
fn an_unproven_load_balancer_is_not_touched() {
    let others: [fn(&mut Tags); 4] = [
        |it| _ = it.insert("aerostat.dev/service-uid".to_owned(), "another".to_owned()),
        |it| _ = it.insert("aerostat.dev/cluster-uid".to_owned(), "another".to_owned()),
        |tags| {
            tags.retain(|key, _| !key.starts_with("aerostat.dev/"));
            tags.insert("kubernetes.io/service-name".to_owned(), "default/other".to_owned());
        },
        |it| it.clear(),
    ];
    for change in others {
        let cloud = Cloud::default();
        ready(&cloud, &service());
        set_tags(&cloud, change);
        let host = cloud.host();
        let why = refusal(ensure(&host, &service()));
        assert!(why.contains("cannot be proven to be this Service's"), "{why}");
        assert_eq!(delete(&host, &service()), Ok(Deletion::Done));
        assert_eq!(written(&host), [""; 0]);
    }
}

#[test]
fn a_memo_proves_what_has_no_tags() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    set_tags(&cloud, |it| it.clear());
    assert_eq!(actions(&writes(&cloud, &service)), ["AddTags"]);
    set_tags(&cloud, |it| _ = it.insert("aerostat.dev/service-uid".to_owned(), "another".to_owned()));
    assert!(refusal(ensure(&cloud.host(), &service)).contains("another"));
}

#[test]
fn a_target_group_of_another_is_not_used() {
    let cloud = Cloud::default();
    ready(&cloud, &service());
    let arn = cloud.0.borrow().groups[0].arn.clone();
    cloud.0.borrow_mut().balancers.clear();
    cloud.0.borrow_mut().listeners.clear();
    let old = [("aerostat.dev/cluster-uid", "c"), ("aerostat.dev/service-uid", "an earlier one")];
    let old = old.map(|(key, value)| (key.to_owned(), value.to_owned()));
    cloud.0.borrow_mut().tags.insert(arn, old.into());
    let host = cloud.host();
    let answer = ensure(&host, &service());
    assert!(
        matches!(&answer, Ok(Progress::Failed(it)) if format!("{:?}", it.error).contains("exists already")),
        "{answer:?}"
    );
    assert_eq!(actions(&written(&host)), ["CreateLoadBalancer"]);
}

#[test]
fn new_tags_of_the_service_are_added() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let tagged = annotated(service, "additional-resource-tags", "team=a,cost=");
    let lines = writes(&cloud, &tagged);
    assert_eq!(actions(&lines), ["AddTags"], "one request for the load balancer and its target group");
    assert_eq!(writes(&cloud, &tagged), [""; 0]);
}

#[test]
fn target_groups_of_services_named_alike_cost_nothing() {
    let cloud = Cloud::default();
    let mut other = service();
    (other.name, other.owner.name) = ("a1".to_owned(), "web-2".to_owned());
    other.owner.uid = "another".to_owned();
    let mut this = service();
    this.owner.name = "web2".to_owned();
    ready(&cloud, &other);
    ready(&cloud, &this);
    let host = cloud.host();
    assert!(matches!(ensure(&host, &this), Ok(Progress::Ready(_))));
    let tags = crate::tests::sent(&host).into_iter().find(|it| it.contains("DescribeTags")).unwrap();
    assert_eq!(tags.matches("ResourceArns").count(), 2, "{tags}");
    assert_eq!(delete(&cloud.host(), &this), Ok(Deletion::Done));
    assert_eq!(cloud.0.borrow().groups.len(), 1, "that of the other");
}
