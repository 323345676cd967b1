//! Google's description of Compute Engine in the language that the simulator's core checks.
//!
//! It says of each method where it is, which names its query may have and what is sent and answered. Names that all methods share stand in
//! Google's general documentation, and so do the givers of tokens.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::simulator::{Description, Gaps};

/// The vendored part. `tests/api/README.md` says where it is from.
const PUBLISHED: &str = include_str!("../../../api/google-compute.json");

/// Names in the query of every method.
const COMMON: [&str; 7] = ["alt", "$alt", "fields", "key", "prettyPrint", "quotaUser", "userIp"];

const GAPS: Gaps = Gaps { headers: &HEADERS, absent: &[], requests: &[], answers: &[] };

/// Headers of answers that no method declares, with the reason why they may be sent.
const HEADERS: [(&str, &str); 1] = [("www-authenticate", "a refusal of a token says for which realm it is")];

/// The description, read once.
pub(super) fn description() -> &'static Description {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(&whole().to_string(), GAPS));
    &DESCRIPTION
}

fn whole() -> Value {
    let mut published: Value = serde_json::from_str(PUBLISHED).expect("a vendored description is JSON");
    let mut schemas = published["$defs"].take();
    refer(&mut schemas);
    schemas["Refusal"] = refusal();
    schemas["TokenRequest"] = token_request();
    schemas["TokenAnswer"] = token_answer();
    let mut paths = Map::new();
    for method in published["x-methods"].as_object().into_iter().flat_map(Map::values) {
        let path = format!("/compute/v1/{}", text(&method["path"]));
        let item = paths.entry(path).or_insert_with(|| json!({}));
        item[text(&method["httpMethod"]).to_lowercase()] = operation(method);
    }
    schemas["ExchangeRequest"] = exchange_request();
    for (path, request) in [("/token", "TokenRequest"), ("/v1/token", "ExchangeRequest")] {
        let form = json!({ "application/x-www-form-urlencoded": { "schema": reference(request) } });
        let responses = json!({ "200": content("TokenAnswer"), "default": content("TokenAnswer") });
        paths
            .insert(path.to_owned(), json!({ "post": { "requestBody": { "content": form }, "responses": responses } }));
    }
    schemas["AccountRequest"] = account_request();
    schemas["AccountAnswer"] = account_answer();
    let account = json!({ "name": "account", "in": "path", "required": true, "schema": { "type": "string" } });
    let responses = json!({ "200": content("AccountAnswer"), "default": content("Refusal") });
    let item = json!({ "post": { "parameters": [account], "requestBody": content("AccountRequest"), "responses": responses } });
    paths.insert("/v1/projects/-/serviceAccounts/{account}".to_owned(), item);
    json!({ "openapi": "3.0.3", "paths": paths, "components": { "schemas": schemas } })
}

fn operation(method: &Value) -> Value {
    let path = text(&method["path"]).split(['{', '}']).skip(1).step_by(2);
    let string = json!({ "type": "string" });
    let named = path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": string }));
    let own = method["query"].as_array().into_iter().flatten().map(text);
    let query = own.chain(COMMON).map(|name| {
        let repeated = json!({ "type": "array", "items": string });
        let schema = if name == "views" { repeated } else { string.clone() };
        json!({ "name": name, "in": "query", "schema": schema })
    });
    let mut operation = json!({
        "parameters": named.chain(query).collect::<Vec<_>>(),
        "responses": { "200": content(text(&method["response"])), "default": content("Refusal") },
    });
    if let Some(request) = method["request"].as_str() {
        operation["requestBody"] = content(request);
    }
    operation
}

fn content(schema: &str) -> Value {
    json!({ "content": { "application/json": { "schema": reference(schema) } } })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// Leads references to where schemas are in the whole.
fn refer(value: &mut Value) {
    match value {
        Value::Object(all) => {
            if let Some(Value::String(reference)) = all.get_mut("$ref") {
                *reference = reference.replacen("#/$defs/", "#/components/schemas/", 1);
            }
            all.values_mut().for_each(refer);
        }
        Value::Array(all) => all.iter_mut().for_each(refer),
        _ => {}
    }
}

/// The body of every refusal.
fn refusal() -> Value {
    let string = json!({ "type": "string" });
    let one = json!({
        "type": "object",
        "properties": { "message": string, "domain": string, "reason": string },
        "required": ["message", "domain", "reason"],
    });
    json!({
        "type": "object",
        "properties": { "error": {
            "type": "object",
            "properties": {
                "code": { "type": "integer" }, "message": string, "errors": { "type": "array", "items": one }, "status": string,
            },
            "required": ["code", "message", "errors"],
        } },
        "required": ["error"],
    })
}

fn token_request() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": { "grant_type": string, "assertion": string },
        "required": ["grant_type", "assertion"],
    })
}

fn token_answer() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "access_token": string, "expires_in": { "type": "integer" }, "token_type": string, "issued_token_type": string,
            "error": string, "error_description": string,
        },
    })
}

fn exchange_request() -> Value {
    let names = ["grant_type", "audience", "scope", "requested_token_type", "subject_token", "subject_token_type"];
    let properties: Map<_, _> = names.iter().map(|it| ((*it).to_owned(), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn account_request() -> Value {
    let strings = json!({ "type": "array", "items": { "type": "string" }, "nullable": true });
    json!({
        "type": "object",
        "properties": { "delegates": strings, "scope": strings, "lifetime": { "type": "string" } },
        "required": ["scope"],
    })
}

fn account_answer() -> Value {
    let string = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": { "accessToken": string, "expireTime": string },
        "required": ["accessToken", "expireTime"],
    })
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_description_can_be_checked() {
        description().compile();
    }
}
