//! Lists in pages, cut by offset, as all lists of the service are.

use serde_json::{Value, json};

use crate::simulator::{Answer, lists};

/// How much a page holds if the request does not say.
const PAGE: usize = 20;

/// How much a page holds at most.
const LARGEST_PAGE: usize = 200;

/// Where the links between pages lead: to the public service, wherever the request came in.
const PUBLIC: &str = "https://api.digitalocean.com/v2";

/// One page of a list.
pub(super) struct Listing<'a> {
    page: usize,
    per_page: usize,
    /// The filters that the links between pages repeat.
    filters: Vec<(&'a str, &'a str)>,
}

/// The first value of a query key.
pub(super) fn value<'a>(query: &'a [(String, String)], key: &str) -> Option<&'a str> {
    query.iter().find(|(it, _)| it == key).map(|(_, value)| value.as_str())
}

impl<'a> Listing<'a> {
    /// Reads which page is asked for. `filters` are the query keys that choose from what the list holds.
    ///
    /// # Errors
    ///
    /// Fails with a sentence if the page is no positive number.
    pub(super) fn new(query: &'a [(String, String)], filters: &[&'a str]) -> Result<Listing<'a>, &'static str> {
        let number = |key: &str, default: usize| match value(query, key).map(str::parse) {
            None => Ok(default),
            Some(Ok(number)) if number > 0 => Ok(number),
            Some(_) => Err("page and per_page are positive numbers"),
        };
        Ok(Listing {
            page: number("page", 1)?,
            per_page: number("per_page", PAGE)?.min(LARGEST_PAGE),
            filters: filters.iter().filter_map(|key| Some((*key, value(query, key)?))).collect(),
        })
    }

    /// Answers with the page out of all that the list holds. `key` is the list's name, in the path as in the answer.
    pub(super) fn answer<T>(&self, key: &str, all: &[T], show: impl Fn(&T) -> Value) -> Answer {
        self.answer_in(key, key, all, show)
    }

    /// The same for a list that lies elsewhere.
    pub(super) fn answer_in<T>(&self, path: &str, key: &str, all: &[T], show: impl Fn(&T) -> Value) -> Answer {
        let page = lists::page(all, self.page, self.per_page);
        Answer::ok(&json!({
            key: page.iter().map(show).collect::<Vec<_>>(),
            "links": self.links(path, all.len()),
            "meta": { "total": all.len() },
        }))
    }

    /// The links to other pages, if there are any.
    fn links(&self, path: &str, total: usize) -> Value {
        let last = total.div_ceil(self.per_page).max(1);
        let mut pages = json!({});
        if self.page > 1 {
            pages["first"] = self.link(path, 1);
            pages["prev"] = self.link(path, (self.page - 1).min(last));
        }
        if self.page < last {
            pages["next"] = self.link(path, self.page + 1);
            pages["last"] = self.link(path, last);
        }
        if last == 1 && self.page == 1 { json!({}) } else { json!({ "pages": pages }) }
    }

    fn link(&self, path: &str, page: usize) -> Value {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.filters);
        query.append_pair("page", &page.to_string()).append_pair("per_page", &self.per_page.to_string());
        json!(format!("{PUBLIC}/{path}?{}", query.finish()))
    }
}
