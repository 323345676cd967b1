//! A hostile provider answers with what is the cluster's own: nothing of it is written, and an event says so.

use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::control_plane::{Cluster, cluster};
use tests::{guests, kubelet};

use crate::setup::{Setup, assert_waits, event, initialized, refuses};

/// A Service whose name says what the provider answers about it.
async fn create(cluster: &Cluster, name: &str) {
    let service = json!({
        "metadata": { "name": name },
        "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
    });
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
}

async fn is_without_addresses(cluster: &Cluster, name: &str) {
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    let status = services.get(name).await.unwrap().status.unwrap_or_default();
    let ingress = status.load_balancer.and_then(|it| it.ingress).unwrap_or_default();
    assert!(ingress.is_empty(), "{name}: {ingress:?}");
}

#[tokio::test]
async fn adv_150_a_hostile_provider_takes_no_clusters_traffic() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).flags(&["--cluster-cidr=10.244.0.0/16"]).edit(|config| {
        config["provider"]["loadBalancerAddresses"] = json!(["192.0.2.0/24", "10.0.0.0/8", "172.16.0.0/12"]);
        config["clusterNetworks"] = json!({ "pods": ["172.20.0.0/16"] });
    });
    let process = setup.started().await;
    kubelet::join(&cluster.admin, "machine-at-10-1-0-9").await.unwrap();
    initialized(&cluster, "machine-at-10-1-0-9").await;
    let refused = [
        ("vip-10-96-0-1", "is the ClusterIP of Service default/kubernetes"),
        ("vip-10-96-0-10", "is in 10.96.0.0/16, a network of Services"),
        ("vip-10-1-0-9", "is an address of node machine-at-10-1-0-9, as the cloud says"),
        ("vip-10-244-3-4", "is in 10.244.0.0/16, a network of pods"),
        ("vip-172-20-3-4", "is in 172.20.0.0/16, a network of pods"),
        ("vip-8-8-8-8", "is in none of the networks in provider.loadBalancerAddresses"),
        ("vip-192-0-2-77", "comes with ipMode VIP"),
        ("soon-vip-10-96-0-1", "is the ClusterIP of Service default/kubernetes"),
    ];
    for (name, because) in refused {
        create(&cluster, name).await;
        event(&cluster, name, &["Error syncing load balancer", because]).await;
    }
    for (name, _) in refused {
        is_without_addresses(&cluster, name).await;
    }
    process.stop().await;
}

#[tokio::test]
async fn a_service_has_the_condition_that_its_ports_cannot_be() {
    let cluster = cluster().await;
    let process = Setup::guest(&cluster, guests::HOSTILE).started().await;
    create(&cluster, "mixed-ports").await;
    event(&cluster, "mixed-ports", &["one protocol for each load balancer"]).await;
    let services: Api<Service> = Api::namespaced(cluster.admin.clone(), "default");
    let condition = async || {
        let all = services.get("mixed-ports").await.unwrap().status?.conditions?;
        all.into_iter().find(|it| it.type_ == "LoadBalancerPortsError")
    };
    let set = tests::wait::until("the condition is there", async || condition().await).await;
    let said = (set.status.as_str(), set.reason.as_str(), set.message.as_str());
    assert_eq!(said, ("True", "LoadBalancerMixedProtocolNotSupported", "TCP and UDP\\nside by side"));
    let mend = Patch::Merge(json!({ "metadata": { "annotations": { "hostile.example/see": "mended" } } }));
    services.patch("mixed-ports", &PatchParams::default(), &mend).await.unwrap();
    tests::wait::until("the condition is gone", async || condition().await.is_none().then_some(())).await;
    process.stop().await;
}

#[tokio::test]
async fn adv_151_a_hostile_provider_moves_no_node() {
    let cluster = cluster().await;
    let setup = Setup::guest(&cluster, guests::HOSTILE).edit(|config| {
        config["provider"]["nodeAddresses"] = json!(["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16"]);
        config["clusterNetworks"] = json!({ "pods": ["10.244.0.0/16"] });
    });
    let process = setup.started().await;
    let refused = [
        ("machine-at-10-96-0-1", "is the ClusterIP of the API server"),
        ("machine-at-10-96-7-7", "is in 10.96.0.0/16, a network of Services"),
        ("machine-at-10-244-7-7", "is in 10.244.0.0/16, a network of pods"),
        ("machine-at-127-0-0-1", "is each machine's address for itself"),
        ("machine-at-169-254-169-254", "is a link-local address"),
        ("machine-at-203-0-113-7", "is in none of the networks in provider.nodeAddresses"),
    ];
    for (name, because) in refused {
        kubelet::join(&cluster.admin, name).await.unwrap();
        event(&cluster, name, &["the provider's answer is refused", because]).await;
        assert_waits(&cluster, name).await;
    }
    kubelet::join(&cluster.admin, "machine-at-10-1-0-9").await.unwrap();
    initialized(&cluster, "machine-at-10-1-0-9").await;
    process.stop().await;
}

