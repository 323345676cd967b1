//! Annotations and fields of a Service through wasm, gate and token: values that are refused before anything is written, and nodes that are chosen.

use cloud_provider::{Error, Protocol};
use serde_json::{Value, json};
use tests::clouds::ibm::{Options, VPC, VpcKind, machine_address};
use tests::vendor::{IbmCloud, Vendor as _};

use crate::setup::{Rig, Service, labelled, port, worker};

const BALANCERS: &str = "/v1/load_balancers";

impl Rig {
    /// The body of the only creation.
    fn made(&self) -> Value {
        self.body("POST", BALANCERS)
    }

    /// The addresses of members, each once.
    fn members(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .cloud
            .account()
            .all(VpcKind::Member)
            .iter()
            .map(|it| it["address"].as_str().unwrap().to_owned())
            .collect();
        all.sort();
        all.dedup();
        all
    }
}

/// Why a Service is refused, before which nothing was written.
async fn refused(rig: &Rig, mut service: Service<'_>) -> String {
    let begun = rig.cloud.requests().len();
    let why = service.invalid().await;
    assert!(rig.writes_since(begun).is_empty(), "{:?}", rig.writes_since(begun));
    why
}

/// Why a Service is refused of which nobody is asked.
async fn unasked(rig: &Rig, mut service: Service<'_>) -> String {
    let begun = rig.cloud.requests().len();
    let why = service.invalid().await;
    assert!(rig.asked_since(begun).is_empty(), "{:?}", rig.asked_since(begun));
    why
}

/// Cases: ibm 23
#[tokio::test]
async fn ibm_023_a_type_that_cannot_be_changed_is_told_and_kept() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig).with("ip-type", "private");
    service.served().await;
    let begun = rig.cloud.requests().len();
    service.remove("ip-type");
    assert_eq!(service.reasons().await, ["LoadBalancerImmutable"]);
    assert!(rig.writes_since(begun).is_empty());
    assert_eq!(rig.cloud.account().all(VpcKind::LoadBalancer)[0]["is_public"], json!(false));
}

/// Cases: ibm 24, ibm 25, ibm 27
#[tokio::test]
async fn ibm_024_refused_values_are_named_and_nothing_is_made() {
    let rig = Rig::instant().await;
    let elsewhere = rig.cloud.account().all(VpcKind::Subnet).into_iter().find(|it| it["vpc"] != json!(VPC)).unwrap();
    let elsewhere = format!("sub-10,{}", elsewhere["id"].as_str().unwrap());
    for (name, value, part) in [
        ("ip-type", "prviate", "\"prviate\" is not public or private"),
        ("enable-features", "proxy-protokoll", "is not a list of features"),
        ("vpc-lb-name", "kube-c1clusterid-0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a11", "does not begin with kube-"),
        ("vpc-subnets", "sub-10,nope", "\"nope\" is no id, name or network of a subnet of this VPC"),
        ("vpc-subnets", &*elsewhere, "is no id, name or network of a subnet of this VPC"),
        ("vpc-subnets", "10.240.9.0/24", "is no id, name or network of a subnet of this VPC"),
        ("zone", "us-south-9", "none of the subnets in setting g2VpcSubnetNames is in zone"),
        ("vpc-node-selector", "foo=bar", "with one of these labels: ibm-cloud.kubernetes.io/internal-ip"),
        ("vpc-node-selector", "kubernetes.io/arch", "is not one label=value"),
        ("vpc-health-check-protocol", "udp", "is not http, https or tcp"),
        ("vpc-health-check-port", "30080", "needs annotation"),
        ("vpc-health-check-path", "ready", "is not a path that begins with /"),
        ("vpc-health-check-delay", "61", "is not a whole number from 2 to 60"),
        ("vpc-health-check-timeout", "5", "has to be more than annotation"),
        ("vpc-health-check-retries", "11", "is not a whole number from 1 to 10"),
        ("vpc-idle-connection-timeout", "7201", "is not a whole number from 50 to 7200"),
        ("vpc-member-quota", "-1", "is not a whole number from 0 to 50"),
        ("vpc-health-check-udp", "30100", "is for Services of UDP alone"),
        ("vpc-allow-outbound-traffic", "80", "it needs setting outboundSecurityGroup"),
        ("vpc-port-range", "80-90", "public network load balancers alone take ranges"),
        ("vpc-security-group", "group", "setting allowedSecurityGroups"),
    ] {
        let service = Service::new(&rig).with(name, value);
        // Subnets alone are the cloud's to know.
        let why = match name {
            "vpc-subnets" | "zone" => refused(&rig, service).await,
            _ => unasked(&rig, service).await,
        };
        assert!(why.contains(part) && why.contains(name), "{name}: {value}: {why}");
    }
    assert!(IbmCloud::built(rig.cloud.account()).is_empty());
}

