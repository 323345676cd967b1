//! Lists with numbered pages: `?page=2&per_page=50`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::request::Request;
use crate::json::Tree;
use crate::{Result, pages};

/// How a cloud numbers the pages of its lists. They are asked for by `page`, from 1 on, and `per_page`.
///
/// ```
/// use aerostat_sdk::http::{self, NumberedPages};
/// use aerostat_sdk::testing::{Host, answer};
///
/// /// `{ "servers": […], "meta": { "pagination": { "next_page": 2 } } }`
/// const PAGES: NumberedPages<'_> = NumberedPages { largest: 50, next: &["meta", "pagination", "next_page"] };
///
/// let host = Host::new().answers(|request| match request.query[0].1.as_str() {
///     "1" => answer(200, r#"{ "servers": ["a", "b"], "meta": { "pagination": { "next_page": 2 } } }"#),
///     _ => answer(200, r#"{ "servers": ["c"], "meta": { "pagination": { "next_page": null } } }"#),
/// });
/// let all: Vec<String> = host.run(|| PAGES.all(&http::get("api", ["servers"]), "servers")).unwrap();
/// assert_eq!(all, ["a", "b", "c"]);
/// assert_eq!(host.requests()[1], "GET api /servers?page=2&per_page=50");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NumberedPages<'a> {
    /// The most items that one page holds.
    pub largest: u32,
    /// The field that says which page follows, after the fields that it is in. It is null or not there on the last page.
    pub next: &'a [&'a str],
}

/// One page of a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NumberedPage<T> {
    /// The items on it.
    pub items: Vec<T>,
    /// Whether no page follows.
    pub is_last: bool,
}

impl NumberedPages<'_> {
    /// The page with this number, of `size` items at most, which the answer shows in `field`.
    ///
    /// # Errors
    ///
    /// Every answer that is not a success, or not such a page.
    pub fn page<T: DeserializeOwned>(
        self,
        request: Request,
        field: &str,
        number: u32,
        size: u32,
    ) -> Result<NumberedPage<T>> {
        let response = request.query("page", number).query("per_page", size).send()?;
        let tree = Tree::beginning(response.body()).map_err(|it| response.unreadable(&it))?;
        let items = tree.read_field(field).map_err(|it| response.unreadable(&it))?;
        Ok(NumberedPage { items, is_last: self.is_last(&tree) })
    }

    /// The first object of the list in `field` in which the field `name` has this value: page by page, as [`Self::all`] asks
    /// for them, until it is found. It takes less time than reading all of them: nothing is made of the others.
    ///
    /// # Errors
    ///
    /// Every answer that is not a success, or not such a page.
    pub fn find(self, request: &Request, field: &str, name: &str, value: &Value) -> Result<Option<Value>> {
        let mut number = 1_u32;
        loop {
            let response = request.clone().query("page", number).query("per_page", self.largest).send()?;
            let tree = Tree::beginning(response.body()).map_err(|it| response.unreadable(&it))?;
            let found = tree.find(field, name, value).map_err(|it| response.unreadable(&it))?;
            if found.is_some() || self.is_last(&tree) {
                return found.map(Tree::read).transpose().map_err(|it| response.unreadable(&it));
            }
            number += 1;
        }
    }

    /// Whether no page follows.
    fn is_last(self, page: &Tree<'_>) -> bool {
        self.next.is_empty() || page.is_null_at(self.next)
    }

    /// The whole list, page by page.
    ///
    /// # Errors
    ///
    /// As [`Self::page`]: a list that was read in part is no list.
    pub fn all<T: DeserializeOwned>(self, request: &Request, field: &str) -> Result<Vec<T>> {
        pages(1, |number| {
            let page = self.page(request.clone(), field, *number, self.largest)?;
            Ok((page.items, (!page.is_last).then(|| number + 1)))
        })
    }
}
