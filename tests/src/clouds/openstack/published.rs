//! The published descriptions of OpenStack's services as one, in the language that the simulator's core checks.
//!
//! They were generated from the services' code, and where a service differs from its description the service is right: what the recordings
//! of `tests/golden/openstack` show stands here, each with its reason.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::simulator::{Description, Gaps};

use super::service::Service;

/// The vendored parts. `tests/api/README.md` says where they are from.
const PUBLISHED: [(Service, &str); 4] = [
    (Service::Identity, include_str!("../../../api/openstack-identity.json")),
    (Service::Compute, include_str!("../../../api/openstack-compute.json")),
    (Service::Network, include_str!("../../../api/openstack-network.json")),
    (Service::LoadBalancer, include_str!("../../../api/openstack-load-balancing.json")),
];

/// Operations that no description has: versions, the project of a token, Barbican, and Cinder.
const MORE: &str = include_str!("../../../api/openstack-more.json");

const GAPS: Gaps = Gaps { headers: &HEADERS, absent: &[], requests: &[], answers: &[] };

/// Headers of answers that no operation declares, with the reason why they may be sent.
const HEADERS: [(&str, &str); 7] = [
    ("x-openstack-request-id", "every answer has it, and the support asks for it"),
    ("openstack-api-version", "Nova says so which microversion it answers with"),
    ("x-openstack-nova-api-version", "the same under its older name"),
    ("retry-after", "Cinder says 0 beside a quota that is used up"),
    ("vary", "Nova and Keystone say so by what an answer differs"),
    ("www-authenticate", "every service says so where Keystone is"),
    ("x-subject-token", "Keystone gives the token so"),
];

/// Fields of answers that descriptions of early 2025 lack, by the name of the object around them. The recordings show them.
const MORE_FIELDS: [(Service, &str, &[&str]); 16] = [
    (Service::Identity, "token", &["issued_at", "is_domain", "application_credential"]),
    (Service::Identity, "endpoint", &["region_id"]),
    (Service::Identity, "project", &["domain"]),
    (Service::Identity, "user", &["password_expires_at"]),
    (Service::Compute, "server", &["links"]),
    (Service::Network, "allowed_address_pair", &["mac_address"]),
    (Service::LoadBalancer, "loadbalancer", &["vip_sg_ids", "vip_vnic_type", "listeners", "pools"]),
    (
        Service::LoadBalancer,
        "listener",
        &[
            "hsts_max_age",
            "hsts_include_subdomains",
            "hsts_preload",
            "tls_versions",
            "alpn_protocols",
            "l7policies",
            "loadbalancers",
        ],
    ),
    (
        Service::LoadBalancer,
        "pool",
        &[
            "alpn_protocols",
            "tls_versions",
            "healthmonitor_id",
            "healthmonitor",
            "loadbalancers",
            "listeners",
            "members",
        ],
    ),
    (Service::LoadBalancer, "member", &["vnic_type"]),
    (Service::LoadBalancer, "healthmonitor", &["pools"]),
    (Service::LoadBalancer, "additional_vip", &["port_id"]),
    (Service::Network, "security_group_rule", &["belongs_to_default_sg", "normalized_cidr", "remote_address_group_id"]),
    (Service::Network, "security_group", &["shared"]),
    (Service::Network, "subnet", &["router:external"]),
    (
        Service::Network,
        "router",
        &["enable_default_route_bfd", "enable_default_route_ecmp", "enable_snat", "gw_port_id", "ha_vr_id"],
    ),
];

/// Query keys of all lists of a service, which its description leaves out.
const LIST_KEYS: [(Service, &[&str]); 2] = [
    (
        Service::Network,
        &[
            "fields",
            "limit",
            "marker",
            "page_reverse",
            "sort_key",
            "sort_dir",
            "router:external",
            "network_id",
            "port_id",
        ],
    ),
    (
        Service::LoadBalancer,
        &[
            "fields",
            "limit",
            "marker",
            "sort",
            "id",
            "name",
            "tags",
            "tags-any",
            "not-tags",
            "not-tags-any",
            "loadbalancer_id",
            "listener_id",
            "pool_id",
            "project_id",
            "provisioning_status",
            "operating_status",
            "vip_address",
            "vip_port_id",
            "vip_subnet_id",
            "vip_network_id",
            "protocol",
            "protocol_port",
            "provider",
            "description",
            "address",
            "default_pool_id",
        ],
    ),
];

