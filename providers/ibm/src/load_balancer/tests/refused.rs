//! Services that cannot be served, and values that are refused rather than guessed.

use aerostat_sdk::IpFamily;

use super::*;

/// The error of a Service's calls. Nothing is written.
fn refused(mut service: LoadBalancer) -> String {
    let played = Played::new(FakeVpc::default());
    let mut last = String::new();
    for _ in 0..2 {
        last = match played.call(&mut service) {
            Err(Error::Invalid(why)) => why,
            Ok(Progress::Failed(failed)) => failed.error.why().to_owned(),
            other => format!("{other:?}"),
        };
    }
    assert!(played.host.bodies().is_empty(), "{:?}", played.host.requests());
    last
}

#[test]
fn ibm_024_to_027_bad_values_of_annotations_are_named() {
    let rows = [
        ("ip-type", "pubic", "\"pubic\" is not public or private"),
        ("enable-features", "proxy-protocol,ipvs", "is not a list of features such as proxy-protocol"),
        ("enable-features", "proxy-protocol,nlb", "a network load balancer has no proxy-protocol"),
        (
            "enable-features",
            "nlb",
            "is in one subnet, and there are 2: name one with annotation service.kubernetes.io/",
        ),
        ("vpc-health-check-udp", "30100", "is for Services of UDP alone"),
        ("vpc-lb-name", "kube-c1-of-another", "is not a name of at most 63"),
        ("vpc-lb-name", "Shared", "is not a name of at most 63"),
        ("vpc-node-selector", "foo=bar", "with one of these labels: ibm-cloud.kubernetes.io/internal-ip"),
        ("vpc-node-selector", "kubernetes.io/arch", "is not one label=value"),
        ("vpc-node-selector", "kubernetes.io/arch=amd64,kubernetes.io/os=linux", "is not one label=value"),
        ("vpc-subnets", "sub-10,nope", "\"nope\" is no id, name or network of a subnet of this VPC"),
        ("vpc-subnets", "sub-10,,", "is not a list of ids"),
        ("zone", "us-south-9", "none of the subnets in setting g2VpcSubnetNames is in zone"),
        ("zone", "US", "is not the name of a zone"),
        ("vpc-health-check-protocol", "udp", "is not http, https or tcp"),
        ("vpc-health-check-port", "30080", "needs annotation"),
        ("vpc-health-check-path", "ready", "is not a path that begins with /"),
        ("vpc-health-check-delay", "2", "has to be more than annotation"),
        ("vpc-health-check-timeout", "60", "is not a whole number from 1 to 59"),
        ("vpc-health-check-retries", "0", "is not a whole number from 1 to 10"),
        ("vpc-idle-connection-timeout", "49", "is not a whole number from 50 to 7200"),
        ("vpc-port-range", "80-90", "public network load balancers alone take ranges"),
        ("vpc-port-range", "80", "is not a list of ranges of ports such as 30000-30010"),
        ("vpc-port-range", "90-80", "is not a list of ranges of ports"),
        ("vpc-port-range", "80-65536", "is not a list of ranges of ports"),
        ("vpc-member-quota", "51", "is not a whole number from 0 to 50"),
        ("vpc-health-check-delay", "61", "is not a whole number from 2 to 60"),
        ("vpc-health-check-port", "0", "is not one port"),
        ("vpc-health-check-udp", "dns", "is not one port"),
        ("vpc-allow-outbound-traffic", "80,http", "is not a list of ports"),
        ("vpc-allow-outbound-traffic", "80", "it needs setting outboundSecurityGroup"),
        ("vpc-security-group", "clients,,", "is not a list of ids or names of security groups"),
        ("vpc-security-group", "clients", "setting allowedSecurityGroups"),
    ];
    let described: Vec<String> = crate::tests::settings()
        .without_cluster()
        .run(<Ibm as aerostat_sdk::Provider>::describe)
        .unwrap()
        .annotations
        .into_iter()
        .map(|it| it.key)
        .collect();
    let without: Vec<&String> =
        described.iter().filter(|key| !rows.iter().any(|(name, ..)| **key == format!("{PREFIX}{name}"))).collect();
    assert!(!described.is_empty() && without.is_empty(), "annotations without a refused value: {without:?}");
    for (name, value, part) in rows {
        let why = refused(annotated(name, value));
        assert!(why.contains(part) && why.contains(name), "{name}: {value}: {why}");
    }
}

