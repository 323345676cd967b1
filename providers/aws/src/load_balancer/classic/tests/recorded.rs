//! Requests beside those of AWS's official SDK, which `tests/aws/record.py` has recorded for the same calls.

use aerostat_sdk::testing::{Body, Request};
use aerostat_sdk::{LoadBalancer, Method, SortedMap, SortedSet};
use serde_json::Value;

use super::{CERTIFICATE, Cloud, NAME, OTHER, delete, ensure, port, ready, service, with};
use crate::api::ec2::security_groups::SecurityGroup;
use crate::api::elb::load_balancers;
use crate::endpoint;

/// A request: its method, its path, and what its form says.
type Sent = (String, SortedMap<String, String>);

fn sent(request: &Request) -> Sent {
    assert_eq!((request.method, request.query.len()), (Method::Post, 0));
    let Some(Body::Form(pairs)) = &request.body else { panic!("no form") };
    (format!("/{}", request.path.join("/")), pairs.iter().cloned().collect())
}

/// The requests of a Service that is made, that then becomes each of the others in turn, and that goes.
fn requests(services: &[LoadBalancer], prepare: impl Fn(&Cloud)) -> Vec<Sent> {
    let cloud = Cloud::new();
    let host = cloud.host();
    let mut status = None;
    for service in services {
        let service = status.map_or(service.clone(), |status| service.clone().after(status));
        drop(ensure(&host, &service));
        status = Some(ready(&cloud, &service));
        prepare(&cloud);
    }
    let last = services.last().unwrap().clone().after(status.unwrap());
    delete(&host, &LoadBalancer { nodes: Vec::new(), ..last }).unwrap();
    host.sent().iter().map(sent).collect()
}

fn of_ports(ports: &[(u16, u16)], annotations: &[(&str, &str)]) -> LoadBalancer {
    let ports = ports.iter().map(|(number, node_port)| port(*number, *node_port)).collect();
    with(LoadBalancer { ports, ..service(&["i-1", "i-2"]) }, annotations)
}

#[test]
fn requests_are_those_of_the_official_sdk() {
    let nothing = |_: &Cloud| ();
    let plain = service(&["i-1", "i-2"]);
    let tls =
        |arn| of_ports(&[(443, 30_443)], &[("internal", "true"), ("backend-protocol", "http"), ("ssl-cert", arn)]);
    let policy = with(tls(OTHER), &[("ssl-negotiation-policy", "p")]);
    let attributes = [
        ("connection-draining-enabled", "true"),
        ("connection-draining-timeout", "30"),
        ("connection-idle-timeout", "90"),
        ("cross-zone-load-balancing-enabled", "true"),
        ("access-log-enabled", "true"),
        ("access-log-emit-interval", "5"),
        ("access-log-s3-bucket-name", "b"),
        ("access-log-s3-bucket-prefix", "p"),
        ("additional-resource-tags", "team=a"),
    ];
    let given = with(plain.clone(), &[("security-groups", "sg-given"), ("extra-security-groups", "sg-x")]);
    let ipv6 =
        LoadBalancer { source_ranges: vec!["0.0.0.0/0".to_owned(), "2001:db8::/32".to_owned()], ..plain.clone() };
    // The list that shows who else has a group.
    let listing = Cloud::new().host();
    listing.run(load_balancers::all).unwrap();
    let flows = [
        listing.sent().iter().map(sent).collect(),
        requests(&[plain.clone(), service(&["i-1"])], nothing),
        requests(&[tls(CERTIFICATE), tls(OTHER), policy], nothing),
        requests(&[plain.clone(), with(plain.clone(), &[("proxy-protocol", "*")]), plain.clone()], nothing),
        requests(&[plain.clone(), of_ports(&[(81, 30_080)], &attributes)], nothing),
        requests(&[plain.clone(), ipv6], nothing),
        requests(&[plain.clone(), given], nothing),
        requests(&[plain.clone(), plain.clone(), plain.clone()], |cloud| {
            let mut state = cloud.state.borrow_mut();
            let subnets = &mut state.balancers.get_mut(NAME).unwrap().it.subnets;
            *subnets = ["subnet-2".to_owned(), "subnet-9".to_owned()].into();
            // As the vendor makes it, and without a rule.
            let group: &mut SecurityGroup = state.groups.get_mut("sg-1").unwrap();
            group.tags.retain(|key, _| key.starts_with("kubernetes.io/cluster/"));
            group.permissions.retain(|it| it.key.protocol == "tcp");
        }),
    ];
    let ours: SortedSet<Sent> = flows.into_iter().flatten().collect();
    let recorded: Value =
        serde_json::from_str(include_str!("../../../../../../tests/aws/requests-classic.json")).unwrap();
    let mut actions = SortedSet::new();
    for (name, expected) in recorded["requests"].as_object().unwrap() {
        let pairs = expected["pairs"].as_object().unwrap();
        let pairs: SortedMap<_, _> =
            pairs.iter().map(|(it, value)| (it.clone(), value.as_str().unwrap().to_owned())).collect();
        let of_action = || ours.iter().filter(|(_, it)| it["Action"] == pairs["Action"]).collect::<Vec<_>>();
        let target = expected["target"].as_str().unwrap().to_owned();
        assert!(ours.contains(&(target, pairs.clone())), "{name}: {pairs:#?}\n{:#?}", of_action());
        actions.insert(pairs["Action"].clone());
    }
    let allowed = endpoint::elb().allow;
    let missing: Vec<_> = allowed.iter().flat_map(|it| &it.operations).filter(|it| !actions.contains(*it)).collect();
    assert_eq!(missing, [""; 0], "each operation has its recording");
}
