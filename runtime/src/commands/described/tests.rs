use cloud_provider::{Annotation, Description, Effect, Endpoint, OperationPlace, Permission, Setting};
use sandbox::Digest;

use super::*;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|it| (*it).to_owned()).collect()
}

fn description() -> Description {
    let annotation = |key: &str, values: &str| Annotation {
        key: key.to_owned(),
        values: values.to_owned(),
        doc: "Does | something.".to_owned(),
        ..Annotation::default()
    };
    let setting = |name: &str, required| Setting {
        name: name.to_owned(),
        required,
        doc: "Where: it's there.".to_owned(),
        ..Setting::default()
    };
    let endpoint = Endpoint {
        name: "api".to_owned(),
        purpose: "machines: all of them".to_owned(),
        example_base_url: "https://api.acme.example:8443/v1".to_owned(),
        headers: words(&["x-acme"]),
        allow: vec![
            Permission {
                methods: words(&["GET"]),
                paths: words(&["/machines/*"]),
                actions: words(&["machines:read", "all"]),
                ..Permission::default()
            },
            Permission {
                methods: words(&["POST"]),
                paths: words(&["/machines"]),
                effect: Effect::Update,
                actions: words(&["all"]),
                ..Permission::default()
            },
        ],
        ..Endpoint::default()
    };
    Description {
        name: "acme".to_owned(),
        version: "1.0.0".to_owned(),
        provider_id_prefixes: words(&["acme://", ""]),
        endpoints: vec![endpoint],
        settings: vec![setting("zone", true), setting("class.*.size", false)],
        annotations: vec![
            annotation("acme.example/size", "a whole number from 1 to 10"),
            annotation("acme.example/port-*.kind", "tcp or http"),
            annotation("acme.example/note", "anything"),
        ],
        writes_annotations: words(&["acme.example/id"]),
        node_labels: words(&["acme.example/pool", "*"]),
        ..Description::default()
    }
}

fn made(description: &Description, kind: DescribedPage) -> Result<ModulePageText, String> {
    page(&DescribedModule { name: "out/acme.wasm", digest: Digest::of(b"acme"), description }, kind, None)
}

#[test]
fn a_skeleton_is_a_config_for_the_module() {
    let text = made(&description(), DescribedPage::Config).unwrap().to_string();
    let config = CloudConfig::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(config.source.digest(), Digest::of(b"acme"));
    assert_eq!(config.provider_id_prefixes, ["acme://", ""]);
    assert_eq!(config.provider.settings, [("zone".to_owned(), "FILL-IN".to_owned())]);
    assert_eq!(config.provider.writes_annotations, ["acme.example/id"]);
    assert_eq!(config.provider.node_labels, ["acme.example/pool"]);
    let missing = crate::commands::compared::compared(&description(), &config).missing;
    assert_eq!(missing, [""; 0], "{text}");
    let empty = Description { name: "none".to_owned(), ..Description::default() };
    assert!(CloudConfig::parse(&made(&empty, DescribedPage::Config).unwrap().to_string()).is_ok());
}

#[test]
fn a_skeleton_for_aws_signs_its_requests() {
    let mut description = description();
    let ec2 = &mut description.endpoints[0];
    ec2.example_base_url = "https://ec2.eu-central-1.amazonaws.com".to_owned();
    ec2.operation = Some(OperationPlace::Parameter("Action".to_owned()));
    ec2.parameters = vec![("Version".to_owned(), "2016-11-15".to_owned())];
    ec2.allow.iter_mut().for_each(|it| it.operations = words(&["Describe*"]));
    let text = made(&description, DescribedPage::Config).unwrap().to_string();
    let config = CloudConfig::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let signing = config.endpoints[0].signing.as_ref();
    assert!(matches!(signing, Some(egress::Signing::Sigv4 { service, .. }) if service == "ec2"), "{signing:?}");
    let policy = made(&description, DescribedPage::Permissions).unwrap();
    let statements = &policy.value["Statement"];
    assert_eq!(statements[0]["Action"], serde_json::json!(["machines:read"]));
    assert_eq!(statements[1]["Action"], serde_json::json!(["all"]), "the most harmful request counts");
}

