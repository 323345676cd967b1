//! Role definitions of Azure: `az role definition create --role-definition FILE`.

use std::collections::BTreeSet;

use cloud_provider::{Description, Endpoint};
use serde_json::{Value, json};

use crate::config::CloudConfig;

/// The place of a subscription's id where no config names one.
const SUBSCRIPTION: &str = "ID-OF-THE-SUBSCRIPTION";

/// The resource managers of Azure's clouds.
const MANAGERS: [&str; 3] = ["management.azure.com", "management.usgovcloudapi.net", "management.chinacloudapi.cn"];

/// Whether the endpoint is Azure Resource Manager.
pub(super) fn is_azure(endpoint: &Endpoint) -> bool {
    let host = endpoint.example_base_url.strip_prefix("https://").and_then(|it| it.split(['/', ':']).next());
    host.is_some_and(|it| MANAGERS.contains(&it))
}

/// One role for all endpoints, to be assigned in the subscriptions that settings of the config name.
pub(super) fn of(description: &Description, config: Option<&CloudConfig>) -> Value {
    let rules = description.endpoints.iter().flat_map(|it| &it.allow);
    let actions: BTreeSet<&String> = rules.flat_map(|it| &it.actions).collect();
    json!({
        "Name": format!("aerostat-{}", description.name),
        "IsCustom": true,
        "Description": "The requests of aerostat's provider, and nothing else.",
        "Actions": actions,
        "NotActions": [],
        "DataActions": [],
        "NotDataActions": [],
        "AssignableScopes": scopes(config),
    })
}

/// Subscriptions, each once, in the order of their settings' names.
fn scopes(config: Option<&CloudConfig>) -> Vec<String> {
    let settings = config.map(|it| &it.provider.settings[..]).unwrap_or_default();
    let mut named: Vec<_> =
        settings.iter().filter(|(name, _)| name.to_ascii_lowercase().contains("subscription")).collect();
    named.sort();
    let mut scopes: Vec<String> = Vec::new();
    for (_, id) in named {
        let scope = format!("/subscriptions/{}", id.to_ascii_lowercase());
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    if scopes.is_empty() {
        scopes.push(format!("/subscriptions/{SUBSCRIPTION}"));
    }
    scopes
}

/// A file of it.
pub(super) fn text(role: &Value) -> String {
    let mut text = serde_json::to_string_pretty(role).expect("texts become JSON");
    text.push('\n');
    text
}
