use aerostat_sdk::{Deletion, LoadBalancer};

use super::{Cloud, GROUP, NAME, delete, events, port, ready, service, with, writes};
use crate::api::ec2::security_groups::{IpPermission, Peer, RuleKey};

#[test]
fn everything_of_a_service_goes() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let id = cloud.group(GROUP).unwrap().id;
    let host = cloud.host();
    assert_eq!(delete(&host, &service(&[]).after(status)), Ok(Deletion::Done));
    let expected = [
        format!("elb DeleteLoadBalancer LoadBalancerName={NAME}"),
        format!(
            "ec2 RevokeSecurityGroupIngress GroupId=sg-nodes IpPermissions.1.IpProtocol=-1 \
             IpPermissions.1.Groups.1.GroupId={id}"
        ),
        format!("ec2 DeleteSecurityGroup GroupId={id}"),
    ];
    assert_eq!(writes(&host), expected);
    let state = cloud.state.borrow();
    assert_eq!((state.balancers.len(), state.groups.len()), (0, 1));
}

#[test]
fn aws_048_a_group_is_found_without_its_load_balancer() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    cloud.state.borrow_mut().balancers.clear();
    assert_eq!(delete(&cloud.host(), &service(&[]).after(status)), Ok(Deletion::Done));
    assert_eq!(cloud.state.borrow().groups.len(), 1);
    let host = cloud.host();
    assert_eq!((delete(&host, &service(&[])), writes(&host).len()), (Ok(Deletion::Done), 0));
}

#[test]
fn aws_050_a_group_that_is_held_is_waited_for() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let (unwanted, id) = (service(&[]).after(status), cloud.group(GROUP).unwrap().id);
    cloud.state.borrow_mut().held.insert(id.clone());
    let Ok(Deletion::Pending(pending)) = delete(&cloud.host(), &unwanted) else { panic!("it is held") };
    assert_eq!(pending.wait.milliseconds, 10_000);
    assert!(
        pending.wait.reason.starts_with(&format!("security group {id} is still in use")),
        "{}",
        pending.wait.reason
    );
    cloud.state.borrow_mut().held.clear();
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert!(cloud.group(GROUP).is_none());
}

#[test]
fn a_lost_answer_leaves_nothing_behind() {
    for annotations in [&[][..], &[("security-groups", "sg-given")]] {
        for lost in 1..12 {
            let cloud = Cloud::new();
            let made = with(service(&["i-1"]), annotations);
            let status = ready(&cloud, &made);
            let unwanted = LoadBalancer { nodes: Vec::new(), ..made.after(status) };
            cloud.lose(lost);
            let deleted = (0..3).find_map(|_| delete(&cloud.host(), &unwanted).ok());
            assert_eq!(deleted, Some(Deletion::Done), "request {lost}");
            let state = cloud.state.borrow();
            assert_eq!((state.balancers.len(), state.groups.len()), (0, 1), "request {lost}");
            drop(state);
            assert_eq!(cloud.rules("sg-nodes"), [""; 0], "request {lost}");
        }
    }
}

#[test]
fn anothers_load_balancer_is_not_deleted() {
    let tag = |cloud: &Cloud, key: &str, value: &str| {
        let mut state = cloud.state.borrow_mut();
        state.balancers.get_mut(NAME).unwrap().tags.insert(key.to_owned(), value.to_owned());
        let group = state.groups.values_mut().find(|it| it.name == GROUP).unwrap();
        group.tags.insert(key.to_owned(), value.to_owned());
    };
    for (key, value) in [("aerostat.dev/cluster-uid", "another"), ("aerostat.dev/service-uid", "another")] {
        let cloud = Cloud::new();
        let status = ready(&cloud, &service(&["i-1"]));
        tag(&cloud, key, value);
        let host = cloud.host();
        assert_eq!(delete(&host, &service(&[]).after(status)), Ok(Deletion::Done));
        assert_eq!(writes(&host), [""; 0]);
        assert!(events(&host)[0].starts_with("LoadBalancerNotDeleted: "), "{:?}", events(&host));
    }
}

#[test]
fn a_given_group_stays_and_leads_to_nodes_while_it_is_shared() {
    let given = |service: LoadBalancer| with(service, &[("security-groups", "sg-given")]);
    let other = LoadBalancer { ports: vec![port(80, 30_081)], ..LoadBalancer::of("default", "other", "another-uid") };
    let other = LoadBalancer { nodes: service(&["i-1"]).nodes, annotations: given(service(&[])).annotations, ..other };
    let cloud = Cloud::new();
    let (status, others) = (ready(&cloud, &given(service(&["i-1"]))), ready(&cloud, &other));
    let rule = |name: &str, port: u16| format!("tcp {port}-{port} sg-given aerostat.dev/rule/elb={name}");
    let of_other = rule("aanotheruid", 30_081);
    assert_eq!(cloud.rules("sg-nodes"), [rule(NAME, 30_080), of_other.clone()]);
    assert_eq!(delete(&cloud.host(), &given(service(&[])).after(status)), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), [of_other], "the other needs it");
    // What is refused about the groups beside it does not matter any more.
    let unwanted = with(other, &[("extra-security-groups", "default")]);
    let unwanted = LoadBalancer { nodes: Vec::new(), ..unwanted }.after(others);
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), [""; 0]);
}

#[test]
fn a_persons_rule_for_a_given_group_stays() {
    let cloud = Cloud::new();
    let key = RuleKey { protocol: "-1".to_owned(), from: None, to: None, peer: Peer::Group("sg-given".to_owned()) };
    let rule = IpPermission { key, description: "a person's".to_owned() };
    cloud.state.borrow_mut().groups.get_mut("sg-nodes").unwrap().permissions.insert(rule);
    let given = |service: LoadBalancer| with(service, &[("security-groups", "sg-given")]);
    let status = ready(&cloud, &given(service(&["i-1"])));
    assert_eq!(delete(&cloud.host(), &given(service(&[])).after(status)), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), ["-1 sg-given a person's"]);
}