#[test]
fn a_skeleton_for_alibaba_cloud_signs_its_requests() {
    let mut description = description();
    let ecs = &mut description.endpoints[0];
    ecs.example_base_url = "https://ecs.cn-hangzhou.aliyuncs.com".to_owned();
    ecs.operation = Some(OperationPlace::Header("x-acs-action".to_owned()));
    ecs.parameters = vec![("RegionId".to_owned(), "cn-hangzhou".to_owned())];
    ecs.allow.iter_mut().for_each(|it| it.operations = words(&["Describe*"]));
    let text = made(&description, DescribedPage::Config).unwrap().to_string();
    let config = CloudConfig::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let signing = config.endpoints[0].signing.as_ref();
    assert!(
        matches!(signing, Some(egress::Signing::Acs3 { version }) if version.as_str() == "2014-05-26"),
        "{signing:?}"
    );
    let policy = made(&description, DescribedPage::Permissions).unwrap();
    let statement = serde_json::json!([{ "Effect": "Allow", "Action": ["all", "machines:read"], "Resource": "*" }]);
    assert_eq!(policy.value, serde_json::json!({ "Version": "1", "Statement": statement }));
}

#[test]
fn roles_for_google_are_one_for_each_project() {
    let mut description = description();
    description.endpoints[0].example_base_url = "https://compute.googleapis.com/compute/v1/projects/PROJECT".to_owned();
    let mut network = description.endpoints[0].clone();
    network.name = "network".to_owned();
    network.allow.truncate(1);
    network.allow[0].actions = words(&["routes:read", "all"]);
    description.endpoints.push(network);
    let skeleton = made(&description, DescribedPage::Config).unwrap().to_string();
    assert!(skeleton.contains("google: { serviceAccountKey: "), "{skeleton}");
    let whole = made(&description, DescribedPage::Permissions).unwrap();
    let actions = serde_json::json!(["all", "machines:read", "routes:read"]);
    assert_eq!(
        whole.value,
        serde_json::json!({ "title": "aerostat-acme", "stage": "GA", "includedPermissions": actions })
    );
    assert_eq!(yaml::read(&whole.to_string()), whole.value, "the file is the role");
    let at = "projects/PROJECT";
    let (own, shared) = (skeleton.replace(at, "projects/p1"), skeleton.replacen(at, "projects/p1", 1));
    for (config, count) in [(own, 1), (shared, 2)] {
        let config = CloudConfig::parse(&config).unwrap_or_else(|error| panic!("{error}\n{config}"));
        let module = DescribedModule { name: "out/acme.wasm", digest: Digest::of(b"acme"), description: &description };
        let roles = page(&module, DescribedPage::Permissions, Some(&config)).unwrap();
        assert_eq!(roles.to_string().matches("includedPermissions:").count(), count, "{roles}");
        if count == 2 {
            assert_eq!(roles.value[0]["includedPermissions"], serde_json::json!(["all", "machines:read"]));
            assert_eq!(roles.value[1]["includedPermissions"], serde_json::json!(["all", "routes:read"]));
        }
    }
}

#[test]
fn a_role_for_azure_is_one_for_all_subscriptions() {
    let mut description = description();
    description.endpoints[0].example_base_url = "https://management.azure.com".to_owned();
    description.settings.push(Setting { name: "subscriptionId".to_owned(), ..Setting::default() });
    let skeleton = made(&description, DescribedPage::Config).unwrap().to_string();
    assert!(skeleton.contains("entra: { tenant: "), "{skeleton}");
    CloudConfig::parse(&skeleton).unwrap_or_else(|error| panic!("{error}\n{skeleton}"));
    let role = made(&description, DescribedPage::Permissions).unwrap();
    assert_eq!(role.value["Actions"], serde_json::json!(["all", "machines:read"]));
    assert_eq!(role.value["AssignableScopes"], serde_json::json!(["/subscriptions/ID-OF-THE-SUBSCRIPTION"]));
    assert_eq!(serde_json::from_str::<Value>(&role.to_string()).unwrap(), role.value, "the file is the role");
    let own = "\n    subscriptionId: AB\n    networkResourceSubscriptionID: cd\n    otherSubscription: ab\n";
    let config = skeleton.replacen("settings:\n", &format!("settings:{own}"), 1);
    let config = CloudConfig::parse(&config).unwrap_or_else(|error| panic!("{error}\n{config}"));
    let module = DescribedModule { name: "out/acme.wasm", digest: Digest::of(b"acme"), description: &description };
    let role = page(&module, DescribedPage::Permissions, Some(&config)).unwrap();
    assert_eq!(role.value["AssignableScopes"], serde_json::json!(["/subscriptions/cd", "/subscriptions/ab"]));
}

#[test]
fn scopes_are_told_with_their_effect() {
    let text = made(&description(), DescribedPage::Permissions).unwrap().to_string();
    assert!(text.contains("  all            update\n  machines:read  read\n"), "{text}");
    let mut silent = description();
    silent.endpoints[0].allow.iter_mut().for_each(|it| it.actions.clear());
    let text = made(&silent, DescribedPage::Permissions).unwrap().to_string();
    assert!(text.contains("names no scopes") && text.contains("{ methods: [GET], paths: ['/machines/*'] }"), "{text}");
}

