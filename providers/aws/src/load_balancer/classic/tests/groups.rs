use aerostat_sdk::{Deletion, Error, LoadBalancer, LoadBalancerStatus, Progress};

use super::{Cloud, GROUP, NAME, delete, ensure, events, port, ready, service, with, writes, written};
use crate::api::ec2::security_groups::{IpPermission, Peer, RuleKey, SecurityGroup};
use crate::tests::required;

fn ranges(service: LoadBalancer, count: u8) -> LoadBalancer {
    LoadBalancer { source_ranges: (1..=count).map(|it| format!("{it}.0.0.0/8")).collect(), ..service }
}

#[test]
fn source_ranges_are_written_one_by_one() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &ranges(service(&["i-1"]), 1));
    let id = cloud.group(GROUP).unwrap().id;
    let writes = written(&cloud, &ranges(service(&["i-1"]), 2).after(status));
    let rule = |number: u8, protocol: &str, from: u16, to: u16| {
        let rule = format!("IpPermissions.{number}");
        format!(
            "{rule}.IpProtocol={protocol} {rule}.FromPort={from} {rule}.ToPort={to} {rule}.IpRanges.1.CidrIp=2.0.0.0/8"
        )
    };
    let rules = format!("{} {}", rule(1, "icmp", 3, 4), rule(2, "tcp", 80, 80));
    assert_eq!(writes, [format!("ec2 AuthorizeSecurityGroupIngress GroupId={id} {rules}")]);
}

#[test]
fn aws_044_a_full_group_is_told_of_and_nothing_is_lost() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &ranges(service(&["i-1"]), 2));
    let id = cloud.group(GROUP).unwrap().id;
    let before = cloud.rules(&id);
    cloud.state.borrow_mut().most_rules = Some(5);
    let many = ranges(service(&["i-1", "i-2"]), 9).after(status);
    let expected = format!("SecurityGroupFull: security group {id} has 4 rules and does not take 14 more");
    // Each call tries it once, and says so.
    for others in [1, 0] {
        let host = cloud.host();
        assert!(matches!(ensure(&host, &many), Ok(Progress::Ready(_))), "the load balancer is kept");
        assert_eq!(cloud.balancer(NAME).it.instances.len(), 2, "it follows the nodes");
        assert_eq!(cloud.rules(&id), before);
        let (written, events) = (writes(&host), events(&host));
        let (rules, rest): (Vec<_>, Vec<_>) = written.iter().partition(|it| it.contains("SecurityGroupIngress"));
        assert_eq!((rules.len(), rest.len()), (1, others), "{written:?}");
        assert!(matches!(&events[..], [one] if one.starts_with(&expected)), "{events:?}");
    }
    // Once the quota has grown, the rules are written.
    cloud.state.borrow_mut().most_rules = None;
    ready(&cloud, &many);
    assert_eq!(cloud.rules(&id).len(), before.len() + 14);
}

#[test]
fn a_full_group_takes_what_replaces_as_much() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &ranges(service(&["i-1"]), 2));
    let id = cloud.group(GROUP).unwrap().id;
    cloud.state.borrow_mut().most_rules = Some(4);
    let mut other = ranges(service(&["i-1"]), 2);
    other.ports = vec![port(81, 30_080)];
    let host = cloud.host();
    assert!(matches!(ensure(&host, &other.after(status)), Ok(Progress::Ready(_))));
    assert_eq!(events(&host), [""; 0]);
    let expected = ["icmp 3-4 1.0.0.0/8", "icmp 3-4 2.0.0.0/8", "tcp 81-81 1.0.0.0/8", "tcp 81-81 2.0.0.0/8"];
    assert_eq!(cloud.rules(&id), expected);
}

