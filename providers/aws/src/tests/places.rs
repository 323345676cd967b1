//! Labels that say where instances are.

use aerostat_sdk::testing::answer;
use aerostat_sdk::{Error, Instances};

use super::{Ec2, Host, action, get, host, listed, node, refused, sent, value};
use crate::Aws;

fn labels(host: &Host) -> Vec<String> {
    let found = get(host, &node("i-1")).unwrap().unwrap();
    found.labels.into_iter().map(|(key, value)| format!("{key}={value}")).collect()
}

fn zones(request: &super::Request) -> super::Outcome {
    assert_eq!(
        (value(request, "Filter.1.Name"), value(request, "Filter.1.Value.1")),
        (Some("region-name"), Some("us-east-1"))
    );
    answer(
        200,
        "<R><availabilityZoneInfo><item><zoneName>us-east-1a</zoneName><zoneId>use1-az6</zoneId></item>\
         <item><zoneName>us-east-1b</zoneName><zoneId>use1-az1</zoneId></item></availabilityZoneInfo></R>",
    )
}

#[test]
fn aws_014_an_instance_says_the_id_of_its_zone() {
    let host = host(|_| listed(&[Ec2::new("i-1").xml()], None));
    assert_eq!(labels(&host), ["topology.k8s.aws/zone-id=use1-az1"]);
    assert_eq!(sent(&host).len(), 1, "zones are not asked for");
}

#[test]
fn aws_014_zones_are_asked_for_once_where_it_does_not() {
    let host = host(|request| match action(request) {
        "DescribeAvailabilityZones" => zones(request),
        _ => listed(&["i-1", "i-2"].map(|id| Ec2 { zone_id: None, ..Ec2::new(id) }.xml()), None),
    });
    assert_eq!(labels(&host), ["topology.k8s.aws/zone-id=use1-az6"]);
    assert_eq!(sent(&host).len(), 2);
    let page = host.run(|| Aws::list(None, 1_000)).unwrap();
    assert_eq!(page.instances.len(), 2);
    assert_eq!(sent(&host).len(), 4, "once for a whole page");
}

#[test]
fn aws_014_a_node_without_its_zone_is_not_answered() {
    let host = host(|request| match action(request) {
        "DescribeAvailabilityZones" => refused(403, "UnauthorizedOperation"),
        _ => listed(&[Ec2 { zone_id: None, ..Ec2::new("i-1") }.xml()], None),
    });
    let refused = get(&host, &node("i-1"));
    assert!(
        matches!(&refused, Err(Error::Denied(why)) if why.ends_with("needs ec2:DescribeAvailabilityZones")),
        "{refused:?}"
    );
}

#[test]
fn a_zone_of_another_region_is_refused_with_the_setting() {
    let of = |zone: &'static str, region: &str| {
        let host = Host::new().setting("region", region).setting("vpc", "vpc-1").setting("clusterID", "prod");
        let host = host.answers(move |_| listed(&[Ec2::new("i-1").xml().replace("us-east-1a", zone)], None));
        (get(&host, &node("i-1")), host.run(|| Aws::list(None, 1_000)).unwrap())
    };
    for (zone, region) in [("us-east-1a", "us-east-1"), ("us-west-2-lax-1a", "us-west-2")] {
        let (found, page) = of(zone, region);
        assert!(matches!(found, Ok(Some(_))) && page.gaps.is_empty(), "{found:?}");
    }
    for (zone, region) in [("us-east-1a", "eu-west-1"), ("us-east-1a", "us-east"), ("us-east-1", "us-east-1")] {
        let (refused, page) = of(zone, region);
        let why = format!("instance i-1 is in zone {zone}, which is not of region {region}: correct setting region");
        assert_eq!(refused, Err(Error::Invalid(why)));
        assert!(page.instances.is_empty() && page.gaps.len() == 1, "{page:?}");
    }
}

fn topology(kind: &'static str, topology: fn() -> super::Outcome) -> Host {
    host(move |request| match action(request) {
        "DescribeInstanceTopology" => {
            assert_eq!((value(request, "InstanceId.1"), value(request, "InstanceId.2")), (Some("i-1"), None));
            topology()
        }
        _ => listed(&[Ec2 { kind, ..Ec2::new("i-1") }.xml()], None),
    })
}

fn three_layers() -> super::Outcome {
    answer(
        200,
        "<R><instanceSet><item><instanceId>i-1</instanceId><networkNodeSet><item>nn-a</item><item>nn-b</item>\
         <item>nn-c</item></networkNodeSet></item></instanceSet></R>",
    )
}

#[test]
fn aws_015_accelerated_instances_get_network_nodes() {
    let host = topology("p5.48xlarge", three_layers);
    let layers =
        [(1, 'a'), (2, 'b'), (3, 'c')].map(|(n, it)| format!("topology.k8s.aws/network-node-layer-{n}=nn-{it}"));
    assert_eq!(labels(&host), [vec!["topology.k8s.aws/zone-id=use1-az1".to_owned()], layers.to_vec()].concat());
    for kind in ["m5.large", "g5.xlarge"] {
        let others = topology(kind, || panic!("it is not asked for"));
        assert_eq!(labels(&others), ["topology.k8s.aws/zone-id=use1-az1"]);
    }
}

#[test]
fn aws_015_where_there_is_no_topology_nodes_do_without() {
    for answer in
        [|| refused(400, "UnsupportedOperation"), || refused(403, "UnauthorizedOperation"), || answer(200, "<R/>")]
    {
        assert_eq!(labels(&topology("trn1.2xlarge", answer)), ["topology.k8s.aws/zone-id=use1-az1"]);
    }
    let failed = topology("hpc6a.48xlarge", || refused(500, "InternalError"));
    assert!(matches!(get(&failed, &node("i-1")), Err(Error::Unavailable(_))));
}

#[test]
fn aws_015_the_types_are_a_setting() {
    let none = topology("p5.48xlarge", || panic!("it is not asked for")).setting("topologyInstanceTypes", "none");
    assert_eq!(labels(&none), ["topology.k8s.aws/zone-id=use1-az1"]);
    let others = topology("g6.xlarge", three_layers).setting("topologyInstanceTypes", "p5,g6");
    assert_eq!(labels(&others).len(), 4);
}
