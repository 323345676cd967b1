//! Requests held against the vendor's own description: `tests/api/ibm-vpc.json`, made from the official SDK.

use aerostat_sdk::Method;
use aerostat_sdk::testing::{Body, Request};
use serde_json::{Map, Value, json};

/// The description: operations by their names, and the models of what they carry.
fn published() -> Value {
    serde_json::from_str(include_str!("../../../../tests/api/ibm-vpc.json")).unwrap()
}

/// Fails unless the API has such a request, with such names in its query and such members in its body.
pub(crate) fn check(request: &Request) {
    let published = published();
    let method = format!("{:?}", request.method).to_uppercase().replace("METHOD::", "");
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let is_asked = |operation: &&Value| {
        let pattern: Vec<&str> = operation["path"].as_str().unwrap().trim_start_matches('/').split('/').collect();
        let fits = |(own, part): (&&str, &&str)| part.starts_with('{') || own == part;
        operation["method"] == *method && pattern.len() == path.len() && path.iter().zip(&pattern).all(fits)
    };
    let operation = published["operations"].as_object().unwrap().values().find(is_asked);
    let operation = operation.unwrap_or_else(|| panic!("the API has no {method} {path:?}"));
    let query: Vec<(&str, &str)> = request.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for pair in [("version", "2026-06-23"), ("generation", "2")] {
        assert_eq!(query.iter().filter(|it| it.0 == pair.0).collect::<Vec<_>>(), [&pair], "{request:?}");
    }
    for (name, _) in query.iter().filter(|it| !["version", "generation"].contains(&it.0)) {
        assert!(operation["query"][*name].is_string(), "{method} {path:?} takes no {name}");
    }
    let content = request.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
    let Some(Body::Bytes(bytes)) = &request.body else {
        assert!(operation["body"].as_object().unwrap().is_empty() && request.body.is_none(), "{request:?}");
        return;
    };
    let is_patch = request.method == Method::Patch;
    assert_eq!(
        content,
        Some(if is_patch { "application/merge-patch+json" } else { "application/json" }),
        "{request:?}"
    );
    let body: Value = serde_json::from_slice(bytes).unwrap();
    let fits = match operation["body"]["*"].as_str() {
        Some(model) => fits(&published, model, &body),
        None => {
            has_fields(&published, &json!({ "fields": operation["body"], "required": operation["required"] }), &body)
        }
    };
    fits.unwrap_or_else(|why| panic!("{method} {path:?}: {why}: {body}"));
}

/// Whether a value is of a type: `int`, `List[…]`, or a model.
fn fits(published: &Value, of: &str, value: &Value) -> Result<(), String> {
    let is = |it: bool| if it { Ok(()) } else { Err(format!("{value} is no {of}")) };
    match of {
        "str" | "datetime" => is(value.is_string()),
        "int" => is(value.is_u64()),
        "bool" => is(value.is_boolean()),
        "dict" => is(value.is_object()),
        _ => match of.strip_prefix("List[").and_then(|it| it.strip_suffix(']')) {
            Some(item) => match value.as_array() {
                Some(all) => all.iter().try_for_each(|it| fits(published, item, it)),
                None => is(false),
            },
            None => {
                let model = &published["models"][of];
                assert!(model.is_object(), "the description has no {of}");
                match model["one_of"].as_array() {
                    // One of the alternatives has all of its members.
                    Some(all) => {
                        let all = all.iter().map(|it| fits(published, it.as_str().unwrap(), value));
                        let whys: Vec<Result<(), String>> = all.collect();
                        if whys.iter().any(Result::is_ok) {
                            Ok(())
                        } else {
                            Err(format!("{value} is no {of}: {whys:?}"))
                        }
                    }
                    None => has_fields(published, model, value),
                }
            }
        },
    }
}

/// Whether an object has the fields that a model asks for, and no others.
fn has_fields(published: &Value, model: &Value, value: &Value) -> Result<(), String> {
    let own: &Map<String, Value> = value.as_object().ok_or_else(|| format!("{value} is no object"))?;
    for name in model["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        if !own.contains_key(name) {
            return Err(format!("{name} is missing in {value}"));
        }
    }
    for (name, value) in own {
        let of = model["fields"][name].as_str().ok_or_else(|| format!("there is no field {name}"))?;
        fits(published, of, value)?;
        let words = model["enums"][name].as_array();
        if words.is_some_and(|it| !it.contains(value)) {
            return Err(format!("{name} is never {value}"));
        }
    }
    Ok(())
}

#[test]
fn requests_that_the_api_does_not_have_are_noticed() {
    let published = published();
    let of = "LoadBalancerPoolPrototypeLoadBalancerContext";
    let pool = |change: &dyn Fn(&mut Value)| {
        let monitor = json!({ "delay": 5, "max_retries": 2, "timeout": 2, "type": "tcp" });
        let mut pool = json!({ "algorithm": "round_robin", "protocol": "tcp", "health_monitor": monitor });
        change(&mut pool);
        fits(&published, of, &pool)
    };
    assert_eq!(pool(&|_| ()), Ok(()));
    for change in [
        (&|it: &mut Value| it["name"] = json!(7)) as &dyn Fn(&mut Value),
        &|it| it["colour"] = json!("red"),
        &|it| it["protocol"] = json!("sctp"),
        &|it| it["health_monitor"]["delay"] = json!("5"),
        &|it| it["health_monitor"] = json!({ "delay": 5 }),
        &|it| it["members"] = json!([{ "port": 1, "target": { "name": "a" } }]),
        &|it| drop(it.as_object_mut().unwrap().remove("algorithm")),
    ] {
        assert!(pool(change).is_err());
    }
}
