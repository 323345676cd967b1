//! `deploy/chart/`, with the real helm: what it makes of values, what it refuses, and what becomes of a cluster.

mod lifecycle;
mod manifests;
mod networks;
mod refusals;
mod rendering;
mod rights;
mod server;
mod uninstall;
mod volumes;

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tests::control_plane;

use crate::setup::{Said, deploy};

/// A digest of the right form.
pub(crate) const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// All clouds.
pub(crate) const CLOUDS: [&str; 8] = ["alibaba", "aws", "azure", "digitalocean", "gcp", "hetzner", "ibm", "openstack"];

/// The presets of the chart: all clouds, and the providers that run in a release of their own beside that of their cloud.
pub(crate) const PRESETS: [&str; 11] = [
    "alibaba",
    "aws",
    "aws-ebs",
    "azure",
    "digitalocean",
    "gcp",
    "gcp-pd",
    "hetzner",
    "ibm",
    "openstack",
    "openstack-cinder",
];

/// The clouds that have such a second release, each with the provider of that.
pub(crate) const BESIDE: [[&str; 2]; 3] = [["aws", "aws-ebs"], ["gcp", "gcp-pd"], ["openstack", "openstack-cinder"]];

/// Deletes the policy that warns, which belongs to no namespace.
pub(crate) const WITHOUT_WARNING: &str = "kubectl delete validatingadmissionpolicy/aerostat-uninstall \
     validatingadmissionpolicybinding/aerostat-uninstall --ignore-not-found";

/// The least that a cloud needs.
pub(crate) fn values(cloud: &str) -> Value {
    let mut values = json!({ "provider": cloud, "module": { "oci": { "digest": DIGEST } } });
    if cloud == "alibaba" {
        let arn = |it: &str| format!("acs:ram::1234567890123456:{it}");
        values["settings"] = json!({ "region": "eu-central-1", "vpc": "vpc-0123456789abcdef0" });
        values["credentials"] =
            json!({ "alibaba": { "roleArn": arn("role/ccm"), "providerArn": arn("oidc-provider/cluster") } });
    }
    if cloud == "aws" || cloud == "aws-ebs" {
        values["settings"] = json!({ "region": "eu-west-1", "vpc": "vpc-0123456789abcdef0", "clusterID": "prod" });
        values["credentials"] = json!({ "aws": { "roleArn": "arn:aws:iam::123456789012:role/ccm" } });
    }
    if cloud == "azure" {
        let subscription = "11111111-2222-3333-4444-555555555555";
        let client = "88888888-0000-0000-0000-000000000002";
        values["settings"] =
            json!({ "subscriptionId": subscription, "resourceGroup": "cluster", "location": "westeurope" });
        values["credentials"] = json!({ "entra": { "tenant": "contoso.example", "clientId": client } });
    }
    if cloud == "gcp" || cloud == "gcp-pd" {
        let provider = "projects/123456789012/locations/global/workloadIdentityPools/aerostat/providers/cluster";
        values["settings"] = match cloud {
            "gcp" => json!({ "project": "my-project", "region": "europe-west1" }),
            _ => json!({ "project": "my-project" }),
        };
        values["credentials"] = json!({ "google": { "workloadIdentityProvider": provider } });
    }
    if cloud == "ibm" {
        values["settings"] =
            json!({ "accountID": "acc0123456789", "clusterID": "prod", "region": "eu-de", "vpcID": "r010-vpc" });
    }
    if cloud == "openstack" || cloud == "openstack-cinder" {
        let origin = |name: &str| json!([format!("https://{name}.example.com")]);
        let mut origins = json!({ "compute": origin("nova"), "network": origin("neutron") });
        let (own, service) = if cloud == "openstack" { ("loadBalancer", "octavia") } else { ("volume", "cinder") };
        origins[own] = origin(service);
        values["settings"] = json!({ "region": "RegionOne" });
        values["openstack"] = json!({ "authURL": "https://keystone.example.com:5000/v3", "origins": origins });
    }
    values
}

/// The least that a cloud needs, and more.
pub(crate) fn with(cloud: &str, more: Value) -> Value {
    let mut values = values(cloud);
    merge(&mut values, more);
    values
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// Runs a helm with values on its input.
pub(crate) fn run(helm: &str, arguments: &[&str], values: &Value) -> Said {
    run_in("kube-system", helm, arguments, values)
}

/// The same in another namespace.
pub(crate) fn run_in(namespace: &str, helm: &str, arguments: &[&str], values: &Value) -> Said {
    let mut helm = Command::new(control_plane::helm(helm).unwrap())
        .args(arguments)
        .args(["--namespace", namespace, "--values", "-"])
        .current_dir(deploy())
        .env_clear()
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A NEL as it is would be the end of a line to helm's own YAML.
    let values = values.to_string().replace('\u{85}', "\\u0085");
    helm.stdin.take().unwrap().write_all(values.as_bytes()).unwrap();
    let output = helm.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { success: output.status.success(), out: text(output.stdout), error: text(output.stderr) }
}

/// The objects that the chart makes of values, as text.
pub(crate) fn text_of(values: &Value) -> String {
    let said = run("helm", &["template", "aerostat", "chart"], values);
    assert!(said.success && said.error.is_empty(), "{values}: {said:#?}");
    said.out
}

/// The objects that the chart makes of values.
pub(crate) fn rendered(values: &Value) -> Vec<Value> {
    objects(&text_of(values))
}

/// The objects in a text.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    all.into_iter().filter(Value::is_object).collect()
}

/// The only object of a kind.
pub(crate) fn only<K: DeserializeOwned>(objects: &[Value], kind: &str) -> K {
    let found: Vec<_> = objects.iter().filter(|it| it["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}: {found:#?}");
    serde_json::from_value(found[0].clone()).unwrap()
}

/// The config in `cloud.yaml`.
pub(crate) fn cloud_config(objects: &[Value]) -> Value {
    let config_map = objects.iter().find(|it| it["kind"] == "ConfigMap" && it["data"]["cloud.yaml"].is_string());
    serde_saphyr::from_str(config_map.unwrap()["data"]["cloud.yaml"].as_str().unwrap()).unwrap()
}

/// All texts in a document, with the path to each.
pub(crate) fn texts(value: &Value) -> Vec<(String, String)> {
    let below = |key: String, value: &Value| {
        texts(value).into_iter().map(|(path, text)| (format!("{key}.{path}"), text)).collect::<Vec<_>>()
    };
    match value {
        Value::String(text) => vec![(String::new(), text.clone())],
        Value::Array(all) => all.iter().enumerate().flat_map(|(at, it)| below(at.to_string(), it)).collect(),
        Value::Object(all) => members(all).flat_map(|(key, it)| below(key, it)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn members(all: &Map<String, Value>) -> impl Iterator<Item = (String, &Value)> {
    all.iter().map(|(key, it)| (key.clone(), it))
}
