//! Lists that a cloud answers page by page.

use std::fmt::Debug;

use crate::{Error, Result};

/// Reads a whole list: asks for the page at `first`, and goes on with the cursor that each page ends with.
///
/// A cursor is whatever the cloud counts by: a page number, a marker, a token.
///
/// ```
/// use aerostat_sdk::pages;
///
/// let read = pages(1, |page| Ok((vec![format!("machine {page}")], (*page < 3).then_some(page + 1))));
/// assert_eq!(read, Ok(vec!["machine 1".to_owned(), "machine 2".to_owned(), "machine 3".to_owned()]));
/// ```
///
/// # Errors
///
/// Those of `page`: a list that was read in part is no list. [`Error::Unavailable`], if a page leads to itself.
pub fn pages<T, C: Debug + PartialEq>(
    first: C,
    mut page: impl FnMut(&C) -> Result<(Vec<T>, Option<C>)>,
) -> Result<Vec<T>> {
    let (mut all, mut cursor) = (Vec::new(), first);
    loop {
        let (items, next) = page(&cursor)?;
        all.extend(items);
        match next {
            None => return Ok(all),
            Some(next) if next == cursor => {
                return Err(Error::unavailable(format_args!(
                    "the list does not end: after {cursor:?} comes the same page"
                )));
            }
            Some(next) => cursor = next,
        }
    }
}

/// A place in one or several lists with numbered pages, one list after the other: what the cursor of
/// [`Instances::list`](crate::Instances::list) stands for in clouds that count pages.
///
/// The cursor holds the page size: another size would shift every page behind it.
///
/// ```
/// use aerostat_sdk::Position;
///
/// let lists = ["servers", "gpus"];
/// let at = Position::parse(None, &lists, 50)?;
/// assert_eq!((at.list, at.page), ("servers", 1));
/// let next = at.next(true).unwrap();
/// assert_eq!(next, "gpus:1:50");
/// assert_eq!(Position::parse(Some(&next), &lists, 50)?.next(true), None);
/// # Ok::<_, aerostat_sdk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Position<'a> {
    /// Which list it is in.
    pub list: &'a str,
    /// The number of the page, from 1 on.
    pub page: u32,
    size: u32,
    /// The lists that come then.
    later: &'a [&'a str],
}

impl<'a> Position<'a> {
    /// Where `cursor` is in these lists, or their beginning without one. There is at least one list.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a cursor that [`Self::next`] did not write for these lists and this page size.
    pub fn parse(cursor: Option<&str>, lists: &'a [&'a str], size: u32) -> Result<Self> {
        let Some(cursor) = cursor else {
            return Self::start(lists, size).ok_or_else(|| Error::invalid("there is no list"));
        };
        let parsed = || {
            let mut parts = cursor.split(':');
            let (list, page) = (parts.next()?, parts.next()?.parse().ok()?);
            let at = lists.iter().position(|it| *it == list)?;
            Some(Self { page, ..Self::start(&lists[at..], size)? })
        };
        parsed().filter(|it| it.cursor() == cursor).ok_or_else(|| {
            let what = lists.first().unwrap_or(&"");
            Error::invalid(format_args!("cursor {cursor:?} is not one of a list with {size} {what} a page"))
        })
    }

    /// The cursor of what comes after this page, if anything does.
    #[must_use]
    pub fn next(self, is_last: bool) -> Option<String> {
        let next = if is_last {
            Self::start(self.later, self.size)?
        } else {
            Self { page: self.page.saturating_add(1), ..self }
        };
        Some(next.cursor())
    }

    fn start(lists: &'a [&'a str], size: u32) -> Option<Self> {
        lists.split_first().map(|(list, later)| Self { list, page: 1, size, later })
    }

    fn cursor(self) -> String {
        format!("{}:{}:{}", self.list, self.page, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_found_again_by_its_cursor() {
        let lists = ["a", "b"];
        let at = Position::parse(Some("a:7:50"), &lists, 50).unwrap();
        assert_eq!(
            (at.list, at.page, at.next(false), at.next(true)),
            ("a", 7, Some("a:8:50".into()), Some("b:1:50".into()))
        );
        for cursor in ["a:7:51", "c:1:50", "a:x:50", "a:07:50", "a:7", "a:7:50:", ""] {
            let error = format!("cursor {cursor:?} is not one of a list with 50 a a page");
            assert_eq!(Position::parse(Some(cursor), &lists, 50), Err(Error::Invalid(error)));
        }
    }

    #[test]
    fn a_page_that_fails_fails_the_list() {
        let read = pages(1, |page| match page {
            1 => Ok((vec!["a"], Some(2))),
            _ => Err(Error::unavailable("no")),
        });
        assert_eq!(read, Err(Error::unavailable("no")));
    }

    #[test]
    fn a_page_that_leads_to_itself_is_an_error() {
        let read = pages("token", |it| Ok((vec!["a"], Some(*it))));
        assert_eq!(read, Err(Error::unavailable("the list does not end: after \"token\" comes the same page")));
    }
}
