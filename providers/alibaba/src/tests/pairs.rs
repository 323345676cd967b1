//! The parameters of requests, for clouds in memory.

use aerostat_sdk::testing::{Request, Response, reply};
use serde_json::{Map, Value, json};

use super::published;

/// The parameters of a request, without the region.
pub(crate) type Pairs = Map<String, Value>;

pub(crate) fn pairs(request: &Request) -> Pairs {
    let all = published::parameters(request).into_iter().filter(|(name, _)| *name != "RegionId");
    all.map(|(name, value)| (name.to_owned(), value.into())).collect()
}

pub(crate) fn text<'p>(pairs: &'p Pairs, name: &str) -> &'p str {
    pairs.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The items of `Tag.1.Key` and its like, in their order: numbers as numbers.
pub(crate) fn members(pairs: &Pairs, list: &str) -> Vec<Value> {
    let item = |number: usize| {
        let prefix = format!("{list}.{number}.");
        let own = pairs.iter().filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value)));
        let value = |it: &Value| it.as_str().unwrap().parse::<u64>().map_or_else(|_| it.clone(), Value::from);
        let item: Map<String, Value> = own.map(|(name, it)| (name.to_owned(), value(it))).collect();
        (!item.is_empty()).then_some(Value::Object(item))
    };
    (1..=pairs.len()).map_while(item).collect()
}

pub(crate) fn refusal(status: u16, code: &str) -> Response {
    reply(status, json!({ "Code": code, "Message": format!("it is {code}"), "RequestId": "R-1" }))
}