#[test]
fn given_groups_replace_its_own_which_goes() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let given = with(service(&["i-1"]), &[("security-groups", "sg-a, sg-b"), ("extra-security-groups", "sg-c")]);
    let id = cloud.group(GROUP).unwrap().id;
    let expected = [
        "ec2 AuthorizeSecurityGroupIngress GroupId=sg-nodes IpPermissions.1.IpProtocol=tcp \
         IpPermissions.1.FromPort=30080 IpPermissions.1.ToPort=30080 IpPermissions.1.Groups.1.GroupId=sg-a \
         IpPermissions.1.Groups.1.Description=aerostat.dev/rule/elb=a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1"
            .to_owned(),
        format!(
            "elb ApplySecurityGroupsToLoadBalancer LoadBalancerName={NAME} SecurityGroups.member.1=sg-a \
             SecurityGroups.member.2=sg-b SecurityGroups.member.3=sg-c"
        ),
        format!(
            "ec2 RevokeSecurityGroupIngress GroupId=sg-nodes IpPermissions.1.IpProtocol=-1 \
             IpPermissions.1.Groups.1.GroupId={id}"
        ),
        format!("ec2 DeleteSecurityGroup GroupId={id}"),
    ];
    assert_eq!(written(&cloud, &given.clone().after(status.clone())), expected);
    assert!(cloud.group(GROUP).is_none());
    // And back.
    ready(&cloud, &service(&["i-1"]).after(status));
    let id = cloud.group(GROUP).unwrap().id;
    assert_eq!(cloud.balancer(NAME).it.groups, [id.clone()].into());
    assert_eq!(cloud.rules("sg-nodes"), [format!("-1 {id}")]);
}

/// The vendor's controller has made a load balancer with a group that an annotation names, and let all that the group sends into
/// the nodes.
fn taken_over(cloud: &Cloud) -> LoadBalancer {
    let given = with(service(&["i-1"]), &[("security-groups", "sg-a")]);
    let status = ready(cloud, &given);
    let mut state = cloud.state.borrow_mut();
    for name in ["aerostat.dev/cluster-uid", "aerostat.dev/service-uid"] {
        state.balancers.get_mut(NAME).unwrap().tags.remove(name);
    }
    let rules = &mut state.groups.get_mut("sg-nodes").unwrap().permissions;
    rules.clear();
    rules.insert(everything("sg-a"));
    let status = LoadBalancerStatus { memo: None, ..status };
    given.after(status)
}

fn everything(group: &str) -> IpPermission {
    let key = RuleKey { protocol: "-1".to_owned(), from: None, to: None, peer: Peer::Group(group.to_owned()) };
    IpPermission { key, description: String::new() }
}

#[test]
fn a_steady_load_balancer_is_taken_over_without_a_write() {
    let cloud = Cloud::new();
    let service = taken_over(&cloud);
    assert_eq!(written(&cloud, &service), [""; 0]);
    assert_eq!(cloud.rules("sg-nodes"), ["-1 sg-a"]);
}

#[test]
fn adv_170_the_vendors_rule_for_a_given_group_goes_at_deletion() {
    let cloud = Cloud::new();
    let service = taken_over(&cloud);
    let unwanted = LoadBalancer { nodes: Vec::new(), ..service };
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), [""; 0]);
}

#[test]
fn adv_170_the_vendors_rule_becomes_one_for_each_node_port() {
    let cloud = Cloud::new();
    let mut service = taken_over(&cloud);
    service.ports.push(port(81, 30_081));
    ready(&cloud, &service);
    let rule = |port: u16| format!("tcp {port}-{port} sg-a aerostat.dev/rule/elb={NAME}");
    assert_eq!(cloud.rules("sg-nodes"), [rule(30_080), rule(30_081)]);
    assert!(cloud.balancer(NAME).tags.contains_key("aerostat.dev/service-uid"));
}

#[test]
fn adv_170_a_lost_answer_leaves_no_rule_of_the_vendor() {
    for lost in 1..20 {
        let cloud = Cloud::new();
        let mut service = taken_over(&cloud);
        service.ports.push(port(81, 30_081));
        cloud.lose(lost);
        drop(ensure(&cloud.host(), &service));
        ready(&cloud, &service);
        assert_eq!(cloud.rules("sg-nodes").len(), 2, "request {lost}");
    }
}

#[test]
fn adv_170_the_vendors_rule_stays_while_another_needs_it() {
    let cloud = Cloud::new();
    let service = taken_over(&cloud);
    let mut other = cloud.balancer(NAME);
    other.it.name = "another".to_owned();
    cloud.state.borrow_mut().balancers.insert("another".to_owned(), other.clone());
    let unwanted = LoadBalancer { nodes: Vec::new(), ..service };
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), ["-1 sg-a"], "the vendor's controller has made both");

    // One with marks has rules of its own.
    let service = taken_over(&cloud);
    other.tags.insert("aerostat.dev/cluster-uid".to_owned(), "any".to_owned());
    cloud.state.borrow_mut().balancers.insert("another".to_owned(), other);
    let unwanted = LoadBalancer { nodes: Vec::new(), ..service };
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), [""; 0]);
}

