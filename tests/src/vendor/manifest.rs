//! The cloud configurations that are shipped, and what they allow.

use std::collections::BTreeMap;

use egress::{Effect, Method, OperationPattern, PathPattern, Requirement, Rule, RuleContent};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use serde_json::Value;

/// The cloud configuration in a manifest of `deploy/`.
///
/// # Panics
///
/// If there is none, or it is no YAML.
#[must_use]
pub fn cloud_config(manifest: &str) -> Value {
    let manifest: ConfigMap = serde_saphyr::from_str(manifest).expect("the manifest is a ConfigMap");
    let text = manifest.data.and_then(|mut it| it.remove("cloud.yaml")).expect("it holds the configuration");
    serde_saphyr::from_str(&text).expect("the configuration is YAML")
}

/// The cloud configuration in a file that installs all for a provider.
///
/// # Panics
///
/// If there is none, or it is no YAML.
#[must_use]
pub fn installed_config(manifests: &str) -> Value {
    let config_map = only(manifests, "ConfigMap");
    let text = config_map["data"]["cloud.yaml"].as_str().expect("it holds the configuration");
    serde_saphyr::from_str(text).expect("the configuration is YAML")
}

/// The flags in such a file that are the provider's own: its name, its controllers, and its Lease.
///
/// # Panics
///
/// If the Deployment cannot be read.
#[must_use]
pub fn own_flags(manifests: &str) -> Vec<String> {
    let container = &only(manifests, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let arguments = container["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let own = ["--cloud-provider=", "--controllers=", "--leader-elect-resource-"];
    arguments.filter(|it| own.iter().any(|flag| it.starts_with(flag))).map(str::to_owned).collect()
}

/// The rules about volumes of claims that a provider's page says to write: an operator adds them to those that are shipped.
///
/// # Panics
///
/// If the page has no block of YAML with the rules of an endpoint.
#[must_use]
pub fn volume_rules(page: &str) -> Vec<Value> {
    let blocks = page.split("```yaml\n").skip(1).filter_map(|it| it.split("```").next());
    let mut configs = blocks.filter_map(|it| serde_saphyr::from_str::<Value>(it).ok());
    let rules = configs.find_map(|it| it["endpoints"][0]["allow"].as_array().cloned());
    let is_of_volumes = |rule: &Value| {
        let paths = rule["paths"].as_array().into_iter().flatten().filter_map(Value::as_str);
        paths.clone().count() > 0 && paths.clone().all(|it| it.split('/').any(|part| part == "volumes"))
    };
    rules.expect("the page has the rules of an endpoint").into_iter().filter(is_of_volumes).collect()
}

/// The only object of this kind among manifests.
///
/// # Panics
///
/// If there is none, or several, or they are no YAML.
#[must_use]
pub fn only(manifests: &str, kind: &str) -> Value {
    let all: Vec<Value> = serde_saphyr::from_multiple(manifests).expect("the manifests are YAML");
    let mut found = all.into_iter().filter(|it| it["kind"] == kind);
    let object = found.next().expect("there is one");
    assert!(found.next().is_none(), "there are several of the kind {kind}");
    object
}

/// A rule of an endpoint, as an operator writes it. A key that is not read here would be a wider rule than the operator's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    methods: Vec<String>,
    paths: Vec<String>,
    #[serde(default)]
    operations: Vec<String>,
    effect: Option<String>,
    #[serde(default)]
    requires: Vec<String>,
    only: Option<Vec<String>>,
    #[serde(default, rename = "where")]
    values: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    fields: Vec<String>,
    #[serde(default)]
    body: BTreeMap<String, Vec<String>>,
}

/// The rules of an endpoint of a cloud configuration.
///
/// # Panics
///
/// If a rule cannot be read.
#[must_use]
pub fn rules(endpoint: &Value) -> Vec<Rule> {
    let written: Vec<Written> = Deserialize::deserialize(&endpoint["allow"]).expect("the endpoint has rules");
    written.iter().map(rule).collect()
}

fn rule(written: &Written) -> Rule {
    let methods: Vec<_> = written.methods.iter().map(|it| Method::parse(it).expect("it is a method")).collect();
    let paths: Vec<_> = written.paths.iter().map(|it| PathPattern::parse(it).expect("it is a pattern")).collect();
    let effect = written.effect.as_deref().map(|it| Effect::parse(it).expect("it is an effect"));
    let [values, body]: [Vec<_>; 2] = [&written.values, &written.body].map(|it| it.clone().into_iter().collect());
    let content = RuleContent::parse(written.only.as_deref(), &values, &written.fields);
    let content = content.and_then(|it| it.with_body(&body)).expect("names of what may stand");
    let operations =
        written.operations.iter().map(|it| OperationPattern::parse(it).expect("it is a pattern")).collect();
    let requires = written.requires.iter().map(|it| Requirement::parse(it).expect("it can be required")).collect();
    Rule { operations, effect, requires, content, ..Rule::new(methods, paths) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::volume_rules;

    #[test]
    fn rules_of_volumes_are_those_of_their_paths_alone() {
        let page = "text\n```yaml\na: 1\n```\n```yaml\nendpoints:\n  - name: api\n    allow:\n      - { methods: [GET], paths: [/v2/droplets] }\n      \
                    # With the setting volumes alone.\n      - { methods: [GET], paths: [/v2/volumes, /v2/volumes/*] }\n```\n";
        assert_eq!(volume_rules(page), [json!({ "methods": ["GET"], "paths": ["/v2/volumes", "/v2/volumes/*"] })]);
        for page in [
            include_str!("../../../providers/digitalocean/README.md"),
            include_str!("../../../providers/hetzner/README.md"),
        ] {
            let rules = volume_rules(page);
            assert!(rules.len() > 4 && rules.iter().any(|it| it["effect"] == "detach"), "{rules:?}");
        }
    }
}
