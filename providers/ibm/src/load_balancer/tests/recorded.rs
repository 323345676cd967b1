//! The writes of the vendor's own manager, and ours for the same: `tests/golden/ibm`.

use aerostat_sdk::ExternalTrafficPolicy;

use super::super::desired::DesiredVpcBalancer;
use super::super::step;
use super::*;
use crate::settings::IbmAccountSettings;

/// The writes of a recording, each with its method and its body.
fn written(file: &str) -> Vec<(String, Value)> {
    let path = format!("{}/../../tests/golden/ibm/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let requests = recorded["requests"].as_array().unwrap().iter();
    let writes = requests.filter(|it| it["method"] != "GET" && it["path"] != "/identity/token");
    writes.map(|it| (it["method"].as_str().unwrap().to_owned(), sorted(it["body"].clone()))).collect()
}

/// A body with the members of its pools in the order of their addresses: the vendor's is that of a map.
fn sorted(mut body: Value) -> Value {
    for pool in body.get_mut("pools").and_then(Value::as_array_mut).into_iter().flatten() {
        pool["members"].as_array_mut().unwrap().sort_by_key(ToString::to_string);
    }
    body
}

fn settings() -> IbmAccountSettings {
    let text = |it: &str| it.to_owned();
    IbmAccountSettings {
        account: text("acc0123456789"),
        cluster: text("c1clusterid"),
        region: text("us-south"),
        vpc: Some(text("r006-vpc1")),
    }
}

/// A node of the recordings, by its address.
fn recorded_node(address: &str, zone: &str) -> Node {
    let mut node = Node::named(format!("node-{address}"));
    node.zone = Some(zone.to_owned());
    node.addresses = vec![Address::internal_ip(address)];
    node
}

/// The body that makes the load balancer of a Service with one port.
fn creation(service: &LoadBalancer, subnets: &[&str]) -> Value {
    let mut desired = Host::new().run(|| DesiredVpcBalancer::of(service, &settings(), false, None)).unwrap();
    let addresses = desired.addresses(service, &aerostat_sdk::SortedSet::new());
    let subnets: Vec<String> = subnets.iter().map(|it| (*it).to_owned()).collect();
    sorted(step::creation(&desired, &addresses, &subnets, Some("rg0001")))
}

/// A Service of the recordings: its UID is a word there.
fn recorded_service(name: &str, node_port: u16, nodes: &[(&str, &str)]) -> LoadBalancer {
    let service = LoadBalancer::of("default", name, format!("<uid-of-{name} without dashes>"));
    let service = service.with_port(Port::new(Protocol::Tcp, 80, node_port));
    nodes.iter().map(|(address, zone)| recorded_node(address, zone)).fold(service, LoadBalancer::with_node)
}

const FIRST: (&str, &str) = ("10.240.0.5", "us-south-1");
const SECOND: (&str, &str) = ("10.240.1.6", "us-south-2");
const THIRD: (&str, &str) = ("10.240.2.7", "us-south-3");
const FOURTH: (&str, &str) = ("10.240.0.8", "us-south-1");
const ALL: [&str; 4] = ["0717-s1", "0727-s2", "0737-s3", "0717-s4"];

#[test]
fn creations_are_those_of_the_vendors_manager() {
    // The word for a UID has dashes, which a UID in a name has not.
    let named = |name: &str| format!("kube-c1clusterid-<uid-of-{name} without dashes>");
    let same = |service: &LoadBalancer, subnets: &[&str], expected: &Value, name: &str| {
        let mut made = creation(service, subnets);
        assert_eq!(made["name"], named(name).replace("uid-of-", "uidof").chars().take(63).collect::<String>());
        // One whose author chose its name is renamed once it is built.
        let chosen = service.annotations.iter().find(|(key, _)| key.ends_with("vpc-lb-name"));
        made["name"] = chosen.map_or_else(|| named(name), |(_, chosen)| chosen.clone()).into();
        assert_eq!(made, *expected);
    };
    let service = recorded_service("web", 30_080, &[FIRST, SECOND, THIRD]);
    same(&service, &ALL, &written("06-lb-create")[0].1, "web");
    let recorded = written("21-lb-private-subnets-zone-selector");
    let own = recorded_service("priv", 30_101, &[FIRST, SECOND, THIRD, FOURTH])
        .with_annotation(format!("{PREFIX}ip-type"), "private")
        .with_annotation(format!("{PREFIX}vpc-lb-name"), "my-lb");
    same(&own, &["0717-s1", "0727-s2"], &recorded[0].1, "priv");
    let of_zone = recorded_service("zone", 30_102, &[FIRST, SECOND, THIRD, FOURTH])
        .with_annotation(format!("{PREFIX}zone"), "us-south-2");
    same(&of_zone, &["0727-s2"], &recorded[1].1, "zone");
}

#[test]
fn changes_are_those_of_the_vendors_manager_but_for_rows() {
    let methods = |file: &str| written(file).into_iter().map(|(method, _)| method).collect::<Vec<_>>();
    let played = Played::new(FakeVpc::default());
    let mut service = service();
    played.settle(&mut service);
    let words =
        |written: Vec<String>| written.iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>();
    service.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    assert_eq!(words(played.settle(&mut service)), methods("08-lb-port-added"));
    // A pool that is made later says whether it has the PROXY protocol, which the vendor's manager forgets.
    let mut pool = played.bodies()[1].clone();
    assert_eq!(pool["proxy_protocol"].take(), "disabled");
    let mut expected = written("08-lb-port-added")[0].1.clone();
    (pool["members"], expected["members"], expected["proxy_protocol"]) = (Value::Null, Value::Null, Value::Null);
    assert_eq!(pool, expected);
    service.external_traffic_policy = ExternalTrafficPolicy::Local(32_702);
    assert_eq!(words(played.settle(&mut service)), methods("10-lb-local"));
    // kube-proxy answers at any path; /healthz is the one that it documents.
    let mut local = played.bodies().last().unwrap().clone();
    assert_eq!(local["health_monitor"]["url_path"].take(), "/healthz");
    let mut expected = written("10-lb-local")[1].1.clone();
    expected["health_monitor"]["url_path"] = Value::Null;
    assert_eq!(local, expected);
    service.external_traffic_policy = ExternalTrafficPolicy::Cluster;
    played.settle(&mut service);
    service = service.with_annotation(format!("{PREFIX}enable-features"), "proxy-protocol");
    assert_eq!(words(played.settle(&mut service)), methods("12-lb-proxy-protocol"));
    assert_eq!(*played.bodies().last().unwrap(), written("12-lb-proxy-protocol")[1].1);
    service.ports.pop();
    assert_eq!(words(played.settle(&mut service)), methods("17-lb-port-removed"));
    assert_eq!(methods("19-lb-delete"), ["DELETE"]);
}
