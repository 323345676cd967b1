//! Deletions.

use aerostat_sdk::testing::Host;

use super::*;
use crate::tests::{refused, sent};

fn pending(answer: Result<Deletion>) -> (u32, String) {
    match answer {
        Ok(Deletion::Pending(it)) => (it.wait.milliseconds, it.wait.reason),
        other => panic!("{other:?}"),
    }
}

fn managed(host: Host) -> Host {
    host.setting("loadBalancers.nlbSecurityGroupMode", "Managed")
}

/// Nothing is left of a Service.
fn assert_gone(cloud: &Cloud) {
    let state = cloud.0.borrow();
    assert_eq!((state.balancers.len(), state.listeners.len(), state.groups.len()), (0, 0, 0));
    assert_eq!(state.ec2.groups.len(), 1);
    assert!(state.ec2.groups[0].rules.is_empty(), "{:?}", state.ec2.groups[0].rules);
}

#[test]
fn everything_that_was_made_goes() {
    let cloud = Cloud::default();
    let Ok(Progress::Ready(status)) = ensure(&managed(cloud.host()), &service()) else { panic!() };
    let host = cloud.host();
    assert_eq!(delete(&host, &service().after(status)), Ok(Deletion::Done));
    let expected = ["DeleteLoadBalancer", "DeleteTargetGroup", "RevokeSecurityGroupIngress", "DeleteSecurityGroup"];
    assert_eq!(actions(&written(&host)), expected);
    assert_gone(&cloud);
}

#[test]
fn aws_048_leftovers_of_a_load_balancer_go() {
    for is_remembered in [true, false] {
        let cloud = Cloud::default();
        let Ok(Progress::Ready(status)) = ensure(&managed(cloud.host()), &service()) else { panic!() };
        cloud.0.borrow_mut().balancers.clear();
        cloud.0.borrow_mut().listeners.clear();
        let service = if is_remembered { service().after(status) } else { service() };
        assert_eq!(delete(&cloud.host(), &service), Ok(Deletion::Done));
        assert_gone(&cloud);
        assert_eq!(delete(&cloud.host(), &service), Ok(Deletion::Done), "and nothing is left to do");
    }
}

#[test]
fn target_groups_that_no_list_shows_yet_go_by_their_names() {
    for made in [1, 2] {
        let cloud = Cloud::default();
        let ports: Vec<_> = (0..2).map(|it| Port::new(Protocol::Tcp, 80 + it, 30_080 + it)).collect();
        // The answer to the creation of the last one was lost.
        let service = served(&cloud, LoadBalancer { ports: ports[..made].to_vec(), ..service() });
        cloud.0.borrow_mut().hides_groups = true;
        let host = cloud.host();
        assert_eq!(delete(&host, &LoadBalancer { ports, ..service }), Ok(Deletion::Done));
        assert_gone(&cloud);
        let asked = sent(&host);
        assert_eq!(asked.iter().filter(|it| it.contains("Names.member.1=k8s-")).count(), 2, "{asked:?}");
    }
}

#[test]
fn aws_049_a_group_in_use_is_waited_for() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    cloud.fault(|action| (action == "DeleteTargetGroup").then(|| refused(400, "ResourceInUse")));
    let (pause, why) = pending(delete(&cloud.host(), &service));
    assert!(pause == 10_000 && why.contains("is still in use"), "{pause} {why}");
    cloud.fault(|_| None);
    assert_eq!(delete(&cloud.host(), &service), Ok(Deletion::Done));
    assert_gone(&cloud);
}

#[test]
fn aws_050_a_security_group_in_use_is_waited_for() {
    let cloud = Cloud::default();
    let Ok(Progress::Ready(status)) = ensure(&managed(cloud.host()), &service()) else { panic!() };
    let service = service().after(status);
    cloud.0.borrow_mut().ec2.groups[1].is_in_use = true;
    let (pause, why) = pending(delete(&cloud.host(), &service));
    assert!(pause == 10_000 && why.contains("sg-1 is still in use"), "{pause} {why}");
    cloud.0.borrow_mut().ec2.groups[1].is_in_use = false;
    assert_eq!(delete(&cloud.host(), &service), Ok(Deletion::Done));
    assert_gone(&cloud);
}

#[test]
fn many_ports_go_in_several_calls() {
    let cloud = Cloud::default();
    let ports = (0..12).map(|it| Port::new(Protocol::Tcp, 8_000 + it, 30_000 + it)).collect();
    let service = served(&cloud, LoadBalancer { ports, ..service() });
    let (pause, why) = pending(delete(&cloud.host(), &service));
    assert!(pause == 1_000 && why == "4 more changes are to come", "{pause} {why}");
    assert_eq!(delete(&cloud.host(), &service), Ok(Deletion::Done));
    assert_gone(&cloud);
}

#[test]
fn adv_171_a_protected_one_is_marked_and_kept() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    cloud.fault(|action| (action == "DeleteLoadBalancer").then(|| refused(400, "OperationNotPermitted")));
    let host = cloud.host();
    assert!(matches!(delete(&host, &service), Ok(Deletion::Kept(why)) if why.contains("is protected from deletion")));
    assert_eq!(actions(&written(&host)), ["DeleteLoadBalancer", "AddTags"], "and so is what belongs to it");
    let host = cloud.host();
    assert!(matches!(delete(&host, &service), Ok(Deletion::Kept(_))));
    assert_eq!(actions(&written(&host)), ["DeleteLoadBalancer"], "it is marked already");
    // A load balancer that a Service has is not kept.
    cloud.fault(|_| None);
    let host = cloud.host();
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    assert_eq!(actions(&written(&host)), ["AddTags"]);
    let host = cloud.host();
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    assert_eq!(actions(&written(&host)), [""; 0]);
}

#[test]
fn adv_171_a_load_balancer_without_the_mark_is_not_kept_yet() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    cloud.fault(|action| match action {
        "DeleteLoadBalancer" => Some(refused(400, "OperationNotPermitted")),
        "AddTags" => Some(refused(403, "AccessDenied")),
        _ => None,
    });
    assert!(matches!(delete(&cloud.host(), &service), Err(Error::Denied(_))), "the Service keeps its finalizer");
}

#[test]
fn the_annotation_of_the_kind_does_not_matter_any_more() {
    let cloud = Cloud::default();
    let mut service = served(&cloud, service());
    service.annotations.clear();
    assert_eq!(delete(&cloud.host(), &service), Ok(Deletion::Done));
    assert_gone(&cloud);
}
