//! The vendor's description of the VPC in the language that the simulator's core checks, with IAM and the resource manager beside it.
//!
//! It was made from the official SDK (`tests/api/README.md`): operations with what they take and answer, and models with their required
//! fields, enumerations and alternatives. Statuses and refusals are those of the API's documentation.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::simulator::{Description, Gaps};

/// The vendored part.
const PUBLISHED: &str = include_str!("../../../api/ibm-vpc.json");

const GAPS: Gaps = Gaps { headers: &HEADERS, absent: &[], requests: &[], answers: &[] };

/// Headers of answers that no operation declares, with the reason why they may be sent.
const HEADERS: [(&str, &str); 3] = [
    ("etag", "an object that can be changed says which one it is"),
    ("retry-after", "one request too many says how many seconds to wait"),
    ("x-request-id", "every answer has it, and the support asks for it"),
];

/// The description, read once.
pub(super) fn description() -> &'static Description {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(&whole().to_string(), GAPS));
    &DESCRIPTION
}

fn whole() -> Value {
    let published: Value = serde_json::from_str(PUBLISHED).expect("a vendored description is JSON");
    let models = published["models"].as_object().expect("models by name");
    let mut schemas: Map<String, Value> = models.iter().map(|(name, it)| (name.clone(), model(it, models))).collect();
    schemas.insert("Refusal".to_owned(), refusal());
    schemas.insert(
        "TokenRequest".to_owned(),
        texts(&["grant_type"], &["apikey", "cr_token", "profile_id", "profile_name", "response_type"]),
    );
    schemas.insert("TokenAnswer".to_owned(), token_answer());
    schemas.insert("TokenRefusal".to_owned(), token_refusal());
    let groups = json!({ "type": "array", "items": texts(&["id", "name", "account_id", "state"], &[]) });
    schemas.insert(
        "ResourceGroups".to_owned(),
        json!({ "type": "object", "properties": { "resources": groups }, "required": ["resources"] }),
    );
    let mut paths = Map::new();
    for operation in published["operations"].as_object().expect("operations by name").values() {
        let item = paths.entry(format!("/v1{}", text(&operation["path"]))).or_insert_with(|| json!({}));
        item[text(&operation["method"]).to_lowercase()] = described(operation, models);
    }
    let form = json!({ "application/x-www-form-urlencoded": { "schema": reference("TokenRequest") } });
    let responses =
        json!({ "200": content(&reference("TokenAnswer")), "default": content(&reference("TokenRefusal")) });
    paths.insert(
        "/identity/token".to_owned(),
        json!({ "post": { "requestBody": { "content": form }, "responses": responses } }),
    );
    let filter = |name: &str| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
    let responses = json!({ "200": content(&reference("ResourceGroups")), "default": content(&reference("Refusal")) });
    paths.insert(
        "/v2/resource_groups".to_owned(),
        json!({ "get": { "parameters": [filter("account_id"), filter("name")], "responses": responses } }),
    );
    json!({ "openapi": "3.0.3", "paths": paths, "components": { "schemas": schemas } })
}

/// An operation: every request carries a date and the generation.
fn described(operation: &Value, models: &Map<String, Value>) -> Value {
    let string = json!({ "type": "string" });
    let in_path = text(&operation["path"]).split(['{', '}']).skip(1).step_by(2);
    let in_path = in_path.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": string }));
    let in_query = operation["query"].as_object().into_iter().flatten();
    let in_query =
        in_query.map(|(name, of)| json!({ "name": name, "in": "query", "schema": schema(text(of), models) }));
    let date = json!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" });
    let always = [
        json!({ "name": "version", "in": "query", "required": true, "schema": date }),
        json!({ "name": "generation", "in": "query", "required": true, "schema": { "type": "string", "enum": ["2"] } }),
    ];
    let answer = match operation["answer"].as_str() {
        Some(name) => content(&schema(name, models)),
        None => json!({ "description": "no body" }),
    };
    let statuses: &[&str] = match text(&operation["method"]) {
        "POST" => &["200", "201"],
        "PUT" => &["200", "201", "202"],
        "DELETE" => &["202", "204"],
        _ => &["200"],
    };
    let mut responses: Map<String, Value> = statuses.iter().map(|it| ((*it).to_owned(), answer.clone())).collect();
    responses.insert("default".to_owned(), content(&reference("Refusal")));
    let mut made =
        json!({ "parameters": in_path.chain(in_query).chain(always).collect::<Vec<_>>(), "responses": responses });
    let body = operation["body"].as_object().filter(|it| !it.is_empty());
    if let Some(body) = body {
        let schema = match body.get("*") {
            Some(whole) => schema(text(whole), models),
            None => object(body, &operation["required"], &Value::Null, models),
        };
        let kind = operation["content_type"].as_str().unwrap_or("application/json");
        made["requestBody"] = json!({ "content": { kind: { "schema": schema } } });
    }
    made
}