/// Cases: ibm 25, ibm 26
#[tokio::test]
async fn ibm_025_subnets_are_named_and_none_is_taken_for_another() {
    let ids = |made: &Value| -> Vec<String> {
        made["subnets"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
    };
    let rig = Rig::instant().await;
    Service::new(&rig).with("vpc-subnets", "sub-20, 10.240.0.0/24,0717-s1").served().await;
    assert_eq!(ids(&rig.made()), ["0727-s2", "0717-s1"]);
    // There is a sub-1 beside the configured sub-10.
    let usual = Rig::instant().await;
    Service::new(&usual).served().await;
    assert_eq!(ids(&usual.made()), ["0717-s1", "0727-s2", "0737-s3"]);
    let zone = Rig::instant().await;
    let mut service = Service::new(&zone).with("zone", "us-south-2");
    service.desired.nodes = (1..=3).map(worker).collect();
    service.served().await;
    assert_eq!((ids(&zone.made()), zone.members()), (vec!["0727-s2".to_owned()], vec![machine_address(2)]));
    let unknown = Rig::with_settings(Options::instant(), &[("g2VpcSubnetNames", "sub-10,sub-99")]).await;
    let why = refused(&unknown, Service::new(&unknown)).await;
    assert!(why.contains("setting g2VpcSubnetNames: \"sub-99\" is no subnet of this VPC"), "{why}");
}

/// Cases: ibm 28
#[tokio::test]
async fn ibm_028_nodes_at_the_edge_alone_are_members() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig);
    service.desired.nodes = (1..=3).map(worker).collect();
    service.desired.nodes[1].labels.push(("dedicated".to_owned(), "edge".to_owned()));
    service.served().await;
    assert_eq!(rig.members(), [machine_address(2)]);
    service.desired.nodes[1].labels.clear();
    service.served_with().await;
    assert_eq!(rig.members().len(), 3, "without an edge all of them");
}

