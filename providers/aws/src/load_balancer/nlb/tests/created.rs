//! Creations.

use aerostat_sdk::testing::EventKind;
use aerostat_sdk::{Error, ExternalTrafficPolicy, IpFamily, LoadBalancer, Port, Progress, Protocol};

use super::*;
use crate::tests::{refused, sent, settings};

#[test]
fn aws_031_a_service_gets_a_load_balancer() {
    let cloud = Cloud::default();
    let host = cloud.host();
    let Ok(Progress::Ready(status)) = ensure(&host, &service()) else { panic!("{:?}", sent(&host)) };
    let lines = written(&host);
    let expected = [
        "CreateLoadBalancer",
        "CreateTargetGroup",
        "RegisterTargets",
        "CreateListener",
        "AuthorizeSecurityGroupIngress",
    ];
    assert_eq!(actions(&lines), expected);
    assert!(
        lines[0].starts_with(&format!(
            "CreateLoadBalancer Name={NAME} Type=network SubnetMappings.member.1.SubnetId=subnet-a \
             SubnetMappings.member.2.SubnetId=subnet-b SubnetMappings.member.3.SubnetId=subnet-c \
             Tags.member.1.Key=aerostat.dev/cluster-uid"
        )),
        "{}",
        lines[0]
    );
    let group = "CreateTargetGroup Name=k8s-default-web-7d2505df92 Protocol=TCP Port=30080 VpcId=vpc-1 TargetType=instance \
                 HealthCheckProtocol=TCP HealthCheckPort=traffic-port HealthCheckIntervalSeconds=30 \
                 HealthyThresholdCount=3 UnhealthyThresholdCount=3 Tags.member.1.Key=";
    assert!(lines[1].starts_with(group), "{}", lines[1]);
    let state = cloud.0.borrow();
    let (group, balancer) = (&state.groups[0], &state.balancers[0]);
    let expected = [("i-1", "30080"), ("i-2", "30080")].map(|(id, port)| (id.to_owned(), port.to_owned()));
    assert_eq!(group.targets, expected.into());
    for arn in [&group.arn, &balancer.arn, &state.listeners[0].arn] {
        let tags = &state.tags[arn];
        let has = |key: &str, value: &str| tags.get(key).map(String::as_str) == Some(value);
        assert!(VENDOR.iter().all(|(key, value)| has(key, value)) && has("aerostat.dev/service-uid", UID), "{tags:?}");
        assert_eq!(tags.len(), 4);
    }
    let rules = [
        "icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
        "tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1",
    ];
    assert!(state.ec2.groups[0].rules.iter().eq(rules.iter()), "{:?}", state.ec2.groups[0].rules);
    assert_eq!((status.ingress, status.memo.as_ref()), (hostname(), Some(&balancer.arn)), "while it is provisioning");
}

#[test]
fn aws_033_many_nodes_are_registered_in_batches() {
    let cloud = Cloud::default();
    let service = with_nodes(service(), 150);
    let lines = writes(&cloud, &service);
    let counts: Vec<_> =
        lines.iter().filter(|it| it.starts_with("RegisterTargets")).map(|it| it.matches(".Id=").count()).collect();
    assert_eq!(counts, [100, 50]);
}

#[test]
fn aws_035_each_subnet_needs_an_address() {
    let elastic = ("eip-allocations", "false", ["eipalloc-1", "eipalloc-2", "eipalloc-3"]);
    let private = ("private-ipv4-addresses", "true", ["10.0.1.9", "10.0.2.9", "10.0.3.9"]);
    for (name, internal, list) in [elastic, private] {
        let (cloud, internal) = (Cloud::default(), annotated(service(), "internal", internal));
        let host = cloud.host();
        let why = refusal(ensure(&host, &annotated(internal.clone(), name, &list[..2].join(","))));
        assert!(why.contains("(2) and SubnetIDs (3: subnet-"), "{why}");
        assert_eq!(written(&host), [""; 0]);
        served(&cloud, annotated(internal, name, &list.join(",")));
        let mappings = cloud.0.borrow().balancers[0].mappings.clone();
        assert!(mappings.iter().zip(list).all(|(mapping, it)| mapping.ends_with(&format!(" {it}"))), "{mappings:?}");
        assert_eq!(mappings.len(), 3);
    }
}

#[test]
fn aws_036_mixed_protocols_are_refused() {
    let mixed = service().with_port(Port::new(Protocol::Udp, 53, 30_053));
    let why = refusal(ensure(&settings(), &mixed));
    assert!(why.starts_with("mixed protocol is not supported for LoadBalancer"), "{why}");
}

