//! The config for OpenStack: what the provider needs is allowed, and nothing else is.

mod leaving;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use cloud_provider::{Description, Effect};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};
use tests::aerostat::binary;
use tests::clouds::openstack::{APPLICATION_CREDENTIAL, REGION, SECRET};
use tests::control_plane::cluster;
use tests::vendor::{Behaviour, OpenStack, Vendor as _};
use tests::{folder, guests};

use crate::chart::{cloud_config, only, rendered, values, with};
use crate::pages::{is_there, leave, stands_by, type_in};
use crate::served::{Differences, joins};
use crate::setup::{
    Folder, cloud_config_in, commands, describe_with, described_content, object, text, texts, written_content,
};

/// Places that an operator writes into the page's commands.
const PLACES: &str = "KEYSTONE=https://keystone.cloud.test:5000 NOVA=https://nova.cloud.test NEUTRON=https://neutron.cloud.test \
                      OCTAVIA=https://octavia.cloud.test IMAGE=registry.cloud.test/aerostat@sha256:0";

fn config() -> Value {
    cloud_config_in("openstack/config.yaml")
}

/// The requests that each endpoint of the config allows.
fn allowed(endpoint: &Value) -> BTreeSet<String> {
    let rules = endpoint["allow"].as_array().unwrap().iter();
    let lines = rules.flat_map(|rule| {
        let (effect, carried) = (rule["effect"].as_str(), written_content(rule));
        lines(&texts(&rule["methods"]), &texts(&rule["paths"]), effect, &carried)
    });
    lines.collect()
}

fn lines(methods: &[String], paths: &[String], effect: Option<&str>, carried: &str) -> Vec<String> {
    let line = |method: &String, path: &String| {
        let effect = effect.unwrap_or(Effect::of_method(method).as_str());
        format!("{method} {path}: {effect} {carried}")
    };
    methods.iter().flat_map(|method| paths.iter().map(move |path| line(method, path))).collect()
}

#[tokio::test]
async fn the_config_of_openstack_allows_all_described_and_no_more() {
    let (config, description) = (config(), describe_with(guests::OPENSTACK, &[("region", "RegionOne")]).await);
    allows_what_is_described(&config, &description);
    assert_eq!(texts(&config["provider"]["providerIDPrefixes"]), description.provider_id_prefixes);
    assert_eq!(texts(&config["provider"]["writesAnnotations"]), description.writes_annotations);
    assert_eq!(description.name, "openstack");
}

#[tokio::test]
async fn the_release_for_cinder_allows_what_is_described_alone() {
    let config = cloud_config(&rendered(&values("openstack-cinder")));
    let description = describe_with(guests::OPENSTACK_CINDER, &[("region", "RegionOne")]).await;
    allows_what_is_described(&config, &description);
    let headers = |it: &Value| if it.is_null() { Vec::new() } else { texts(it) };
    for (written, described) in config["endpoints"].as_array().unwrap().iter().zip(&description.endpoints) {
        assert_eq!(headers(&written["headers"]), described.headers, "{}", described.name);
    }
    assert_eq!((&*description.name, description.provider_id_prefixes.len()), ("openstack-cinder", 0));
    assert_eq!(config["provider"]["providerIDPrefixes"], Value::Null, "it has no nodes");
    assert_eq!(config["provider"]["settings"], json!({ "region": "RegionOne" }));
}

/// The endpoints of a config allow what is described, and nothing else.
fn allows_what_is_described(config: &Value, description: &Description) {
    let written = config["endpoints"].as_array().unwrap();
    assert_eq!(written.len(), description.endpoints.len());
    for (written, described) in written.iter().zip(&description.endpoints) {
        assert_eq!(written["name"], described.name);
        let rules = described.allow.iter().flat_map(|rule| {
            let effect = rule.own_effect().map(Effect::as_str);
            lines(&rule.methods, &rule.paths, effect, &described_content(&rule.content))
        });
        assert_eq!(allowed(written), rules.collect(), "{}", described.name);
    }
}

/// The shipped config, with the endpoint and the setting for certificates that its comments hold.
fn with_certificates() -> String {
    let config = serde_saphyr::from_str::<ConfigMap>(&text("openstack/config.yaml")).unwrap();
    let config = config.data.unwrap()["cloud.yaml"].replace("SHA256-OF-THE-MODULE", &guests::sha256(guests::OPENSTACK));
    let (before, rest) = config.split_once("  # - name: key-manager\n").expect("the endpoint is in a comment");
    let end = rest.find("credentials:\n").expect("credentials come after it");
    let commented = rest[..end].lines().map(|it| it.replacen("# ", "", 1) + "\n").collect::<String>();
    let region = "    region: RegionOne\n";
    let settings = format!("{region}    loadBalancers.containerStore: barbican\n");
    assert!(before.contains(region));
    format!("{}  - name: key-manager\n{commented}{}", before.replace(region, &settings), &rest[end..])
}

#[test]
fn access_rules_are_what_the_provider_describes() {
    assert_eq!(access_rules(guests::OPENSTACK, &with_certificates()), text("openstack/access-rules.json"));
}

