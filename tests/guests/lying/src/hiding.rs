//! Requests at the endpoint "api" of which nothing is told.

use aerostat_sdk::http;

const API: &str = "api";

/// Two pages of a list.
pub(crate) fn pages(list: &str) {
    for page in [1, 2] {
        let _ = http::get(API, [list]).query("page", page).send();
    }
}

/// One object.
pub(crate) fn read(kind: &str, name: &str) {
    let _ = http::get(API, [kind, name]).send();
}

/// The end of one object.
pub(crate) fn deletion(kind: &str, name: &str) {
    let _ = http::delete(API, [kind, name]).send();
}
