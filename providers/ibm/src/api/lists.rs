//! Lists, page by page. A page ends with the URL of the next one, of which the token alone is taken: it names the public host, or any.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Error, Result, pages};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Items that a page is asked for: the most that the API takes.
pub(crate) const PAGE: u32 = 100;

/// The name of a page's token.
const START: &str = "start";

/// One page of a list, whose items are in `field`, and the token of the next one.
///
/// # Errors
///
/// Every answer that is not a success, or not such a page.
pub(crate) fn page<T: DeserializeOwned>(
    list: Request,
    field: &str,
    start: Option<&str>,
    limit: u32,
) -> Result<(Vec<T>, Option<String>)> {
    let request = list.query("limit", limit);
    let response = start.iter().fold(request, |it, start| it.query(START, start)).send()?;
    let items = response.json_in(field)?;
    let body: Value = response.json()?;
    let next = body["next"]["href"].as_str().map(start_of).transpose()?;
    Ok((items, next))
}

/// All items of a list.
///
/// # Errors
///
/// As [`page`]: a list that was read in part is no list.
pub(crate) fn all<T: DeserializeOwned>(list: &Request, field: &str) -> Result<Vec<T>> {
    pages(None, |start: &Option<String>| {
        let (items, next) = page(list.clone(), field, start.as_deref(), PAGE)?;
        Ok((items, next.map(Some)))
    })
}

/// The token in the URL of a next page.
///
/// # Errors
///
/// `unavailable`, if the URL has none.
fn start_of(href: &str) -> Result<String> {
    let query = href.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let start = query.split('&').find_map(|it| it.strip_prefix("start="));
    start
        .and_then(decoded)
        .filter(|it| !it.is_empty())
        .ok_or_else(|| Error::unavailable(format_args!("the next page of a list has no {START} in its URL")))
}

/// Text without its percent signs; `None` if it is no such text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adv_114_the_token_alone_is_taken_of_a_next_page() {
        for href in [
            "https://us-south.iaas.cloud.ibm.com/v1/instances?limit=100&start=a%2Fb%3D%3D",
            "http://169.254.169.254/latest?start=a%2Fb%3D%3D&generation=1&version=2019-01-01",
            "http://127.0.0.1/?start=a%2fb%3d%3D#start=c",
        ] {
            assert_eq!(start_of(href).as_deref(), Ok("a/b=="), "{href}");
        }
        for href in [
            "",
            "https://a.example/v1/instances",
            "https://a.example/?start=",
            "https://a.example/?start=%4",
            "?start=%ff",
        ] {
            assert!(matches!(start_of(href), Err(Error::Unavailable(_))), "{href}");
        }
    }
}
