//! Lists, in pages.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::simulator::Recorded;

use super::errors::{self, Refusal};
use super::id::key;
use super::kind::Kind;
use super::ongoing::Stored;
use super::presented::{Views, shown};
use super::world::{World, parts, referred, text};

/// `GET …/loadBalancers`: a list of a kind, of all that lies within a path.
pub(super) fn many(world: &World, request: &Recorded, kind: Kind, within: &str) -> Result<Value, Refusal> {
    // In a subscription the path has the namespace, and in a group's ids the group is before it.
    let prefix = match key(within).split_once("/providers/") {
        Some((scope, _)) if !scope.contains("/resourcegroups/") => format!("{scope}/"),
        _ => format!("{}/", key(within)),
    };
    let set = filtered_set(request)?;
    let now = world.time();
    let is_listed = |it: &Stored| it.kind == kind && it.made + world.behaviour.lists_late_by <= now;
    let of_set = |it: &Stored| key(referred(&it.body["properties"], "virtualMachineScaleSet"));
    let is_wanted = |it: &Stored| set.as_ref().is_none_or(|set| of_set(it) == *set);
    let is_shown = |key: &str| !world.behaviour.unlisted.contains(key);
    let all = world.below(&prefix).filter(|(key, it)| is_listed(it) && is_wanted(it) && is_shown(key));
    let all: Vec<_> = all.collect();
    let references = world.references();
    let views = Views { instance: wants_view(request) };
    let keys: Vec<&str> = all.iter().map(|(key, _)| *key).collect();
    let (from, to) = page(world, request, &keys)?;
    let value = all[from..to].iter().map(|(_, it)| shown(world, &references, it, views)).collect();
    Ok(answered(world, request, value, (to < all.len()).then(|| keys[to - 1])))
}

/// `GET …/subnets`: the parts of a resource.
pub(super) fn of_parts(world: &World, request: &Recorded, whole: &Value, part: &str) -> Result<Value, Refusal> {
    let all: Vec<&Value> = parts(whole, part).collect();
    let keys: Vec<String> = all.iter().map(|it| text(it, "name").to_owned()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (from, to) = page(world, request, &keys)?;
    let value = all[from..to].iter().map(|it| (*it).clone()).collect();
    Ok(answered(world, request, value, (to < all.len()).then(|| keys[to - 1])))
}

/// Whether a request asks for the view of instances.
pub(super) fn wants_view(request: &Recorded) -> bool {
    request.query_value("$expand").is_some_and(|it| it.eq_ignore_ascii_case("instanceView"))
        || request.query_value("statusOnly") == Some("true")
}

/// The scale set of `$filter='virtualMachineScaleSet/id' eq '…'`.
fn filtered_set(request: &Recorded) -> Result<Option<String>, Refusal> {
    let Some(filter) = request.query_value("$filter").filter(|it| !it.is_empty()) else { return Ok(None) };
    let set = filter.strip_prefix("'virtualMachineScaleSet/id' eq '").and_then(|it| it.strip_suffix('\''));
    let refused = || errors::invalid("InvalidParameter", format!("The filter {filter} is not supported."));
    set.map(|it| Some(key(it))).ok_or_else(refused)
}

/// The part of a list that a request asks for: from, and to before.
fn page(world: &World, request: &Recorded, keys: &[&str]) -> Result<(usize, usize), Refusal> {
    let from = match request.query_value("$skiptoken") {
        None => 0,
        Some(token) => {
            let decoded = BASE64_URL_SAFE_NO_PAD.decode(token).ok().and_then(|it| String::from_utf8(it).ok());
            let after = decoded.ok_or_else(|| errors::invalid("InvalidSkipToken", "The skip token is invalid."))?;
            keys.iter().position(|it| **it > *after).unwrap_or(keys.len())
        }
    };
    Ok((from, keys.len().min(from + world.behaviour.largest_page)))
}

fn answered(world: &World, request: &Recorded, value: Vec<Value>, last: Option<&str>) -> Value {
    let mut answer = json!({ "value": value });
    if let Some(last) = last {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let kept = request.query.iter().filter(|(name, _)| name != "$skiptoken");
        query.extend_pairs(kept).append_pair("$skiptoken", &BASE64_URL_SAFE_NO_PAD.encode(last));
        answer["nextLink"] = json!(format!("{}{}?{}", world.base, request.path, query.finish()));
    }
    answer
}