#[test]
fn ibm_025_subnets_are_named_by_id_name_or_network() {
    let played = Played::new(FakeVpc::default());
    let mut service = annotated("vpc-subnets", "sub-10, 10.240.1.0/24,0717-s1");
    played.settle(&mut service);
    assert_eq!(played.bodies()[0]["subnets"], json!([{ "id": "0717-s1" }, { "id": "0727-s2" }]));
}

#[test]
fn ibm_026_a_configured_subnet_is_named_exactly() {
    let played = Played::new(FakeVpc::default());
    played.settle(&mut service());
    assert_eq!(
        played.bodies()[0]["subnets"],
        json!([{ "id": "0717-s1" }, { "id": "0727-s2" }]),
        "sub-1 is another one than sub-10"
    );
}

#[test]
fn ibm_030_protocols_and_families_that_lack_are_refused() {
    let mut udp = service();
    udp.ports[0].protocol = Protocol::Udp;
    assert!(
        refused(udp).contains("port 80 is UDP, which application load balancers do not take: UDP needs annotation")
    );
    let mut sctp = service();
    sctp.ports[0].protocol = Protocol::Sctp;
    assert!(refused(sctp).contains("port 80 is SCTP"));
    let mut without = service();
    without.ports[0].node_port = None;
    assert!(refused(without).contains("node port"));
    let only = LoadBalancer { ip_families: vec![IpFamily::Ipv6], ..service() };
    assert!(refused(only).contains("add IPv4 to ipFamilies"));
}

#[test]
fn ibm_033_one_that_has_failed_is_told_and_stays() {
    let mut vpc = FakeVpc::default();
    vpc.ends_in = "failed";
    let played = Played::new(vpc);
    let mut service = service();
    for _ in 0..20 {
        let _ = played.call(&mut service);
        played.cloud.borrow_mut().advance(Duration::from_secs(1));
    }
    let failed = played.call(&mut service);
    assert!(
        matches!(&failed, Err(Error::Unavailable(why)) if why.contains("load balancer lb-1") && why.contains("has failed")),
        "{failed:?}"
    );
    assert!(played.host.requests().iter().all(|it| !it.starts_with("DELETE")));
}

#[test]
fn ibm_038_a_used_up_quota_is_told_and_nothing_is_announced() {
    let refuses: fn() -> aerostat_sdk::testing::Response = || cloud::error(400, "load_balancer_over_quota");
    let mut vpc = FakeVpc::default();
    vpc.refuses = Some(refuses);
    let played = Played::new(vpc);
    let mut service = service();
    let _ = played.call(&mut service);
    let refused = played.call(&mut service);
    let Ok(Progress::Failed(failed)) = &refused else { panic!("{refused:?}") };
    assert!(failed.error.is_quota() && service.memo.is_none(), "{failed:?}");
    assert!(
        failed.error.why().contains("it is load_balancer_over_quota, see https://cloud.ibm.com/docs/"),
        "{failed:?}"
    );
}

#[test]
fn ibm_039_without_nodes_nothing_is_made_yet() {
    let played = Played::new(FakeVpc::default());
    let mut service = LoadBalancer { nodes: Vec::new(), ..service() };
    let waiting = played.call(&mut service);
    assert!(matches!(&waiting, Err(Error::Unavailable(why)) if why.contains("no ready nodes")), "{waiting:?}");
    service.nodes.push(node(1));
    assert_eq!(played.settle(&mut service), ["POST "]);
}

#[test]
fn a_choice_of_nodes_that_none_fits_makes_nothing_and_is_told() {
    // One of the three nodes is in zone us-south-1.
    let mut service = annotated("zone", "us-south-1");
    service.nodes.retain(|it| it.zone.as_deref() != Some("us-south-1"));
    let elsewhere = service.clone();
    service.nodes.clear();
    let selected = service.with_annotation(format!("{PREFIX}vpc-node-selector"), "kubernetes.io/arch=arm64");
    let mut edge = annotated("zone", "us-south-1");
    let other = edge.nodes.iter_mut().find(|it| it.zone.as_deref() != Some("us-south-1")).unwrap();
    other.labels.push((crate::load_balancer::EDGE.to_owned(), "edge".to_owned()));
    let mut unaddressed = super::service();
    unaddressed.nodes.iter_mut().for_each(|it| it.addresses.clear());
    for (mut service, part) in [
        (elsewhere, ": none is in zone us-south-1, which annotation"),
        (edge, ": none with label dedicated=edge is in zone us-south-1, which annotation"),
        (selected, "vpc-node-selector takes those with \"kubernetes.io/arch=arm64\" alone"),
        (unaddressed, ": none has an internal IPv4 address"),
    ] {
        let played = Played::new(FakeVpc::default());
        let answers: Vec<_> = (0..2).map(|_| played.call(&mut service)).collect();
        let told = answers.into_iter().find_map(|answer| match answer {
            Err(error) => Some(error),
            Ok(Progress::Failed(failed)) => Some(failed.error),
            Ok(_) => None,
        });
        let is_told = |why: &String| why.contains("no ready nodes") && why.contains(part);
        assert!(matches!(&told, Some(Error::Unavailable(why)) if is_told(why)), "{part}: {told:?}");
        assert!(played.host.bodies().is_empty() && service.memo.is_none());
    }
}

