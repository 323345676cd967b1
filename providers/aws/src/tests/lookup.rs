//! One node, or several, by id and by name.

use aerostat_sdk::testing::answer;
use aerostat_sdk::{Address, Error, Instance, Instances, Node, State};

use super::{Ec2, action, cloud, filter, get, host, interface, listed, node, refused, sent, settings};
use crate::Aws;

fn state(state: &'static str) -> Option<State> {
    let cloud = cloud(vec![Ec2 { state, ..Ec2::new("i-1") }]);
    get(&cloud, &node("aws:///us-east-1a/i-1")).unwrap().map(|it| it.state)
}

#[test]
fn aws_001_a_running_instance_is_found() {
    let cloud = cloud(vec![Ec2::new("i-1")]);
    assert_eq!(get(&cloud, &node("aws:///us-east-1a/i-1")), Ok(Some(Ec2::new("i-1").instance())));
}

#[test]
fn aws_002_to_005_states_are_told_apart() {
    assert_eq!(state("running"), Some(State::Running));
    assert_eq!(state("pending"), Some(State::Running));
    assert_eq!(state("stopped"), Some(State::Stopped));
    assert_eq!(state("stopping"), Some(State::Running));
    assert_eq!(state("shutting-down"), Some(State::Running));
    assert_eq!(state("terminated"), None);
    assert_eq!(state(""), None, "an instance without a state");
}

#[test]
fn aws_006_an_unknown_instance_is_gone() {
    let cloud = cloud(Vec::new());
    assert_eq!(get(&cloud, &node("i-1")), Ok(None));
    let expected = "Action=DescribeInstances Filter.1.Name=instance-id Filter.1.Value.1=i-1 MaxResults=1000";
    assert_eq!(sent(&cloud), [expected]);
    let gone = host(|_| refused(400, "InvalidInstanceID.NotFound"));
    assert_eq!(get(&gone, &node("i-1")), Ok(None));
}

#[test]
fn aws_006_a_throttled_answer_is_no_absence() {
    let throttled = host(|_| refused(503, "RequestLimitExceeded"));
    let error = get(&throttled, &node("i-1")).unwrap_err();
    assert!(matches!(&error, Error::RetryAfter(pause) if pause.milliseconds == 5_000), "{error:?}");
    let why = "DescribeInstances at endpoint ec2: 503 RequestLimitExceeded: It is so. (request r-1)";
    assert_eq!(throttled.throttles(), [format!("ec2 5000 ms: {why}")]);
}

#[test]
fn aws_007_several_nodes_are_one_request() {
    let cloud = cloud(vec![Ec2::new("i-2")]);
    let nodes = [node("aws:///us-east-1a/i-1"), node("aws:////i-2"), node("i-2")];
    let answers = cloud.run(|| Aws::get_many(&nodes));
    let found = Ok(Some(Ec2::new("i-2").instance()));
    assert_eq!(answers, [Ok(None), found.clone(), found]);
    assert_eq!(sent(&cloud).len(), 1);
    assert!(sent(&cloud)[0].contains("Filter.1.Value.1=i-1 Filter.1.Value.2=i-2"), "{:?}", sent(&cloud));
}

#[test]
fn aws_007_two_hundred_ids_are_one_filter() {
    let nodes: Vec<_> = (0..201).map(|it| node(&format!("i-{it}"))).collect();
    let cloud = cloud(Vec::new());
    assert_eq!(cloud.run(|| Aws::get_many(&nodes)), vec![Ok(None); 201]);
    assert_eq!(sent(&cloud).len(), 2);
}

#[test]
fn aws_008_a_malformed_id_fails_its_node_alone() {
    let host = host(|request| match filter(request, "instance-id") {
        ids if ids.contains(&"i-kwok") => refused(400, "InvalidInstanceID.Malformed"),
        ids => listed(&ids.iter().map(|it| Ec2::new(it).xml()).collect::<Vec<_>>(), None),
    });
    let nodes = ["i-1", "i-2", "i-3", "i-kwok"].map(node);
    let answers = host.run(|| Aws::get_many(&nodes));
    for (answer, id) in answers.iter().zip(["i-1", "i-2", "i-3"]) {
        assert_eq!(*answer, Ok(Some(Ec2::new(id).instance())));
    }
    assert!(
        matches!(&answers[3], Err(Error::Invalid(why)) if why.contains("InvalidInstanceID.Malformed")),
        "{answers:?}"
    );
}

