//! Policies that `aerostat provider describe` makes, in a real cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::json;
use tests::control_plane::{apply, cluster};
use tests::{guests, wait};

use crate::setup::{ends, says};

const PREFIX: &str = "load-balancer.hetzner.cloud/";

fn service(name: &str, kind: &str, annotations: &[(&str, &str)]) -> Service {
    let annotations: BTreeMap<_, _> =
        annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), *value)).collect();
    serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": "default", "annotations": annotations },
        "spec": { "type": kind, "ports": [{ "port": 80 }] },
    }))
    .unwrap()
}

/// The refusal of a Service, which nobody makes.
async fn refusal(services: &Api<Service>, service: &Service) -> Option<String> {
    let params = PostParams { dry_run: true, ..PostParams::default() };
    services.create(&params, service).await.err().map(|it| it.to_string())
}

async fn remove<K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned>(
    admin: &Client,
    name: &str,
) {
    Api::<K>::all(admin.clone()).delete(name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_refused_value_of_an_annotation_is_not_admitted() {
    let cluster = cluster().await;
    let admin = cluster.admin.clone();
    let services: Api<Service> = Api::namespaced(admin.clone(), "default");
    // It was there before the policy, with a value that nobody takes.
    let old = service("old", "LoadBalancer", &[("algorithm-type", "fair")]);
    services.create(&PostParams::default(), &old).await.unwrap();

    let policy = ends(0, &["provider", "describe", guests::HETZNER, "--format=admission-policy"]).await;
    apply(&admin, &policy).await.unwrap();
    let refused = service("web", "LoadBalancer", &[("algorithm-type", "fair")]);
    let text = wait::until("the policy is in force", async || refusal(&services, &refused).await).await;
    says(&text, &["algorithm-type", "\"fair\" is not round_robin or least_connections"]);

    for (key, bad, good) in [
        ("algorithm-type", "", &["", "round_robin", " least_connections "][..]),
        ("use-private-ip", "yes", &["true", "False", "0"]),
        ("health-check-retries", "101", &["1", "100"]),
        ("health-check-retries", "many", &["007"]),
        ("health-check-port", "65536", &["30080"]),
        ("health-check-interval", "2h", &["1h", "15", "1m30s", "90000ms"]),
        ("health-check-interval", "1 minute", &["1m"]),
        ("protocol.443", "ftp", &["https"]),
    ] {
        if !bad.is_empty() {
            let text = refusal(&services, &service("web", "LoadBalancer", &[(key, bad)])).await;
            // Of a key with a name that its author chooses, the message names the pattern.
            let named = key.split('.').next().unwrap_or(key);
            says(&text.unwrap_or_else(|| panic!("{key}: {bad} is admitted")), &[named]);
        }
        for value in good {
            let refused = refusal(&services, &service("web", "LoadBalancer", &[(key, value)])).await;
            assert_eq!(refused, None, "{key}: {value}");
        }
    }
    let other = service("web", "ClusterIP", &[("algorithm-type", "fair")]);
    assert_eq!(refusal(&services, &other).await, None, "it gets no load balancer");
    let finalizer = Patch::Merge(json!({ "metadata": { "finalizers": ["acme.example/kept"] } }));
    services.patch("old", &PatchParams::default(), &finalizer).await.unwrap();
    let none = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    services.patch("old", &PatchParams::default(), &none).await.unwrap();

    let name = "aerostat-hcloud-annotations";
    remove::<ValidatingAdmissionPolicyBinding>(&admin, name).await;
    remove::<ValidatingAdmissionPolicy>(&admin, name).await;
    // Those of the others are taken, too.
    for (guest, policy, key, bad, good) in [
        (guests::DIGITALOCEAN, "aerostat-digitalocean-annotations", "do-loadbalancer-protocol", "ftp", "http2"),
        (guests::AWS, "aerostat-aws-annotations", "aws-load-balancer-connection-idle-timeout", "4001", "60"),
    ] {
        apply(&admin, &ends(0, &["provider", "describe", guest, "--format=admission-policy"]).await).await.unwrap();
        let with = |value: &str| {
            let mut service = service("web", "LoadBalancer", &[]);
            let key = format!("service.beta.kubernetes.io/{key}");
            service.metadata.annotations = Some(BTreeMap::from([(key, value.to_owned())]));
            service
        };
        let text = wait::until("the policy is in force", async || refusal(&services, &with(bad)).await).await;
        says(&text, &[key, bad]);
        assert_eq!(refusal(&services, &with(good)).await, None, "{key}");
        remove::<ValidatingAdmissionPolicyBinding>(&admin, policy).await;
        remove::<ValidatingAdmissionPolicy>(&admin, policy).await;
    }

    let network = ends(0, &["provider", "describe", guests::HETZNER, "--format=network-policy"]).await;
    apply(&admin, &network).await.unwrap();
    Api::<NetworkPolicy>::namespaced(admin.clone(), "kube-system")
        .delete("aerostat", &DeleteParams::default())
        .await
        .unwrap();
}
