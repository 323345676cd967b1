//! Changes of load balancers that there are.

use aerostat_sdk::{LoadBalancer, Port, Progress, Protocol};

use super::*;
use crate::tests::refused;

const CERTIFICATE: &str = "arn:aws:acm:us-east-1:1:certificate/1";

fn tls() -> LoadBalancer {
    let ports = without_ports().with_port(Port::new(Protocol::Tcp, 443, 30_443).named("https"));
    with_nodes(ports.with_port(Port::new(Protocol::Tcp, 80, 30_080).named("http")), 1)
}

#[test]
fn aws_032_nothing_is_written_to_what_is_as_desired() {
    let http = annotated(annotated(service(), "healthcheck-protocol", "HTTP"), "healthcheck-path", "/ready");
    let selected = annotated(annotated(tls(), "ssl-cert", CERTIFICATE), "ssl-ports", "https");
    let logs = annotated(annotated(service(), "access-log-enabled", "true"), "access-log-s3-bucket-name", "logs");
    let local = annotated(annotated(service(), "healthcheck-timeout", "5"), "healthcheck-unhealthy-threshold", "4");
    for service in [service(), http, selected.clone(), logs, local, annotated(selected, "backend-protocol", "ssl")] {
        served(&Cloud::default(), service);
    }
}

#[test]
fn aws_032_a_steady_one_costs_few_reads() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let host = cloud.host();
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    let lines: Vec<_> = crate::tests::sent(&host).iter().map(|it| it.replace("Action=Describe", "")).collect();
    let expected = [
        "LoadBalancers",
        "Listeners",
        "TargetGroups",
        "Tags",
        "LoadBalancerAttributes",
        "Subnets",
        "TargetHealth",
        "SecurityGroups",
    ];
    assert_eq!(actions(&lines), expected);
}

#[test]
fn a_load_balancer_listed_a_moment_ago_is_found_in_a_list() {
    let cloud = Cloud::default();
    let mut service = served(&cloud, service());
    service.extra.push(("host.listed".to_owned(), "true".to_owned()));
    let host = cloud.host();
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    assert_eq!(crate::tests::sent(&host)[0], "Action=DescribeLoadBalancers PageSize=400");
    cloud.0.borrow_mut().balancers.clear();
    cloud.0.borrow_mut().listeners.clear();
    let host = cloud.host();
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    assert!(crate::tests::sent(&host)[1].starts_with("Action=DescribeLoadBalancers Names.member.1="));
    assert_eq!(actions(&written(&host)), ["CreateLoadBalancer", "CreateListener"], "its target group is still there");
}

#[test]
fn aws_034_a_node_goes_by_one_request() {
    let cloud = Cloud::default();
    let service = served(&cloud, with_nodes(service(), 3));
    let lines = writes(&cloud, &with_nodes(service, 2));
    assert_eq!(actions(&lines), ["DeregisterTargets"]);
    assert!(lines[0].ends_with("Targets.member.1.Id=i-3 Targets.member.1.Port=30080"), "{lines:?}");
}

#[test]
fn aws_038_source_ranges_are_those_of_the_rules() {
    let cloud = Cloud::default();
    let ranges = |service: LoadBalancer, list: &[&str]| LoadBalancer {
        source_ranges: list.iter().map(|it| (*it).to_owned()).collect(),
        ..service
    };
    let service = served(&cloud, ranges(service(), &["10.0.0.0/8"]));
    let health = |subnet| format!("tcp 30080-30080 {subnet} kubernetes.io/rule/nlb/health={NAME}");
    let client = |range| format!("tcp 30080-30080 {range} kubernetes.io/rule/nlb/client={NAME}");
    let mtu = |range| format!("icmp 3-4 {range} kubernetes.io/rule/nlb/mtu");
    let mut expected = ["10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"].map(health).to_vec();
    expected.extend([client("10.0.0.0/8"), mtu("10.0.0.0/8")]);
    assert_eq!(cloud.0.borrow().ec2.groups[0].rules, expected.iter().cloned().collect());
    let wider = ranges(service, &["10.0.0.0/8", "11.0.0.0/8"]);
    let lines = writes(&cloud, &wider);
    assert_eq!(actions(&lines), ["AuthorizeSecurityGroupIngress"]);
    assert!(lines[0].contains("11.0.0.0/8") && !lines[0].contains("10.0.0.0/8"), "{lines:?}");
    assert_eq!(writes(&cloud, &wider), [""; 0]);
}

#[test]
fn aws_039_a_group_is_replaced_without_a_gap() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let faster = annotated(service, "healthcheck-interval", "10");
    let lines = writes(&cloud, &faster);
    let expected = ["CreateTargetGroup", "RegisterTargets", "ModifyListener", "DeleteTargetGroup"];
    assert_eq!(actions(&lines), expected);
    assert!(lines[2].contains("DefaultActions.member.1.Type=forward") && !lines[2].contains("Protocol="), "{lines:?}");
    assert_eq!(cloud.0.borrow().groups.len(), 1);
    assert_eq!(writes(&cloud, &faster), [""; 0]);
}

