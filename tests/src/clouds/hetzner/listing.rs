//! Lists in pages, as all lists of the service are.

use serde_json::{Value, json};

use crate::simulator::{Answer, lists};

use super::errors::{self, Refused};
use super::selector::{Labels, Selector};

/// How much a page holds if the request does not say.
const PAGE: usize = 25;

/// How much a page holds at most.
const LARGEST_PAGE: usize = 50;

/// The pairs of a query, decoded.
pub(super) type Query = [(String, String)];

/// The first value of a query key.
pub(super) fn value<'a>(query: &'a Query, key: &str) -> Option<&'a str> {
    values(query, key).next()
}

/// All values of a query key.
pub(super) fn values<'a>(query: &'a Query, key: &str) -> impl Iterator<Item = &'a str> {
    query.iter().filter(move |(it, _)| it == key).map(|(_, value)| value.as_str())
}

/// The filter of a list: the name, the labels, and the status where there is one.
pub(super) struct Filter<'a> {
    name: Option<&'a str>,
    selector: Option<Selector>,
    statuses: Vec<&'a str>,
}

impl<'a> Filter<'a> {
    /// Reads what a list request asks for.
    pub(super) fn new(query: &'a Query) -> Result<Filter<'a>, Refused> {
        let selector = value(query, "label_selector").map(Selector::parse).transpose();
        let selector = selector.map_err(|it| Box::new(errors::invalid("label_selector", &it)))?;
        Ok(Filter { name: value(query, "name"), selector, statuses: values(query, "status").collect() })
    }

    /// Whether the list shows a resource.
    pub(super) fn shows(&self, name: &str, labels: &Labels, status: Option<&str>) -> bool {
        self.name.is_none_or(|it| it == name)
            && self.selector.as_ref().is_none_or(|it| it.matches(labels))
            && (self.statuses.is_empty() || status.is_none_or(|it| self.statuses.contains(&it)))
    }
}

/// Answers with one page out of all that a list holds, in the order of their ids unless the request wants another. `key` is the list's name.
pub(super) fn page(query: &Query, key: &str, mut all: Vec<Value>) -> Result<Answer, Refused> {
    let number = |key: &str, default: usize| match value(query, key).map(str::parse) {
        None => Ok(default),
        Some(Ok(number)) if number > 0 => Ok(number),
        Some(_) => Err(Box::new(errors::invalid(key, "it must be a positive number"))),
    };
    let (page, per_page) = (number("page", 1)?, number("per_page", PAGE)?);
    if per_page > LARGEST_PAGE {
        return Err(Box::new(errors::invalid("per_page", &format!("it must be at most {LARGEST_PAGE}"))));
    }
    sort(query, &mut all);
    let last = all.len().div_ceil(per_page).max(1);
    let shown = lists::page(&all, page, per_page);
    Ok(Answer::ok(&json!({
        key: shown,
        "meta": { "pagination": {
            "page": page,
            "per_page": per_page,
            "previous_page": (page > 1).then(|| (page - 1).min(last)),
            "next_page": (page < last).then_some(page + 1),
            "last_page": last,
            "total_entries": all.len(),
        } },
    })))
}

/// The list of which there is nothing.
pub(super) fn empty(key: &str) -> Answer {
    page(&[], key, Vec::new()).unwrap_or_else(|refused| *refused)
}

/// Sorts by each key of the request, the last of them first, so that the first counts most.
fn sort(query: &Query, all: &mut [Value]) {
    all.sort_by_key(|it| it["id"].as_u64());
    for by in Vec::from_iter(values(query, "sort")).into_iter().rev() {
        let (key, direction) = by.split_once(':').unwrap_or((by, "asc"));
        all.sort_by(|one, other| {
            let order = match (&one[key], &other[key]) {
                (Value::Number(one), Value::Number(other)) => one.as_u64().cmp(&other.as_u64()),
                (one, other) => one.as_str().cmp(&other.as_str()),
            };
            if direction == "desc" { order.reverse() } else { order }
        });
    }
}