/// Cases: ibm 30
#[tokio::test]
async fn ibm_030_udp_needs_a_network_load_balancer_and_a_check() {
    let rig = Rig::instant().await;
    let udp = || {
        let mut service = Service::new(&rig);
        service.desired.ports = vec![port(Protocol::Udp, 53)];
        service
    };
    let why = unasked(&rig, udp()).await;
    assert!(why.contains("UDP needs annotation") && why.contains("enable-features: nlb"), "{why}");
    let network = || udp().with("enable-features", "nlb").with("zone", "us-south-1");
    let why = unasked(&rig, network()).await;
    assert!(why.contains("vpc-health-check-udp"), "{why}");
    let mut mixed = network().with("vpc-health-check-udp", "30100");
    mixed.desired.ports.push(port(Protocol::Tcp, 80));
    assert!(unasked(&rig, mixed).await.contains("make two Services of it"));
    let why = refused(&rig, udp().with("enable-features", "nlb").with("vpc-health-check-udp", "30100")).await;
    assert!(why.contains("is in one subnet, and there are 3"), "{why}");

    let mut service = network().with("vpc-health-check-udp", "30100");
    let addresses = service.addresses().await;
    assert!(addresses.len() == 1 && addresses[0].starts_with("169.48."), "{addresses:?}");
    let made = rig.made();
    assert_eq!((&made["profile"]["name"], &made["listeners"][0]["protocol"]), (&json!("network-fixed"), &json!("udp")));
    let pools = rig.cloud.account().all(VpcKind::Pool);
    assert_eq!((&pools[0]["name"], &pools[0]["health_monitor"]["port"]), (&json!("udp-53-30053"), &json!(30_100)));
    let begun = rig.cloud.requests().len();
    service.served().await;
    assert!(rig.writes_since(begun).is_empty());
    service.desired.nodes.push(worker(2));
    service.desired.ports.push(port(Protocol::Udp, 54));
    service.served().await;
    assert_eq!(IbmCloud::built(rig.cloud.account())[0].ports, [53, 54]);
    service.gone().await;
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn ranges_of_ports_are_one_listener_each() {
    let rig = Rig::instant().await;
    let range = |ports: &str| {
        Service::new(&rig).with("enable-features", "nlb").with("zone", "us-south-1").with("vpc-port-range", ports)
    };
    for (ports, part) in [
        ("81-90", "81-90 begins with 81, which is no port of the Service"),
        ("90-80", "is not a list of ranges of ports"),
    ] {
        let why = refused(&rig, range(ports)).await;
        assert!(why.contains(part), "{ports}: {why}");
    }
    let last = || -> Vec<Value> {
        rig.cloud.account().all(VpcKind::Listener).into_iter().map(|mut it| it["port_max"].take()).collect()
    };
    let mut service = range("80-90");
    service.served().await;
    assert_eq!(last(), [json!(90)]);
    let begun = rig.cloud.requests().len();
    service.set("vpc-port-range", "80-85");
    service.served_with().await;
    assert_eq!(last(), [json!(85)]);
    service.remove("vpc-port-range");
    service.served_with().await;
    assert_eq!((last(), rig.writes_since(begun).len()), (vec![json!(80)], 2));
    rig.cloud.assert_valid();
}

/// Cases: ibm 30
#[tokio::test]
async fn ibm_030_an_application_one_does_not_become_another_kind() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig);
    service.served().await;
    let begun = rig.cloud.requests().len();
    service.set("enable-features", "nlb");
    assert_eq!(service.reasons().await, ["LoadBalancerImmutable"]);
    service.desired.ports = vec![port(Protocol::Udp, 80)];
    let why = service.invalid().await;
    assert!(why.contains("does not take: delete the Service"), "{why}");
    assert!(rig.writes_since(begun).is_empty());
}

/// Cases: ibm 31
#[tokio::test]
async fn ibm_031_sixty_nodes_leave_fifty_members_that_stay() {
    let rig = Rig::instant().await;
    rig.cloud.with(|world| (4..=60).for_each(|it| _ = world.add_machine(it, &format!("web-{it}"))));
    let mut service = Service::new(&rig);
    service.desired.nodes = (1..=60).map(worker).collect();
    let told = service.served_with().await.1;
    let skipped = told.iter().find(|it| it.reason == "NodesSkipped").unwrap_or_else(|| panic!("{told:?}"));
    let members = rig.members();
    assert_eq!(members.len(), 50);
    // The host repeats no event for ten minutes that says the same.
    let begun = rig.cloud.requests().len();
    assert_eq!(service.served_with().await.1, std::slice::from_ref(skipped));
    assert!(rig.writes_since(begun).is_empty(), "{:?}", rig.writes_since(begun));
    service.desired.nodes.reverse();
    let gone = service.desired.nodes.iter().position(|it| members.contains(&it.addresses[0].value)).unwrap();
    service.desired.nodes.remove(gone);
    service.served_with().await;
    let stayed = rig.members().iter().filter(|it| members.contains(it)).count();
    assert_eq!((stayed, rig.writes_since(begun).len()), (49, 1), "{:?}", rig.writes_since(begun));
    rig.cloud.assert_valid();
}