#[test]
fn aws_008_many_malformed_ids_cost_a_limited_number_of_requests() {
    let answers = |malformed: &'static [usize]| {
        let id = |it: usize| if malformed.contains(&it) { format!("i-kwok{it:03}") } else { format!("i-{it:03}") };
        let host = host(|request| match filter(request, "instance-id") {
            ids if ids.iter().any(|it| it.contains("kwok")) => refused(400, "InvalidInstanceID.Malformed"),
            ids => listed(&ids.iter().map(|it| Ec2::new(it).xml()).collect::<Vec<_>>(), None),
        });
        let nodes: Vec<_> = (0..200).map(|it| node(&id(it))).collect();
        let answers = host.run(|| Aws::get_many(&nodes));
        let found = answers.iter().filter(|it| matches!(it, Ok(Some(_)))).count();
        let unknown = answers.iter().filter(|it| matches!(it, Err(Error::Unavailable(_)))).count();
        (found, unknown, sent(&host).len())
    };
    let (found, unknown, requests) = answers(&[3, 90, 170]);
    assert_eq!((found, unknown), (197, 0), "three are told from all others by {requests} requests");
    const ALL: &[usize] = &{
        let mut all = [0; 200];
        let mut at = 0;
        while at < all.len() {
            all[at] = at;
            at += 1;
        }
        all
    };
    let (found, unknown, requests) = answers(ALL);
    assert_eq!((found, requests), (0, 48), "nothing is said of {unknown} that were not asked for alone");
    assert!(unknown > 150, "{unknown}");
}

#[test]
fn aws_009_every_spelling_is_read() {
    let cloud = cloud(vec![Ec2::new("i-1")]);
    for id in ["i-1", "aws:////i-1", "aws:///us-east-1a/i-1"] {
        assert_eq!(get(&cloud, &node(id)), Ok(Some(Ec2::new("i-1").instance())), "{id}");
        assert_eq!(Aws::canonical_id(id), Ok("i-1".to_owned()));
    }
    assert_eq!(Aws::canonical_id("aws:///z/fargate-10.0.0.9"), Ok("fargate-10.0.0.9".to_owned()));
}

#[test]
fn aws_010_another_clouds_id_asks_nothing() {
    let refused = get(&settings(), &node("gce://p/z/i-1"));
    assert!(matches!(refused, Err(Error::Invalid(why)) if why.contains("\"gce://p/z/i-1\"")));
    assert!(Aws::canonical_id("gce://p/z/i-1").is_err());
}

#[test]
fn aws_011_a_resource_based_name_says_the_id() {
    let cloud = cloud(vec![Ec2::new("i-0abc")]);
    let found = get(&cloud, &Node::named("i-0abc.us-east-1.compute.internal")).unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("aws:///us-east-1a/i-0abc"));
}

#[test]
fn aws_012_a_name_of_an_address_is_looked_up() {
    const NAME: &str = "ip-10-0-0-1.ec2.internal";
    let with = |instances: Vec<Ec2>| {
        host(move |request| {
            assert_eq!(filter(request, "private-dns-name"), [NAME]);
            let states = ["pending", "running", "shutting-down", "stopping", "stopped"];
            assert_eq!(filter(request, "instance-state-name"), states);
            listed(&instances.iter().map(Ec2::xml).collect::<Vec<_>>(), None)
        })
    };
    let one = Ec2 { private_dns: NAME.to_owned(), ..Ec2::new("i-1") };
    let another = Ec2 { id: "i-2".to_owned(), ..one.clone() };
    let foreign = Ec2 { tags: vec![("kubernetes.io/cluster/other", "owned")], ..another.clone() };
    assert_eq!(get(&with(Vec::new()), &Node::named(NAME)), Ok(None));
    assert_eq!(get(&with(vec![foreign.clone()]), &Node::named(NAME)), Ok(None));
    assert_eq!(get(&with(vec![one.clone(), foreign]), &Node::named(NAME)), Ok(Some(one.instance())));
    let two = with(vec![one, another]);
    let why = "instances i-1 and i-2 both have the cluster's tag and the private DNS name ip-10-0-0-1.ec2.internal";
    assert!(matches!(get(&two, &Node::named(NAME)), Err(Error::Invalid(text)) if text.starts_with(why)));
    assert_eq!(two.events()[0].reason, "InstanceLookupFailed");
}

#[test]
fn aws_012_the_older_tag_counts_if_it_is_configured() {
    let found = |setting: &str| {
        let instance =
            Ec2 { private_dns: "n".to_owned(), tags: vec![("KubernetesCluster", "prod")], ..Ec2::new("i-1") };
        let host = host(move |_| listed(&[instance.xml()], None)).setting("legacyClusterTag", setting);
        get(&host, &Node::named("n")).unwrap().is_some()
    };
    assert!(found("true") && !found("false"));
}

