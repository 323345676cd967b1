//! Requests held against the vendor's own description: `tests/api/alibaba.json`.

use std::sync::LazyLock;

use aerostat_sdk::testing::{Body, Request};
use serde_json::Value;

use super::action;

/// The description.
static PUBLISHED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../../tests/api/alibaba.json")).unwrap());

/// The parameters of a request: those of its query and its form, each once.
pub(crate) fn parameters(request: &Request) -> Vec<(&str, &str)> {
    let form = match &request.body {
        Some(Body::Form(pairs)) => &pairs[..],
        _ => &[],
    };
    let all: Vec<(&str, &str)> =
        request.query.iter().chain(form).map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for (name, _) in &all {
        assert_eq!(all.iter().filter(|it| it.0 == *name).count(), 1, "{name} stands there twice: {request:?}");
    }
    all
}

/// Fails unless the product has such an action, with such parameters and all that it requires, each where it belongs: a change that has
/// its parameters in the form is never in the query.
pub(crate) fn check(request: &Request) {
    let known = &PUBLISHED[&request.endpoint]["actions"][action(request)];
    let is_change = known["method"] == "POST";
    let astray = request
        .query
        .iter()
        .find(|(name, _)| is_change && known["params"][name.split('.').next().unwrap()]["in"] == "body");
    assert!(astray.is_none(), "{astray:?} belongs into the form: {request:?}");
    if let Err(why) = fits(&PUBLISHED, &request.endpoint, action(request), &parameters(request)) {
        panic!("{why}: {request:?}");
    }
}

fn fits(published: &Value, product: &str, action: &str, pairs: &[(&str, &str)]) -> Result<(), String> {
    let known = &published[product]["actions"][action]["params"];
    let known = known.as_object().ok_or_else(|| format!("{product} has no {action}"))?;
    // The region is a parameter of all, also where it is not listed.
    for (name, value) in pairs.iter().filter(|(name, _)| *name != "RegionId") {
        let mut parts = name.split('.');
        let mut of = known.get(parts.next().unwrap_or_default()).ok_or_else(|| format!("{action} takes no {name}"))?;
        // Their parts are not told.
        if let Some("Array" | "Struct") = of["t"].as_str() {
            continue;
        }
        if let Some(number) = parts.next() {
            if of["t"] != "RepeatList" || number.parse::<usize>().is_err() {
                return Err(format!("{name} is no item of a list"));
            }
            if let Some(member) = parts.next() {
                of = of["of"].get(member).ok_or_else(|| format!("there is no {name}"))?;
            }
        }
        let is_right = match of["t"].as_str() {
            Some("Integer" | "Long") => value.parse::<i64>().is_ok(),
            Some("Boolean") => ["true", "false"].contains(value),
            _ => true,
        };
        if !is_right || parts.next().is_some() {
            return Err(format!("{name} is never {value}"));
        }
    }
    let missing = known.iter().find(|(name, of)| {
        let of_list = format!("{name}.");
        of["r"] == true && !pairs.iter().any(|(it, _)| it == name || it.starts_with(&of_list))
    });
    missing.map_or(Ok(()), |(name, _)| Err(format!("{action} needs {name}")))
}

#[test]
fn requests_that_the_api_does_not_have_are_noticed() {
    let with = |action: &str, pairs: &[(&str, &str)]| fits(&PUBLISHED, "slb", action, pairs);
    let right = [("RegionId", "x"), ("ResourceType", "instance"), ("ResourceId.1", "lb-1"), ("Tag.1.Key", "a")];
    assert_eq!(with("TagResources", &right), Ok(()));
    for (action, pairs) in [
        ("TagResource", &right[..]),
        ("TagResources", &right[..2]),
        ("TagResources", &[&right[..], &[("Colour", "red")]].concat()),
        ("TagResources", &[&right[..], &[("Tag.1.Colour", "red")]].concat()),
        ("TagResources", &[&right[..], &[("ResourceType.1", "red")]].concat()),
        ("StartLoadBalancerListener", &[("LoadBalancerId", "lb-1"), ("ListenerPort", "http")]),
    ] {
        assert!(with(action, pairs).is_err(), "{action} {pairs:?}");
    }
}
