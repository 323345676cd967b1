//! Services that are refused before anything is made.

use aerostat_sdk::{Error, IpFamily, LoadBalancer};

use super::*;

fn with(annotations: &[(&str, &str)]) -> LoadBalancer {
    annotations.iter().fold(service(), |it, (name, value)| it.with_annotation(key(name), *value))
}

/// The reason for a refusal before which nothing was written.
fn why(service: &LoadBalancer) -> String {
    let stage = BalancerStage::new();
    let why = stage.refused(service);
    assert_eq!(stage.writes(0), [""; 0], "{why}");
    why
}

#[test]
fn azure_029_to_031_values_are_refused_before_an_address() {
    for (annotations, part) in [
        (
            &[
                ("azure-load-balancer-health-probe-interval", "60"),
                ("azure-load-balancer-health-probe-num-of-probe", "3"),
            ][..],
            "180 seconds",
        ),
        (
            &[
                ("azure-load-balancer-health-probe-interval", "60"),
                ("azure-load-balancer-health-probe-num-of-probe", "2"),
            ][..],
            "120 seconds",
        ),
        (&[("azure-load-balancer-health-probe-interval", "4")][..], "from 5 to 119"),
        (&[("azure-load-balancer-health-probe-num-of-probe", "1")][..], "from 2 to 119"),
        (&[("port_80_health-probe_interval", "4")][..], "port_80_health-probe_interval"),
        (&[("port_80_health-probe_port", "nothing")][..], "port_80_health-probe_port"),
        (&[("azure-load-balancer-tcp-idle-timeout", "200")][..], "from 4 to 100"),
        (&[("azure-load-balancer-tcp-idle-timeout", "3")][..], "azure-load-balancer-tcp-idle-timeout"),
        (&[("azure-dns-label-name", "-")][..], "azure-dns-label-name"),
        (&[("azure-pip-prefix-id", "p1")][..], "azure-pip-prefix-id"),
        (&[("azure-pip-name", "a/b")][..], "azure-pip-name"),
        (&[("azure-pip-tags", "a")][..], "azure-pip-tags"),
        (&[("azure-pip-ip-tags", "=")][..], "azure-pip-ip-tags"),
        (&[("azure-additional-public-ips", "x")][..], "azure-additional-public-ips"),
        (&[("azure-allowed-ip-ranges", "10.0.0.0")][..], "azure-allowed-ip-ranges"),
        (&[("azure-allowed-service-tags", "a b")][..], "azure-allowed-service-tags"),
        (&[("azure-load-balancer-ipv4", "fd00::1")][..], "azure-load-balancer-ipv4"),
        (&[("azure-load-balancer-resource-group", "a/b")][..], "azure-load-balancer-resource-group"),
        (&[("azure-load-balancer-health-probe-protocol", "udp")][..], "tcp, http or https"),
        (
            &[("azure-load-balancer-health-probe-request-path", "x")][..],
            "azure-load-balancer-health-probe-request-path",
        ),
        (&[("azure-pls-create", "true")][..], "azure-pls-create"),
        (&[("azure-pls-ip-configuration-ip-address-count", "9")][..], "from 1 to 8"),
        (&[("azure-pls-ip-configuration-ip-address", "x")][..], "azure-pls-ip-configuration-ip-address"),
    ] {
        let why = why(&with(annotations));
        assert!(why.contains(part), "{annotations:?}: {why}");
    }
}

#[test]
fn marks_of_owners_are_no_tags_of_an_author() {
    for (tag, value) in [
        ("aerostat-owner", "aerostat:c1a5e000-1111-2222-3333-444455556666:0e2f6f1c"),
        ("AEROSTAT-Owner", "x"),
        ("k8s-azure-service", "default/victim"),
        ("k8s-azure-cluster-name", "other"),
        ("k8s-azure-dns-label-service", "default/victim"),
    ] {
        let why = why(&with(&[("azure-pip-tags", &format!("team=web,{tag}={value}"))]));
        assert!(why.contains("azure-pip-tags has tag ") && why.contains(tag), "{why}");
    }
    let stage = BalancerStage::new();
    let served = stage.ready(with(&[("azure-pip-tags", "team=web")]));
    let public = stage.public(&format!("kubernetes-{BASE}"));
    assert_eq!(public["tags"]["team"], "web", "{public}");
    // One that is served keeps its marks, and its address.
    let forged =
        LoadBalancer { annotations: Vec::new(), ..served }.with_annotation(key("azure-pip-tags"), "aerostat-owner=x");
    let asked = stage.asked();
    assert!(stage.refused(&forged).contains("aerostat-owner"));
    assert_eq!(stage.writes(asked), [""; 0]);
    stage.gone(&forged);
    assert_eq!(stage.publics(), [""; 0]);
}

#[test]
fn azure_025_and_026_addresses_that_are_not_there() {
    let by_ip = why(&LoadBalancer { load_balancer_ip: Some("20.99.0.1".to_owned()), ..service() });
    assert!(by_ip.contains("20.99.0.1") && by_ip.contains("resource group rg1"), "{by_ip}");
    let by_name = why(&with(&[("azure-pip-name", "absent")]));
    assert!(
        by_name.contains("PublicIP from annotation azure-pip-name(-IPv6)=absent for service default/web doesn't exist"),
        "{by_name}"
    );
}