#[test]
fn ibm_032_a_conflict_at_a_creation_is_waited_out_in_silence() {
    let mut vpc = FakeVpc::default();
    vpc.refuses = Some(|| cloud::error(409, "conflict"));
    let played = Played::new(vpc);
    let mut service = service();
    for _ in 0..5 {
        let waiting = played.call(&mut service);
        assert!(matches!(&waiting, Ok(Progress::Pending(_))), "{waiting:?}");
    }
    assert_eq!(played.reasons(), [""; 0]);
    assert_eq!(played.host.run(|| Ibm::delete(&service)), Ok(Deletion::Done), "nothing was made");
    played.cloud.borrow_mut().cloud().refuses = None;
    assert_eq!(played.settle(&mut service), ["POST "]);
}

#[test]
fn a_name_that_is_taken_by_what_no_list_shows_is_told() {
    for refuses in [|| cloud::error(409, "not_unique"), || cloud::error(400, "load_balancer_name_not_unique")] {
        let refuses: fn() -> aerostat_sdk::testing::Response = refuses;
        let mut vpc = FakeVpc::default();
        vpc.refuses = Some(refuses);
        let played = Played::new(vpc);
        let mut service = service();
        let (mut waits, mut told) = (0, None);
        for _ in 0..12 {
            match played.call(&mut service) {
                Ok(Progress::Pending(_)) => waits += 1,
                other => told = told.or(Some((waits, other))),
            }
            played.cloud.borrow_mut().advance(Duration::from_secs(15));
        }
        let Some((waits, Ok(Progress::Failed(failed)))) = told else { panic!("{told:?}") };
        assert!(waits > 4, "it is looked for at first: {waits}");
        assert!(failed.error.why().contains("is shown by no list"), "{failed:?}");
        assert_eq!(played.reasons(), [""; 0]);
        played.cloud.borrow_mut().cloud().refuses = None;
        played.cloud.borrow_mut().advance(Duration::from_mins(1));
        played.settle(&mut service);
        assert_eq!(service.memo.as_deref(), Some("lb-1"), "somebody has renamed the other");
    }
}

#[test]
fn ibm_041_fields_without_effect_are_told() {
    let played = Played::new(FakeVpc::default());
    let mut service = LoadBalancer { source_ranges: vec!["10.0.0.0/8".to_owned()], ..service() };
    played.settle(&mut service);
    assert!(played.reasons().contains(&"ServiceFieldsIgnored".to_owned()), "{:?}", played.reasons());
}

#[test]
fn security_groups_are_named_by_id_or_name() {
    let played = Played::new(FakeVpc::default()).with("allowedSecurityGroups", "clients*,r006-g1");
    let mut service = annotated("vpc-security-group", "clients-2, r006-g1,clients-1");
    assert_eq!(played.settle(&mut service), ["POST "]);
    assert_eq!(played.bodies()[0]["security_groups"], json!([{ "id": "r006-g2" }, { "id": "r006-g1" }]));
    let six = (1..=6).map(|it| format!("clients-{it}")).collect::<Vec<_>>().join(",");
    for (groups, part) in [("clients", "\"clients\" is no id or name"), (&*six, "6 security groups are more than 5")] {
        let played = Played::new(FakeVpc::default()).with("allowedSecurityGroups", "clients*");
        let mut service = annotated("vpc-security-group", groups);
        let answers: Vec<String> = (0..4).map(|_| format!("{:?}", played.call(&mut service))).collect();
        assert!(answers.iter().any(|it| it.contains(part) || it.contains(&part.replace('"', "\\\""))), "{answers:#?}");
        assert!(played.host.requests().iter().all(|it| it.starts_with("GET")), "{:?}", played.host.requests());
    }
}