#[test]
fn access_rules_for_cinder_are_what_its_provider_describes() {
    let mut config = cloud_config(&rendered(&values("openstack-cinder")));
    let sha256 = guests::sha256(guests::OPENSTACK_CINDER);
    config["provider"]["module"] = json!({ "file": { "path": guests::OPENSTACK_CINDER, "sha256": sha256 } });
    let written = access_rules(guests::OPENSTACK_CINDER, &config.to_string());
    assert_eq!(written, text("openstack-cinder/access-rules.json"));
}

/// `aerostat provider describe --format=permissions` with this config, as it prints it.
fn access_rules(module: &str, config: &str) -> String {
    let folder = folder::Folder::new();
    let file = folder.write("cloud.yaml", config);
    let described = Command::new(binary().unwrap())
        .args(["provider", "describe", module, "--format=permissions"])
        .arg(format!("--cloud-config={}", file.display()))
        .output()
        .unwrap();
    assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
    String::from_utf8(described.stdout).unwrap()
}

#[test]
fn private_places_of_openstack_are_values_of_the_chart() {
    let (ca, addresses) = ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", json!(["10.0.0.0/8"]));
    let objects = rendered(&with(
        "openstack",
        json!({ "openstack": {
            "authURL": "http://10.0.0.5:5000/v3", "addresses": addresses, "ca": ca, "insecure": true,
            "origins": { "compute": ["http://10.0.0.5:8774"] },
        } }),
    ));
    let made = only::<ConfigMap>(&objects, "ConfigMap").data.unwrap();
    assert_eq!(made["openstack-ca.pem"], ca);
    let config: Value = serde_saphyr::from_str(&made["cloud.yaml"]).unwrap();
    let tls = json!({ "caFile": "/etc/aerostat/openstack-ca.pem" });
    let keystone = &config["credentials"][0]["keystone"];
    for place in config["endpoints"].as_array().unwrap().iter().chain([keystone]) {
        assert_eq!((&place["addresses"], &place["tls"]), (&addresses, &tls), "{place}");
    }
    assert_eq!((&keystone["baseUrl"], &keystone["insecure"]), (&json!("http://10.0.0.5:5000/v3"), &json!(true)));
    assert_eq!(config["endpoints"][0]["origins"], json!([{ "url": "http://10.0.0.5:8774", "insecure": true }]));
    assert_eq!(config["endpoints"][1]["origins"], json!(["https://neutron.example.com"]));
    // The binary reads it so.
    let folder = folder::Folder::new();
    let file = folder.write("cloud.yaml", made["cloud.yaml"].as_str());
    let said = Command::new(binary().unwrap())
        .args(["module", "inspect", guests::OPENSTACK])
        .arg(format!("--cloud-config={}", file.display()))
        .output()
        .unwrap();
    let (out, error) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(out.ends_with("missing     nothing\n"), "{out}\n{error}");
}

#[test]
fn openstacks_secret_goes_to_its_services_and_nowhere_else() {
    let secret = object::<Secret>("openstack/secret.yaml").string_data.unwrap();
    assert_eq!(secret.keys().collect::<Vec<_>>(), ["id", "secret", "secret.origins"]);
    let config = config();
    let keystone = config["credentials"][0]["keystone"]["baseUrl"].as_str().unwrap().trim_end_matches("/v3").to_owned();
    let origins = config["endpoints"].as_array().unwrap().iter().flat_map(|it| texts(&it["origins"])).chain([keystone]);
    assert_eq!(secret["secret.origins"].lines().collect::<Vec<_>>(), origins.collect::<Vec<_>>());
}

/// Cases: manifests
#[tokio::test]
async fn openstacks_page_installs_what_the_binary_runs_with() {
    let cluster = cluster().await;
    let folder = Folder::new().with("openstack").module(guests::OPENSTACK, "openstack.wasm");
    let blocks = commands("openstack/README.md");
    assert_eq!(blocks.len(), 2, "{blocks:#?}");
    let known = format!("{PLACES} REGION={REGION}\n");
    type_in(
        &cluster,
        &folder,
        &format!("{known}{}", blocks.concat()),
        &format!("{APPLICATION_CREDENTIAL}\n{SECRET}\n"),
    );
    is_there(&cluster, "openstack-provider", guests::OPENSTACK).await;
    stands_by(&cluster, &folder, "openstack").await;
    let origins = fs::read_to_string(folder.path("secret.origins")).unwrap();
    assert!(origins.contains("https://keystone.cloud.test:5000\n") && !origins.contains("example.com"), "{origins}");
    let cloud = OpenStack::start(Behaviour::default()).await.unwrap();
    let through_keystone = Differences {
        config: Box::new(|_, url, config| {
            let ca_file = config["endpoints"][0]["tls"].clone();
            for endpoint in config["endpoints"].as_array_mut().unwrap() {
                endpoint.as_object_mut().unwrap().remove("baseUrl");
                endpoint["origins"] = json!([url]);
            }
            let keystone = &mut config["credentials"][0]["keystone"];
            (keystone["baseUrl"], keystone["tls"]) = (json!(format!("{url}/identity/v3")), ca_file);
        }),
        ..Differences::default()
    };
    joins::<OpenStack>(&cluster, &folder, &cloud, through_keystone).await;
    leave(&cluster).await;
}
