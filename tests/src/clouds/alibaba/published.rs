//! Requests and answers held against the vendor's own description: `tests/api/alibaba.json`.
//!
//! It has names, types and what is required of a request, but not what is in an `Array` or a `Struct`: that stands here. The answers have names
//! and types.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::simulator::{Answer, Recorded};

/// The description.
static PUBLISHED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../api/alibaba.json")).expect("the description is JSON"));

/// The members of parameters whose members the description does not tell, as the models of the official SDKs have them. An empty name
/// stands for a value by itself.
const MEMBERS: [(&str, &[&str]); 12] = [
    ("DeletionProtectionConfig", &["Enabled", "Reason"]),
    (
        "HealthCheckConfig",
        &[
            "HealthCheckConnectPort",
            "HealthCheckConnectTimeout",
            "HealthCheckDomain",
            "HealthCheckEnabled",
            "HealthCheckExp",
            "HealthCheckHttpCode",
            "HealthCheckHttpVersion",
            "HealthCheckInterval",
            "HealthCheckReq",
            "HealthCheckType",
            "HealthCheckUrl",
            "HealthyThreshold",
            "HttpCheckMethod",
            "UnhealthyThreshold",
        ],
    ),
    ("JobIds", &[""]),
    ("LoadBalancerBillingConfig", &["PayType"]),
    ("ModificationProtectionConfig", &["Reason", "Status"]),
    (
        "Permissions",
        &[
            "Description",
            "DestCidrIp",
            "IpProtocol",
            "Ipv6DestCidrIp",
            "Ipv6SourceCidrIp",
            "NicType",
            "Policy",
            "PortRange",
            "Priority",
            "SourceCidrIp",
            "SourceGroupId",
            "SourcePortRange",
            "SourcePrefixListId",
        ],
    ),
    ("ResourceId", &[""]),
    ("Servers", &["Description", "Port", "ServerId", "ServerIp", "ServerType", "Weight"]),
    ("Tag", &["Key", "Value"]),
    ("TagKey", &[""]),
    ("ZoneMappings", &["AllocationId", "EipType", "Ipv4LocalAddresses", "PrivateIPv4Address", "VSwitchId", "ZoneId"]),
    ("ProxyProtocolV2Config", &["Ppv2PrivateLinkEpIdEnabled", "Ppv2PrivateLinkEpsIdEnabled", "Ppv2VpcIdEnabled"]),
];

/// The product whose API has this version.
pub(super) fn product(version: &str) -> Option<&'static str> {
    let products = PUBLISHED.as_object().into_iter().flatten();
    let mut found = products.filter(|(_, it)| it["version"] == version).map(|(name, _)| name.as_str());
    found.next()
}

/// The action of a path such as `/ecs/DescribeInstances`.
fn action(path: &str) -> Option<&'static Value> {
    let (product, action) = path.strip_prefix('/')?.split_once('/')?;
    Some(&PUBLISHED[product]["actions"][action]).filter(|it| it.is_object())
}

/// Whether an action only reads.
pub(super) fn reads(action: &str) -> bool {
    ["Describe", "Get", "List"].iter().any(|it| action.starts_with(it))
}

/// Whether a request asks for what the API has.
pub(super) fn has(path: &str) -> bool {
    action(path).is_some()
}