#[test]
fn security_groups_of_one_name_are_told_apart_by_their_ids() {
    let played = Played::new(FakeVpc::default()).with("allowedSecurityGroups", "*");
    let twin = json!({ "id": "r006-twin", "name": "clients-1", "rules": [] });
    played.cloud.borrow_mut().cloud().groups.push(twin);
    let mut service = annotated("vpc-security-group", "clients-1");
    let answers: Vec<String> = (0..2).map(|_| format!("{:?}", played.call(&mut service))).collect();
    assert!(answers[1].contains("is security group r006-g1 and security group r006-twin"), "{answers:#?}");
    let mut by_id = annotated("vpc-security-group", "r006-twin");
    played.settle(&mut by_id);
    assert_eq!(played.bodies()[0]["security_groups"], json!([{ "id": "r006-twin" }]));
}

#[test]
fn security_groups_of_other_services_are_not_named() {
    let played = Played::new(FakeVpc::default()).with("allowedSecurityGroups", "*");
    for (id, cluster) in [("r006-own", "c1"), ("r006-own-2", "c2")] {
        let name = format!("kube-{cluster}-9c2f6f1c9a5e4a8e8f0b1f6d3f6f2a99");
        played.cloud.borrow_mut().cloud().groups.push(json!({ "id": id, "name": name, "rules": [] }));
    }
    for word in ["r006-own", "clients-1,kube-c1-9c2f6f1c9a5e4a8e8f0b1f6d3f6f2a99", "r006-own-2"] {
        let mut service = annotated("vpc-security-group", word);
        let answers: Vec<String> = (0..2).map(|_| format!("{:?}", played.call(&mut service))).collect();
        assert!(answers[1].contains("which goes with that Service"), "{answers:#?}");
    }
    assert!(played.host.bodies().is_empty(), "{:?}", played.host.requests());
}

#[test]
fn security_groups_are_named_where_the_operator_allows_it() {
    for (allowed, word) in [(None, "clients-1"), (Some("none"), "r006-g1"), (Some("clients-2,r006-g*"), "clients-1")] {
        let played = Played::new(FakeVpc::default());
        let played = allowed.into_iter().fold(played, |it, value| it.with("allowedSecurityGroups", value));
        let mut service = annotated("vpc-security-group", word);
        let refused = played.call(&mut service);
        assert!(
            matches!(&refused, Err(Error::Invalid(why)) if why.contains(word) && why.contains("setting allowedSecurityGroups")),
            "{refused:?}"
        );
        assert_eq!(played.host.requests(), [""; 0], "nobody is asked what there is");
    }
}

#[test]
fn nodes_are_followed_where_an_annotation_is_refused() {
    let played = Played::new(FakeVpc::default());
    let mut service = service().with_port(Port::new(Protocol::Tcp, 443, 30_443));
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}vpc-idle-connection-timeout"), "49");
    service.nodes.push(node(4));
    let before = played.host.requests().len();
    let refused = (0..30).map(|_| played.call(&mut service)).last().unwrap();
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("idle-connection-timeout")), "{refused:?}");
    let all = &played.host.requests()[before..];
    let written: Vec<String> = all.iter().filter(|it| !it.starts_with("GET")).map(|it| plain(it)).collect();
    assert_eq!(written, ["PUT /lb-1/pools/pool-1/members", "PUT /lb-1/pools/pool-5/members"]);
    service.nodes.push(node(5));
    service = service.with_annotation(format!("{PREFIX}zone"), "US");
    let sent = played.host.bodies().len();
    (0..4).for_each(|_| drop(played.call(&mut service)));
    assert_eq!(played.host.bodies().len(), sent, "a zone that is none chooses nobody");
}

#[test]
fn ibm_043_classic_infrastructure_has_no_load_balancers() {
    let classic = Host::new().setting("accountID", "acc").setting("clusterID", "c1").setting("region", "us-south");
    let classic = classic.setting("clusterDefaultProvider", "classic");
    let refused = classic.run(|| Ibm::ensure(&service()));
    assert!(matches!(&refused, Err(Error::Invalid(why)) if why.contains("not served on classic")), "{refused:?}");
    assert_eq!(classic.run(|| Ibm::delete(&service())), Ok(Deletion::Done), "nothing was made");
}
