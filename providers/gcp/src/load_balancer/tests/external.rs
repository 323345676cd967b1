//! External load balancers, by the cases of the provider's page.

use aerostat_sdk::ExternalTrafficPolicy;

use super::*;

#[test]
fn gcp_015_an_external_one_is_made_without_an_address_to_hold() {
    let mut stage = Stage::new();
    let writes = stage.ensured().unwrap();
    // The first one of a cluster finds no check: the refused write shows it.
    let expected = [
        "POST targetPools LB",
        "POST httpHealthChecks CID",
        "POST firewalls k8s-CID-node-http-hc",
        "POST targetPools LB",
        "POST forwardingRules LB",
        "POST firewalls k8s-fw-LB",
    ];
    assert_eq!(writes, expected.map(|it| it.replace("Checks CID", "Checks k8s-CID-node")));
    let shown = stage.object("/targetPools/LB");
    assert_eq!(shown["description"], r#"{"kubernetes.io/service-name":"default/web"}"#);
    assert_eq!(shown["sessionAffinity"], "NONE");
    let firewall = stage.object("/firewalls/k8s-fw-LB");
    let ip = stage.ip();
    let recorded = json!({
        "allowed": [{ "IPProtocol": "tcp", "ports": ["80"] }],
        "description": format!(r#"{{"kubernetes.io/service-name":"default/web", "kubernetes.io/service-ip":"{ip}"}}"#),
        "destinationRanges": [ip], "name": format!("k8s-fw-{LB}"),
        "network": "https://www.googleapis.com/compute/v1/projects/p1/global/networks/default",
        "priority": 1000, "sourceRanges": ["0.0.0.0/0"], "targetTags": ["k8s-node"],
    });
    assert_eq!(firewall, recorded);
    let recorded = json!({
        "checkIntervalSec": 8, "description": format!(r#"{{"kubernetes.io/service-name":"k8s-{CID}-node"}}"#), "healthyThreshold": 1,
        "name": format!("k8s-{CID}-node"), "port": 10256, "requestPath": "/healthz", "timeoutSec": 1, "unhealthyThreshold": 3,
    });
    assert_eq!(stage.object("/httpHealthChecks/k8s-CID-node"), recorded);
    let rule = stage.object("/forwardingRules/LB");
    assert_eq!((&rule["portRange"], &rule["networkTier"]), (&json!("80-80"), &json!("PREMIUM")));
    assert_eq!(rule["labels"]["aerostat-service"], UID);
    let mut second = stage.other("two", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    assert_eq!(second.ensured().unwrap().len(), 3, "a further one is a pool, a rule and a firewall");
}

#[test]
fn gcp_016_a_load_balancer_as_wanted_is_only_read() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.requests = 0;
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
    assert_eq!(stage.requests, 5);
}

#[test]
fn gcp_017_a_new_process_goes_on_where_the_last_one_ended() {
    let mut stage = Stage::new();
    let mut pools = 0;
    loop {
        let (answer, writes) = stage.call(Gcp::ensure);
        pools += writes.iter().filter(|it| it.starts_with("POST targetPools")).count();
        // The first one is refused: there is no check yet.
        let is_over = pools == 2;
        let Ok(Progress::Pending(it)) = answer else { panic!("{answer:?}") };
        if is_over {
            break;
        }
        stage.service = stage.service.clone().after(it.status);
        stage.pause(it.wait.milliseconds);
    }
    stage.pause(5_000);
    // The answer of the call that made the pool is lost with its process.
    assert_eq!(stage.ensured().unwrap(), ["POST forwardingRules LB", "POST firewalls k8s-fw-LB"]);
}

#[test]
fn gcp_018_and_019_addresses_are_reserved_free_and_of_the_tier() {
    let asked = |address: Value, tier: &str| {
        let mut stage = Stage::new().annotated("cloud.google.com/network-tier", tier);
        stage.service.load_balancer_ip = Some("203.0.113.99".to_owned());
        if !address.is_null() {
            let path = "projects/p1/regions/europe-west1/addresses/mine".to_owned();
            stage.change(|cloud| cloud.objects.insert(path, address));
        }
        stage
    };
    let free =
        json!({ "name": "mine", "address": "203.0.113.99", "networkTier": "PREMIUM", "addressType": "EXTERNAL" });
    let mut stage = asked(free.clone(), "Premium");
    stage.ensured().unwrap();
    assert_eq!(stage.ip(), "203.0.113.99");
    assert!(!stage.deleted().unwrap().iter().any(|it| it.contains("addresses")), "it is the person's");
    let mut standard = asked(free.clone(), "Standard");
    assert!(Stage::why(standard.ensured()).contains("address mine of tier PREMIUM"));
    assert!(Stage::why(asked(Value::Null, "Premium").ensured()).contains("neither static nor assigned"));
    let mut used = free.clone();
    used["users"] = json!(["https://x/compute/v1/projects/p1/regions/europe-west1/forwardingRules/other"]);
    assert!(Stage::why(asked(used, "Premium").ensured()).contains("forwardingRules/other has"));
    let mut held = free;
    held["description"] = json!(r#"{"kubernetes.io/service-name":"default/other"}"#);
    assert!(Stage::why(asked(held, "Premium").ensured()).contains("default/other has"));
}

#[test]
fn gcp_022_the_rule_has_a_range_and_the_firewall_each_port() {
    let mut stage = Stage::new();
    stage.service.ports.push(Port::new(Protocol::Tcp, 8_080, 30_081));
    stage.ensured().unwrap();
    assert_eq!(stage.object("/forwardingRules/LB")["portRange"], "80-8080");
    assert_eq!(stage.object("/firewalls/k8s-fw-LB")["allowed"][0]["ports"], json!(["80", "8080"]));
}

#[test]
fn gcp_023_and_024_checks_follow_the_policy_and_the_rule_stays() {
    let mut stage = Stage::new();
    stage.service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    stage.ensured().unwrap();
    assert_eq!(stage.object("/httpHealthChecks/LB")["port"], 31_000);
    let ip = stage.ip();
    let own = stage.object("/firewalls/k8s-LB-http-hc");
    assert_eq!((&own["allowed"][0]["ports"], &own["destinationRanges"]), (&json!(["31000"]), &json!([ip])));
    stage.service.external_traffic_policy = ExternalTrafficPolicy::Cluster;
    let writes = stage.ensured().unwrap();
    assert!(!writes.iter().any(|it| it.contains("forwardingRules")), "{writes:?}");
    assert_eq!(stage.ip(), ip);
    let left = ["firewalls k8s-CID-node-http-hc", "firewalls k8s-fw-LB", "httpHealthChecks k8s-CID-node"];
    assert_eq!(stage.left()[..3], left);
    stage.service.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    stage.ensured().unwrap();
    assert!(!stage.left().iter().any(|it| it.contains("CID")), "{:?}", stage.left());
}

#[test]
fn gcp_025_and_027_nodes_come_and_go() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.service.nodes.push(node(3));
    assert_eq!(stage.ensured().unwrap(), ["POST targetPools/LB/addInstance"]);
    stage.service.nodes.remove(0);
    stage.service.nodes.push(Node::named("joining"));
    assert_eq!(stage.ensured().unwrap(), ["POST targetPools/LB/removeInstance"]);
    assert!(stage.events.iter().any(|it| it.reason == "NodeNotBalanced"));
    stage.service.nodes = vec![Node::named("joining")];
    assert!(Stage::why(stage.ensured()).contains("no ready nodes"));
}

#[test]
fn gcp_026_many_instances_come_in_two_writes() {
    let mut stage = Stage::new();
    stage.service.nodes = (1..=250).map(node).collect();
    let writes = stage.ensured().unwrap();
    let pools: Vec<_> = writes.iter().filter(|it| it.contains("targetPools")).collect();
    assert_eq!(pools, ["POST targetPools LB", "POST targetPools LB", "POST targetPools/LB/addInstance"], "{writes:?}");
    assert_eq!(stage.object("/targetPools/LB")["instances"].as_array().unwrap().len(), 250);
}

#[test]
fn gcp_028_source_ranges_are_patched() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.service.source_ranges = vec!["192.0.2.0/24".to_owned()];
    assert_eq!(stage.ensured().unwrap(), ["PATCH firewalls/k8s-fw-LB"]);
    assert_eq!(stage.object("/firewalls/k8s-fw-LB")["sourceRanges"], json!(["192.0.2.0/24"]));
}

#[test]
fn gcp_030_affinity_makes_rule_and_pool_again_with_the_address() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let ip = stage.ip();
    stage.service.client_ip_affinity_seconds = Some(600);
    let expected = [
        "POST addresses LB",
        "DELETE forwardingRules/LB",
        "DELETE targetPools/LB",
        "POST targetPools LB",
        "POST forwardingRules LB",
        "DELETE addresses/LB",
    ];
    assert_eq!(stage.ensured().unwrap(), expected);
    assert_eq!((stage.ip(), &stage.object("/targetPools/LB")["sessionAffinity"]), (ip, &json!("CLIENT_IP")));
}

#[test]
fn protocols_and_ports_change_with_the_address() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let ip = stage.ip();
    stage.service.ports = vec![Port::new(Protocol::Udp, 53, 30_053)];
    let writes = stage.ensured().unwrap();
    assert_eq!(writes.len(), 5, "{writes:?}");
    assert_eq!((stage.ip(), &stage.object("/forwardingRules/LB")["IPProtocol"]), (ip, &json!("UDP")));
}

