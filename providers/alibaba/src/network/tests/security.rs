//! The security groups of Network Load Balancers: the ranges of clients.

use aerostat_sdk::testing::FakeMoment;

use super::*;

/// A Service whose ranges are a security group.
fn ranged() -> (Played<FakeNlb>, LoadBalancer) {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    played.settle(&mut service);
    (played, service)
}

/// Whether a call is refused for the right to see security groups.
fn is_blind(answer: &Result<Progress>) -> bool {
    let error = match answer {
        Err(error) => error,
        Ok(Progress::Failed(it)) => &it.error,
        Ok(_) => return false,
    };
    matches!(error, Error::Denied(why) if why.contains("needs ecs:DescribeSecurityGroups"))
}

fn groups(played: &Played<FakeNlb>) -> usize {
    played.cloud.borrow_mut().cloud().security.all().count()
}

#[test]
fn security_groups_that_may_not_be_seen_are_not_made_again() {
    let (played, mut service) = ranged();
    played.cloud.borrow_mut().cloud().is_blind = true;
    let before = played.host.sent().len();
    for ranges in [vec!["10.0.0.0/8".to_owned(), "192.0.2.0/24".to_owned()], Vec::new()] {
        service.source_ranges = ranges;
        let refused = played.call(&mut service);
        assert!(is_blind(&refused), "{refused:?}");
    }
    assert_eq!(writes(&played.host.sent()[before..]), [""; 0]);
    assert_eq!(groups(&played), 1);
    played.cloud.borrow_mut().cloud().is_blind = false;
    assert_eq!(writes(&played.settle(&mut service)), ["LoadBalancerLeaveSecurityGroup", "DeleteSecurityGroup"]);
    played.cloud.borrow_mut().cloud().is_blind = true;
    assert_eq!(writes(&played.settle(&mut service)), [""; 0], "without ranges nobody needs the right");
    assert_eq!(delete(&played, &mut service), Deletion::Done);
}

#[test]
fn security_groups_that_may_not_be_seen_stay_with_their_service() {
    let (played, mut service) = ranged();
    played.cloud.borrow_mut().cloud().is_blind = true;
    let before = played.host.sent().len();
    // Its ranges are gone, and its load balancer tells of the group.
    let mut open = LoadBalancer { source_ranges: Vec::new(), ..service.clone() };
    for service in [&mut service, &mut open] {
        let refused = delete_step(&played, service);
        assert!(matches!(&refused, Err(Error::Denied(why)) if why.contains("DescribeSecurityGroups")), "{refused:?}");
    }
    assert_eq!(writes(&played.host.sent()[before..]), [""; 0]);
    // Its load balancer is deleted by hand.
    played.cloud.borrow_mut().cloud().balancers.remove("nlb-1");
    played.cloud.borrow_mut().cloud().listeners.remove("lsn-1");
    let is_done = (0..20).any(|_| matches!(delete_step(&played, &mut service), Ok(Deletion::Done)));
    assert_eq!((is_done, groups(&played)), (false, 1));
    played.cloud.borrow_mut().cloud().is_blind = false;
    assert_eq!((delete(&played, &mut service), count(&played)), (Deletion::Done, 0));
}

#[test]
fn surplus_security_groups_go() {
    for joined in ["sg-1", "sg-2"] {
        let (played, mut service) = ranged();
        {
            let mut shared = played.cloud.borrow_mut();
            let cloud = shared.cloud();
            let copy = cloud.security.get("sg-1").unwrap().body.clone();
            cloud.security.make("k8s-nlb-copy", copy, FakeMoment::default());
            cloud.balancers.get_mut("nlb-1").unwrap().body["SecurityGroupIds"] = json!([joined]);
        }
        assert_eq!(writes(&played.settle(&mut service)), ["DeleteSecurityGroup"], "{joined}");
        assert_eq!(groups(&played), 1);
        assert!(played.cloud.borrow_mut().cloud().security.get(joined).is_some());
        assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    }
    // Both are in use.
    let (played, mut service) = ranged();
    {
        let mut shared = played.cloud.borrow_mut();
        let cloud = shared.cloud();
        let copy = cloud.security.get("sg-1").unwrap().body.clone();
        cloud.security.make("k8s-nlb-copy", copy, FakeMoment::default());
        cloud.balancers.get_mut("nlb-1").unwrap().body["SecurityGroupIds"] = json!(["sg-1", "sg-2"]);
    }
    service.source_ranges.clear();
    let expected = ["LoadBalancerLeaveSecurityGroup", "DeleteSecurityGroup", "DeleteSecurityGroup"];
    assert_eq!(writes(&played.settle(&mut service)), expected);
    assert_eq!(groups(&played), 0);
}