/// Returns what is wrong with a request, one sentence each.
pub(super) fn check_request(request: &Recorded) -> Vec<String> {
    let Some(action) = action(&request.path) else { return vec!["the description has no such action".to_owned()] };
    let methods = action["method"].as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    if !methods.split('|').any(|it| it == request.method.as_str()) {
        wrong.push(format!("its method is not {methods}"));
    }
    let known = action["params"].as_object().cloned().unwrap_or_default();
    let mut names = BTreeSet::new();
    for (name, value) in &request.query {
        if !names.insert(name.as_str()) {
            wrong.push(format!("{name} stands there twice"));
        }
        // The region is a parameter of all, also where it is not listed.
        if name != "RegionId" {
            wrong.extend(check_parameter(&known, name, value));
        }
    }
    let name_of_action = request.path.rsplit('/').next().unwrap_or_default();
    let (_, query) = request.target.split_once('?').unwrap_or_default();
    for (name, _) in url::form_urlencoded::parse(query.as_bytes()) {
        let first = name.split('.').next().unwrap_or_default();
        // Reads take them anywhere.
        if known.get(first).is_some_and(|it| it["in"] == "body") && !reads(name_of_action) {
            wrong.push(format!("{name} stands in the query, and belongs into the form"));
        }
    }
    let missing = known.iter().filter(|(name, of)| {
        let of_list = format!("{name}.");
        of["r"] == true && !names.iter().any(|it| it == name || it.starts_with(&of_list))
    });
    wrong.extend(missing.map(|(name, _)| format!("{name} is missing")));
    wrong
}

/// The fault of one parameter, if it has one.
fn check_parameter(known: &Map<String, Value>, name: &str, value: &str) -> Option<String> {
    if let Some(of) = known.get(name).filter(|it| it["t"] != "RepeatList" && it["t"] != "Array" && it["t"] != "Struct")
    {
        return check_value(of, name, value);
    }
    let mut parts = name.split('.');
    let first = parts.next().unwrap_or_default();
    let Some(of) = known.get(first) else { return Some(format!("there is no {name}")) };
    let rest: Vec<&str> = parts.collect();
    let is_number = |it: &str| it.parse::<usize>().is_ok_and(|it| it > 0);
    let members = || MEMBERS.iter().find(|(it, _)| *it == first).map_or(&[][..], |it| it.1);
    let is_member = |it: &str| members().contains(&it);
    match (of["t"].as_str().unwrap_or_default(), &rest[..]) {
        ("RepeatList", [number]) if is_number(number) && of["of"].is_null() => None,
        ("RepeatList", [number, member]) if is_number(number) => match of["of"].get(member) {
            Some(of) => check_value(of, name, value),
            None => Some(format!("there is no {name}")),
        },
        ("Array", [number]) if is_number(number) && is_member("") => None,
        ("Array", [number, member]) if is_number(number) && is_member(member) => None,
        // Addresses in a zone are a list in a list.
        ("Array", [number, "Ipv4LocalAddresses", part]) if is_number(number) && is_number(part) => None,
        ("Struct", [member]) if is_member(member) => None,
        ("Struct", [member, number]) if is_member(member) && is_number(number) => None,
        _ => Some(format!("there is no {name}")),
    }
}

fn check_value(of: &Value, name: &str, value: &str) -> Option<String> {
    let is_right = match of["t"].as_str() {
        Some("Integer" | "Long") => value.parse::<i64>().is_ok(),
        Some("Boolean") => ["true", "false"].iter().any(|it| value.eq_ignore_ascii_case(it)),
        _ => true,
    };
    (!is_right).then(|| format!("{name} is never {value:?}"))
}

/// Returns what is wrong with an answer, one sentence each.
pub(super) fn check_answer(request: &Recorded, answer: &Answer) -> Vec<String> {
    let body: Value = match serde_json::from_slice(&answer.body) {
        Ok(body) => body,
        Err(error) => return vec![format!("the answer is not JSON: {error}")],
    };
    let mut wrong = Vec::new();
    if answer.is_error() {
        for name in ["Code", "HostId", "Message", "RequestId"] {
            if !body[name].is_string() {
                wrong.push(format!("the refusal has no {name}"));
            }
        }
    } else if let Some(action) = action(&request.path) {
        compare("", &action["answer"], &body, &mut wrong);
    }
    wrong
}

