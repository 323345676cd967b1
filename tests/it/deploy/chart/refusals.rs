//! Values that are refused: with the path, the cause and what to do.

use serde_json::{Value, json};

use super::{DIGEST, run, run_in, values, with};
use crate::setup::text;

fn refusal(values: &Value) -> String {
    let said = run("helm", &["template", "aerostat", "chart"], values);
    assert!(!said.success, "{values}: {said:#?}");
    said.error
}

/// The paths of all objects in the values, each as a JSON pointer.
fn places(values: &Value, at: &str) -> Vec<String> {
    let Value::Object(all) = values else { return Vec::new() };
    let below = all.iter().flat_map(|(key, it)| places(it, &format!("{at}/{key}")));
    std::iter::once(at.to_owned()).chain(below).collect()
}

#[test]
fn an_unknown_value_is_an_error_that_names_its_path() {
    let defaults: Value = serde_saphyr::from_str(&text("chart/values.yaml")).unwrap();
    // Here stand names of others.
    let open = [
        "/settings",
        "/module/oci/signedBy/keys",
        "/module/file/volume",
        "/serviceAccount/annotations",
        "/podAnnotations",
        "/metrics/labels",
    ];
    let open = |it: &&String| !open.contains(&it.as_str()) && !it.starts_with("/resources/");
    let places: Vec<_> = places(&defaults, "").into_iter().filter(|it| open(&it)).collect();
    assert!(places.len() > 15, "{places:?}");
    for place in places {
        let mut more = json!({ "nonsense": "a" });
        for key in place.rsplit('/').filter(|it| !it.is_empty()) {
            more = json!({ key: more });
        }
        let refusal = refusal(&with("digitalocean", more));
        assert!(refusal.contains("'nonsense' not allowed"), "{place}: {refusal}");
        let path = if place.is_empty() { "- at '':".to_owned() } else { format!("at '{place}'") };
        assert!(refusal.contains(&path), "{place}: {refusal}");
    }
}

#[test]
fn a_value_of_another_form_is_an_error_that_names_its_path() {
    for (path, more) in [
        ("/provider", json!({ "provider": "acme" })),
        // YAML would make a number of it, and 1.1 of 1.10.
        ("/settings/network", json!({ "settings": { "network": 4711 } })),
        ("/replicas", json!({ "replicas": "2" })),
        ("/port", json!({ "port": 65_536 })),
        ("/apiServer", json!({ "apiServer": "https://api.example.com" })),
        ("/module/oci/digest", json!({ "module": { "oci": { "digest": "latest" } } })),
        ("/controllers", json!({ "controllers": { "route": true } })),
        ("/openstack/volumeService", json!({ "openstack": { "volumeService": "Cinder v3" } })),
        (
            "/openstack/origins/volume/0",
            json!({ "openstack": { "origins": { "volume": ["https://cinder.example.com/v3"] } } }),
        ),
        ("/networkPolicy/kind", json!({ "networkPolicy": { "kind": "weave" } })),
        ("/extraArgs/0", json!({ "extraArgs": ["cloud-config"] })),
        ("/config", json!({ "config": { "provider": { "module": {} } } })),
        ("/config/endpoints/0", json!({ "config": { "endpoints": [{ "name": "api", "alow": [] }] } })),
        ("/config/credentials/0", json!({ "config": { "credentials": [{ "name": "token", "baerer": {} }] } })),
        ("/config/provider/limits", json!({ "config": { "provider": { "limits": { "memroy": "64Mi" } } } })),
        ("/credentials/google/source", json!({ "credentials": { "google": { "source": "executable" } } })),
        ("/credentials/entra/source", json!({ "credentials": { "entra": { "source": "certificate" } } })),
        ("/credentials/entra/cloud", json!({ "credentials": { "entra": { "cloud": "AzureGermanCloud" } } })),
        ("/credentials/entra/clientId", json!({ "credentials": { "entra": { "clientId": "ccm" } } })),
        (
            "/credentials/google/workloadIdentityProvider",
            json!({ "credentials": { "google": { "workloadIdentityProvider": "//iam.googleapis.com/projects/1" } } }),
        ),
    ] {
        let refusal = refusal(&with("digitalocean", more));
        assert!(refusal.contains(&format!("at '{path}")), "{path}: {refusal}");
    }
}

/// The same schema without its sentences.
fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(all) => {
            let kept = all.iter().filter(|(key, value)| *key != "description" || !value.is_string());
            kept.map(|(key, value)| (key.clone(), bare(value))).collect()
        }
        Value::Array(all) => all.iter().map(bare).collect(),
        other => other.clone(),
    }
}

#[test]
fn config_of_the_values_has_the_schema_of_the_configuration() {
    let configuration: Value = serde_json::from_str(&text("../docs/cloud-config.schema.json")).unwrap();
    let mut schema: Value = serde_json::from_str(&text("chart/values.schema.json")).unwrap();
    let written = schema.clone();
    let config = schema["properties"]["config"]["properties"].as_object_mut().unwrap();
    for (key, part) in config {
        let wanted = &configuration["properties"][key];
        match part["properties"].as_object_mut().filter(|_| key == "provider") {
            Some(parts) => parts.iter_mut().for_each(|(key, part)| *part = bare(&wanted["properties"][key])),
            None => *part = bare(wanted),
        }
    }
    assert_eq!(schema, written, "config of deploy/chart/values.schema.json");
}

