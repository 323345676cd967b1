//! Microsoft's descriptions of Network and Compute as one, in the language that the simulator's core checks.
//!
//! Schemas of bodies are Microsoft's. Methods, paths and the names of queries are those that its own clients send; they are written down
//! beside the schemas. Resource groups, Entra and the metadata service have no description there: their bodies stand here.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::simulator::{Description, Gaps};

/// The vendored parts. `tests/api/README.md` says where they are from.
const PUBLISHED: [(&str, &str); 2] = [
    ("network", include_str!("../../../api/azure-network.json")),
    ("compute", include_str!("../../../api/azure-compute.json")),
];
/// Methods with their queries and bodies.
const OPERATIONS: &str = include_str!("../../../api/azure-operations.json");

const GAPS: Gaps = Gaps { headers: &HEADERS, absent: &[], requests: &[], answers: &[] };

/// Headers of answers that no operation declares, with the reason why they may be sent.
const HEADERS: [(&str, &str); 8] = [
    ("azure-asyncoperation", "a write that goes on says where its operation is"),
    ("location", "the same, for clients that wait for the result"),
    ("retry-after", "an operation, and a limit, says when to ask again"),
    ("www-authenticate", "a refusal of a token says where another can be had"),
    ("x-ms-request-id", "every answer has it, and the support asks for it"),
    ("x-ms-ratelimit-remaining-subscription-reads", "Network says so how many requests are left"),
    ("x-ms-ratelimit-remaining-subscription-writes", "the same of writes"),
    ("x-ms-ratelimit-remaining-resource", "Compute says so how many requests are left"),
];

/// The description, read once.
pub(super) fn description() -> &'static Description {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(&whole().to_string(), GAPS));
    &DESCRIPTION
}

fn whole() -> Value {
    let mut schemas = own();
    for (part, published) in PUBLISHED {
        let published: Value = serde_json::from_str(published).expect("a vendored description is JSON");
        for (name, schema) in published["$defs"].as_object().into_iter().flatten() {
            let mut schema = schema.clone();
            adapt(part, &mut schema);
            schemas[format!("{part}_{name}")] = schema;
        }
    }
    let operations: Map<String, Value> = serde_json::from_str(OPERATIONS).expect("a vendored description is JSON");
    let mut paths = Map::new();
    for (line, operation) in &operations {
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[method.to_lowercase()] = declared(path, operation);
    }
    json!({ "openapi": "3.0.3", "paths": paths, "components": { "schemas": schemas } })
}

fn declared(path: &str, operation: &Value) -> Value {
    let string = json!({ "type": "string" });
    let named = path.split(['{', '}']).skip(1).step_by(2);
    let named = named.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": string }));
    let query = operation["query"].as_array().into_iter().flatten();
    let query = query.map(|name| json!({ "name": name, "in": "query", "schema": string }));
    let mut responses = json!({ "default": content("here/Refusal") });
    match operation["answer"].as_str() {
        Some(answer) => {
            responses["200"] = content(answer);
            responses["201"] = content(answer);
            if answer == "compute/Disk" {
                responses["202"] = content(answer);
            }
            // Entra and the metadata service refuse with the fields of their own answers.
            if answer == "here/TokenAnswer" || answer == "here/Authority" {
                responses["default"] = content("here/TokenAnswer");
            }
        }
        None => {
            for status in ["200", "202", "204"] {
                responses[status] = json!({});
            }
        }
    }
    let mut declared = json!({ "parameters": named.chain(query).collect::<Vec<_>>(), "responses": responses });
    if let Some(request) = operation["request"].as_str() {
        let form = json!({ "content": { "application/x-www-form-urlencoded": { "schema": reference(request) } } });
        declared["requestBody"] = if request == "here/TokenRequest" { form } else { content(request) };
    }
    declared
}

fn content(schema: &str) -> Value {
    json!({ "content": { "application/json": { "schema": reference(schema) } } })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", schema.replace('/', "_")) })
}