fn compare(place: &str, schema: &Value, shown: &Value, wrong: &mut Vec<String>) {
    match (schema, shown) {
        (Value::Object(known), Value::Object(fields)) => {
            for (name, field) in fields {
                match known.get(name) {
                    Some(schema) => compare(&format!("{place}/{name}"), schema, field, wrong),
                    None => wrong.push(format!("the answer's {place}/{name} is not declared")),
                }
            }
        }
        (Value::Array(schema), Value::Array(items)) => {
            for item in items {
                compare(&format!("{place}/*"), &schema[0], item, wrong);
            }
        }
        (Value::String(kind), shown) => {
            let is_right = match kind.as_str() {
                "string" => shown.is_string(),
                "integer" => shown.is_i64() || shown.is_u64(),
                "boolean" => shown.is_boolean(),
                _ => true,
            };
            if !is_right {
                wrong.push(format!("the answer's {place} is no {kind}: {shown}"));
            }
        }
        _ => wrong.push(format!("the answer's {place} has another form")),
    }
}

/// The description of a part of an action's answer, by the way to it: `*` leads into a list.
pub(super) fn answer_part(path: &str, way: &[&str]) -> &'static Value {
    let mut part = action(path).map_or(&Value::Null, |it| &it["answer"]);
    for step in way {
        part = if *step == "*" { &part[0] } else { &part[*step] };
    }
    part
}

/// The fields of an object that a part of an answer has, with the types that they have there: objects hold texts as requests wrote them.
pub(super) fn fitting(part: &Value, object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.filter_map(|(name, value)| {
        let value = match (part.get(name)?, value) {
            (Value::String(kind), Value::String(text)) => match kind.as_str() {
                "integer" => Value::from(text.parse::<i64>().ok()?),
                "boolean" => Value::from(text.eq_ignore_ascii_case("true")),
                _ => value.clone(),
            },
            (Value::String(kind), Value::Number(_) | Value::Bool(_)) if kind == "string" => value.to_string().into(),
            (_, Value::Null) => return None,
            _ => value.clone(),
        };
        Some((name.clone(), value))
    });
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(action: &str, name: &str, value: &str) -> Option<String> {
        let params = PUBLISHED["nlb"]["actions"][action]["params"].as_object().unwrap();
        check_parameter(params, name, value)
    }

    #[test]
    fn parameters_that_the_api_does_not_have_are_noticed() {
        for (name, value) in
            [("Servers.1.Port", "80"), ("Servers.12.ServerId", "i-1"), ("ServerGroupId", "sgp-1"), ("DryRun", "True")]
        {
            assert_eq!(checked("AddServersToServerGroup", name, value), None, "{name}");
        }
        for (name, value) in [
            ("Servers", "[]"),
            ("Servers.0.Port", "80"),
            ("Servers.1", "i-1"),
            ("Servers.1.Colour", "red"),
            ("Servers.1.Port.1", "80"),
            ("Colour", "red"),
            ("DryRun", "yes"),
        ] {
            assert!(checked("AddServersToServerGroup", name, value).is_some(), "{name}");
        }
    }

    #[test]
    fn answers_of_another_form_are_noticed() {
        let part = answer_part("/slb/DescribeVServerGroups", &[]);
        let wrong = |shown: Value| {
            let mut wrong = Vec::new();
            compare("", part, &shown, &mut wrong);
            wrong
        };
        let groups = |group: Value| json!({ "RequestId": "1", "VServerGroups": { "VServerGroup": [group] } });
        assert_eq!(wrong(groups(json!({ "VServerGroupId": "rsp-1", "ServerCount": 1 }))), [""; 0]);
        for other in [json!({ "ServerCount": "1" }), json!({ "Colour": "red" }), json!("rsp-1")] {
            assert_eq!(wrong(groups(other.clone())).len(), 1, "{other}");
        }
    }

    #[test]
    fn products_have_versions_of_their_own() {
        let of = |version: &str| product(version).unwrap_or_default();
        assert_eq!(["2014-05-26", "2014-05-15", "2022-04-30", "2016-04-28"].map(of), ["ecs", "slb", "nlb", "vpc"]);
        assert_eq!(product("2015-04-01"), None);
    }
}