#[test]
fn an_impossible_service_is_refused_before_any_request() {
    let sctp = without_ports().with_port(Port::new(Protocol::Sctp, 80, 30_080));
    let udp = || without_ports().with_port(Port::new(Protocol::Udp, 53, 30_053));
    let attributes = |service, value| annotated(service, "target-group-attributes", value);
    for (service, why) in [
        (sctp, "only TCP or UDP protocol is supported: port 80 is SCTP"),
        (without_ports(), "requested load balancer with no ports"),
        (LoadBalancer { client_ip_affinity_seconds: Some(7), ..service() }, "unsupported load balancer affinity"),
        (LoadBalancer { load_balancer_ip: Some("192.0.2.1".to_owned()), ..service() }, "LoadBalancerIP cannot be"),
        (annotated(service(), "extra-security-groups", "sg-1"), "is not supported by NLB"),
        (annotated(service(), "healthcheck-protocol", "UDP"), "\"UDP\" is not tcp, http, https or ssl"),
        (annotated(service(), "healthcheck-protocol", "ssl"), "which a Network Load Balancer has"),
        (annotated(service(), "healthcheck-port", "http"), "is not a port, or traffic-port"),
        (annotated(service(), "healthcheck-interval", "1"), "is not a whole number of seconds from 5 to 300"),
        // Case 41.
        (attributes(service(), "foo=bar"), "the attribute \"foo\" is not supported"),
        (attributes(service(), "proxy_protocol_v2.enabled=1"), "\"1\" is not true or false"),
        (attributes(udp(), "preserve_client_ip.enabled=false"), "can't be disabled for UDP ports"),
    ] {
        let refused = refusal(ensure(&settings(), &service));
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn aws_037_an_internal_one_is_in_private_subnets() {
    let cloud = Cloud::default();
    {
        let ec2 = &mut cloud.0.borrow_mut().ec2;
        ec2.subnets.push(("subnet-p", "us-east-1a", "10.0.9.0/24", "", "kubernetes.io/role/internal-elb=1"));
        ec2.private.extend(["subnet-p", "subnet-b"]);
    }
    served(&cloud, annotated(service(), "internal", "true"));
    let balancer = cloud.0.borrow().balancers[0].clone();
    assert_eq!((&*balancer.scheme, &*balancer.mappings.join(" ")), ("internal", "subnet-p subnet-b subnet-c"));
}

#[test]
fn aws_042_two_subnets_of_one_zone_are_refused() {
    let cloud = Cloud::default();
    cloud.0.borrow_mut().ec2.subnets.push(("subnet-d", "us-east-1a", "10.0.4.0/24", "", "Name=db"));
    for (list, part) in [
        ("subnet-a,subnet-d", "subnet-a and subnet-d are both in zone us-east-1a"),
        ("db, subnet-a", "subnet-d and subnet-a are both in zone us-east-1a"),
        ("subnet-a,subnet-z", "expected to find 2, but found 1 subnets: the VPC has no \"subnet-z\""),
    ] {
        let host = cloud.host();
        let why = refusal(ensure(&host, &annotated(service(), "subnets", list)));
        assert!(why.contains(part), "{why}");
        assert_eq!(written(&host), [""; 0]);
    }
    served(&cloud, annotated(service(), "subnets", "subnet-c, db,"));
    assert_eq!(cloud.0.borrow().balancers[0].mappings, ["subnet-c", "subnet-d"], "as the annotation says");
}

#[test]
fn aws_043_without_public_subnets_it_says_what_it_looked_for() {
    let cloud = Cloud::default();
    cloud.0.borrow_mut().ec2.private.extend(["subnet-a", "subnet-b", "subnet-c"]);
    let why = refusal(ensure(&cloud.host(), &service()));
    for part in ["could not find any suitable subnets", "kubernetes.io/cluster/prod", "kubernetes.io/role/elb"] {
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn aws_046_a_managed_group_is_made_first() {
    let cloud = Cloud::default();
    let host = || cloud.host().setting("loadBalancers.nlbSecurityGroupMode", "Managed");
    let tls = without_ports().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    let tls = annotated(with_nodes(tls, 1), "ssl-cert", "arn:aws:acm:us-east-1:1:certificate/1");
    let first = host();
    let Ok(Progress::Ready(status)) = ensure(&first, &tls) else { panic!("{:?}", sent(&first)) };
    assert_eq!(actions(&written(&first))[..2], ["CreateSecurityGroup", "CreateLoadBalancer"]);
    let group = cloud.0.borrow().ec2.groups[1].clone();
    assert_eq!(group.name, "k8s-default-web-f07209e342");
    assert_eq!(group.tags.get("kubernetes.io/cluster/prod").map(String::as_str), Some("owned"));
    assert_eq!(cloud.0.borrow().balancers[0].groups, [group.id]);
    assert!(group.rules.iter().eq(["icmp 3-4 0.0.0.0/0 ", "tcp 443-443 0.0.0.0/0 "]), "{:?}", group.rules);
    let tls = tls.after(status);
    let again = host();
    assert!(matches!(ensure(&again, &tls), Ok(Progress::Ready(_))));
    assert_eq!(written(&again), [""; 0]);
    let chosen = host();
    assert!(matches!(ensure(&chosen, &annotated(tls, "security-groups", "sg-x, sg-y")), Ok(Progress::Ready(_))));
    assert_eq!(actions(&written(&chosen)), ["SetSecurityGroups", "DeleteSecurityGroup"]);
    assert_eq!(cloud.0.borrow().balancers[0].groups, ["sg-x", "sg-y"]);
}

#[test]
fn aws_047_a_refusal_names_the_action_of_iam() {
    let cloud = Cloud::default();
    cloud.fault(|action| (action == "CreateLoadBalancer").then(|| refused(403, "AccessDenied")));
    let answer = ensure(&cloud.host(), &service());
    assert!(
        matches!(&answer, Err(Error::Denied(why)) if why.contains("elasticloadbalancing:CreateLoadBalancer")),
        "{answer:?}"
    );
}

#[test]
fn health_is_checked_as_the_policy_says() {
    let cloud = Cloud::default();
    let local = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Local(31_000), ..service() };
    let service = served(&cloud, local);
    let fields = cloud.0.borrow().groups[0].fields.clone();
    let shown = ["Protocol", "Port", "Path", "IntervalSeconds"].map(|it| fields[&format!("HealthCheck{it}")].clone());
    assert_eq!(shown, ["HTTP", "31000", "/healthz", "10"]);
    assert_eq!((&*fields["HealthyThresholdCount"], &*fields["UnhealthyThresholdCount"]), ("2", "2"));
    let rules = cloud.0.borrow().ec2.groups[0].rules.clone();
    let checks: Vec<_> = rules.iter().filter(|it| it.contains("nlb/health=")).map(|it| &it[..28]).collect();
    assert_eq!(
        checks,
        ["tcp 31000-31000 10.0.1.0/24 ", "tcp 31000-31000 10.0.2.0/24 ", "tcp 31000-31000 10.0.3.0/24 "]
    );
    let shared = cloud.host().setting("loadBalancers.healthProbeMode", "Shared");
    let cluster = LoadBalancer { external_traffic_policy: ExternalTrafficPolicy::Cluster, ..service };
    assert!(matches!(ensure(&shared, &cluster), Ok(Progress::Ready(_))));
    let fields = cloud.0.borrow().groups[0].fields.clone();
    let shown = ["Protocol", "Port", "Path", "IntervalSeconds"].map(|it| fields[&format!("HealthCheck{it}")].clone());
    assert_eq!(shown, ["HTTP", "10256", "/healthz", "30"], "another group, because of its interval");
}

#[test]
fn both_families_make_it_dual_stack() {
    let cloud = Cloud::default();
    let dual = LoadBalancer { ip_families: vec![IpFamily::Ipv4, IpFamily::Ipv6], ..service() };
    let service = served(&cloud, dual);
    assert_eq!(cloud.0.borrow().balancers[0].address_type, "dualstack");
    assert!(cloud.0.borrow().ec2.groups[0].rules.iter().any(|it| it.starts_with("tcp 30080-30080 ::/0 ")));
    let single = LoadBalancer { ip_families: vec![IpFamily::Ipv4], ..service };
    assert!(actions(&writes(&cloud, &single)).contains(&"SetIpAddressType"));
    let cloud = Cloud::default();
    cloud.0.borrow_mut().ec2.subnets[1].3 = "";
    let host = cloud.host();
    assert!(matches!(
        ensure(&host, &LoadBalancer { ip_families: vec![IpFamily::Ipv6, IpFamily::Ipv4], ..single }),
        Ok(Progress::Ready(_))
    ));
    let event = host.events().remove(0);
    assert_eq!((event.kind, &*event.reason), (EventKind::Warning, "LoadBalancerWithoutIPv6"));
    assert_eq!(cloud.0.borrow().balancers[0].address_type, "ipv4");
}

#[test]
fn both_families_need_source_nat_for_udp() {
    let cloud = Cloud::default();
    let udp = without_ports().with_port(Port::new(Protocol::Udp, 53, 30_053));
    let dual = LoadBalancer { ip_families: vec![IpFamily::Ipv4, IpFamily::Ipv6], ..with_nodes(udp, 1) };
    let lines = writes(&cloud, &dual);
    assert!(lines[0].contains("IpAddressType=dualstack EnablePrefixForIpv6SourceNat=on"), "{lines:?}");
    served(&cloud, dual.clone());
    cloud.0.borrow_mut().balancers[0].address_type = "ipv4".to_owned();
    let host = cloud.host();
    assert!(matches!(ensure(&host, &dual), Ok(Progress::Ready(_))));
    assert!(!actions(&written(&host)).contains(&"SetIpAddressType"));
    assert_eq!(host.events()[0].reason, "LoadBalancerImmutable");
}

#[test]
fn ports_without_node_ports_are_left_out() {
    let cloud = Cloud::default();
    let mut port = Port::new(Protocol::Tcp, 80, 1);
    port.node_port = None;
    served(&cloud, without_ports().with_port(port));
    assert_eq!(cloud.0.borrow().listeners.len(), 0);
}
