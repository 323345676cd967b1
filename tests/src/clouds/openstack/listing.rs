//! Lists: what they show of what there is, and in which pages.

use serde_json::{Map, Value, json};

use crate::simulator::Recorded;

/// Keys of a query that are no filter.
const NO_FILTERS: [&str; 9] =
    ["fields", "limit", "marker", "sort", "sort_key", "sort_dir", "page_reverse", "additive_only", "cascade"];

/// The part of a list that a request asks for.
pub(super) struct Listing<'a> {
    request: &'a Recorded,
    limit: Option<usize>,
}

impl<'a> Listing<'a> {
    /// Reads a request for a list whose pages hold at most so many.
    pub(super) fn new(request: &'a Recorded, most: usize) -> Listing<'a> {
        let asked = request.query_value("limit").and_then(|it| it.parse::<usize>().ok()).filter(|it| *it > 0);
        Listing { request, limit: asked.map(|it| it.min(most)) }
    }

    /// The same, where a page is never larger than the service has it, asked for or not.
    pub(super) fn always_paged(self, most: usize) -> Listing<'a> {
        Listing { limit: self.limit.or(Some(most)), ..self }
    }

    /// Whether a list shows an object: values of one key are alternatives, keys are conditions.
    pub(super) fn shows(&self, object: &Value) -> bool {
        let filters = self.request.query.iter().filter(|(key, _)| !NO_FILTERS.contains(&key.as_str()));
        filters.clone().all(|(key, _)| {
            let mut values = filters.clone().filter(|(it, _)| it == key).map(|(_, value)| value.as_str());
            values.any(|value| is_so(object, key, value))
        })
    }

    /// One page of all that is listed, each as `show` makes it, and the marker of the next: the id of the last object here.
    ///
    /// # Errors
    ///
    /// Fails with the marker if no object has it.
    pub(super) fn page(&self, all: Vec<&Value>, show: impl Fn(&Value) -> Value) -> Result<(Vec<Value>, Links), String> {
        let marker = self.request.query_value("marker");
        let from = match marker {
            None => 0,
            Some(id) => 1 + all.iter().position(|it| it["id"] == json!(id)).ok_or_else(|| id.to_owned())?,
        };
        let limit = self.limit.unwrap_or(all.len());
        let rest = all.len() - from;
        let page: Vec<&Value> = all.into_iter().skip(from).take(limit).collect();
        let id_of = |it: Option<&&Value>| it.and_then(|it| it["id"].as_str()).map(str::to_owned);
        let links = Links {
            next: id_of(page.last()).filter(|_| rest > limit),
            previous: id_of(page.first()).filter(|_| marker.is_some()),
            first: id_of(page.first()),
        };
        Ok((page.into_iter().map(|it| self.fields(&show(it))).collect(), links))
    }

    /// An object with the fields that were asked for.
    pub(super) fn fields(&self, object: &Value) -> Value {
        let wanted: Vec<_> =
            self.request.query.iter().filter(|(key, _)| key == "fields").map(|(_, value)| value.as_str()).collect();
        match object.as_object() {
            Some(all) if !wanted.is_empty() => {
                let kept = all.iter().filter(|(key, _)| wanted.contains(&key.as_str()));
                Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
            }
            _ => object.clone(),
        }
    }

    /// The same request with another marker, or none, as a link. `scheme` is that under which the service believes to be reached.
    pub(super) fn link(&self, rel: &str, marker: Option<&str>, extra: Option<(&str, &str)>) -> Value {
        let host = self.request.headers.get("host").and_then(|it| it.to_str().ok()).unwrap_or("localhost");
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let kept = self.request.query.iter().filter(|(key, _)| key != "marker" && key != "page_reverse");
        for (key, value) in kept {
            query.append_pair(key, value);
        }
        if let Some(marker) = marker {
            query.append_pair("marker", marker);
        }
        if let Some((key, value)) = extra {
            query.append_pair(key, value);
        }
        json!({ "rel": rel, "href": format!("https://{host}{}?{}", self.request.path, query.finish()) })
    }
}

/// The markers of the pages before and after.
pub(super) struct Links {
    pub(super) next: Option<String>,
    pub(super) previous: Option<String>,
    /// The first object of a page, whether there is one before or not.
    pub(super) first: Option<String>,
}

/// Whether an object has a value under a key, or is reached by it.
fn is_so(object: &Value, key: &str, value: &str) -> bool {
    let words = || value.split(',');
    let tagged = |tag: &str| object["tags"].as_array().is_some_and(|it| it.contains(&json!(tag)));
    match key {
        "tags" => words().all(tagged),
        "tags-any" => words().any(tagged),
        "not-tags" => !words().all(tagged),
        "not-tags-any" => !words().any(tagged),
        "fixed_ips" => {
            let Some((part, wanted)) = value.split_once('=') else { return false };
            object["fixed_ips"].as_array().is_some_and(|all| all.iter().any(|it| it[part] == json!(wanted)))
        }
        "security_groups" => object["security_groups"].as_array().is_some_and(|it| it.contains(&json!(value))),
        "loadbalancer_id" => refers(object, "loadbalancers", value),
        "listener_id" => refers(object, "listeners", value),
        "pool_id" => refers(object, "pools", value),
        "tenant_id" => object["project_id"] == json!(value),
        _ => match &object[key] {
            Value::String(it) => it == value,
            Value::Bool(it) => it.to_string() == value.to_lowercase(),
            Value::Number(it) => it.to_string() == value,
            Value::Null => value.is_empty(),
            _ => false,
        },
    }
}

fn refers(object: &Value, list: &str, id: &str) -> bool {
    object[list].as_array().is_some_and(|all| all.iter().any(|it| it["id"] == json!(id)))
}
