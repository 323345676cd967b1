//! Internal load balancers, by the cases of the provider's page.

use super::*;

const TYPE: &str = "networking.gke.io/load-balancer-type";

#[test]
fn gcp_037_an_internal_one_has_a_group_in_each_zone() {
    let mut stage = Stage::internal().setting("subnetwork", "default");
    let mut writes = stage.ensured().unwrap();
    writes.sort();
    let expected = [
        "POST backendServices LB",
        "POST backendServices LB",
        "POST firewalls k8s-CID-node-hc",
        "POST firewalls k8s-fw-LB",
        "POST forwardingRules LB",
        "POST healthChecks k8s-CID-node",
        "POST instanceGroups k8s-ig--CID",
        "POST instanceGroups k8s-ig--CID",
        "POST instanceGroups/k8s-ig--CID/addInstances",
        "POST instanceGroups/k8s-ig--CID/addInstances",
    ];
    assert_eq!(writes, expected);
    assert!(stage.ip().starts_with("10.132.0."));
    let rule = stage.object("/forwardingRules/LB");
    assert_eq!((&rule["loadBalancingScheme"], &rule["ports"]), (&json!("INTERNAL"), &json!(["80"])));
    assert!(rule["subnetwork"].as_str().unwrap().ends_with("projects/p1/regions/europe-west1/subnetworks/default"));
    assert_eq!(stage.object("/firewalls/k8s-CID-node-hc")["description"], Value::Null);
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
    let mut second = stage.other("two", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    assert_eq!(second.ensured().unwrap().len(), 3, "a further one is a backend service, a rule and a firewall");
}

#[test]
fn gcp_038_six_ports_are_all_ports() {
    let mut stage = Stage::internal();
    stage.service.ports = [1, 2, 3, 4, 5, 80].map(|it| Port::new(Protocol::Tcp, it, 30_000 + it)).to_vec();
    stage.ensured().unwrap();
    let rule = stage.object("/forwardingRules/LB");
    assert_eq!((&rule["allPorts"], &rule["ports"]), (&json!(true), &Value::Null));
    assert_eq!(stage.object("/firewalls/k8s-fw-LB")["allowed"][0]["ports"], json!(["1-5", "80"]));
    let ip = stage.ip();
    stage.service.ports.truncate(2);
    stage.ensured().unwrap();
    assert_eq!((stage.ip(), &stage.object("/forwardingRules/LB")["ports"]), (ip, &json!(["1", "2"])));
}

#[test]
fn gcp_039_global_access_is_patched() {
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    stage.annotate("networking.gke.io/internal-load-balancer-allow-global-access", "true");
    assert_eq!(stage.ensured().unwrap(), ["PATCH forwardingRules/LB"]);
    assert_eq!(stage.object("/forwardingRules/LB")["allowGlobalAccess"], true);
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}

#[test]
fn gcp_040_another_subnet_is_another_address() {
    let mut stage = Stage::internal().setting("subnetwork", "default");
    stage.ensured().unwrap();
    let ip = stage.ip();
    stage.annotate("networking.gke.io/internal-load-balancer-subnet", "other");
    stage.ensured().unwrap();
    assert_ne!(stage.ip(), ip);
    assert!(stage.object("/forwardingRules/LB")["subnetwork"].as_str().unwrap().ends_with("subnetworks/other"));
    stage.annotate("networking.gke.io/internal-load-balancer-subnet", "a/../b");
    assert!(Stage::why(stage.ensured()).contains("is not the name of a subnet"));
}

#[test]
fn gcp_041_nodes_move_from_zone_to_zone() {
    let mut stage = Stage::internal();
    stage.service.nodes = vec![node(1), node(2), node(3)];
    stage.ensured().unwrap();
    stage.service.nodes = vec![node(1), node(2), node(4)];
    let mut writes = stage.ensured().unwrap();
    writes.sort();
    assert_eq!(
        writes,
        ["POST instanceGroups/k8s-ig--CID/addInstances", "POST instanceGroups/k8s-ig--CID/removeInstances"]
    );
    stage.service.nodes = vec![node(1)];
    let mut writes = stage.ensured().unwrap();
    writes.sort();
    assert_eq!(writes, ["POST instanceGroups/k8s-ig--CID/removeInstances", "PUT backendServices/LB"]);
    assert_eq!(stage.object("/backendServices/LB")["backends"].as_array().unwrap().len(), 1);
}

#[test]
fn gcp_042_instance_groups_stay_while_a_service_needs_them() {
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    let mut second = stage.other("two", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    second.ensured().unwrap();
    stage.deleted().unwrap();
    let groups = |stage: &Stage| stage.left().iter().filter(|it| it.starts_with("instanceGroups")).count();
    assert_eq!(groups(&stage), 2);
    assert_eq!(second.ensured().unwrap(), [""; 0]);
    second.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn gcp_043_kinds_change_and_leave_nothing_behind() {
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    stage.annotate(TYPE, "External");
    let writes = stage.ensured().unwrap();
    let at = |line: &str| writes.iter().position(|it| it == line).unwrap_or_else(|| panic!("{line} {writes:?}"));
    assert!(at("DELETE forwardingRules/LB") < at("DELETE backendServices/LB"));
    assert!(at("DELETE forwardingRules/LB") < at("POST forwardingRules LB"));
    assert!(stage.ip().starts_with("203.0.113."));
    let mut fresh = Stage::new();
    fresh.ensured().unwrap();
    assert_eq!(stage.left(), fresh.left());
    stage.annotate(TYPE, "Internal");
    stage.ensured().unwrap();
    let mut fresh = Stage::internal();
    fresh.ensured().unwrap();
    assert_eq!(stage.left(), fresh.left());
}

#[test]
fn gcp_044_classes_are_served_where_the_setting_says() {
    const INTERNAL: &str = "networking.gke.io/l4-regional-internal-legacy";
    let classed = |class: &str, legacy: &str| {
        let mut stage = Stage::new().setting("legacyClasses", legacy);
        stage.service.load_balancer_class = Some(class.to_owned());
        stage
    };
    let mut stage = classed(INTERNAL, "true");
    stage.ensured().unwrap();
    assert!(stage.ip().starts_with("10."));
    for (class, legacy) in [(INTERNAL, "false"), ("example.com/other", "true")] {
        let mut stage = classed(class, legacy);
        assert_eq!(stage.call(Gcp::ensure).0, Ok(Progress::NotManaged));
        assert_eq!(stage.requests, 0);
    }
}

#[test]
fn gcp_045_a_fingerprint_that_is_old_is_read_again() {
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    stage.service.client_ip_affinity_seconds = Some(60);
    stage.change(|cloud| cloud.refusals.push(("Put projects/p1/regions", 412, "conditionNotMet")));
    let (answer, writes) = stage.call(Gcp::ensure);
    assert_eq!(writes, ["PUT backendServices/LB"]);
    assert!(matches!(answer, Ok(Progress::Pending(_))), "{answer:?}");
    stage.change(|cloud| cloud.refusals.clear());
    assert_eq!(stage.ensured().unwrap(), ["PUT backendServices/LB"]);
}

#[test]
fn gcp_046_a_protocol_changes_while_the_address_is_held() {
    let mut stage = Stage::internal();
    stage.service.ports = vec![Port::new(Protocol::Udp, 53, 30_053)];
    stage.ensured().unwrap();
    let ip = stage.ip();
    stage.service.ports = vec![Port::new(Protocol::Tcp, 53, 30_053)];
    let expected = [
        "POST addresses LB",
        "DELETE forwardingRules/LB",
        "PUT backendServices/LB",
        "POST forwardingRules LB",
        "PATCH firewalls/k8s-fw-LB",
        "DELETE addresses/LB",
    ];
    assert_eq!(stage.ensured().unwrap(), expected);
    assert_eq!(stage.ip(), ip);
}

#[test]
fn backend_services_are_shared_and_called_as_the_vendors() {
    let mut stage = Stage::internal().annotated("alpha.cloud.google.com/load-balancer-backend-share", "true");
    stage.ensured().unwrap();
    let shared = format!("backendServices k8s-{CID}-internal-tcp-nmv1-6eef6648406c333a").replace(CID, "CID");
    assert!(stage.left().contains(&shared), "{:?}", stage.left());
    let mut second = stage.other("two", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    assert_eq!(second.ensured().unwrap().len(), 2);
    stage.annotate("alpha.cloud.google.com/load-balancer-backend-share", "false");
    let ip = stage.ip();
    stage.ensured().unwrap();
    assert_eq!(stage.ip(), ip);
    assert!(stage.left().contains(&shared), "another uses it");
    stage.deleted().unwrap();
    second.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_service_deleted_after_its_kind_changed_leaves_nothing() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    stage.annotate(TYPE, "Internal");
    // What external ones share was tried, and the answer that the internal one is ready has not come yet.
    while !stage.service.memo.as_ref().is_some_and(|it| it.contains(" tried:")) {
        let (answer, _) = stage.call(Gcp::ensure);
        let Ok(Progress::Pending(it)) = answer else { panic!("{answer:?}") };
        stage.service = stage.service.clone().after(it.status);
        stage.pause(it.wait.milliseconds);
    }
    stage.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

/// A Service whose shared health check is deleted, and shown once more, as by a read that was asked before.
fn shown_after_its_deletion() -> Stage {
    const CHECK: &str = "/healthChecks/k8s-CID-node";
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    let check = stage.object(CHECK);
    while stage.object(CHECK) != Value::Null {
        let (answer, _) = stage.call(Gcp::delete);
        let Ok(Deletion::Pending(it)) = answer else { panic!("{answer:?}") };
        stage.service = stage.service.clone().after(it.status);
        stage.pause(it.wait.milliseconds);
    }
    let path = format!("projects/p1/global{CHECK}").replace("CID", CID);
    stage.change(|cloud| cloud.objects.insert(path, check));
    stage
}

#[test]
fn a_shared_check_that_is_shown_again_leaves_no_firewall() {
    let mut stage = shown_after_its_deletion();
    let writes = stage.deleted().unwrap();
    assert_eq!(writes, ["DELETE healthChecks/k8s-CID-node", "DELETE firewalls/k8s-CID-node-hc"]);
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_shared_check_that_another_service_made_again_stays() {
    let mut stage = shown_after_its_deletion();
    let mut second = stage.other("two", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    second.ensured().unwrap();
    assert_eq!(stage.deleted().unwrap(), ["DELETE healthChecks/k8s-CID-node"]);
    assert_eq!(second.ensured().unwrap(), [""; 0]);
    second.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_shared_check_whose_operation_finds_a_use_stays() {
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    let in_use = ("Delete projects/p1/global/healthChecks", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE");
    stage.change(|cloud| cloud.failures.push(in_use));
    let writes = stage.deleted().unwrap();
    assert_eq!(writes.iter().filter(|it| *it == "DELETE healthChecks/k8s-CID-node").count(), 1, "{writes:?}");
    assert_eq!(stage.left(), ["firewalls k8s-CID-node-hc", "healthChecks k8s-CID-node"]);
}