#[test]
fn adv_170_such_a_rule_stays_where_nobody_knows_who_made_it() {
    let cloud = Cloud::new();
    let given = with(service(&["i-1"]), &[("security-groups", "sg-a")]);
    let status = ready(&cloud, &given);
    cloud.state.borrow_mut().groups.get_mut("sg-nodes").unwrap().permissions.insert(everything("sg-a"));
    let unwanted = LoadBalancer { nodes: Vec::new(), ..given.after(status) };
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), ["-1 sg-a"], "the load balancer has had our marks from the start");
}

/// A person lets the control plane into the nodes, as the vendor's controller would.
fn with_masters(cloud: &Cloud) {
    cloud.state.borrow_mut().groups.get_mut("sg-nodes").unwrap().permissions.insert(everything("sg-masters"));
}

/// The same Service with these annotations instead of those that it has.
fn instead(service: LoadBalancer, annotations: &[(&str, &str)]) -> LoadBalancer {
    with(LoadBalancer { annotations: Vec::new(), ..service }, annotations)
}

fn lets_masters_in(cloud: &Cloud) -> bool {
    cloud.rules("sg-nodes").contains(&"-1 sg-masters".to_owned())
}

#[test]
fn adv_170_a_group_that_it_does_not_have_keeps_its_rule() {
    let named = |service| instead(service, &[("security-groups", "sg-masters")]);
    let cloud = Cloud::new();
    let service = taken_over(&cloud);
    with_masters(&cloud);
    ready(&cloud, &named(service));
    assert!(lets_masters_in(&cloud), "{:?}", cloud.rules("sg-nodes"));

    let cloud = Cloud::new();
    let service = taken_over(&cloud);
    with_masters(&cloud);
    let unwanted = LoadBalancer { nodes: Vec::new(), ..named(service) };
    assert_eq!(delete(&cloud.host(), &unwanted), Ok(Deletion::Done));
    assert!(lets_masters_in(&cloud), "{:?}", cloud.rules("sg-nodes"));
}

#[test]
fn adv_170_a_group_beside_others_keeps_its_rule() {
    let extra = [("extra-security-groups", "sg-masters")];
    for given in [&[("security-groups", "sg-a")][..], &[]] {
        // It leaves, it becomes the first, or the Service ends.
        for becomes in ["", "sg-masters", "deleted"] {
            let cloud = Cloud::new();
            let service = service(&["i-1"]);
            let status = ready(&cloud, &with(with(service.clone(), given), &extra));
            let marks = ["aerostat.dev/cluster-uid", "aerostat.dev/service-uid"];
            cloud.state.borrow_mut().balancers.get_mut(NAME).unwrap().tags.retain(|it, _| !marks.contains(&&**it));
            with_masters(&cloud);
            let now = match becomes {
                "" => with(service, given),
                "deleted" => with(with(service, given), &extra),
                other => with(service, &[("security-groups", other)]),
            };
            let now = now.after(LoadBalancerStatus { memo: None, ..status });
            if becomes == "deleted" {
                assert_eq!(delete(&cloud.host(), &LoadBalancer { nodes: Vec::new(), ..now }), Ok(Deletion::Done));
            } else {
                ready(&cloud, &now);
            }
            assert!(lets_masters_in(&cloud), "{given:?} {becomes:?} {:?}", cloud.rules("sg-nodes"));
        }
    }
}

#[test]
fn adv_170_a_group_that_is_not_allowed_keeps_its_rule() {
    let cloud = Cloud::new();
    let service = taken_over(&cloud);
    let unwanted = LoadBalancer { nodes: Vec::new(), ..service };
    let host = cloud.on(required());
    assert_eq!(delete(&host, &unwanted), Ok(Deletion::Done));
    assert_eq!(cloud.rules("sg-nodes"), ["-1 sg-a"]);
}

