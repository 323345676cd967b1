//! A ValidatingAdmissionPolicy that refuses annotations with values that a module would refuse.

use cloud_provider::Annotation;
use serde_json::{Value, json};

use super::module::DescribedModule;
use super::values::{AllowedValues, literal};

/// The policy and its binding.
///
/// The error is a sentence.
pub(super) fn policy(module: &DescribedModule<'_>) -> Result<[Value; 2], String> {
    let description = module.description;
    let validations: Vec<_> = description.annotations.iter().filter_map(validation).collect();
    if validations.is_empty() {
        return Err(format!(
            "{} describes no annotation whose values a policy can tell (words, whole numbers, times); leave the policy out",
            module.name
        ));
    }
    let name = format!("aerostat-{}-annotations", dns_label(&description.name));
    // Finalizers and status of a Service that was there before have to be written all the same.
    let is_changed = "request.operation == 'CREATE' || oldObject.spec.type != 'LoadBalancer' || \
                      !has(oldObject.metadata.annotations) || !has(object.metadata.annotations) || \
                      object.metadata.annotations != oldObject.metadata.annotations";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [{
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["services"],
                }],
            },
            "matchConditions": [
                { "name": "load-balancer", "expression": "object.spec.type == 'LoadBalancer'" },
                { "name": "annotations-changed", "expression": is_changed },
            ],
            "variables": [{
                "name": "annotations",
                "expression": "has(object.metadata.annotations) ? object.metadata.annotations : {}",
            }],
            "validations": validations,
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    Ok([policy, binding])
}

/// The check of one annotation; `None` if its values are described in a sentence.
fn validation(annotation: &Annotation) -> Option<Value> {
    let Annotation { key, values, .. } = annotation;
    let allowed = AllowedValues::parse(values)?;
    let message = format!("annotation {key}: its value is not {values}");
    if key.contains('*') {
        let check = allowed.cel("variables.annotations[key].trim()");
        let expression = format!("variables.annotations.all(key, !key.matches({}) || {check})", literal(&pattern(key)));
        return Some(json!({ "expression": expression, "message": message, "reason": "Invalid" }));
    }
    let value = format!("variables.annotations[{}]", literal(key));
    let check = allowed.cel(&format!("{value}.trim()"));
    Some(json!({
        "expression": format!("!({} in variables.annotations) || {check}", literal(key)),
        "message": message,
        "messageExpression": format!("{} + {value} + {}", literal(&format!("annotation {key}: \"")), literal(&format!("\" is not {values}"))),
        "reason": "Invalid",
    }))
}

/// A key with `*` as a regular expression: each star is a run of characters but the slash.
fn pattern(key: &str) -> String {
    let mut pattern = "^".to_owned();
    for character in key.chars() {
        match character {
            '*' => pattern.push_str("[^/]+"),
            it if it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '/') => pattern.push(it),
            it => pattern.extend(['[', it, ']']),
        }
    }
    pattern.push('$');
    pattern
}

/// A name of objects, whatever a provider calls itself.
fn dns_label(name: &str) -> String {
    let plain: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .take(40)
        .collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "provider".to_owned() } else { plain.to_owned() }
}