/// Writes where the API server is, as API servers do.
async fn endpoints(cluster: &Cluster, addresses: &[&str]) {
    let slice = json!({
        "metadata": { "name": "kubernetes", "labels": { "kubernetes.io/service-name": "kubernetes" } },
        "addressType": "IPv4",
        "endpoints": addresses.iter().map(|it| json!({ "addresses": [it] })).collect::<Vec<_>>(),
        "ports": [{ "name": "https", "port": 6443, "protocol": "TCP" }],
    });
    let slices: Api<EndpointSlice> = Api::namespaced(cluster.admin.clone(), "default");
    slices.create(&PostParams::default(), &serde_json::from_value(slice).unwrap()).await.unwrap();
}

#[tokio::test]
async fn adv_173_an_endpoint_of_the_api_server_is_nobody_elses() {
    let cluster = cluster().await;
    endpoints(&cluster, &["10.3.0.1", "10.3.0.2", "10.3.0.3"]).await;
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let process = setup.started().await;
    let because = "where the API server is reached";
    create(&cluster, "vip-10-3-0-1").await;
    event(&cluster, "vip-10-3-0-1", &["Error syncing load balancer", because]).await;
    is_without_addresses(&cluster, "vip-10-3-0-1").await;
    kubelet::join(&cluster.admin, "machine-at-10-3-0-1").await.unwrap();
    event(&cluster, "machine-at-10-3-0-1", &["the provider's answer is refused", because]).await;
    assert_waits(&cluster, "machine-at-10-3-0-1").await;

    // A machine with an API server is a node of the control plane, by its label or by its kubelet's word.
    let mut labelled = kubelet::node("machine-at-10-3-0-2");
    let control_plane = ("node-role.kubernetes.io/control-plane".to_owned(), String::new());
    labelled.metadata.labels.get_or_insert_default().extend([control_plane]);
    let mut said = kubelet::node("machine-at-10-3-0-3");
    let provided = ("alpha.kubernetes.io/provided-node-ip".to_owned(), "10.3.0.3".to_owned());
    said.metadata.annotations = Some([provided].into());
    for node in [labelled, said] {
        kubelet::join_as(&cluster.admin, node).await.unwrap();
    }
    initialized(&cluster, "machine-at-10-3-0-2").await;
    initialized(&cluster, "machine-at-10-3-0-3").await;
    // Whoever gets the label later, as at the end of `kubeadm join`, waits no longer.
    let nodes: Api<Node> = Api::all(cluster.admin.clone());
    let label = Patch::Merge(json!({ "metadata": { "labels": { "node-role.kubernetes.io/control-plane": "" } } }));
    nodes.patch("machine-at-10-3-0-1", &PatchParams::default(), &label).await.unwrap();
    initialized(&cluster, "machine-at-10-3-0-1").await;
    process.stop().await;
}

#[tokio::test]
async fn adv_173_without_the_right_to_endpoints_all_else_goes_on() {
    let mut cluster = cluster().await;
    cluster.forbids();
    endpoints(&cluster, &["10.3.0.1"]).await;
    let roles: Api<Role> = Api::namespaced(cluster.admin.clone(), "default");
    let rules = roles.get("cloud-controller-manager").await.unwrap().rules.unwrap();
    let is_about_them = |it: &PolicyRule| it.resources.as_deref() == Some(&["endpointslices".to_owned()]);
    let (taken, kept): (Vec<_>, Vec<_>) = rules.into_iter().partition(is_about_them);
    let patch = Patch::Merge(json!({ "rules": kept }));
    roles.patch("cloud-controller-manager", &PatchParams::default(), &patch).await.unwrap();
    for rule in &taken {
        refuses(&cluster, "default", rule).await;
    }
    let setup = Setup::guest(&cluster, guests::HOSTILE);
    let mut process = setup.start();
    process.says("needs the right to get endpointslices.discovery.k8s.io/kubernetes in the namespace default").await;
    kubelet::join(&cluster.admin, "machine-at-10-1-0-9").await.unwrap();
    initialized(&cluster, "machine-at-10-1-0-9").await;
    create(&cluster, "vip-10-96-0-1").await;
    event(&cluster, "vip-10-96-0-1", &["is the ClusterIP of Service default/kubernetes"]).await;
    process.stop().await;
}
