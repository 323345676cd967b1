use aerostat_sdk::{ExternalTrafficPolicy, Ingress, LoadBalancer, Progress};

use super::{CERTIFICATE, Cloud, GROUP, NAME, UID, ensure, port, ready, service, with, writes, written};

const TAGS: &str = "aerostat.dev/cluster-uid=c1a5e000-1111-2222-3333-444455556666 \
                    aerostat.dev/service-uid=0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11 kubernetes.io/cluster/prod=owned \
                    kubernetes.io/service-name=default/web";

#[test]
fn aws_019_a_service_gets_a_load_balancer() {
    let cloud = Cloud::new();
    let host = cloud.host();
    let Ok(Progress::Ready(status)) = ensure(&host, &service(&["i-1", "i-2"])) else { panic!("{:?}", host.requests()) };
    assert_eq!(status.memo.as_deref(), Some(NAME));
    assert_eq!(status.ingress, [Ingress::hostname(format!("{NAME}-1.us-east-1.elb.amazonaws.com"))]);
    let writes = writes(&host);
    let actions: Vec<_> = writes.iter().map(|it| it.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "ec2 CreateSecurityGroup",
        "ec2 AuthorizeSecurityGroupIngress",
        "elb CreateLoadBalancer",
        "ec2 AuthorizeSecurityGroupIngress",
        "elb ConfigureHealthCheck",
        "elb RegisterInstancesWithLoadBalancer",
    ];
    assert_eq!(actions, expected);
    let tags: Vec<_> = TAGS.split(' ').filter_map(|it| it.split_once('=')).collect();
    let group = cloud.group(GROUP).unwrap();
    let is: Vec<_> = group.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(is, tags);
    assert!(writes[0].contains(&format!(
        "GroupName={GROUP} GroupDescription=Security group for Kubernetes ELB {NAME} (default/web) VpcId=vpc-1 \
         TagSpecification.1.ResourceType=security-group"
    )));
    assert_eq!(cloud.rules(&group.id), ["icmp 3-4 0.0.0.0/0", "tcp 80-80 0.0.0.0/0"]);
    assert_eq!(cloud.rules("sg-nodes"), [format!("-1 {}", group.id)]);
    let balancer = cloud.balancer(NAME);
    let is: Vec<_> = balancer.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(is, tags);
    assert!(writes[2].contains(
        "Listeners.member.1.Protocol=tcp Listeners.member.1.LoadBalancerPort=80 \
         Listeners.member.1.InstanceProtocol=tcp \
         Listeners.member.1.InstancePort=30080 Subnets.member.1=subnet-1"
    ));
    let check = "HealthCheck.Target=TCP:30080 HealthCheck.Interval=10 HealthCheck.Timeout=5 \
                 HealthCheck.UnhealthyThreshold=6 HealthCheck.HealthyThreshold=2";
    assert_eq!(writes[4], format!("elb ConfigureHealthCheck LoadBalancerName={NAME} {check}"));
    assert_eq!(balancer.it.instances, ["i-1".to_owned(), "i-2".to_owned()].into());
}

#[test]
fn aws_020_a_repeated_call_writes_nothing() {
    for annotations in [
        &[][..],
        &[
            ("proxy-protocol", "*"),
            ("ssl-cert", CERTIFICATE),
            ("ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"),
        ],
        &[
            ("connection-draining-enabled", "true"),
            ("connection-draining-timeout", "30"),
            ("connection-idle-timeout", "90"),
        ],
        &[("access-log-enabled", "true"), ("access-log-emit-interval", "5"), ("access-log-s3-bucket-name", "b")],
        &[("access-log-s3-bucket-name", "b"), ("cross-zone-load-balancing-enabled", "true"), ("internal", "true")],
        &[("additional-resource-tags", "team=a"), ("extra-security-groups", "sg-x")],
        &[("healthcheck-protocol", "http"), ("healthcheck-path", "/up"), ("healthcheck-interval", "20")],
    ] {
        let cloud = Cloud::new();
        let service = with(service(&["i-1", "i-2"]), annotations);
        let status = ready(&cloud, &service);
        let again = service.after(status.clone());
        assert_eq!(written(&cloud, &again), [""; 0], "{annotations:?}");
        assert_eq!(ready(&cloud, &again), status, "{annotations:?}");
    }
}

