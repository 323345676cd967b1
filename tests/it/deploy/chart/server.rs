//! The API server accepts what the chart makes of many values, strictly.

use std::fs;

use serde_json::{Value, json};
use tests::control_plane::{self, Cluster, cluster};

use super::{DIGEST, PRESETS, text_of, values, with};
use crate::setup::{Folder, texts};

/// Values that together reach every template and every branch that makes an object of its own.
fn many() -> Vec<Value> {
    let mut many: Vec<_> = PRESETS.iter().map(|it| values(it)).collect();
    let module = json!({ "source": "configMap", "configMap": { "sha256": &DIGEST[7..] } });
    let scraper = json!({ "namespace": "monitoring", "serviceAccount": "prometheus-k8s" });
    many.push(with(
        "digitalocean",
        json!({ "module": module, "credentials": { "token": "12345678" },
        "leaderMigration": { "enabled": true }, "hostedControlPlane": true, "podDisruptionBudget": false,
        "apiServer": "[fd00::1]:6443", "imagePullSecrets": [{ "name": "pull" }], "replicas": 1,
        "metrics": { "monitor": "PodMonitor", "tokenSecret": { "name": "scraper" }, "labels": { "team": "infra" } } }),
    ));
    let file = json!({ "source": "file", "file": { "path": "/opt/aerostat/hetzner.wasm", "sha256": &DIGEST[7..],
        "volume": { "hostPath": { "path": "/opt/aerostat" } } } });
    many.push(with(
        "hetzner",
        json!({ "module": file, "settings": { "robot.enabled": "true" },
        "credentials": { "token": "12345678", "robot": { "user": "u", "password": "12345678" } },
        "controllers": { "node-route-controller": true, "node-ipam-controller": true, "service-lb-controller": false },
        "clusterCIDR": "10.244.0.0/16", "podAnnotations": { "a": "b" }, "extraArgs": ["-v=2"],
        "webhook": { "enabled": true, "driver": "csi.hetzner.cloud", "caBundle": "Q0E=" },
        "metrics": { "monitor": "ServiceMonitor", "scraper": scraper } }),
    ));
    let registry = json!({ "oci": { "login": { "dockerConfigJson": "{\"auths\":{}}" }, "ca": "PEM", "previous": DIGEST,
        "tokenServices": ["auth.example.com"], "addresses": ["10.0.0.0/8"],
        "signedBy": { "keys": { "release.pub": "PEM" }, "as": "registry.example.com/aerostat/aws" } } });
    let keys = json!({ "source": "sharedFile", "accessKeyId": "AKIA", "secretAccessKey": "k/e+y" });
    for kind in ["kubernetes", "cilium", "calico"] {
        many.push(with(
            "aws",
            json!({ "module": registry, "credentials": { "aws": keys }, "hostNetwork": false,
            "networkPolicy": { "kind": kind }, "config": { "clusterNetworks": { "pods": ["192.0.2.0/24"] } },
            "serviceAccount": { "annotations": { "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/ccm" } },
            "webhook": { "enabled": true, "driver": "ebs.csi.aws.com", "caBundle": "Q0E=" },
            "metrics": { "monitor": "PodMonitor", "tokenSecret": { "name": "scraper" }, "scraper": scraper } }),
        ));
    }
    for source in ["podIdentity", "instanceMetadata"] {
        many.push(with("aws-ebs", json!({ "credentials": { "aws": { "source": source } } })));
        many.push(with("aws", json!({ "credentials": { "aws": { "source": source } } })));
    }
    let google = [json!({ "source": "key", "key": "{}" }), json!({ "source": "metadata" })];
    for google in google {
        many.extend(["gcp", "gcp-pd"].map(|cloud| with(cloud, json!({ "credentials": { "google": google } }))));
    }
    let login = json!({ "credentials": { "openstack": { "id": "0123", "secret": "4567" } } });
    many.extend(["openstack", "openstack-cinder"].map(|cloud| with(cloud, login.clone())));
    let application = json!({ "source": "secret", "secret": "12345678" });
    let entra = [application, json!({ "source": "managedIdentity" })];
    many.extend(entra.map(|entra| with("azure", json!({ "credentials": { "entra": entra } }))));
    let (id, secret) = ("LTAI0123", "01234567");
    let key = json!({ "source": "accessKey", "accessKeyId": id, "accessKeySecret": secret });
    let alibaba = [key, json!({ "source": "instanceRole" })];
    many.extend(alibaba.map(|it| with("alibaba", json!({ "credentials": { "alibaba": it } }))));
    let profile = "Profile-0123";
    let ibm = [
        json!({ "apiKey": secret }),
        json!({ "source": "computeResource", "profile": profile }),
        json!({ "source": "instanceIdentity", "profile": profile }),
    ];
    many.extend(ibm.map(|it| with("ibm", json!({ "credentials": { "ibm": it } }))));
    let mut classic = with("ibm", json!({ "settings": { "clusterDefaultProvider": "classic" } }));
    classic["settings"].as_object_mut().unwrap().remove("vpcID");
    many.push(classic);
    let proxy =
        json!({ "url": "http://proxy.example.com:3128", "addresses": ["10.0.0.0/8"], "existingSecret": "proxy" });
    many.extend(PRESETS.iter().map(|cloud| with(cloud, json!({ "proxy": &proxy }))));
    many
}

