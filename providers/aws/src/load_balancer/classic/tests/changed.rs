use aerostat_sdk::Error;

use super::{CERTIFICATE, Cloud, GROUP, NAME, OTHER, ensure, events, port, ready, service, with, writes, written};

/// The writes after a Service is ready and becomes another.
fn change(before: &aerostat_sdk::LoadBalancer, after: &aerostat_sdk::LoadBalancer) -> (Cloud, Vec<String>) {
    let cloud = Cloud::new();
    let status = ready(&cloud, before);
    let writes = written(&cloud, &after.clone().after(status.clone()));
    assert_eq!(written(&cloud, &after.clone().after(status)), [""; 0], "it is as desired");
    (cloud, writes)
}

#[test]
fn aws_026_the_proxy_protocol_comes_and_goes() {
    let (plain, proxied) = (service(&["i-1"]), with(service(&["i-1"]), &[("proxy-protocol", "*")]));
    let policy = "k8s-proxyprotocol-enabled";
    let on = |port| format!("elb SetLoadBalancerPoliciesForBackendServer LoadBalancerName={NAME} InstancePort={port}");
    let (_, came) = change(&plain, &proxied);
    let create = format!(
        "elb CreateLoadBalancerPolicy LoadBalancerName={NAME} PolicyName={policy} \
         PolicyTypeName=ProxyProtocolPolicyType \
         PolicyAttributes.member.1.AttributeName=ProxyProtocol PolicyAttributes.member.1.AttributeValue=true"
    );
    assert_eq!(came, [create, format!("{} PolicyNames.member.1={policy}", on(30_080))]);
    let (_, went) = change(&proxied, &plain);
    assert_eq!(went, [format!("{} PolicyNames=", on(30_080))]);
    // It would stay at a port of instances that no listener leads to any more.
    let mut moved = proxied.clone();
    moved.ports = vec![port(80, 30_090)];
    let (_, writes) = change(&proxied, &moved);
    assert!(writes.contains(&format!("{} PolicyNames=", on(30_080))), "{writes:#?}");
    assert!(writes.contains(&format!("{} PolicyNames.member.1={policy}", on(30_090))), "{writes:#?}");
}

#[test]
fn other_policies_of_a_port_stay() {
    let cloud = Cloud::new();
    let service = with(service(&["i-1"]), &[("proxy-protocol", "*")]);
    let status = ready(&cloud, &service);
    let add = |policy: &str| {
        let mut state = cloud.state.borrow_mut();
        state.balancers.get_mut(NAME).unwrap().it.backends.get_mut(&30_080).unwrap().insert(policy.to_owned());
    };
    add("somebody's");
    assert_eq!(written(&cloud, &service.after(status.clone())), [""; 0]);
    let writes = written(&cloud, &self::service(&["i-1"]).after(status));
    assert!(writes[0].ends_with("InstancePort=30080 PolicyNames.member.1=somebody's"), "{writes:?}");
}

#[test]
fn aws_028_a_node_that_goes_is_one_request() {
    let (_, writes) = change(&service(&["i-1", "i-2"]), &service(&["i-1"]));
    let expected =
        format!("elb DeregisterInstancesFromLoadBalancer LoadBalancerName={NAME} Instances.member.1.InstanceId=i-2");
    assert_eq!(writes, [expected]);
    let (_, writes) = change(&service(&["i-1"]), &service(&["i-2", "i-3"]));
    let names: Vec<_> = writes.iter().filter_map(|it| it.split(' ').nth(1)).collect();
    assert_eq!(
        names,
        ["RegisterInstancesWithLoadBalancer", "DeregisterInstancesFromLoadBalancer"],
        "what is new first"
    );
}

