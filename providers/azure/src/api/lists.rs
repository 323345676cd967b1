//! Lists, page by page. A page ends with the URL of the next one, of which the token alone is taken.

use aerostat_sdk::http;
use aerostat_sdk::{Error, Method, Result, pages};
use serde_json::Value;

use super::endpoint::{AzureApi, VERSION};
use crate::id::ResourceId;

/// The names of a page's token in URLs: `$skiptoken`, in any case.
const TOKEN: &str = "$skiptoken";

/// One page of a list, and the token of the next one.
///
/// # Errors
///
/// Every answer that is not a success, or not such a page.
pub(crate) fn page(
    api: AzureApi,
    list: &ResourceId,
    queries: &[(&str, &str)],
    token: Option<&str>,
) -> Result<Option<(Vec<Value>, Option<String>)>> {
    let request = api.at(Method::Get, list.path()).queries(queries);
    let request = token.iter().fold(request, |it, token| it.query(TOKEN, token));
    let Some(response) = request.find_response()? else { return Ok(None) };
    let mut page: Value = response.json()?;
    let Value::Array(items) = page["value"].take() else {
        return Err(response.unreadable(&"it has no list of values"));
    };
    let next = page["nextLink"].as_str().filter(|it| !it.is_empty()).map(token_of).transpose()?;
    Ok(Some((items, next)))
}

/// All items of a list; none where what it is a list of is not there.
///
/// # Errors
///
/// As [`page`].
pub(crate) fn all(api: AzureApi, list: &ResourceId, queries: &[(&str, &str)]) -> Result<Vec<Value>> {
    pages(None, |token: &Option<String>| {
        let (items, next) = page(api, list, queries, token.as_deref())?.unwrap_or_default();
        Ok((items, next.map(Some)))
    })
}

/// The token in the URL of a next page.
///
/// # Errors
///
/// `unavailable`, if the URL leads to another host, or has no token.
fn token_of(url: &str) -> Result<String> {
    let location = http::resolve_url(url).ok_or_else(|| {
        Error::unavailable("the next page of a list is at another host than the endpoint's, and is not asked for")
    })?;
    let token = location.query.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(TOKEN));
    token
        .map(|(_, token)| token)
        .ok_or_else(|| Error::unavailable(format_args!("the next page of a list has no {TOKEN} beside {VERSION}")))
}
