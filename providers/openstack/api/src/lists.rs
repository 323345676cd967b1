//! Lists, page by page: each page is asked for by the id of the last item before it.

use aerostat_sdk::http::Request;
use aerostat_sdk::{Result, pages};
use serde_json::Value;

/// How many items a page is asked for. Services may show less on one.
pub const PAGE: u32 = 1_000;

/// All items of a list that the answer shows in `field`, such as "ports". `request` has its filters; the size of a page and its beginning
/// are added.
///
/// # Errors
///
/// Every answer that is not a success, or not such a page.
pub fn listed(request: &Request, field: &str) -> Result<Vec<Value>> {
    pages(None, |marker: &Option<String>| {
        let (items, next) = shown_after(request.clone(), field, marker.as_deref(), PAGE)?;
        Ok((items, next.map(Some)))
    })
}

/// One page of at most `size` items, after the item with the id `marker`, and the marker of the next page if there is one. A service may show
/// fewer items on a page than it is asked for: only its link says whether more follow.
///
/// # Errors
///
/// Every answer that is not a success, or not such a page.
pub fn shown_after(
    request: Request,
    field: &str,
    marker: Option<&str>,
    size: u32,
) -> Result<(Vec<Value>, Option<String>)> {
    let request = request.query("limit", size);
    let request = match marker {
        Some(marker) => request.query("marker", marker),
        None => request,
    };
    let response = request.send()?;
    let mut page: Value = response.json()?;
    let Value::Array(items) = page[field].take() else {
        return Err(response.unreadable(&format_args!("it has no list {field}")));
    };
    let links = page[format!("{field}_links")].as_array();
    let has_next = links.is_some_and(|links| links.iter().any(|it| it["rel"] == "next"));
    let last = items.last().and_then(|it| it["id"].as_str()).map(str::to_owned);
    Ok((items, last.filter(|_| has_next)))
}