#[test]
fn aws_039_an_old_group_in_use_is_deleted_later() {
    let cloud = Cloud::default();
    let faster = annotated(served(&cloud, service()), "healthcheck-interval", "10");
    cloud.fault(|action| (action == "DeleteTargetGroup").then(|| refused(400, "ResourceInUse")));
    let answer = ensure(&cloud.host(), &faster);
    assert!(matches!(&answer, Ok(Progress::Pending(it)) if it.wait.reason.contains("is still in use")), "{answer:?}");
    cloud.fault(|_| None);
    assert_eq!(actions(&writes(&cloud, &faster)), ["DeleteTargetGroup"], "it is found though nothing sends to it");
}

#[test]
fn aws_040_another_certificate_is_all_that_changes() {
    let cloud = Cloud::default();
    let with = |certificate| annotated(annotated(tls(), "ssl-cert", certificate), "ssl-ports", "443");
    let status = ready(&cloud, &with(CERTIFICATE));
    let lines = writes(&cloud, &with("arn:aws:acm:us-east-1:1:certificate/2").after(status.clone()));
    assert_eq!(lines.len(), 1, "{lines:?}");
    let listener = cloud.0.borrow().listeners.iter().find(|it| it.port == "443").cloned().unwrap();
    let expected = "Certificates.member.1.CertificateArn=arn:aws:acm:us-east-1:1:certificate/2";
    assert_eq!(lines[0], format!("ModifyListener ListenerArn={} {expected}", listener.arn));
    let plain = writes(&cloud, &tls().after(status));
    assert_eq!(plain, [format!("ModifyListener ListenerArn={} Protocol=TCP", listener.arn)]);
}

#[test]
fn a_policy_is_compared_only_when_it_is_set() {
    let cloud = Cloud::default();
    let service = served(&cloud, annotated(tls(), "ssl-cert", CERTIFICATE));
    let policy = annotated(service, "ssl-negotiation-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06");
    let lines = writes(&cloud, &policy);
    assert_eq!(actions(&lines), ["ModifyListener"; 2]);
    assert!(lines[0].ends_with("SslPolicy=ELBSecurityPolicy-TLS13-1-2-2021-06"), "{lines:?}");
}

#[test]
fn aws_041_attributes_of_groups_are_written() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let lines = writes(
        &cloud,
        &annotated(
            service.clone(),
            "target-group-attributes",
            "preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=true",
        ),
    );
    assert_eq!(actions(&lines), ["ModifyTargetGroupAttributes"]);
    assert!(lines[0].ends_with("Attributes.member.1.Key=proxy_protocol_v2.enabled Attributes.member.1.Value=true"));
    assert_eq!(writes(&cloud, &service), [""; 0], "taken off, the last value stays");
}

#[test]
fn a_port_that_changes_takes_its_group_along() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let moved = LoadBalancer { ports: vec![Port::new(Protocol::Tcp, 81, 30_080)], ..service };
    let expected = ["CreateTargetGroup", "RegisterTargets", "CreateListener", "DeleteListener", "DeleteTargetGroup"];
    assert_eq!(actions(&writes(&cloud, &moved)), expected);
    assert_eq!((cloud.0.borrow().listeners.len(), cloud.0.borrow().groups.len()), (1, 1));
}

#[test]
fn checks_are_changed_where_they_can_be() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let changed = annotated(annotated(service, "healthcheck-port", "30081"), "healthcheck-healthy-threshold", "5");
    let lines = writes(&cloud, &changed);
    assert_eq!(actions(&lines), ["ModifyTargetGroup", "AuthorizeSecurityGroupIngress"]);
    let ends = "HealthCheckPort=30081 HealthyThresholdCount=5 UnhealthyThresholdCount=3";
    assert!(lines[0].ends_with(ends), "{lines:?}");
}

#[test]
fn attributes_follow_annotations() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let lines = writes(&cloud, &annotated(service, "cross-zone-load-balancing-enabled", "true"));
    assert_eq!(actions(&lines), ["ModifyLoadBalancerAttributes"]);
    let ends = "Attributes.member.1.Key=load_balancing.cross_zone.enabled Attributes.member.1.Value=true";
    assert!(lines[0].ends_with(ends), "{lines:?}");
}