/// Query keys of other operations that the descriptions leave out.
const KEYS: [(&str, &str, &str); 2] = [
    ("put", "/load-balancer/v2.0/lbaas/pools/{pool_id}/members", "additive_only"),
    ("delete", "/load-balancer/v2.0/lbaas/loadbalancers/{loadbalancer_id}", "cascade"),
];

/// The description of all services, read once.
pub(super) fn description() -> &'static Description {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(&whole().to_string(), GAPS));
    &DESCRIPTION
}

/// One document: each service under its own path, its schemas under its own names.
fn whole() -> Value {
    let mut whole: Value = serde_json::from_str(MORE).expect("a vendored description is JSON");
    for (service, published) in PUBLISHED {
        let mut document: Value = serde_json::from_str(published).expect("a vendored description is JSON");
        rename(service, &mut document);
        for (part, target) in [("schemas", "schemas"), ("parameters", "parameters")] {
            for (name, mut part) in document["components"][part].as_object().cloned().unwrap_or_default() {
                match target {
                    "schemas" => {
                        adapt(service, name.ends_with("Response"), &mut part);
                        if name.ends_with("IndexResponse") {
                            add_links(&mut part);
                        }
                    }
                    _ => part["schema"] = text_schema(service, &part["schema"]),
                }
                whole["components"][target][format!("{}_{name}", service.kind())] = part;
            }
        }
        for (path, mut item) in document["paths"].as_object().cloned().unwrap_or_default() {
            let path = format!("/{}{}", service.kind(), path.replacen("/v2/lbaas", "/v2.0/lbaas", 1));
            operations(service, &path, &mut item, &whole["components"]["parameters"]);
            whole["paths"][path] = item;
        }
    }
    // Neutron's calls for routes take and answer a router, which their description leaves out.
    for call in ["RoutersAdd_ExtraroutesAdd_Extraroutes", "RoutersRemove_ExtraroutesRemove_Extraroutes"] {
        for way in ["Request", "Response"] {
            let router = whole["components"]["schemas"][format!("network_RouterUpdate{way}")].clone();
            whole["components"]["schemas"][format!("network_{call}{way}")] = router;
        }
    }
    whole
}

/// Adds the links of pages beside the list of an answer.
fn add_links(answer: &mut Value) {
    let Some(properties) = answer["properties"].as_object_mut() else { return };
    let lists: Vec<String> = properties.keys().cloned().collect();
    for list in lists {
        properties.insert(format!("{list}_links"), json!({ "type": "array" }));
    }
}

/// Leads references to the names that parts have in the whole.
fn rename(service: Service, value: &mut Value) {
    match value {
        Value::Object(all) => {
            if let Some(Value::String(reference)) = all.get_mut("$ref")
                && let Some((place, name)) = reference.rsplit_once('/')
            {
                *reference = format!("{place}/{}_{name}", service.kind());
            }
            all.values_mut().for_each(|it| rename(service, it));
        }
        Value::Array(all) => all.iter_mut().for_each(|it| rename(service, it)),
        _ => {}
    }
}

/// The schema of a value in a query: text, repeated where the service takes alternatives.
fn text_schema(service: Service, schema: &Value) -> Value {
    let text = json!({ "type": "string" });
    if schema["type"] == json!("array") || service == Service::Network { repeated() } else { text }
}

fn repeated() -> Value {
    json!({ "type": "array", "items": { "type": "string" } })
}

/// The operations of a path, with the keys of its query, and with what the service answers when it refuses.
fn operations(service: Service, path: &str, item: &mut Value, parameters: &Value) {
    let Some(item) = item.as_object_mut() else { return };
    for (method, operation) in item {
        if method == "parameters" {
            continue;
        }
        let mut own = operation["parameters"].as_array().cloned().unwrap_or_default();
        let resolved =
            |parameter: &Value| match parameter["$ref"].as_str().and_then(|parameter| parameter.rsplit_once('/')) {
                Some((_, name)) => parameters[name].clone(),
                None => parameter.clone(),
            };
        // Headers are the core's and the credential's.
        own.retain(|it| resolved(it)["in"] != json!("header"));
        let list = method == "get" && !path.ends_with('}');
        let extra = LIST_KEYS.iter().filter(|(of, _)| *of == service).flat_map(|(_, keys)| keys.iter().copied());
        let extra = extra.filter(|key| list || *key == "fields" && method == "get");
        let named = KEYS.iter().filter(|(of, at, _)| of == method && *at == path).map(|(_, _, key)| *key);
        for key in extra.chain(named) {
            if !own.iter().any(|it| resolved(it)["name"] == json!(key)) {
                own.push(json!({ "name": key, "in": "query", "schema": repeated() }));
            }
        }
        operation["parameters"] = Value::Array(own);
        if let Some(answers) = operation["responses"].as_object_mut() {
            answers.retain(|status, _| status.starts_with('2'));
            // Keystone's is described with the status of a look at a token.
            if path == "/identity/v3/auth/tokens"
                && method == "post"
                && let Some(given) = answers.remove("200")
            {
                answers.insert("201".to_owned(), given);
            }
            // The answer to many members at once is empty.
            if path.ends_with("/members")
                && method == "put"
                && let Some(accepted) = answers.get_mut("202").and_then(Value::as_object_mut)
            {
                accepted.remove("content");
            }
            answers
                .insert("default".to_owned(), json!({ "$ref": format!("#/components/responses/{}", service.kind()) }));
            if path == "/identity/v3/auth/tokens" {
                for answer in answers.values_mut() {
                    answer.as_object_mut().map(|it| it.remove("headers"));
                }
            }
        }
    }
}

