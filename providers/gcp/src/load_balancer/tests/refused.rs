//! Refusals, failed operations, and what is another's.

use super::*;

#[test]
fn gcp_020_and_021_nothing_is_asked_for_what_cannot_be() {
    let mut stage = Stage::new();
    stage.service.nodes.clear();
    assert!(Stage::why(stage.ensured()).contains("no ready nodes"));
    let mut stage = Stage::new();
    stage.service.ports.push(Port::new(Protocol::Udp, 53, 30_053));
    let Ok(Progress::Failed(failed)) = stage.call(Gcp::ensure).0 else { panic!("two protocols are refused") };
    assert!(failed.error.why().contains("mixed protocol is not supported"), "{:?}", failed.error);
    let condition = "LoadBalancerPortsError LoadBalancerMixedProtocolNotSupported a load balancer has one protocol";
    assert!(failed.status.extra[0].1.starts_with(condition), "{:?}", failed.status);
    assert_eq!((&*stage.events[0].reason, stage.requests), ("LoadBalancerMixedProtocolNotSupported", 0));
}

#[test]
fn gcp_029_firewalls_of_a_networks_project_are_told() {
    let mut stage = Stage::new().setting("networkProject", "net");
    stage.change(|cloud| cloud.network_project = Some("net"));
    stage.change(|cloud| cloud.refusals.push(("projects/net/global/firewalls", 403, "forbidden")));
    stage.ensured().unwrap();
    let told: Vec<_> = stage.events.iter().filter(|it| it.reason == "LoadBalancerManualChange").collect();
    let command = format!(
        "gcloud compute firewall-rules create k8s-fw-{LB} --project net --network default --description \
         '{{\"kubernetes.io/service-name\":\"default/web\", \"kubernetes.io/service-ip\":\"{0}\"}}' --allow tcp:80 --source-ranges 0.0.0.0/0 \
         --destination-ranges {0} --target-tags k8s-node --priority 1000",
        stage.ip()
    );
    assert!(told.iter().any(|it| it.message.ends_with(&command)), "{told:?}");
    // The same write is tried, and told, again an hour later.
    let told = told.len();
    stage.pause(3_500_000);
    assert_eq!((stage.ensured().unwrap(), stage.manual_changes()), (Vec::new(), told));
    stage.pause(100_000);
    let tried = stage.ensured().unwrap();
    assert_eq!(tried, ["POST firewalls k8s-CID-node-http-hc", "POST firewalls k8s-fw-LB"]);
    assert_eq!(stage.manual_changes(), 2 * told);
    assert_eq!((stage.ensured().unwrap(), stage.manual_changes()), (Vec::new(), 2 * told));
    // Another write is tried at once.
    stage.service.source_ranges = vec!["192.0.2.0/24".to_owned()];
    assert_eq!(stage.ensured().unwrap(), ["POST firewalls k8s-fw-LB"]);
    stage.change(|cloud| cloud.refusals.clear());
    stage.pause(3_600_000);
    stage.ensured().unwrap();
    stage.change(|cloud| cloud.refusals.push(("projects/net/global/firewalls", 403, "forbidden")));
    let begun = stage.events.len();
    let why = Stage::why(stage.deleted());
    assert!(why.contains(&format!("gcloud compute firewall-rules delete k8s-fw-{LB} --project net")), "{why}");
    let own = |it: &&Event| it.message.contains(&format!("delete k8s-fw-{LB} "));
    assert_eq!(stage.events[begun..].iter().filter(own).count(), 1, "{:?}", &stage.events[begun..]);
}

#[test]
fn gcp_031_annotations_with_refused_values_are_named() {
    for (key, value) in [
        ("cloud.google.com/network-tier", "Gold"),
        ("networking.gke.io/load-balancer-type", "Inner"),
        ("cloud.google.com/load-balancer-type", "Inner"),
        ("networking.gke.io/internal-load-balancer-allow-global-access", "yes"),
        ("networking.gke.io/internal-load-balancer-subnet", "projects/p/regions/r/subnetworks/s"),
        ("cloud.google.com/l4-rbs", "off"),
        ("alpha.cloud.google.com/load-balancer-backend-share", "yes"),
        ("cloud.google.com/load-balancer-backend-share", "yes"),
        ("service.beta.kubernetes.io/load-balancer-source-ranges", "everywhere"),
    ] {
        let mut stage = Stage::new().annotated(key, value);
        let why = Stage::why(stage.ensured());
        assert!(why.contains(key) && why.contains("is not"), "{key}: {why}");
        assert_eq!(stage.requests, 0, "{key}");
    }
}