#[test]
fn aws_029_a_port_that_changes_is_added_before_the_other_goes() {
    let mut after = service(&["i-1"]);
    after.ports = vec![port(81, 30_080)];
    let (cloud, writes) = change(&service(&["i-1"]), &after);
    let id = cloud.group(GROUP).unwrap().id;
    let rule = |action: &str, port: u16| {
        let ports = format!("IpPermissions.1.FromPort={port} IpPermissions.1.ToPort={port}");
        let range = "IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0";
        format!("ec2 {action}SecurityGroupIngress GroupId={id} IpPermissions.1.IpProtocol=tcp {ports} {range}")
    };
    let create = format!(
        "elb CreateLoadBalancerListeners LoadBalancerName={NAME} Listeners.member.1.Protocol=tcp \
         Listeners.member.1.LoadBalancerPort=81 Listeners.member.1.InstanceProtocol=tcp \
         Listeners.member.1.InstancePort=30080"
    );
    let remove = format!("elb DeleteLoadBalancerListeners LoadBalancerName={NAME} LoadBalancerPorts.member.1=80");
    assert_eq!(writes, [rule("Authorize", 81), rule("Revoke", 80), create, remove]);
}

#[test]
fn a_certificate_changes_without_a_new_listener() {
    let tls = |arn| with(service(&["i-1"]), &[("ssl-cert", arn)]);
    let (_, writes) = change(&tls(CERTIFICATE), &tls(OTHER));
    let expected = format!(
        "elb SetLoadBalancerListenerSSLCertificate LoadBalancerName={NAME} LoadBalancerPort=80 SSLCertificateId={OTHER}"
    );
    assert_eq!(writes, [expected]);
    let (_, writes) = change(&service(&["i-1"]), &tls(CERTIFICATE));
    let names: Vec<_> = writes.iter().filter_map(|it| it.split(' ').nth(1)).collect();
    assert_eq!(names, ["DeleteLoadBalancerListeners", "CreateLoadBalancerListeners"]);
}

#[test]
fn a_policy_of_tls_is_made_once_and_stays_when_not_asked_for() {
    let with_policy =
        |policy| with(service(&["i-1"]), &[("ssl-cert", CERTIFICATE), ("ssl-negotiation-policy", policy)]);
    let (_, writes) = change(&with_policy("p"), &with_policy("q"));
    let create = format!(
        "elb CreateLoadBalancerPolicy LoadBalancerName={NAME} PolicyName=k8s-SSLNegotiationPolicy-q \
         PolicyTypeName=SSLNegotiationPolicyType PolicyAttributes.member.1.AttributeName=Reference-Security-Policy \
         PolicyAttributes.member.1.AttributeValue=q"
    );
    let set = format!(
        "elb SetLoadBalancerPoliciesOfListener LoadBalancerName={NAME} LoadBalancerPort=80 \
         PolicyNames.member.1=k8s-SSLNegotiationPolicy-q"
    );
    assert_eq!(writes, [create, set]);
    let (_, writes) = change(&with_policy("p"), &with(service(&["i-1"]), &[("ssl-cert", CERTIFICATE)]));
    assert_eq!(writes, [""; 0]);
}

#[test]
fn attributes_are_written_where_they_differ() {
    let asked = [
        ("connection-draining-enabled", "true"),
        ("connection-draining-timeout", "30"),
        ("connection-idle-timeout", "90"),
        ("cross-zone-load-balancing-enabled", "true"),
        ("access-log-enabled", "true"),
        ("access-log-emit-interval", "5"),
        ("access-log-s3-bucket-name", "b"),
        ("access-log-s3-bucket-prefix", "p"),
    ];
    let (_, writes) = change(&service(&["i-1"]), &with(service(&["i-1"]), &asked));
    let of = "LoadBalancerAttributes";
    let expected = format!(
        "elb ModifyLoadBalancerAttributes LoadBalancerName={NAME} {of}.CrossZoneLoadBalancing.Enabled=true \
         {of}.AccessLog.Enabled=true {of}.AccessLog.EmitInterval=5 {of}.AccessLog.S3BucketName=b \
         {of}.AccessLog.S3BucketPrefix=p \
         {of}.ConnectionDraining.Enabled=true {of}.ConnectionDraining.Timeout=30 {of}.ConnectionSettings.IdleTimeout=90"
    );
    assert_eq!(writes, [expected]);
    let (_, writes) = change(&with(service(&["i-1"]), &asked), &service(&["i-1"]));
    assert_eq!(writes.len(), 1, "{writes:?}");
}