/// Cases: ibm 39
#[tokio::test]
async fn ibm_039_a_service_without_nodes_waits_and_holds_nobody_up() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig);
    service.desired.nodes.clear();
    let reply = service.ask().await.answer;
    assert!(matches!(&reply, Err(Error::Unavailable(why)) if why.contains("no ready nodes")), "{reply:?}");
    let uid = "9c2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a99";
    Service::new(&rig).named("other", uid).served().await;
    service.desired.nodes.push(worker(1));
    service.served().await;
    assert_eq!(IbmCloud::built(rig.cloud.account()).len(), 2);
}

/// Cases: ibm 39
#[tokio::test]
async fn ibm_039_a_zone_without_ready_nodes_is_told() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig).with("zone", "us-south-2");
    service.desired.nodes = vec![worker(1), worker(3)];
    let told = service.refused().await;
    let is_told = |why: &str| why.contains("no ready nodes") && why.contains("none is in zone us-south-2");
    assert!(matches!(&told, Error::Unavailable(why) if is_told(why)), "{told:?}");
    assert!(IbmCloud::built(rig.cloud.account()).is_empty(), "no load balancer without members");
    service.desired.nodes.push(worker(2));
    service.served().await;
    assert_eq!(rig.members(), [machine_address(2)]);
    service.desired.nodes.pop();
    assert!(service.reasons().await.contains(&"NodesMissing".to_owned()));
    assert_eq!(rig.members(), [""; 0]);
    rig.cloud.assert_valid();
}

/// Cases: ibm 40
#[tokio::test]
async fn ibm_040_a_resource_group_is_an_id() {
    let rig = Rig::with_settings(Options::instant(), &[("resourceGroupID", "rg0002")]).await;
    Service::new(&rig).served().await;
    assert_eq!(rig.cloud.account().all(VpcKind::LoadBalancer)[0]["group"], json!("rg0002"));
    assert!(rig.cloud.requests().iter().all(|it| !it.path.contains("resource_group")));
    let unknown = Rig::with_settings(Options::instant(), &[("resourceGroupID", "nobody")]).await;
    let why = Service::new(&unknown).refused().await.to_string();
    assert!(why.contains("The resource group nobody was not found"), "{why}");
}

#[tokio::test]
async fn resource_groups_may_be_known_by_their_names() {
    let rig = Rig::with_resource_group("Default").await;
    Service::new(&rig).served().await;
    assert_eq!(rig.cloud.account().all(VpcKind::LoadBalancer)[0]["group"], json!("rg0001"));
    assert_eq!(rig.cloud.requests_to("GET", "/v2/resource_groups").len(), 1);
    rig.cloud.assert_valid();
    for (name, part) in [
        ("other", "account acc0123456789 has 2 resource groups \"other\": write resourceGroupID"),
        (
            "nobody",
            "account acc0123456789 has no resource group \"nobody\", or the credential lacks the role Viewer on it",
        ),
    ] {
        let rig = Rig::with_resource_group(name).await;
        let why = refused(&rig, Service::new(&rig)).await;
        assert!(why.contains(part), "{name}: {why}");
    }
}