#[test]
fn a_refused_instance_takes_nothing_from_the_others() {
    let cloud = Cloud::default();
    cloud.0.borrow_mut().stopped = Some("i-2");
    let mut service = service();
    service.nodes[1].name = "worker-2".to_owned();
    let told = |host: &Host| host.events().into_iter().map(|it| (it.reason, it.message)).collect::<Vec<_>>();
    let (first, again) = (cloud.host(), cloud.host());
    let Ok(Progress::Ready(status)) = ensure(&first, &service) else { panic!() };
    let [(reason, message)] = &told(&first)[..] else { panic!() };
    assert_eq!(reason, "TargetRefused");
    assert!(message.starts_with("no traffic is sent to worker-2 (i-2): "), "{message}");
    assert_eq!(cloud.0.borrow().groups[0].targets.len(), 1);
    // Each call tries it once, and says so.
    let service = service.after(status);
    assert!(matches!(ensure(&again, &service), Ok(Progress::Ready(_))));
    assert_eq!((actions(&written(&again)), told(&again)), (vec!["RegisterTargets"], told(&first)));
    // Once it runs, it takes traffic.
    cloud.0.borrow_mut().stopped = None;
    assert_eq!(actions(&writes(&cloud, &service)), ["RegisterTargets"]);
    assert_eq!(cloud.0.borrow().groups[0].targets.len(), 2);
    assert_eq!(writes(&cloud, &service), [""; 0]);
}

#[test]
fn aws_044_a_full_group_keeps_the_load_balancer() {
    let cloud = Cloud::default();
    cloud.fault(|action| {
        (action == "AuthorizeSecurityGroupIngress").then(|| refused(400, "RulesPerSecurityGroupLimitExceeded"))
    });
    let status = ready(&cloud, &service());
    assert_eq!(cloud.0.borrow().balancers.len(), 1);
    // Each call tries it once, and says so.
    let (host, service) = (cloud.host(), service().after(status));
    assert!(matches!(ensure(&host, &service), Ok(Progress::Ready(_))));
    assert_eq!(actions(&written(&host)), ["AuthorizeSecurityGroupIngress"]);
    let event = host.events().remove(0);
    assert!(event.message.contains("sg-nodes has 0 rules and does not take 2 more"), "{}", event.message);
    // Once the quota has grown, the rules are written.
    cloud.0.borrow_mut().fault = None;
    assert_eq!(actions(&writes(&cloud, &service)), ["AuthorizeSecurityGroupIngress"]);
    assert_eq!(writes(&cloud, &service), [""; 0]);
}

#[test]
fn many_ports_take_several_calls() {
    let cloud = Cloud::default();
    let ports = (0..50).map(|it| Port::new(Protocol::Tcp, 8_000 + it, 30_000 + it)).collect();
    let mut service = LoadBalancer { ports, ..with_nodes(without_ports(), 2) };
    let calls = (1..20).find(|_| {
        let host = cloud.host();
        let answer = ensure(&host, &service);
        assert!(crate::tests::sent(&host).len() <= 100, "{}", crate::tests::sent(&host).len());
        match answer {
            Ok(Progress::Ready(_)) => true,
            Ok(Progress::Pending(it)) => {
                service.memo = it.status.memo;
                false
            }
            other => panic!("{other:?}"),
        }
    });
    assert!(calls.is_some_and(|it| it < 10), "{calls:?}");
    assert_eq!((cloud.0.borrow().listeners.len(), cloud.0.borrow().groups.len()), (50, 50));
}

#[test]
fn targets_follow_the_nodes_of_what_is_refused() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    let refused = annotated(with_nodes(service, 3), "healthcheck-interval", "1");
    let host = cloud.host();
    assert!(refusal(ensure(&host, &refused)).contains("is not a whole number of seconds"));
    assert_eq!(actions(&written(&host)), ["RegisterTargets"]);
}

#[test]
fn targets_follow_the_nodes_of_what_another_has_made() {
    let cloud = Cloud::default();
    let served = served(&cloud, service());
    let taken = LoadBalancer { memo: None, ..annotated(with_nodes(served, 3), "access-log-enabled", "true") };
    let host = cloud.host();
    assert!(refusal(ensure(&host, &taken)).contains("access-log-s3-bucket-name"));
    assert_eq!(actions(&written(&host)), ["RegisterTargets"]);
}

#[test]
fn targets_follow_though_tags_and_attributes_are_denied() {
    let cloud = Cloud::default();
    let service = served(&cloud, service());
    cloud.fault(|action| {
        ["AddTags", "ModifyLoadBalancerAttributes"]
            .contains(&action)
            .then(|| crate::tests::refused(403, "AccessDenied"))
    });
    let changed = annotated(with_nodes(service, 1), "cross-zone-load-balancing-enabled", "true");
    let changed = annotated(changed, "additional-resource-tags", "team=a");
    let host = cloud.host();
    let answer = ensure(&host, &changed);
    assert!(matches!(&answer, Ok(Progress::Failed(it)) if it.status.memo == changed.memo), "{answer:?}");
    assert_eq!(actions(&written(&host)), ["DeregisterTargets", "AddTags", "ModifyLoadBalancerAttributes"]);
}