#[test]
fn subnets_follow_and_additional_tags_are_added() {
    let cloud = Cloud::new();
    let service = service(&["i-1"]);
    let status = ready(&cloud, &service);
    cloud.state.borrow_mut().balancers.get_mut(NAME).unwrap().it.subnets.insert("subnet-9".to_owned());
    let tagged = with(service, &[("additional-resource-tags", "team=a")]).after(status);
    let expected = [
        format!("elb AddTags LoadBalancerNames.member.1={NAME} Tags.member.1.Key=team Tags.member.1.Value=a"),
        format!("elb DetachLoadBalancerFromSubnets LoadBalancerName={NAME} Subnets.member.1=subnet-9"),
    ];
    assert_eq!(written(&cloud, &tagged), expected);
}

#[test]
fn the_scheme_stays_with_a_warning() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let host = cloud.host();
    drop(ensure(&host, &with(service(&["i-1"]), &[("internal", "true")]).after(status)));
    assert_eq!(writes(&host), [""; 0]);
    assert!(events(&host)[0].contains("its scheme stays internet-facing"), "{:?}", events(&host));
}

#[test]
fn instances_that_are_gone_are_left_out() {
    let cloud = Cloud::new();
    let host = cloud.host();
    let mut service = service(&["i-1", "i-gone"]);
    service.nodes[1].name = "worker-2".to_owned();
    drop(ensure(&host, &service));
    assert_eq!(cloud.balancer(NAME).it.instances, ["i-1".to_owned()].into());
    let ends = "instances that are gone: worker-2 (i-gone)";
    assert!(events(&host).iter().any(|it| it.ends_with(ends)), "{:?}", events(&host));
}

#[test]
fn a_refused_service_follows_its_nodes() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let broken = with(service(&["i-2"]), &[("proxy-protocol", "true")]).after(status);
    let host = cloud.host();
    assert!(matches!(ensure(&host, &broken), Err(Error::Invalid(why)) if why.contains("proxy-protocol")));
    assert_eq!(cloud.balancer(NAME).it.instances, ["i-2".to_owned()].into());
    assert_eq!(writes(&host).len(), 2, "{:?}", writes(&host));
}

#[test]
fn a_refused_group_keeps_its_own_from_no_node() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1"]));
    let admitted = cloud.rules("sg-nodes");
    cloud.state.borrow_mut().groups.get_mut("sg-nodes").unwrap().permissions.clear();
    let broken = with(service(&["i-1"]), &[("extra-security-groups", "default")]).after(status);
    assert!(
        matches!(ensure(&cloud.host(), &broken), Err(Error::Invalid(why)) if why.contains("extra-security-groups"))
    );
    assert_eq!((admitted.len(), cloud.rules("sg-nodes")), (1, admitted));
}

#[test]
fn an_instance_that_is_gone_keeps_no_other_from_going() {
    let cloud = Cloud::new();
    let status = ready(&cloud, &service(&["i-1", "i-2", "i-3"]));
    cloud.state.borrow_mut().instances.remove("i-3");
    drop(ensure(&cloud.host(), &service(&["i-1"]).after(status)));
    assert!(!cloud.balancer(NAME).it.instances.contains("i-2"));
}

#[test]
fn a_lost_answer_of_a_change_leads_to_the_same_end() {
    let plain = service(&["i-1", "i-2"]);
    let mut other = with(service(&["i-2", "i-3"]), &[("proxy-protocol", "*"), ("ssl-cert", CERTIFICATE)]);
    other.ports = vec![port(80, 30_090), port(81, 30_081)];
    let given = with(plain.clone(), &[("security-groups", "sg-given")]);
    for (before, after) in [(&plain, &other), (&other, &plain), (&plain, &given), (&given, &plain)] {
        let end = |lost: usize| {
            let cloud = Cloud::new();
            let status = ready(&cloud, before);
            if lost > 0 {
                cloud.lose(lost);
            }
            let status = ready(&cloud, &after.clone().after(status));
            assert_eq!(written(&cloud, &after.clone().after(status)), [""; 0], "request {lost}");
            let rules: Vec<_> = cloud.state.borrow().groups.keys().cloned().collect();
            let rules: Vec<_> = rules.iter().map(|it| (it.clone(), cloud.rules(it))).collect();
            (cloud.balancer(NAME).it, rules)
        };
        let expected = end(0);
        for lost in 1..25 {
            assert_eq!(end(lost), expected, "request {lost}");
        }
    }
}