#[test]
fn alibaba_029_ranges_are_a_security_group() {
    let played = Played::new(FakeNlb::default());
    let mut service = service();
    service.source_ranges = vec!["10.0.0.0/8".to_owned(), "192.0.2.0/24".to_owned()];
    let sent = played.settle(&mut service);
    let all = writes(&sent);
    let place = |action: &str| all.iter().position(|it| *it == action).unwrap();
    assert!(place("LoadBalancerJoinSecurityGroup") < place("CreateListener"), "{all:?}");
    assert_eq!(only(&played, "load balancer")["SecurityGroupIds"], json!(["sg-1"]));
    let rules = only(&played, "security group")["Rules"].clone();
    let shown: Vec<_> = rules.as_array().unwrap().iter().map(|it| (&it["SourceCidrIp"], &it["Policy"])).collect();
    let (accept, drop) = (&json!("accept"), &json!("drop"));
    assert_eq!(shown, [(&json!("10.0.0.0/8"), accept), (&json!("192.0.2.0/24"), accept), (&json!("0.0.0.0/0"), drop)]);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.source_ranges.pop();
    assert_eq!(writes(&played.settle(&mut service)), ["RevokeSecurityGroup"]);
    service.source_ranges.clear();
    assert_eq!(writes(&played.settle(&mut service)), ["LoadBalancerLeaveSecurityGroup", "DeleteSecurityGroup"]);
    assert_eq!(only(&played, "load balancer")["SecurityGroupIds"], json!([]));
    service.source_ranges = vec!["2001:db8::/32".to_owned()];
    assert!(matches!(played.call(&mut service), Err(Error::Invalid(_))), "nobody is let in whom no rule names");
}

#[test]
fn security_groups_are_joined_once() {
    let played = Played::new(FakeNlb { joins_late: true, ..FakeNlb::default() });
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    let sent = played.settle(&mut service);
    assert_eq!(writes(&sent).iter().filter(|it| **it == "LoadBalancerJoinSecurityGroup").count(), 1);
    assert_eq!(only(&played, "load balancer")["SecurityGroupIds"], json!(["sg-1"]));
}

#[test]
fn security_groups_that_are_still_in_use_are_waited_for() {
    let played = Played::new(FakeNlb::default());
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    played.settle(&mut service);
    let waits = ("DeleteSecurityGroup", "DependencyViolation");
    played.cloud.borrow_mut().cloud().waits_at.push(waits);
    service.source_ranges.clear();
    let before = played.host.sent().len();
    for _ in 0..20 {
        match played.call(&mut service) {
            Ok(Progress::Pending(_)) => {}
            Ok(Progress::Ready(_)) => break,
            other => panic!("{other:?}"),
        }
    }
    let expected = ["LoadBalancerLeaveSecurityGroup", "DeleteSecurityGroup", "DeleteSecurityGroup"];
    assert_eq!(writes(&played.host.sent()[before..]), expected);
    service.source_ranges = vec!["10.0.0.0/8".to_owned()];
    played.settle(&mut service);
    played.cloud.borrow_mut().cloud().waits_at.push(waits);
    assert_eq!(delete(&played, &mut service), Deletion::Done);
    assert!(played.cloud.borrow_mut().cloud().waits_at.is_empty(), "it was refused once");
    assert_eq!(count(&played), 0);
}

#[test]
fn rules_of_security_groups_are_read_in_pages() {
    let played = Played::new(FakeNlb { most_rules: 2, ..FakeNlb::default() });
    let source_ranges = (1..=5).map(|it| format!("10.{it}.0.0/16")).collect();
    let mut service = LoadBalancer { source_ranges, ..service() };
    played.settle(&mut service);
    assert_eq!(writes(&played.settle(&mut service)), [""; 0]);
    service.source_ranges.pop();
    assert_eq!(writes(&played.settle(&mut service)), ["RevokeSecurityGroup"], "also behind the first page");
}