#[test]
fn tables_hold_all_that_people_write() {
    let text = made(&description(), DescribedPage::Readme).unwrap().to_string();
    for line in [
        "| setting | default | meaning |\n| --- | --- | --- |\n| `zone` | required | Where: it's there. |",
        "| `acme.example/size` | a whole number from 1 to 10 |  | Does \\| something. |",
        "| `acme.example/pool` |",
        "| ids without `://` |",
        "| `api` | https://api.acme.example:8443/v1 | machines: all of them |",
    ] {
        assert!(text.contains(line), "no {line}: {text}");
    }
}

#[test]
fn network_policies_open_the_ports_of_endpoints() {
    let policy = made(&description(), DescribedPage::NetworkPolicy).unwrap();
    let ports = &policy.value["spec"]["egress"][1]["ports"];
    let numbers: Vec<_> = ports.as_array().unwrap().iter().map(|it| it["port"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [443, 6443, 8443]);
    let policy = made(&description(), DescribedPage::CiliumNetworkPolicy).unwrap().to_string();
    assert!(policy.contains("matchName: api.acme.example") && policy.contains("8443"), "{policy}");
    let empty = Description::default();
    let error = made(&empty, DescribedPage::NetworkPolicy).err().unwrap();
    assert!(error.contains("out/acme.wasm describes no endpoint") && error.contains("--cloud-config"), "{error}");
}

#[test]
fn a_policy_judges_what_it_can_tell() {
    let policy = made(&description(), DescribedPage::AdmissionPolicy).unwrap();
    let items = policy.value["items"].as_array().unwrap();
    assert_eq!(items[1]["spec"]["policyName"], "aerostat-acme-annotations");
    let validations = items[0]["spec"]["validations"].as_array().unwrap();
    assert_eq!(validations.len(), 2, "one annotation may hold anything");
    let patterns = validations[1]["expression"].as_str().unwrap();
    assert!(patterns.contains(r#"key.matches("^acme[.]example/port-[^/]+[.]kind$")"#), "{patterns}");
    assert_eq!(policy.to_string().matches("---\n").count(), 1);
    let silent = Description { annotations: Vec::new(), ..description() };
    assert!(made(&silent, DescribedPage::AdmissionPolicy).err().unwrap().contains("leave the policy out"));
}

/// A config whose endpoint is where a catalogue says.
fn of_catalog(place: &str) -> CloudConfig {
    let digest = Digest::of(b"acme");
    let text = format!(
        "apiVersion: aerostat.dev/v1alpha1
kind: CloudConfig
provider: {{ module: {{ file: {{ path: /acme.wasm, sha256: {digest} }} }} }}
endpoints:
  - name: api
    catalog: {{ {place} }}
    origins: [https://volume.example.com]
    credential: openstack
    allow: [{{ methods: [GET], paths: [/machines/*] }}]
credentials:
  - name: openstack
    keystone:
      baseUrl: https://keystone.example.com/v3
      applicationCredential: {{ idFile: /etc/aerostat/id, secretFile: /etc/aerostat/secret }}
"
    );
    CloudConfig::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn access_rules_begin_at_the_path_or_the_place_of_the_project() {
    for (place, example, root) in [
        ("type: volumev3, path: /v3", "https://volume.example.com/v3/PROJECT", Some("/v3")),
        ("type: volumev3", "https://volume.example.com/v3/PROJECT", Some("/v3/*")),
        ("type: volumev3, path: /", "https://volume.example.com/v3/PROJECT", Some("")),
        ("type: volumev3", "https://volume.example.com/v3", None),
        ("type: volumev3", "https://volume.example.com", None),
    ] {
        let mut description = description();
        description.endpoints[0].example_base_url = example.to_owned();
        let module = DescribedModule { name: "out/acme.wasm", digest: Digest::of(b"acme"), description: &description };
        let rules = page(&module, DescribedPage::Permissions, Some(&of_catalog(place)));
        match root {
            Some(root) => {
                let rule = |method: &str, path: &str| serde_json::json!({ "service": "volumev3", "method": method, "path": format!("{root}{path}") });
                assert_eq!(
                    rules.unwrap().value,
                    serde_json::json!([rule("GET", "/machines/*"), rule("POST", "/machines")])
                );
            }
            None => {
                let refusal = rules.err().unwrap();
                assert!(refusal.contains("endpoint api has no `catalog.path`"), "{place}: {refusal}");
            }
        }
    }
}
