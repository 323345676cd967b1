//! Internal load balancers, both families, and Services that change what they are.

use aerostat_sdk::{IpFamily, LoadBalancer};

use super::*;

fn internal() -> LoadBalancer {
    service().with_annotation(key("azure-load-balancer-internal"), "true")
}

#[test]
fn azure_023_subnets_are_named_and_must_be_there() {
    let stage = BalancerStage::new();
    let elsewhere = internal().with_annotation(key("azure-load-balancer-internal-subnet"), "subnet2");
    stage.ready(elsewhere);
    let frontend = part(&stage.internal(), "frontendIPConfigurations", &format!("{BASE}-subnet2"));
    assert_eq!(frontend["properties"]["subnet"]["name"], "subnet2");
    assert_eq!(names(&stage.internal(), "loadBalancingRules"), [format!("{BASE}-subnet2-TCP-80")]);
    assert!(
        stage
            .host
            .requests()
            .iter()
            .any(|it| it.starts_with("GET network") && it.contains("/virtualNetworks/vnet1/subnets/subnet2"))
    );
    let missing = named("b", &uid(2)).with_port(tcp(80)).with_annotation(key("azure-load-balancer-internal"), "true");
    let asked = stage.asked();
    let why = stage.refused(&missing.with_annotation(key("azure-load-balancer-internal-subnet"), "nowhere"));
    assert!(why.contains("failed to get subnet: vnet1/nowhere"), "{why}");
    assert_eq!(stage.writes(asked), [""; 0]);
}

#[test]
fn azure_024_fixed_addresses_are_in_their_subnet() {
    let stage = BalancerStage::new();
    let why = stage.refused(&internal().with_annotation(key("azure-load-balancer-ipv4"), "10.241.0.9"));
    assert!(why.contains("10.241.0.9 is not in subnet subnet1, which is 10.240.0.0/16"), "{why}");
    assert_eq!(stage.writes(0), [""; 0]);
    let fixed = stage.ready(internal().with_annotation(key("azure-load-balancer-ipv4"), "10.240.0.99"));
    assert_eq!(ips(&fixed), ["10.240.0.99"]);
    let frontend = part(&stage.internal(), "frontendIPConfigurations", BASE);
    assert_eq!(frontend["properties"]["privateIPAllocationMethod"], "Static");
    let thief =
        LoadBalancer { load_balancer_ip: Some("10.240.0.99".to_owned()), ..named("b", &uid(2)).with_port(tcp(81)) };
    let why = stage.refused(&thief.with_annotation(key("azure-load-balancer-internal"), "true"));
    assert!(why.contains("10.240.0.99 is that of frontend"), "{why}");
}

#[test]
fn azure_042_external_becomes_internal() {
    let stage = BalancerStage::with_addresses();
    let external = stage.ready(service());
    let asked = stage.asked();
    let internal = stage.ready(external.with_annotation(key("azure-load-balancer-internal"), "true"));
    assert!(ips(&internal)[0].starts_with("10.240."));
    assert_eq!((stage.balancer(), stage.publics().len()), (Value::Null, 0));
    let writes = stage.writes(asked);
    let place = |word: &str| writes.iter().position(|it| it.contains(word)).unwrap();
    assert!(place("Put loadBalancers/kubernetes-internal") < place("Delete loadBalancers/kubernetes"), "{writes:?}");
    assert!(place("Delete loadBalancers/kubernetes") < place("Delete publicIPAddresses"), "{writes:?}");
    assert_eq!(names(&stage.group(), "securityRules"), [""; 0]);
    let mut back = internal;
    back.annotations.clear();
    let back = stage.ready(back);
    assert!(ips(&back)[0].starts_with("20.50."));
    assert_eq!(stage.internal(), Value::Null);
}

#[test]
fn azure_043_both_families_have_a_frontend() {
    let stage = BalancerStage::new();
    let both = LoadBalancer { ip_families: vec![IpFamily::Ipv4, IpFamily::Ipv6], ..service() };
    let both = stage.ready(both.with_port(tcp(443)));
    assert!(ips(&both)[0].starts_with("20.50.") && ips(&both)[1].starts_with("2001:db8::"), "{:?}", ips(&both));
    let shown = stage.balancer();
    assert_eq!(names(&shown, "frontendIPConfigurations"), [BASE.to_owned(), format!("{BASE}-IPv6")]);
    assert_eq!(names(&shown, "backendAddressPools"), ["kubernetes", "kubernetes-IPv6"]);
    assert_eq!(names(&shown, "loadBalancingRules").len(), 4);
    assert_eq!(stage.publics(), [format!("kubernetes-{BASE}"), format!("kubernetes-{BASE}-ipv6")]);
    stage.gone(&both);
    assert_eq!((stage.balancer(), stage.publics().len()), (Value::Null, 0));
    let stage = BalancerStage::new();
    let internal = LoadBalancer { ip_families: vec![IpFamily::Ipv6], ..internal() };
    let internal = stage.ready(internal);
    let rule = part(&stage.internal(), "loadBalancingRules", &format!("{BASE}-TCP-80"));
    assert_eq!(
        (&rule["properties"]["backendPort"], &rule["properties"]["enableFloatingIP"]),
        (&json!(30_080), &json!(false))
    );
    assert_eq!(ips(&internal).len(), 1);
}

#[test]
fn azure_041_all_ports_are_for_internal_ones() {
    let stage = BalancerStage::new();
    let key = key("azure-load-balancer-enable-high-availability-ports");
    let why = stage.refused(&service().with_annotation(&key, "true"));
    assert!(why.contains(&key), "{why}");
    let sctp = internal().with_annotation(&key, "true").with_port(Port::new(Protocol::Sctp, 9, 30_009));
    stage.ready(sctp);
    assert_eq!(names(&stage.internal(), "loadBalancingRules").len(), 1);
}

#[test]
fn private_links_of_others_are_left_alone() {
    let stage = BalancerStage::new();
    let internal = stage.ready(service().with_annotation(key("azure-load-balancer-internal"), "true"));
    let link = "Microsoft.Network/privateLinkServices/mine";
    let linked =
        internal.with_annotation(key("azure-pls-create"), "true").with_annotation(key("azure-pls-name"), "mine");
    for tags in [
        json!({}),
        json!({ "k8s-azure-cluster-name": "other", "k8s-azure-owner-service": "default/web" }),
        json!({ "k8s-azure-cluster-name": "kubernetes", "k8s-azure-owner-service": "default/other" }),
    ] {
        stage.cloud.borrow_mut().put(&rg(link), json!({ "tags": tags, "properties": {} }));
        let (before, asked) = (stage.object(link), stage.asked());
        let why = stage.refused(&linked);
        assert!(why.contains("Private Link service mine belongs to") && why.contains("choose another name"), "{why}");
        assert_eq!((stage.object(link), stage.writes(asked)), (before, vec![]), "{tags}");
    }
    stage.gone(&linked);
    assert_ne!(stage.object(link), Value::Null, "it stays when the Service goes");
}