#[test]
fn aws_013_addresses_are_those_of_the_families_in_order() {
    let interfaces = [
        interface(1, "in-use", &["10.0.1.1"], &[]),
        interface(2, "available", &["10.9.9.9"], &["2001:db8::9"]),
        interface(0, "in-use", &["10.0.0.1"], &["2001:db8::1", "2001:db8::2"]),
    ];
    let instance = Ec2 { interfaces: interfaces.concat(), ..Ec2::new("i-1") };
    let public = "<dnsName>ec2-3-3-3-3.compute.amazonaws.com</dnsName><ipAddress>3.3.3.3</ipAddress>";
    let xml = instance.xml().replace("<dnsName/>", public);
    let addresses = |families: &str| {
        let xml = xml.clone();
        let host = host(move |_| listed(std::slice::from_ref(&xml), None)).setting("nodeIPFamilies", families);
        get(&host, &node("i-1")).unwrap().unwrap().addresses
    };
    let ipv6 = [Address::internal_ip("2001:db8::1")];
    let ipv4 = [
        Address::internal_ip("10.0.0.1"),
        Address::internal_ip("10.0.1.1"),
        Address::external_ip("3.3.3.3"),
        Address::internal_dns("i-1.ec2.internal"),
        Address::hostname("i-1.ec2.internal"),
        Address::external_dns("ec2-3-3-3-3.compute.amazonaws.com"),
    ];
    assert_eq!(addresses("ipv6,ipv4"), [&ipv6[..], &ipv4].concat());
    assert_eq!(addresses("ipv4"), ipv4);
    assert_eq!(addresses("ipv6"), ipv6);
}

#[test]
fn aws_017_a_pod_of_fargate_is_a_node() {
    let host = host(|request| {
        assert_eq!(action(request), "DescribeNetworkInterfaces");
        assert_eq!(filter(request, "attachment.status"), ["attached"]);
        assert_eq!(filter(request, "vpc-id"), ["vpc-1"]);
        assert_eq!(filter(request, "private-ip-address"), ["10.0.0.8", "10.0.0.9"]);
        answer(
            200,
            "<R><networkInterfaceSet><item><privateIpAddress>10.0.0.9</privateIpAddress>\
             <privateDnsName>ip-10-0-0-9.ec2.internal</privateDnsName><availabilityZone>us-east-1a</availabilityZone>\
             </item></networkInterfaceSet></R>",
        )
    });
    let nodes = [
        node("aws:///us-east-1a/fargate-10.0.0.9"),
        node("aws:///us-east-1a/1abc-2def/fargate-ip-10-0-0-8.ec2.internal"),
        Node::named("fargate-ip-10-0-0-9.ec2.internal"),
        node("aws:///us-east-1a/fargate-x"),
    ];
    let answers = host.run(|| Aws::get_many(&nodes));
    let pod = |name: &str, provider_id: &str| {
        Instance::new(name, provider_id)
            .zone("us-east-1a")
            .region("us-east-1")
            .addresses([Address::internal_ip("10.0.0.9"), Address::internal_dns("ip-10-0-0-9.ec2.internal")])
    };
    assert_eq!(answers[0], Ok(Some(pod("n", "aws:///us-east-1a/fargate-10.0.0.9"))));
    assert_eq!(answers[1], Ok(None));
    let name = "fargate-ip-10-0-0-9.ec2.internal";
    assert_eq!(answers[2], Ok(Some(pod(name, &format!("aws:///us-east-1a/{name}")))));
    assert!(matches!(&answers[3], Err(Error::Invalid(_))), "{answers:?}");
    assert_eq!(sent(&host).len(), 1);
}

#[test]
fn aws_018_the_tag_is_no_condition_for_a_known_id() {
    let cloud = cloud(vec![Ec2 { tags: Vec::new(), ..Ec2::new("i-1") }]);
    assert_eq!(get(&cloud, &node("i-1")), Ok(Some(Ec2::new("i-1").instance())));
}

#[test]
fn nodes_of_all_kinds_are_three_requests() {
    let host = host(|request| match action(request) {
        "DescribeNetworkInterfaces" => answer(200, "<R/>"),
        _ => listed(&[], None),
    });
    let nodes =
        [node("i-1"), node("aws:///z/fargate-10.0.0.9"), Node::named("ip-10-0-0-1.ec2.internal"), node("x://1")];
    let answers = host.run(|| Aws::get_many(&nodes));
    assert_eq!(answers[..3], [Ok(None), Ok(None), Ok(None)]);
    assert!(answers[3].is_err());
    assert_eq!(sent(&host).len(), 3, "{:?}", sent(&host));
}