#[test]
fn many_ports_are_written_in_several_calls() {
    let cloud = Cloud::new();
    let mut service = with(service(&["i-1"]), &[("proxy-protocol", "*")]);
    service.ports = (1..=100).map(|it| port(it, 30_000 + it)).collect();
    let mut calls = 0;
    let status = loop {
        let host = cloud.host();
        let progress = ensure(&host, &service);
        calls += 1;
        assert!(host.sent().len() <= 100, "{}", host.sent().len());
        match progress {
            Ok(Progress::Pending(pending)) => service = service.after(pending.status),
            Ok(Progress::Ready(status)) => break status,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(calls, 3);
    assert_eq!(cloud.balancer(NAME).it.backends.len(), 100);
    assert_eq!(written(&cloud, &service.after(status)), [""; 0]);
}

/// A process may end after any request, with its answer or without.
#[test]
fn a_lost_answer_makes_nothing_twice() {
    for lost in 1..60 {
        let cloud = Cloud::new();
        let service = with(
            service(&["i-1", "i-2"]),
            &[
                ("proxy-protocol", "*"),
                ("ssl-cert", CERTIFICATE),
                ("ssl-negotiation-policy", "p"),
                ("ssl-ports", "443"),
            ],
        );
        let service = service.with_port(port(443, 30_443));
        cloud.lose(lost);
        let status = ready(&cloud, &service);
        assert_eq!(cloud.state.borrow().groups.len(), 2, "request {lost}");
        assert_eq!(cloud.state.borrow().balancers.len(), 1, "request {lost}");
        assert_eq!(written(&cloud, &service.after(status)), [""; 0], "request {lost}");
    }
}

#[test]
fn a_list_of_a_moment_ago_is_asked_first() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let mut listed = service(&["i-1"]).after(status);
    listed.extra.push(("host.listed".to_owned(), "true".to_owned()));
    {
        let mut state = cloud.state.borrow_mut();
        for number in 0..25 {
            let mut other = state.balancers[NAME].clone();
            other.it.name = format!("a-{number:02}");
            state.balancers.insert(other.it.name.clone(), other);
        }
    }
    let host = cloud.host();
    let Ok(Progress::Ready(_)) = ensure(&host, &listed) else { panic!("it is not ready") };
    let lines: Vec<_> = host.sent().iter().map(crate::tests::line).collect();
    assert_eq!(lines[0], "elb DescribeLoadBalancers PageSize=400");
    assert!(lines[1].starts_with("elb DescribeTags LoadBalancerNames.member.1=a-20 "), "its batch: {}", lines[1]);
    assert_eq!(writes(&host), [""; 0]);
    // One that was made after the list is found alone.
    cloud.state.borrow_mut().balancers.remove(NAME);
    let host = cloud.host();
    drop(ensure(&host, &listed));
    assert_eq!(
        crate::tests::line(&host.sent()[1]),
        format!("elb DescribeLoadBalancers LoadBalancerNames.member.1={NAME}")
    );
}

#[test]
fn aws_021_tls_ends_where_ports_are_selected() {
    let annotations = |backend| [("ssl-cert", CERTIFICATE), ("ssl-ports", "443,https"), ("backend-protocol", backend)];
    let listeners = |backend: &'static str, name: &str| {
        let cloud = Cloud::new();
        let service = service(&["i-1"]).with_port(port(443, 30_443).named(name));
        ready(&cloud, &with(service, &annotations(backend)));
        let listeners = cloud.balancer(NAME).it.listeners;
        let line = |listener: &crate::api::elb::model::ClassicListener| {
            let (front, back) = (listener.protocol.as_str(), listener.instance_protocol.as_str());
            let certificate = listener.certificate.as_deref().map_or("-", |it| it.rsplit('/').next().unwrap());
            format!("{front} {} {back} {} {certificate}", listener.port, listener.instance_port)
        };
        listeners.values().map(|it| line(&it.listener)).collect::<Vec<_>>()
    };
    assert_eq!(listeners("http", ""), ["http 80 http 30080 -", "https 443 http 30443 c"]);
    assert_eq!(listeners("https", "https"), ["tcp 80 tcp 30080 -", "https 443 https 30443 c"]);
    assert_eq!(listeners("ssl", ""), ["tcp 80 tcp 30080 -", "ssl 443 ssl 30443 c"]);
    assert_eq!(listeners("tcp", ""), ["tcp 80 tcp 30080 -", "ssl 443 tcp 30443 c"]);
}

#[test]
fn aws_027_local_traffic_is_checked_at_its_own_port() {
    let target = |service: &LoadBalancer| {
        let cloud = Cloud::new();
        ready(&cloud, service);
        cloud.balancer(NAME).it.health.unwrap().target
    };
    let local = |annotations: &[(&str, &str)]| {
        let policy = ExternalTrafficPolicy::Local(31_000);
        target(&with(LoadBalancer { external_traffic_policy: policy, ..service(&["i-1"]) }, annotations))
    };
    assert_eq!(local(&[]), "HTTP:31000/healthz");
    assert_eq!(local(&[("healthcheck-port", "traffic-port")]), "HTTP:30080/healthz");
    assert_eq!(local(&[("healthcheck-port", "8080"), ("healthcheck-path", "/up")]), "HTTP:8080/up");
    let cluster = |annotations: &[(&str, &str)]| target(&with(service(&["i-1"]), annotations));
    assert_eq!(cluster(&[("backend-protocol", "https")]), "SSL:30080");
    assert_eq!(cluster(&[("healthcheck-protocol", "https")]), "HTTPS:30080/");
    assert_eq!(cluster(&[("healthcheck-protocol", "tcp"), ("healthcheck-path", "/up")]), "TCP:30080");
}

#[test]
fn a_shared_probe_asks_kube_proxy() {
    let cloud = Cloud::new();
    let host = cloud.host().setting("loadBalancers.healthProbeMode", "Shared");
    assert!(matches!(ensure(&host, &service(&["i-1"])), Ok(Progress::Ready(_))));
    assert_eq!(cloud.balancer(NAME).it.health.unwrap().target, "HTTP:10256/healthz");
}

#[test]
fn a_load_balancer_of_the_vendor_is_taken_over_unwritten() {
    let cloud = Cloud::new();
    let service = service(&["i-1"]);
    ready(&cloud, &service);
    let id = cloud.group(GROUP).unwrap().id;
    {
        let mut state = cloud.state.borrow_mut();
        state.balancers.get_mut(NAME).unwrap().tags.retain(|key, _| key.starts_with("kubernetes.io/"));
        state.groups.get_mut(&id).unwrap().tags.retain(|key, _| key.starts_with("kubernetes.io/cluster/"));
    }
    assert_eq!(written(&cloud, &service), [""; 0]);
    // Our marks come with the next write.
    let more = service.with_port(port(81, 30_081));
    let tags: Vec<_> = written(&cloud, &more).into_iter().filter(|it| it.contains("Tags ")).collect();
    assert_eq!(tags.len(), 2, "{tags:?}");
    assert_eq!(cloud.group(GROUP).unwrap().tags["aerostat.dev/service-uid"], UID);
    assert_eq!(cloud.balancer(NAME).tags["aerostat.dev/service-uid"], UID);
}