#[test]
fn azure_040_sctp_is_refused() {
    let sctp = why(&named("s", UID).with_port(Port::new(Protocol::Sctp, 9, 30_009)));
    assert!(sctp.contains("port 9 is SCTP"), "{sctp}");
}

#[test]
fn azure_054_a_missing_right_is_named() {
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().refusals = vec![("PUT /".to_owned(), 403, "AuthorizationFailed", 1)];
    assert!(matches!(stage.step(&service()), Err(Error::Denied(why)) if why.contains("AuthorizationFailed")));
    assert_eq!(stage.publics(), [""; 0]);
}

#[test]
fn a_missing_group_costs_no_address() {
    let stage = BalancerStage::new();
    stage.cloud.borrow_mut().objects.remove(&rg("Microsoft.Network/networkSecurityGroups/nsg1").to_ascii_lowercase());
    assert!(stage.refused(&service()).contains("no network security group nsg1"));
    assert_eq!(stage.writes(0), [""; 0]);
}

#[test]
fn lists_and_groups_that_are_late_prove_nothing() {
    let stage = BalancerStage::new();
    let first = stage.ready(service());
    // A load balancer is asked for by name; a group that does not answer stops everything.
    for part in ["GET /", "loadBalancers/kubernetes", "publicIPAddresses"] {
        stage.cloud.borrow_mut().refusals = vec![(part.to_owned(), 404, "ResourceGroupNotFound", 1)];
        let asked = stage.asked();
        let answer = stage.step(&named("two", &uid(2)).with_port(tcp(80)));
        assert!(
            matches!(&answer, Err(Error::Unavailable(why)) if why.contains("ResourceGroupNotFound")),
            "{part}: {answer:?}"
        );
        stage.cloud.borrow_mut().refusals = vec![(part.to_owned(), 404, "ResourceGroupNotFound", 1)];
        assert!(stage.delete(&first).is_err(), "{part}");
        assert_eq!(stage.writes(asked).iter().filter(|it| it.contains("Put loadBalancers/kubernetes")).count(), 0);
        stage.ready(first.clone());
    }
}

#[test]
fn azure_053_several_balancers_and_addresses_that_are_elsewhere() {
    let several = [
        ("multipleStandardLoadBalancerConfigurations.kubernetes.primaryVMSet", "vs1"),
        ("multipleStandardLoadBalancerConfigurations.lb2.primaryVMSet", "vs2"),
    ];
    let stage = BalancerStage::of(FakeArm::default(), &several);
    stage
        .cloud
        .borrow_mut()
        .put(&rg("Microsoft.Network/publicIPAddresses/mine"), json!({ "properties": { "ipAddress": "20.60.0.1" } }));
    let on = |name: &str, number: usize, balancer: &str, port: u16| {
        named(name, &uid(number))
            .with_port(tcp(port))
            .with_annotation(key("azure-pip-name"), "mine")
            .with_annotation(key("azure-load-balancer-configurations"), balancer)
    };
    stage.ready(on("a", 1, "kubernetes", 80));
    let asked = stage.asked();
    let why = stage.refused(&on("b", 2, "lb2", 81));
    assert!(why.contains("public address mine is on load balancer kubernetes"), "{why}");
    let why = stage.refused(&on("c", 3, "nowhere", 82));
    assert!(why.contains("there is no load balancer \"nowhere\"") && why.contains("kubernetes, lb2"), "{why}");
    assert_eq!(stage.writes(asked), [""; 0]);
}

#[test]
fn another_cluster_of_the_same_name_is_left_alone() {
    let stage = BalancerStage::new();
    stage.ready(service());
    let internal =
        || named("b", &uid(2)).with_port(tcp(80)).with_annotation(key("azure-load-balancer-internal"), "true");
    let other = stage.host.clone().cluster(aerostat_sdk::Cluster::of("kubernetes", "another"));
    let asked = stage.asked();
    let answer = other.run(|| Azure::ensure(&internal()));
    assert!(
        matches!(&answer, Err(Error::Invalid(why)) if why.contains("made for another cluster that is called kubernetes")),
        "{answer:?}"
    );
    assert_eq!(stage.writes(asked), [""; 0]);
}

/// Words of rows that take any value: the vendor's controller reads all but "true" as false, and the one for retired load balancers not at all.
const ANYTHING: [&str; 5] = ["true or false", "__auto__", "names with spaces", "subscriptions with spaces", "or *"];

#[test]
fn annotations_refuse_values_by_their_name_and_range() {
    let description = BalancerStage::new().host.run(<Azure as aerostat_sdk::Provider>::describe).unwrap();
    let mut refused = 0;
    for row in description.annotations {
        if ANYTHING.iter().any(|it| row.values.contains(it)) {
            continue;
        }
        let name = row.key.rsplit('/').next().unwrap().replace('*', "80");
        let mut service = with(&[(&name, "!")]);
        if name.ends_with("ipv6") {
            service.ip_families = vec![IpFamily::Ipv4, IpFamily::Ipv6];
        }
        // Read of internal ones alone.
        if name.contains("-pls-") || name.ends_with("-internal-subnet") {
            service = service.with_annotation(key("azure-load-balancer-internal"), "true");
            service = service.with_annotation(key("azure-pls-create"), "true");
        }
        let why = why(&service);
        let range = row.values.split(',').next().unwrap();
        assert!(why.contains(&name) && why.contains(range), "{name}, {}: {why}", row.values);
        refused += 1;
    }
    assert_eq!(refused, 44 - 14);
}
