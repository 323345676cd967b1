//! Resources and collections, as they are shown.

use serde_json::{Value, json};

use super::behaviour::BASE;
use super::world::{RancherKind, RancherResource, World};
use crate::simulator::{Answer, Recorded};

/// The size of a page that nobody asks for, and the largest one.
const SIZES: (usize, usize) = (100, 3_000);

/// The queries that every collection has.
const QUERIES: [&str; 3] = ["limit", "marker", "removed_null"];

impl World {
    /// A resource as it is shown now. To show it is to read it.
    pub(super) fn shown(&mut self, id: &str) -> Option<Value> {
        let it = self.resources.get_mut(id)?;
        let shown = show(id, it);
        if let Some((_, end)) = &mut it.change {
            end.count_read();
        }
        Some(shown)
    }

    /// A page of these resources, which have the values that the query asks for.
    pub(super) fn page(&mut self, request: &Recorded, ids: Vec<String>, fields: &[&str]) -> Answer {
        let mut wrong = Vec::new();
        for (name, value) in &request.query {
            let is_known = QUERIES.contains(&&**name) || fields.contains(&&**name);
            if !is_known || value.is_empty() {
                wrong.push(format!("this collection has no {name}={value}"));
            }
        }
        let includes = request.query_value("include").is_some();
        let is_asked = |resource: &RancherResource| {
            let hides_removed = request.query_value("removed_null").is_some();
            let mut filters = fields.iter().filter(|name| **name != "include");
            (!hides_removed || !resource.is_removed())
                && filters.all(|name| request.query_value(name).is_none_or(|value| resource.field(name) == value))
        };
        let all: Vec<_> = ids.into_iter().filter(|id| self.resources.get(id).is_some_and(is_asked)).collect();
        let number = |text: Option<&str>| text.and_then(|it| it.parse::<usize>().ok());
        let size = number(request.query_value("limit")).unwrap_or(SIZES.0).min(SIZES.1);
        let from = number(request.query_value("marker").and_then(|it| it.strip_prefix('m'))).unwrap_or(0);
        let page: Vec<_> = all
            .iter()
            .skip(from)
            .take(size)
            .filter_map(|id| {
                let mut shown = self.shown(id)?;
                if includes {
                    let hosts = self.resources.get(id)?.field("hosts").as_array()?.clone();
                    let hosts = hosts.iter().filter_map(|it| self.shown(it.as_str()?));
                    shown["hosts"] = Value::Array(hosts.collect());
                }
                Some(shown)
            })
            .collect();
        let end = from + size;
        let next = (end < all.len())
            .then(|| format!("http://rancher.internal:8080{}?limit={size}&marker=m{end}", request.path));
        let mut answer = Answer::ok(&json!({
            "type": "collection", "data": page, "links": {}, "actions": {},
            "pagination": { "limit": size, "next": next, "partial": next.is_some() },
        }));
        answer.wrong = wrong;
        answer
    }
}

fn show(id: &str, it: &RancherResource) -> Value {
    let (collection, kind, _) = it.kind.words();
    let url = format!("http://rancher.internal:8080{BASE}/{collection}/{id}");
    let mut shown = Value::Object(it.fields.clone());
    // Links lead to what they hold.
    if let (RancherKind::IpAddress | RancherKind::Balancer, Some(fields)) = (it.kind, shown.as_object_mut()) {
        fields.remove("hosts");
        fields.remove("consumed");
    }
    let actions = it.actions().iter().map(|it| ((*it).to_owned(), json!(format!("{url}?action={it}"))));
    shown["id"] = json!(id);
    shown["type"] = json!(kind);
    shown["links"] = json!({ "self": url });
    shown["actions"] = Value::Object(actions.collect());
    shown["state"] = json!(it.state);
    shown["transitioning"] = json!(if it.change.is_some() { "yes" } else { "no" });
    shown["removed"] = if it.is_removed() { json!("2017-08-02T10:00:00Z") } else { Value::Null };
    shown
}