/// A schema of OpenAPI 3.1 in the words of 3.0, with what the service adds.
fn adapt(service: Service, answers: bool, schema: &mut Value) {
    let Some(all) = schema.as_object_mut() else { return };
    all.retain(|key, _| !matches!(key.as_str(), "definitions" | "descripion" | "extraProperties" | "examples"));
    all.retain(|key, _| !key.starts_with("x-"));
    // An absent address of Nova is empty; Octavia's words for formats are its own, and projects are no UUIDs.
    all.remove("format");
    // Generated from a type in the place of a schema.
    if let Some(Value::Object(inner)) = all.get("type").cloned() {
        all.remove("type");
        all.extend(inner);
    }
    // Any name is one that the pattern allows.
    if let Some(Value::Object(patterns)) = all.remove("patternProperties") {
        let any = patterns.into_iter().next().map(|(_, schema)| schema);
        all.insert("additionalProperties".to_owned(), any.unwrap_or(json!(true)));
    }
    // What is null in an answer is described as if it were always there.
    if answers && let Some(kind) = all.get_mut("type") {
        let mut kinds = kind.as_array().cloned().unwrap_or_else(|| vec![kind.clone()]);
        if !kinds.contains(&json!("null")) {
            kinds.push(json!("null"));
        }
        *kind = Value::Array(kinds);
    }
    if answers {
        all.remove("required");
        all.remove("enum");
    }
    if let Some(Value::Object(properties)) = all.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            adapt(service, answers, property);
            // Described as texts; Neutron takes both, and answers with numbers.
            if service == Service::Network && name.starts_with("port_range_") {
                *property = json!({ "type": ["integer", "string", "null"] });
            }
            // Null takes it away.
            if service == Service::LoadBalancer && name == "session_persistence" {
                property["type"] = json!(["object", "null"]);
            }
            // The description of a pair misspells its field, and a pair is written as it was read.
            if answers || name == "allowed_address_pairs" {
                add_fields(service, name, property);
            }
        }
    }
    for key in ["items", "additionalProperties", "not"] {
        if let Some(part) = all.get_mut(key).filter(|it| it.is_object()) {
            adapt(service, answers, part);
        }
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for part in all.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
            adapt(service, answers, part);
        }
    }
}

/// Adds the fields that an object has beyond its description: to one under this name, or to each of many.
fn add_fields(service: Service, name: &str, property: &mut Value) {
    // Nova's addresses have these since its first version; an absent image is an empty text.
    if service == Service::Compute && name == "addresses" {
        let any = json!({ "type": "object" });
        *property = json!({ "type": "object", "additionalProperties": { "type": "array", "items": any } });
    }
    if service == Service::Compute && name == "image" {
        *property = json!({});
    }
    // Generated as texts; Neutron answers with objects.
    if service == Service::Network && matches!(name, "port_details" | "port_forwardings" | "security_group_rules") {
        *property = json!({});
    }
    let one = name.strip_suffix('s').unwrap_or(name);
    let fields = MORE_FIELDS.iter().filter(|(of, kind, _)| *of == service && (*kind == name || *kind == one));
    let fields = fields.flat_map(|(_, _, fields)| fields.iter().copied());
    let object = if property.get("items").is_some() { &mut property["items"] } else { property };
    let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let any = Value::Object(Map::new());
    for field in fields {
        properties.insert(field.to_owned(), any.clone());
    }
    for (one, other) in [("project_id", "tenant_id"), ("tenant_id", "project_id")] {
        if properties.contains_key(one) {
            properties.entry(other).or_insert_with(|| any.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_descriptions_can_be_checked() {
        description().compile();
    }
}