/// A model: fields, and alternatives that may have more of them. Alternatives overlap: an id names many things.
fn model(it: &Value, models: &Map<String, Value>) -> Value {
    let fields = it["fields"].as_object().cloned().unwrap_or_default();
    let mut made = object(&fields, &it["required"], &it["enums"], models);
    let alternatives: Vec<&str> = it["one_of"].as_array().into_iter().flatten().map(text).collect();
    // Where one was left out, it may be that one.
    if !alternatives.is_empty() && alternatives.iter().all(|it| models.contains_key(*it)) {
        made["anyOf"] = alternatives.into_iter().map(reference).collect();
    }
    made
}

fn object(fields: &Map<String, Value>, required: &Value, enums: &Value, models: &Map<String, Value>) -> Value {
    let property = |(name, of): (&String, &Value)| {
        let mut property = schema(text(of), models);
        if let Some(words) = enums[name.as_str()].as_array() {
            let place = if property["items"].is_object() { &mut property["items"] } else { &mut property };
            place["enum"] = json!(words);
        }
        // The SDK renames the one that is its own word.
        (name.trim_end_matches('_').to_owned(), property)
    };
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    json!({ "type": "object", "properties": properties, "required": required.as_array().cloned().unwrap_or_default() })
}

/// A type as the SDK writes it. A model that was left out may hold anything.
fn schema(of: &str, models: &Map<String, Value>) -> Value {
    if let Some(of) = of.strip_prefix("List[").and_then(|it| it.strip_suffix(']')) {
        return json!({ "type": "array", "items": schema(of, models) });
    }
    match of {
        "str" => json!({ "type": "string" }),
        "datetime" => json!({ "type": "string", "format": "date-time" }),
        "int" => json!({ "type": "integer" }),
        "bool" => json!({ "type": "boolean" }),
        name if models.contains_key(name) => reference(name),
        _ => json!({ "type": "object" }),
    }
}

fn content(schema: &Value) -> Value {
    json!({ "content": { "application/json": { "schema": schema } } })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// The body of every refusal.
fn refusal() -> Value {
    let string = json!({ "type": "string" });
    let one = json!({
        "type": "object", "properties": { "code": string, "message": string, "more_info": string, "target": { "type": "object" } },
        "required": ["code", "message"],
    });
    json!({
        "type": "object", "properties": { "errors": { "type": "array", "items": one }, "trace": string }, "required": ["errors", "trace"],
    })
}

/// An object of texts.
fn texts(required: &[&str], others: &[&str]) -> Value {
    let all = required.iter().chain(others).map(|it| ((*it).to_owned(), json!({ "type": "string" })));
    json!({ "type": "object", "properties": all.collect::<Map<_, _>>(), "required": required })
}

fn token_answer() -> Value {
    let (string, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    json!({
        "type": "object",
        "properties": {
            "access_token": string, "refresh_token": string, "token_type": string, "scope": string, "expires_in": number,
            "expiration": number, "ims_user_id": number,
        },
        "required": ["access_token", "token_type", "expires_in", "expiration"],
    })
}

fn token_refusal() -> Value {
    let mut refusal = texts(&["errorCode", "errorMessage"], &["errorDetails"]);
    refusal["properties"]["context"] = json!({ "type": "object" });
    refusal
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