/// Cases: ibm 41
#[tokio::test]
async fn ibm_041_source_ranges_are_a_group_that_goes_with_its_service() {
    let rig = Rig::with_settings(Options::default(), &[("sourceRangeGroups", "true")]).await;
    let groups = || rig.cloud.account().all(VpcKind::SecurityGroup);
    let before = groups();
    let mut service = Service::new(&rig);
    service.desired.source_ranges = vec!["10.0.0.0/8".to_owned(), "192.0.2.0/24".to_owned()];
    service.served().await;
    let own = groups().pop().unwrap();
    let ranges = |group: &Value| -> Vec<String> {
        let rules = group["rules"].as_array().unwrap().iter().filter(|it| it["direction"] == "inbound");
        rules.map(|it| it["remote"]["cidr_block"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(own["name"], json!(IbmCloud::default_name(tests::vendor::UID)));
    assert_eq!(ranges(&own), ["10.0.0.0/8", "192.0.2.0/24"]);
    let balancer = || rig.cloud.account().all(VpcKind::LoadBalancer)[0]["groups"].clone();
    assert_eq!(balancer(), json!([own["id"]]));

    service.desired.source_ranges = vec!["192.0.2.0/24".to_owned(), "198.51.100.0/24".to_owned()];
    service.served().await;
    assert_eq!(ranges(&groups().pop().unwrap()), ["192.0.2.0/24", "198.51.100.0/24"]);
    service.desired.source_ranges.clear();
    service.served().await;
    assert_eq!(balancer(), json!([format!("{VPC}-sg")]), "the default group comes back");
    service.desired.source_ranges = vec!["192.0.2.0/24".to_owned()];
    service.served().await;
    assert_eq!(balancer(), json!([own["id"]]));
    service.gone().await;
    assert_eq!(groups(), before, "nothing is left behind");
    rig.cloud.assert_valid();
}

/// Cases: ibm 41
#[tokio::test]
async fn ibm_041_a_group_of_a_refused_creation_leaves_nothing() {
    let settings = [("sourceRangeGroups", "true"), ("createAgainAfter", "1s")];
    let rig = Rig::with_settings(Options::instant(), &settings).await;
    let groups = || rig.cloud.account().all(VpcKind::SecurityGroup).len();
    let before = groups();
    rig.cloud.inject(tests::clouds::ibm::Fault::nothing("POST", "/v1/security_groups").times(1));
    IbmCloud::limit(rig.cloud.account(), 0);
    let mut service = Service::new(&rig);
    service.desired.source_ranges = vec!["10.0.0.0/8".to_owned()];
    for _ in 0..6 {
        let _ = service.ask().await;
    }
    assert_eq!(groups(), before + 1, "one group, although an answer was lost");
    service.gone().await;
    assert_eq!(groups(), before);
    rig.cloud.assert_valid();
}

/// Cases: ibm 41
#[tokio::test]
async fn ibm_041_source_ranges_without_the_setting_are_told() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig);
    service.desired.source_ranges = vec!["10.0.0.0/8".to_owned()];
    assert!(service.reasons().await.contains(&"ServiceFieldsIgnored".to_owned()));
    assert!(rig.made()["security_groups"].is_null());
}

#[tokio::test]
async fn nodes_have_a_way_out_to_their_load_balancer() {
    let rig = Rig::with_settings(Options::instant(), &[("outboundSecurityGroup", "r006-vpc1-sg")]).await;
    let rules = || -> Value {
        let groups = rig.cloud.account().all(VpcKind::SecurityGroup);
        groups.iter().find(|it| it["id"] == "r006-vpc1-sg").unwrap()["rules"].clone()
    };
    let mut service = Service::new(&rig).with("vpc-allow-outbound-traffic", "80");
    service.served().await;
    let made = rules();
    assert_eq!((made.as_array().map(Vec::len), &made[0]["port_max"]), (Some(1), &json!(80)));
    assert!(made[0]["remote"]["address"].as_str().unwrap().starts_with("169.48."), "{made}");
    let begun = rig.cloud.requests().len();
    service.served().await;
    assert!(rig.writes_since(begun).is_empty());
    let mut unknown = Service::new(&rig).named("other", "9c2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a99");
    unknown.set("vpc-allow-outbound-traffic", "443");
    let why = refused(&rig, unknown).await;
    assert!(why.contains("443 is no port of the Service"), "{why}");
    service.gone().await;
    assert_eq!(rules(), json!([]));
    rig.cloud.assert_valid();
}

/// Cases: ibm 43
#[tokio::test]
async fn ibm_043_classic_infrastructure_has_nodes_by_labels() {
    let rig = Rig::classic().await;
    let begun = rig.cloud.requests().len();
    let found = rig.get(labelled()).await.unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("ibm://acc0123456789///c1clusterid/kube-c1-w2"));
    assert_eq!(found.machine_type.as_deref(), Some("b3c.4x16"));
    let mut service = Service::new(&rig);
    let answer = service.ask().await.answer;
    assert!(matches!(&answer, Err(Error::Invalid(why)) if why.contains("not served on classic")), "{answer:?}");
    service.gone().await;
    assert!(rig.asked_since(begun).is_empty(), "{:?}", rig.asked_since(begun));
}