#[test]
fn gcp_033_services_of_another_controller_ask_nothing() {
    let mut stage = Stage::new().annotated("cloud.google.com/l4-rbs", "enabled");
    assert_eq!(stage.call(Gcp::ensure).0, Ok(Progress::NotManaged));
    let mut stage = Stage::new();
    stage.service.extra.push(("finalizer".to_owned(), "gke.networking.io/l4-netlb-v3".to_owned()));
    assert_eq!(stage.call(Gcp::ensure).0, Ok(Progress::NotManaged));
    assert_eq!((stage.call(Gcp::delete).0, stage.requests), (Ok(Deletion::Done), 0));
}

#[test]
fn gcp_034_quotas_are_told_by_their_names() {
    let mut stage = Stage::new();
    stage.change(|cloud| cloud.failures.push(("forwardingRules", "QUOTA_EXCEEDED")));
    let error = stage.ensured().unwrap_err();
    assert!(error.is_quota() && error.why().contains("QUOTA_EXCEEDED: Quota 'FORWARDING_RULES' exceeded"), "{error:?}");
    stage.change(|cloud| cloud.failures.clear());
    let writes = stage.ensured().unwrap();
    assert_eq!(writes, ["POST forwardingRules LB", "POST firewalls k8s-fw-LB"], "the request has another id");
}

#[test]
fn gcp_035_lost_operations_are_followed_by_reading() {
    let mut stage = Stage::new();
    stage.change(|cloud| cloud.loses_operations = true);
    stage.ensured().unwrap();
    stage.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn a_shared_object_is_tried_again_where_its_deletion_failed() {
    let mut stage = Stage::internal();
    stage.ensured().unwrap();
    stage.change(|cloud| cloud.failures.push(("Delete projects/p1/global/healthChecks", "INTERNAL_ERROR")));
    while stage.events.is_empty() {
        let (answer, _) = stage.call(Gcp::delete);
        let Deletion::Pending(it) = answer.unwrap() else { panic!("the health check is left: {:?}", stage.left()) };
        stage.service = stage.service.clone().after(it.status);
        stage.pause(it.wait.milliseconds);
    }
    stage.change(|cloud| cloud.failures.clear());
    stage.deleted().unwrap();
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn limits_slow_down_everybody() {
    let mut stage = Stage::new();
    stage.change(|cloud| cloud.refusals.push(("httpHealthChecks", 403, "rateLimitExceeded")));
    let error = stage.ensured().unwrap_err();
    assert!(matches!(error, Error::RetryAfter(_)), "{error:?}");
}

#[test]
fn anothers_object_is_not_touched() {
    for (kind, name) in [
        ("regions/europe-west1/forwardingRules", LB.to_owned()),
        ("regions/europe-west1/targetPools", LB.to_owned()),
        ("global/firewalls", format!("k8s-fw-{LB}")),
    ] {
        let mut stage = Stage::new();
        let path = format!("projects/p1/{kind}/{name}");
        let other = json!({ "name": name, "description": r#"{"kubernetes.io/service-name":"other/web"}"#, "loadBalancingScheme": "EXTERNAL" });
        stage.change(|cloud| cloud.objects.insert(path.clone(), other.clone()));
        let why = Stage::why(stage.ensured());
        assert!(why.contains("names Service other/web: it is not touched"), "{why}");
        stage.deleted().unwrap();
        assert_eq!(stage.change(|cloud| cloud.objects.get(&path).cloned()), Some(other));
    }
}

#[test]
fn requests_of_two_makings_differ() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    let remade = |stage: &mut Stage, seconds: Option<u32>| {
        stage.service.client_ip_affinity_seconds = seconds;
        stage.ensured().unwrap();
        stage.object("/targetPools/LB")["sessionAffinity"].as_str().unwrap().to_owned()
    };
    assert_eq!(remade(&mut stage, Some(60)), "CLIENT_IP");
    assert_eq!(remade(&mut stage, None), "NONE", "the same body is made again");
    assert_eq!(remade(&mut stage, Some(60)), "CLIENT_IP");
}

#[test]
fn a_load_balancer_of_the_vendors_is_taken_over_without_a_write() {
    let mut stage = Stage::new();
    stage.ensured().unwrap();
    // As the vendor's: no memo, no labels, its finalizer, and the first Service's address in the check's firewall.
    stage.change(|cloud| {
        for it in cloud.objects.values_mut() {
            it.as_object_mut().unwrap().remove("labels");
        }
        let firewall = format!("projects/p1/global/firewalls/k8s-{CID}-node-http-hc");
        cloud.objects.get_mut(&firewall).unwrap()["destinationRanges"] = json!(["203.0.113.250"]);
    });
    stage.service.memo = None;
    stage.service.extra.push(("finalizer".to_owned(), "gke.networking.io/l4-netlb-v1".to_owned()));
    assert_eq!(stage.ensured().unwrap(), [""; 0]);
}