#[test]
fn adv_170_a_port_that_is_refused_is_opened_nowhere() {
    let cloud = Cloud::new();
    let annotations = |port| [("security-groups", "sg-a"), ("healthcheck-port", port)];
    let given = with(service(&["i-1"]), &annotations("8080"));
    let given = given.clone().after(ready(&cloud, &given));
    let rule = |port: u16| format!("tcp {port}-{port} sg-a aerostat.dev/rule/elb={NAME}");
    let before = [rule(8_080), rule(30_080)];
    assert_eq!(cloud.rules("sg-nodes"), before);
    // The kubelet's. What is checked stays open, and the rest follows the nodes.
    let host = cloud.host();
    let refused = ensure(&host, &instead(given, &annotations("10250")));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("allowedHealthCheckPorts")), "{refused:?}");
    assert_eq!(cloud.rules("sg-nodes"), before);
    assert_eq!(writes(&host), [""; 0]);
}

#[test]
fn the_operators_group_is_for_all() {
    let cloud = Cloud::new();
    let host = cloud.host().setting("loadBalancers.securityGroup", "sg-all");
    assert!(matches!(ensure(&host, &service(&["i-1"])), Ok(Progress::Ready(_))));
    assert_eq!(cloud.balancer(NAME).it.groups, ["sg-all".to_owned()].into());
    assert!(cloud.group(GROUP).is_none());
    assert_eq!(cloud.rules("sg-nodes"), ["-1 sg-all aerostat.dev/rule/elb"]);
}

#[test]
fn groups_of_nodes_are_left_alone_if_the_operator_says_so() {
    let cloud = Cloud::new();
    let host = || cloud.host().setting("loadBalancers.disableSecurityGroupIngress", "true");
    let Ok(Progress::Ready(status)) = ensure(&host(), &service(&["i-1"])) else { panic!("it is not ready") };
    assert_eq!(cloud.rules("sg-nodes"), [""; 0]);
    let host = host();
    delete(&host, &service(&[]).after(status)).unwrap();
    assert!(!writes(&host).iter().any(|it| it.contains("sg-nodes")));
}

#[test]
fn the_group_of_a_node_has_to_be_clear() {
    let refused = |groups: &[&str], tagged: &[&str]| {
        let cloud = Cloud::new();
        {
            let mut state = cloud.state.borrow_mut();
            let tag = state.groups["sg-nodes"].tags.clone();
            for id in groups {
                let tags = if tagged.contains(id) { tag.clone() } else { Default::default() };
                let group =
                    SecurityGroup { id: (*id).to_owned(), name: (*id).to_owned(), tags, ..SecurityGroup::default() };
                state.groups.insert(group.id.clone(), group);
            }
            state.instances.insert("i-1".to_owned(), groups.iter().map(|it| (*it).to_owned()).collect());
        }
        ensure(&cloud.host(), &service(&["i-1"]))
            .map(|_| groups.iter().map(|it| cloud.rules(it).len()).collect::<Vec<_>>())
    };
    assert_eq!(refused(&["sg-a", "sg-b"], &["sg-b"]), Ok(vec![0, 1]));
    assert_eq!(refused(&["sg-a"], &[]), Ok(vec![1]));
    let several = refused(&["sg-a", "sg-b"], &[]);
    assert!(
        matches!(&several, Err(Error::Invalid(why)) if why.contains("none of them has the cluster's tag")),
        "{several:?}"
    );
    let two = refused(&["sg-a", "sg-b"], &["sg-a", "sg-b"]);
    assert!(matches!(&two, Err(Error::Invalid(why)) if why.contains("sg-a, sg-b: leave it on the one")), "{two:?}");
}

#[test]
fn a_group_of_anothers_is_not_used() {
    for tags in [&[][..], &[("kubernetes.io/cluster/other", "owned")], &[("aerostat.dev/service-uid", "another")]] {
        let cloud = Cloud::new();
        let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let group = SecurityGroup { id: "sg-9".to_owned(), name: GROUP.to_owned(), tags, ..SecurityGroup::default() };
        cloud.state.borrow_mut().groups.insert("sg-9".to_owned(), group);
        let host = cloud.host();
        let refused = ensure(&host, &service(&["i-1"]));
        assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("sg-9")), "{refused:?}");
        assert_eq!(writes(&host), [""; 0]);
        drop(delete(&host, &service(&[])));
        assert_eq!(writes(&host), [""; 0]);
    }
}