/// The kinds of Cilium, Calico and Prometheus' operator, as they define them.
fn define_kinds(cluster: &Cluster, folder: &Folder) {
    let crds = control_plane::helm("crds").unwrap();
    let script = format!(
        "kubectl apply --server-side -f {}
         kubectl wait --for=jsonpath='{{.status.conditions}}' --timeout=60s crd --all
         kubectl wait --for=condition=Established --timeout=60s crd --all",
        crds.display()
    );
    let said = folder.run(cluster, &script, "");
    assert!(said.success, "{said:#?}");
}

#[tokio::test]
async fn the_api_server_accepts_all_that_the_chart_makes() {
    let cluster = cluster().await;
    let folder = Folder::new();
    define_kinds(&cluster, &folder);
    let mut kinds = Vec::new();
    for values in many() {
        let text = text_of(&values);
        let objects = super::objects(&text);
        fs::write(folder.path("chart.yaml"), &text).unwrap();
        let said = folder.judge(&cluster, "chart.yaml");
        assert!(said.success && said.error.is_empty(), "{values}: {said:#?}");
        assert_eq!(said.out.lines().count(), objects.len(), "{values}: {said:#?}");
        let name = |object: &Value| {
            let kind = object["kind"].as_str().unwrap();
            let is_calicos = object["apiVersion"] == "projectcalico.org/v3";
            if is_calicos { format!("Calico's {kind}") } else { kind.to_owned() }
        };
        kinds.extend(objects.iter().map(name));
    }
    kinds.sort();
    kinds.dedup();
    let expected = json!([
        "Calico's NetworkPolicy",
        "CiliumNetworkPolicy",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "MutatingWebhookConfiguration",
        "Namespace",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "PodMonitor",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding"
    ]);
    assert_eq!(kinds, texts(&expected), "every template was reached");
    calico_judges_every_field(&cluster, &folder);
    let gone = folder.run(&cluster, "kubectl delete crd --all", "");
    assert!(gone.success, "{gone:#?}");
}

/// Names are known to Calico Enterprise, whose kinds are not published: Calico refuses them, and nothing else of that policy.
fn calico_judges_every_field(cluster: &Cluster, folder: &Folder) {
    let policy = json!({ "hostNetwork": false, "networkPolicy": { "kind": "calico-enterprise" } });
    let text = text_of(&with("digitalocean", policy));
    fs::write(folder.path("chart.yaml"), &text).unwrap();
    let said = folder.judge(cluster, "chart.yaml");
    let unknown = ".destination.domains: field not declared in schema\n";
    assert!(!said.success && said.error.ends_with(unknown) && said.error.lines().count() == 1, "{said:#?}");
}

#[tokio::test]
async fn strict_validation_would_have_noticed_a_wrong_field() {
    let cluster = cluster().await;
    let folder = Folder::new();
    let text = text_of(&values("digitalocean")).replace("revisionHistoryLimit:", "revisionHistoryLimits:");
    fs::write(folder.path("chart.yaml"), text).unwrap();
    let said = folder.judge(&cluster, "chart.yaml");
    assert!(!said.success && said.error.contains("revisionHistoryLimits"), "{said:#?}");
}
