//! The actions that a credential needs in the cloud, in the cloud's own words.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cloud_provider::{Description, Effect, Endpoint};
use serde_json::{Value, json};

use super::config::aws;
use super::{access_rules, custom_roles, ram_policy, role_definition};
use crate::config::CloudConfig;

/// The permissions of the credential: a policy of IAM where all endpoints are AWS's, one of RAM where they are Alibaba Cloud's, custom roles
/// where they are Google's, a role definition where they are Azure's, access rules where the config leads to them by the catalogue of OpenStack's Keystone, else the scopes
/// at each endpoint.
///
/// # Errors
///
/// A sentence, if the config says too little about an endpoint.
pub(super) fn needed(description: &Description, config: Option<&CloudConfig>) -> Result<(String, Value), String> {
    let is_aws = |it: &Endpoint| aws(&it.example_base_url).is_some();
    if !description.endpoints.is_empty() && description.endpoints.iter().all(is_aws) {
        let policy = iam(description);
        let mut text = serde_json::to_string_pretty(&policy).expect("texts become JSON");
        text.push('\n');
        return Ok((text, policy));
    }
    if !description.endpoints.is_empty() && description.endpoints.iter().all(custom_roles::is_google) {
        let roles = custom_roles::of(description, config);
        return Ok((custom_roles::text(description, &roles), custom_roles::value(description, &roles)));
    }
    if !description.endpoints.is_empty() && description.endpoints.iter().all(role_definition::is_azure) {
        let role = role_definition::of(description, config);
        return Ok((role_definition::text(&role), role));
    }
    if !description.endpoints.is_empty() && description.endpoints.iter().all(|it| ram_policy::alibaba(it).is_some()) {
        let policy = ram_policy::of(description);
        return Ok((ram_policy::text(&policy), policy));
    }
    let rules = config.map_or(Ok(Vec::new()), |config| access_rules::of(description, config))?;
    if !rules.is_empty() {
        return Ok((access_rules::text(&rules), access_rules::value(&rules)));
    }
    Ok(scopes(description))
}

/// A policy of IAM, with a statement for what reads and one for what writes.
fn iam(description: &Description) -> Value {
    let all: BTreeMap<_, _> = description.endpoints.iter().flat_map(actions).collect();
    let statement = |sid: &str, reads: bool| {
        let actions: Vec<_> =
            all.iter().filter(|(_, effect)| (**effect == Effect::Read) == reads).map(|(action, _)| action).collect();
        let statement = json!({ "Sid": sid, "Effect": "Allow", "Action": actions, "Resource": "*" });
        (!actions.is_empty()).then_some(statement)
    };
    let statements: Vec<_> = [statement("Read", true), statement("Write", false)].into_iter().flatten().collect();
    json!({ "Version": "2012-10-17", "Statement": statements })
}

/// The scopes, and the requests where the module names none.
fn scopes(description: &Description) -> (String, Value) {
    let mut text =
        format!("# The permissions that the credential of {} {} needs\n", description.name, description.version);
    let mut endpoints = Vec::new();
    for endpoint in &description.endpoints {
        let actions = actions(endpoint);
        let requests: Vec<_> = endpoint.allow.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "endpoint {} ({})", endpoint.name, endpoint.example_base_url);
        if actions.is_empty() {
            let _ = writeln!(text, "  the module names no scopes; these are its requests:");
            for request in &requests {
                let _ = writeln!(text, "  {request}");
            }
        }
        let width = actions.keys().map(|it| it.chars().count()).max().unwrap_or_default();
        for (action, effect) in &actions {
            let _ = writeln!(text, "  {action:width$}  {}", effect.as_str());
        }
        let actions: Vec<_> =
            actions.iter().map(|(action, effect)| json!({ "action": action, "effect": effect.as_str() })).collect();
        endpoints.push(json!({ "name": endpoint.name, "actions": actions, "requests": requests }));
    }
    (text, json!({ "endpoints": endpoints }))
}

/// The actions at an endpoint, each with the most harmful effect of the requests that need it.
fn actions(endpoint: &Endpoint) -> BTreeMap<String, Effect> {
    let mut actions = BTreeMap::new();
    for permission in &endpoint.allow {
        let by_method = permission.methods.iter().map(|it| Effect::of_method(it)).max().unwrap_or_default();
        // Where a request says what it does, its method does not; else the description may leave the effect to the method.
        let effect = match permission.operations.is_empty() {
            true => permission.own_effect().unwrap_or(by_method),
            false => permission.effect,
        };
        for action in &permission.actions {
            let known = actions.entry(action.clone()).or_insert(effect);
            *known = effect.max(*known);
        }
    }
    actions
}
