//! `aerostat provider check`.

use serde_json::{Value, json};
use tests::folder::Folder;
use tests::{component, guests};

use crate::setup::{aerostat, ends, flag, json_of, says};

/// The settings that an operator fills in for AWS.
const FILLED_IN: [(&str, &str); 3] =
    [("region", "eu-central-1"), ("vpc", "vpc-0123456789abcdef0"), ("clusterID", "prod")];

/// Our providers, and what an operator fills in for each.
const ALL: [(&str, &[(&str, &str)]); 12] = [
    (guests::ACME, &[]),
    (guests::DIGITALOCEAN, &[]),
    (guests::HETZNER, &[]),
    (guests::AWS, &FILLED_IN),
    (guests::AWS_EBS, &FILLED_IN),
    (guests::OPENSTACK, &[("region", "RegionOne")]),
    (guests::OPENSTACK_CINDER, &[("region", "RegionOne")]),
    (guests::GCP, &[("project", "my-project"), ("region", "europe-west1")]),
    (guests::GCP_PD, &[("project", "my-project")]),
    (
        guests::AZURE,
        &[
            ("subscriptionId", "11111111-2222-3333-4444-555555555555"),
            ("resourceGroup", "prod"),
            ("location", "westeurope"),
        ],
    ),
    (guests::ALIBABA, &[("region", "cn-hangzhou"), ("vpc", "vpc-bp1abc")]),
    // With machines of classic infrastructure no VPC is needed.
    (
        guests::IBM,
        &[("accountID", "a1b2c3"), ("clusterID", "prod"), ("region", "us-south\n    clusterDefaultProvider: classic")],
    ),
];

#[tokio::test]
async fn our_providers_fit_the_configs_made_for_them() {
    for (guest, filled_in) in ALL {
        let folder = Folder::new();
        let text = ends(0, &["provider", "describe", guest]).await;
        let text = filled_in.iter().fold(text, |text, (name, value)| {
            text.replace(&format!("'{name}': FILL-IN"), &format!("'{name}': {value}"))
        });
        let config = folder.write("cloud.yaml", text);
        let text = ends(0, &["provider", "check", guest, &flag("cloud-config", &config)]).await;
        assert!(!text.contains("# Add this to the config"), "{text}");
        says(&text, &["contract    0.1.0", "exports     ", "provider", "of 4096 KiB at most", "missing     nothing"]);
        says(&text, &["of WASI, which reach nothing here", "compiled    in "]);
    }
}

/// A value with all that another one has, lists one behind the other.
fn merged(one: &mut Value, other: &Value) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in other {
                merged(one.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for value in other {
                match one.iter_mut().find(|it| it["name"].is_string() && it["name"] == value["name"]) {
                    Some(known) => merged(known, value),
                    None => one.push(value.clone()),
                }
            }
        }
        (one, other) => *one = other.clone(),
    }
}

#[tokio::test]
async fn the_yaml_of_a_check_is_all_that_lacks() {
    let folder = Folder::new();
    for guest in [guests::DIGITALOCEAN, guests::HETZNER, guests::AWS] {
        let mut config = json_of(0, &["provider", "describe", guest]).await;
        let provider = config["provider"].as_object_mut().unwrap();
        provider.remove("writesAnnotations");
        provider.remove("settings");
        let allow = config["endpoints"][0]["allow"].as_array_mut().unwrap();
        allow.truncate(1);
        config["endpoints"].as_array_mut().unwrap().truncate(1);
        config["endpoints"][0]["parameters"] = json!({});
        let path = folder.write("cloud.yaml", config.to_string());
        let checked = json_of(1, &["provider", "check", guest, &flag("cloud-config", &path)]).await;
        assert_eq!(checked["wrong"], json!([]), "{checked}");
        assert!(!checked["missing"].as_array().unwrap().is_empty(), "{checked}");
        let yaml = checked["yaml"].as_str().unwrap();
        let lacking: Value = serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
        merged(&mut config, &lacking);
        for (name, value) in FILLED_IN {
            if config["provider"]["settings"][name] == "FILL-IN" {
                config["provider"]["settings"][name] = json!(value);
            }
        }
        let path = folder.write("cloud.yaml", config.to_string());
        let checked = json_of(0, &["provider", "check", guest, &flag("cloud-config", &path)]).await;
        assert_eq!((&checked["missing"], &checked["yaml"]), (&json!([]), &Value::Null), "{yaml}");
    }
}

#[tokio::test]
async fn a_wider_config_is_no_fault() {
    let folder = Folder::new();
    let mut config = json_of(0, &["provider", "describe", guests::ACME]).await;
    let rule = json!({ "methods": ["POST"], "paths": ["/users"] });
    config["endpoints"][0]["allow"].as_array_mut().unwrap().push(rule);
    let path = folder.write("cloud.yaml", config.to_string());
    let text = ends(0, &["provider", "check", guests::ACME, &flag("cloud-config", &path)]).await;
    says(&text, &["wider       endpoint api allows POST /users, which the module does not ask for"]);
}

#[tokio::test]
async fn a_component_that_is_no_provider_is_told_why() {
    let folder = Folder::new();
    let world = "
        package test:guest;
        world guest { import evil:host/exec@1.0.0; export aerostat:cloud/provider@0.1.0; }
        package evil:host@1.0.0 { interface exec { run: func(); } }
    ";
    let module = r#"(module
        (import "evil:host/exec@1.0.0" "run" (func))
        (memory (export "memory") 1)
        (func (export "aerostat:cloud/provider@0.1.0#describe") (result i32) (i32.const 0))
        (func (export "aerostat:cloud/provider@0.1.0#identity") (result i32) (i32.const 0)))"#;
    for (name, bytes, words) in [
        (
            "imports.wasm",
            component::component(world, module),
            "imports evil:host/exec@1.0.0, which Aerostat does not offer",
        ),
        (
            "core.wasm",
            b"\0asm\x01\0\0\0".to_vec(),
            "core.wasm is a core WebAssembly module, not a WebAssembly component",
        ),
        ("cut.wasm", b"\0asm\x0d\0\x01\0\x07\xff".to_vec(), "cut.wasm cannot be compiled"),
        ("traps.wasm", component::provider("", "unreachable"), "traps.wasm does not start: describe"),
    ] {
        let file = folder.write(name, bytes).display().to_string();
        let ended = aerostat(&["provider", "check", &file]).await;
        assert_eq!((ended.code, ended.errors.as_str()), (Some(1), ""), "{ended:?}");
        let wrong: Vec<_> = ended.out.lines().filter(|it| it.starts_with("wrong")).collect();
        assert_eq!(wrong.len(), 1, "{ended:?}");
        says(wrong[0], &[words]);
    }
}
