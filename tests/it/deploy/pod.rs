//! The Pod: what it may do on its node, and what the binary gets from it.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod, PodTemplateSpec};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, ObjectMeta, PostParams};
use serde_json::json;
use tests::control_plane::{Cluster, cluster};

use crate::setup::{command_line, container, object, template};

#[tokio::test]
async fn the_pod_is_restricted_in_all_but_the_nodes_network() {
    let cluster = cluster().await;
    let namespaces: Api<Namespace> = Api::all(cluster.admin.clone());
    let namespace: Namespace = serde_json::from_value(json!({ "metadata": {
        "name": format!("restricted-{}", uuid::Uuid::new_v4()),
        "labels": { "pod-security.kubernetes.io/enforce": "restricted" },
    } }))
    .unwrap();
    let namespace = namespaces.create(&PostParams::default(), &namespace).await.unwrap().metadata.name.unwrap();

    let Err(kube::Error::Api(status)) = create(&cluster, &namespace, template()).await else {
        panic!("a Pod on the node's network is not restricted");
    };
    let violations = status.message.split_once(": ").map(|(_, it)| it);
    let of_network = "violates PodSecurity \"restricted:latest\": host namespaces (hostNetwork=true), hostPort (container \
        \"aerostat\" uses hostPort 10258)";
    let of_probes = ", probe or lifecycle host (container \"aerostat\" uses probe or lifecycle host \"127.0.0.1\")";
    // Kubernetes looks at the hosts of probes since 1.34.
    let minor: u32 = cluster.admin.apiserver_version().await.unwrap().minor.parse().unwrap();
    let expected = format!("{of_network}{}", if minor < 34 { "" } else { of_probes });
    assert_eq!(violations, Some(expected.as_str()), "and nothing else");

    let mut own_network = template();
    let spec = own_network.spec.as_mut().unwrap();
    spec.host_network = None;
    let container = &mut spec.containers[0];
    for probe in [&mut container.startup_probe, &mut container.liveness_probe, &mut container.readiness_probe] {
        probe.as_mut().unwrap().http_get.as_mut().unwrap().host = None;
    }
    let pod = create(&cluster, &namespace, own_network).await.unwrap().spec.unwrap();
    assert_eq!(pod.priority, Some(2_000_000_000), "system-cluster-critical");
    assert_eq!(pod.service_account_name.as_deref(), Some("cloud-controller-manager"));
    let security = pod.containers[0].security_context.clone().unwrap();
    assert_eq!(security.read_only_root_filesystem, Some(true));
}

/// The Pod that would come of this template, or why there would be none.
async fn create(cluster: &Cluster, namespace: &str, template: PodTemplateSpec) -> kube::Result<Pod> {
    let metadata = ObjectMeta { name: Some("aerostat".to_owned()), ..template.metadata.unwrap() };
    let pod = Pod { metadata, spec: template.spec, status: None };
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    Api::<Pod>::namespaced(cluster.admin.clone(), namespace).create(&dry_run, &pod).await
}

#[test]
fn the_binary_knows_every_flag() {
    let container = container(&template());
    let arguments = command_line(&container);
    assert_eq!(arguments[..2], ["aerostat", "run"]);
    let settings = aerostat::RunSettings::parse(arguments).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(settings.warnings, [""; 0]);
    assert!(settings.leader_election.is_some(), "there are two of them");

    let serving = settings.serving.unwrap();
    let port = &container.ports.as_ref().unwrap()[0];
    assert_eq!(port.container_port, i32::from(serving.address.port()));
    assert!(serving.address.ip().is_loopback(), "other machines do not reach it");
    for (probe, path) in [
        (container.startup_probe, "/healthz"),
        (container.liveness_probe, "/healthz"),
        (container.readiness_probe, "/readyz"),
    ] {
        let get = serde_json::to_value(probe.unwrap().http_get.unwrap()).unwrap();
        let host = serving.address.ip().to_string();
        assert_eq!(get, json!({ "host": host, "path": path, "port": port.name, "scheme": "HTTPS" }));
    }
}

#[test]
fn one_pod_at_most_is_drained_at_a_time() {
    let deployment = object::<Deployment>("deployment.yaml").spec.unwrap();
    let budget = object::<PodDisruptionBudget>("poddisruptionbudget.yaml");
    assert_eq!(budget.metadata.namespace, object::<Deployment>("deployment.yaml").metadata.namespace);
    let budget = budget.spec.unwrap();
    assert_eq!(budget.selector, Some(deployment.selector), "the Pods of the Deployment");
    assert_eq!((budget.max_unavailable, budget.min_available), (Some(IntOrString::Int(1)), None));
    assert!(deployment.replicas > Some(1), "another one works meanwhile");
    assert_eq!(budget.unhealthy_pod_eviction_policy.as_deref(), Some("AlwaysAllow"), "broken Pods hold up no node");
}