/// Leads references to where schemas are in the whole. What is read-only may be sent, too: clients send back what they have read.
fn adapt(part: &str, value: &mut Value) {
    match value {
        Value::Object(all) => {
            if all.get("readOnly").is_some_and(Value::is_boolean) {
                all.remove("readOnly");
            }
            if let Some(Value::String(reference)) = all.get_mut("$ref") {
                *reference = reference.replacen("#/$defs/", &format!("#/components/schemas/{part}_"), 1);
            }
            all.values_mut().for_each(|it| adapt(part, it));
        }
        Value::Array(all) => all.iter_mut().for_each(|it| adapt(part, it)),
        _ => {}
    }
}

/// The bodies that have no description.
fn own() -> Value {
    let string = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let texts =
        |names: &[&str]| names.iter().map(|it| ((*it).to_owned(), json!({ "type": "string" }))).collect::<Map<_, _>>();
    let list = |items: Value| json!({ "type": "array", "items": items });
    let error = json!({
        "type": "object",
        "properties": {
            "code": string, "message": string, "target": string,
            "details": list(json!({ "type": "object", "properties": texts(&["code", "message", "target"]) })),
        },
        "required": ["code", "message"],
    });
    let status = json!({ "type": "string", "enum": ["InProgress", "Succeeded", "Failed", "Canceled"] });
    let mut compute = texts(&["name", "startTime", "endTime"]);
    compute.insert("status".to_owned(), status.clone());
    compute.insert("error".to_owned(), error.clone());
    let mut token = texts(&[
        "access_token",
        "token_type",
        "client_id",
        "expires_on",
        "not_before",
        "resource",
        "error",
        "error_description",
    ]);
    token.insert("error_codes".to_owned(), list(number.clone()));
    for name in ["expires_in", "ext_expires_in"] {
        token.insert(name.to_owned(), json!({ "oneOf": [string, number] }));
    }
    let group = json!({ "type": "object", "properties": {
        "id": string, "name": string, "type": string, "location": string, "managedBy": string,
        "tags": { "type": "object", "additionalProperties": string },
        "properties": { "type": "object", "properties": { "provisioningState": string } },
    }, "required": ["location"] });
    json!({
        "here_Refusal": { "type": "object", "properties": { "error": error }, "required": ["error"] },
        "here_OperationNetwork": { "type": "object", "properties": { "status": status, "error": error }, "required": ["status"] },
        "here_OperationCompute": { "type": "object", "properties": compute, "required": ["status"] },
        "here_Group": group,
        "here_Groups": { "type": "object", "properties": { "value": list(group.clone()), "nextLink": string } },
        "here_Subscription": { "type": "object", "properties": texts(&["id", "subscriptionId", "displayName", "state"]) },
        "here_Provider": { "type": "object", "properties": {
            "id": string, "namespace": string, "registrationState": string,
            "resourceTypes": list(json!({ "type": "object", "properties": {
                "resourceType": string, "locations": list(string.clone()), "apiVersions": list(string.clone()),
                "zoneMappings": list(json!({ "type": "object", "properties": { "location": string, "zones": list(string.clone()) } })),
            } })),
        } },
        "here_TokenRequest": {
            "type": "object",
            "properties": texts(&[
                "client_id", "client_secret", "client_assertion", "client_assertion_type", "client_info", "grant_type", "scope", "claims",
            ]),
        },
        "here_TokenAnswer": { "type": "object", "properties": token },
        "here_Authority": {
            "type": "object",
            "properties": texts(&["token_endpoint", "authorization_endpoint", "issuer", "jwks_uri"]),
        },
        "here_Instances": { "type": "object", "properties": {
            "tenant_discovery_endpoint": string, "api-version": string, "metadata": list(json!({ "type": "object" })),
        } },
        "here_Endpoints": list(json!({ "type": "object" })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_description_can_be_checked() {
        description().compile();
    }
}