#[test]
fn gcp_032_another_tier_is_another_address() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let ip = stage.ip();
    stage.annotate("cloud.google.com/network-tier", "Standard");
    let writes = stage.ensured().unwrap();
    assert_eq!(writes, ["DELETE forwardingRules/LB", "POST forwardingRules LB", "PATCH firewalls/k8s-fw-LB"]);
    assert_ne!(stage.ip(), ip);
}

#[test]
fn gcp_036_everything_goes_and_what_others_use_stays() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let mut second = stage.other("two", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    second.ensured().unwrap();
    let expected = [
        "DELETE firewalls/k8s-fw-LB",
        "DELETE forwardingRules/LB",
        "DELETE targetPools/LB",
        "DELETE httpHealthChecks/k8s-CID-node",
    ];
    let mut writes = stage.deleted().unwrap();
    writes.sort();
    let mut expected = expected.map(str::to_owned);
    expected.sort();
    assert_eq!(writes, expected);
    assert!(stage.left().contains(&"httpHealthChecks k8s-CID-node".to_owned()));
    second.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
    assert_eq!(second.deleted().unwrap(), [""; 0], "each 404 is a success");
}

#[test]
fn settings_add_a_denying_firewall_and_annotations() {
    let mut stage = Stage::new().setting("denyFirewall", "true").setting("writeAnnotations", "true");
    stage.ensured().unwrap();
    let (allow, deny) = (stage.object("/firewalls/k8s-fw-LB"), stage.object("/firewalls/k8s-fw-LB-deny"));
    assert_eq!((&allow["priority"], &deny["priority"]), (&json!(999), &json!(1000)));
    assert_eq!(deny["denied"], json!([{ "IPProtocol": "all" }]));
    assert_eq!(stage.service.annotation("networking.gke.io/target-pool"), Some(LB));
    stage = stage.setting("denyFirewall", "false");
    let writes = stage.ensured().unwrap();
    assert_eq!(writes, ["PATCH firewalls/k8s-fw-LB", "DELETE firewalls/k8s-fw-LB-deny"]);
    stage.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}
