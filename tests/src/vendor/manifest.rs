//! The cloud configurations that are shipped, and what they allow.

use egress::{Effect, Method, PathPattern, Rule};
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;
use serde_json::Value;

/// The cloud configuration in a manifest of `deploy/`.
pub(super) fn cloud_config(manifest: &str) -> Value {
    let manifest: ConfigMap = serde_saphyr::from_str(manifest).expect("the manifest is a ConfigMap");
    let text = manifest.data.and_then(|mut it| it.remove("cloud.yaml")).expect("it holds the configuration");
    serde_saphyr::from_str(&text).expect("the configuration is YAML")
}

/// A rule of an endpoint, as an operator writes it.
#[derive(Deserialize)]
struct Written {
    methods: Vec<String>,
    paths: Vec<String>,
    effect: Option<String>,
}

/// What the first endpoint of a cloud configuration allows.
pub(super) fn allowed(config: &Value) -> Vec<Rule> {
    let written: Vec<Written> =
        Deserialize::deserialize(&config["endpoints"][0]["allow"]).expect("the endpoint has rules");
    written.iter().map(rule).collect()
}

fn rule(written: &Written) -> Rule {
    let methods: Vec<_> = written.methods.iter().map(|it| Method::parse(it).expect("it is a method")).collect();
    let paths: Vec<_> = written.paths.iter().map(|it| PathPattern::parse(it).expect("it is a pattern")).collect();
    let effect = written.effect.as_deref().map(|it| Effect::parse(it).expect("it is an effect"));
    Rule { effect, ..Rule::new(methods, paths) }
}
