//! Lists with numbered pages: `?page=2&per_page=50`, and what else clouds call these.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::request::Request;
use super::response::{ReadJson, Response};
use crate::Result;
use crate::json::{JsonError, Tree};

/// How a cloud numbers the pages of its lists. They are asked for by `page`, from 1 on, and `per_page`, unless it has other names.
///
/// Most clouds are said in two fields, and [`Self::USUAL`] has the rest. A cloud that answers
/// `{ "data": […], "page": 2, "pages": 3 }`, and takes `page_size` from 25 on, is
///
/// ```
/// use aerostat_sdk::http::{NumberedPages, PageEnd};
///
/// const PAGES: NumberedPages<'_> = NumberedPages {
///     smallest: 25,
///     largest: 500,
///     size: "page_size",
///     next: &["pages"],
///     end: PageEnd::Pages,
///     ..NumberedPages::USUAL
/// };
/// ```
///
/// and one that has a next page says so in a field:
///
/// ```
/// use aerostat_sdk::http::{self, NumberedPages};
/// use aerostat_sdk::testing::{Host, answer};
///
/// /// `{ "servers": […], "meta": { "pagination": { "next_page": 2 } } }`
/// const PAGES: NumberedPages<'_> = NumberedPages {
///     largest: 50,
///     next: &["meta", "pagination", "next_page"],
///     ..NumberedPages::USUAL
/// };
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
    /// The fewest items that a page can be asked for, where the cloud refuses less. Smaller pages are parts of one that is asked
    /// for with a multiple of their size.
    pub smallest: u32,
    /// The field that says whether a page follows, after the fields that it is in: as [`Self::end`] has it.
    pub next: &'a [&'a str],
    /// The meaning of the field [`Self::next`].
    pub end: PageEnd,
    /// The query's name for the number of the page.
    pub number: &'a str,
    /// The query's name for the size of the page.
    pub size: &'a str,
}

/// The way in which a page says that it is the last.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum PageEnd {
    /// The field says which page follows, and is null or not there on the last page. Without a field every page is the last.
    #[default]
    Next,
    /// The field is the number of all pages.
    Pages,
    /// The field is the number of all items.
    Items,
    /// No field: the last page is not full. A list that ends with a full page takes one request more.
    NotFull,
}

impl NumberedPages<'_> {
    /// The usual names, `page` and `per_page`, with pages of any size up to 100, all in one page.
    pub const USUAL: Self =
        Self { largest: 100, smallest: 1, next: &[], end: PageEnd::Next, number: "page", size: "per_page" };
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
        let mut items = Vec::new();
        let is_last = self.part(request, field, number, size, &mut appended(&mut items))?;
        Ok(NumberedPage { items, is_last })
    }

    /// Asks for the page that this one is a part of, and has the items read that belong to this one. Whether no page follows. Apart from
    /// the type of the items, so that a module has it once.
    fn part(self, request: Request, field: &str, number: u32, size: u32, read: ReadJson<'_>) -> Result<bool> {
        let size = size.clamp(1, self.largest);
        let parts = self.smallest.div_ceil(size).max(1);
        let whole = size.saturating_mul(parts).min(self.largest);
        let (before, part) = (number.saturating_sub(1) / parts, number.saturating_sub(1) % parts);
        let response = request.query(self.number, before + 1).query(self.size, whole).send()?;
        let mut tree = response.beginning()?;
        let (mut items, mut has_more) = (0, false);
        // What is no list is an error when it is read.
        if let Some(all) = tree.items(field) {
            items = all.len();
            let start = (part.saturating_mul(size) as usize).min(items);
            // The last part has the rest, also where the cloud shows more than it was asked for.
            has_more = part + 1 < parts && items - start > size as usize;
            if has_more {
                all.truncate(start + size as usize);
            }
            all.drain(..start);
        }
        tree.read_field(field, read).map_err(|it| response.unreadable(&it))?;
        Ok(self.is_last(&response, &tree, before + 1, whole, items)? && !has_more)
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
            let response = request.clone().query(self.number, number).query(self.size, self.largest).send()?;
            let tree = response.beginning()?;
            let (found, items) = tree.find(field, name, value).map_err(|it| response.unreadable(&it))?;
            if found.is_some() || self.is_last(&response, &tree, number, self.largest, items)? {
                return found.map(Tree::read).transpose().map_err(|it| response.unreadable(&it));
            }
            number += 1;
        }
    }

    /// Whether no page follows this one, which has so many items of `size`. A count that is not there is an error: a list must
    /// not end because a field is called otherwise.
    fn is_last(self, response: &Response, page: &Tree<'_>, number: u32, size: u32, items: usize) -> Result<bool> {
        let items = u64::try_from(items).unwrap_or(u64::MAX);
        let count = || {
            page.count_at(self.next)
                .ok_or_else(|| response.unreadable(&format!("no number in {}", self.next.join("."))))
        };
        Ok(match self.end {
            PageEnd::Next => self.next.is_empty() || page.is_null_at(self.next),
            PageEnd::Pages => u64::from(number) >= count()?,
            // An empty page before the end would be asked for without end.
            PageEnd::Items => u64::from(number) * u64::from(size) >= count()? || items == 0,
            PageEnd::NotFull => items < u64::from(size),
        })
    }

    /// The whole list, page by page.
    ///
    /// # Errors
    ///
    /// As [`Self::page`]: a list that was read in part is no list.
    pub fn all<T: DeserializeOwned>(self, request: &Request, field: &str) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.each(request, field, &mut appended(&mut all))?;
        Ok(all)
    }

    fn each(self, request: &Request, field: &str, read: ReadJson<'_>) -> Result<()> {
        let mut number = 1;
        while !self.part(request.clone(), field, number, self.largest, read)? {
            number += 1;
        }
        Ok(())
    }
}

/// Reads the items of a list to the end of this one.
fn appended<T: DeserializeOwned>(items: &mut Vec<T>) -> impl FnMut(&Tree<'_>) -> Result<(), JsonError> {
    |it| it.read().map(|mut it| items.append(&mut it))
}