#[test]
fn values_that_do_not_fit_together_are_refused() {
    let mut no_vpc = values("aws");
    no_vpc["settings"]["vpc"] = json!("");
    let mut no_role = values("aws");
    no_role["credentials"]["aws"]["roleArn"] = json!("");
    let mut no_project = values("gcp");
    no_project["settings"]["project"] = json!("");
    let mut no_pool = values("gcp");
    no_pool["credentials"]["google"]["workloadIdentityProvider"] = json!("");
    let mut no_project_of_disks = values("gcp-pd");
    no_project_of_disks["settings"]["project"] = json!("");
    let mut no_cinder = values("openstack-cinder");
    no_cinder["openstack"]["origins"]["volume"] = json!([]);
    let mut no_group = values("azure");
    no_group["settings"]["resourceGroup"] = json!("");
    let mut no_application = values("azure");
    no_application["credentials"]["entra"]["clientId"] = json!("");
    let mut nowhere = values("ibm");
    nowhere["settings"]["vpcID"] = json!("");
    let off = json!({ "volume-provisioner": false, "volume-attacher": false, "volume-expander": false });
    let no_controller = with("aws-ebs", json!({ "controllers": off }));
    let plain = json!(["http://10.0.0.5:8774"]);
    for (path, values) in [
        ("provider", json!({ "module": { "oci": { "digest": DIGEST } } })),
        ("module.oci.digest", json!({ "provider": "digitalocean" })),
        ("settings.vpc", no_vpc),
        ("credentials.aws.roleArn", no_role),
        ("settings.resourceGroup", no_group),
        ("credentials.entra.clientId", no_application),
        ("settings.project", no_project),
        ("settings.project", no_project_of_disks),
        ("credentials.google.workloadIdentityProvider", no_pool),
        ("settings.vpcID", nowhere),
        ("settings.vpcID", with("ibm", json!({ "settings": { "clusterDefaultProvider": "classic" } }))),
        ("openstack.authURL", with("openstack", json!({ "openstack": { "authURL": "http://10.0.0.5:5000/v3" } }))),
        ("openstack.origins.compute", with("openstack", json!({ "openstack": { "origins": { "compute": plain } } }))),
        ("openstack.origins.volume", no_cinder),
        (
            "openstack.origins.volume",
            with("openstack-cinder", json!({ "openstack": { "origins": { "volume": ["http://10.0.0.5:8776"] } } })),
        ),
        ("module.configMap.sha256", json!({ "provider": "hetzner", "module": { "source": "configMap" } })),
        ("module.file", json!({ "provider": "hetzner", "module": { "source": "file" } })),
        ("extraArgs", with("hetzner", json!({ "extraArgs": ["--secure-port=10267"] }))),
        ("controllers.node-route-controller", with("digitalocean", on("node-route-controller"))),
        ("controllers.volume-attacher", with("openstack", on("volume-attacher"))),
        ("controllers.volume-attacher", with("aws", on("volume-attacher"))),
        ("controllers.volume-attacher", with("gcp", on("volume-attacher"))),
        ("controllers.cloud-node-controller", with("aws-ebs", on("cloud-node-controller"))),
        ("controllers.cloud-node-controller", with("gcp-pd", on("cloud-node-controller"))),
        ("controllers.node-route-controller", with("openstack-cinder", on("node-route-controller"))),
        ("controllers", no_controller),
        (
            "settings.volumes",
            with(
                "digitalocean",
                json!({ "controllers": { "volume-attacher": true }, "settings": { "volumes": "false" } }),
            ),
        ),
        ("clusterCIDR", with("hetzner", on("node-route-controller"))),
        ("clusterCIDR", with("digitalocean", on("node-ipam-controller"))),
        ("networkPolicy.kind", with("hetzner", json!({ "networkPolicy": { "kind": "calico" } }))),
        ("metrics.tokenSecret.name", with("hetzner", json!({ "metrics": { "monitor": "PodMonitor" } }))),
        ("metrics.scraper", with("hetzner", json!({ "metrics": { "scraper": { "namespace": "monitoring" } } }))),
        ("webhook", with("hetzner", json!({ "webhook": { "enabled": true } }))),
        (
            "webhook.enabled",
            with(
                "digitalocean",
                json!({ "webhook":
            { "enabled": true, "driver": "dobs.csi.digitalocean.com", "caBundle": "Q0E=" } }),
            ),
        ),
    ] {
        let refusal = refusal(&values);
        let sentence = format!(": {path}: ");
        assert!(refusal.contains(&sentence) && refusal.contains("Next step: "), "{path}: {refusal}");
    }
}

fn on(controller: &str) -> Value {
    json!({ "controllers": { controller: true } })
}

#[test]
fn another_namespace_than_kube_system_is_refused() {
    let said = run_in("default", "helm", &["template", "aerostat", "chart"], &values("hetzner"));
    assert!(!said.success && said.error.contains("the namespace is default"), "{said:#?}");
    assert!(said.error.contains("Next step: --namespace kube-system"), "{said:#?}");
}
