//! Endpoints, and how their answers are to be understood.

use super::request::Request;
use super::response::{Refusals, Response, Rules};
use crate::Method;
use crate::bindings::host::aerostat::cloud::http as wire;

/// An endpoint, and how its answers are to be understood.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    endpoint: &'a str,
    rules: Rules,
}

impl<'a> Client<'a> {
    /// The endpoint with this name in the operator's config.
    #[must_use]
    pub const fn new(endpoint: &'a str) -> Self {
        let rules = Rules {
            refusals: |_| None,
            is_not_found: |_| true,
            is_busy: |response| matches!(response.status(), 409 | 423),
            limit_ends: None,
            words: None,
            reserve: None,
        };
        Self { endpoint, rules }
    }

    /// Asks `refusals` first about every answer that is not a success, 404 included.
    #[must_use]
    pub const fn refusals(self, refusals: Refusals) -> Self {
        Self { rules: Rules { refusals, ..self.rules }, ..self }
    }

    /// Says which answers mean [`Change::Busy`](crate::Change::Busy), instead of 409 and 423.
    #[must_use]
    pub const fn busy(self, is_busy: fn(&Response) -> bool) -> Self {
        Self { rules: Rules { is_busy, ..self.rules }, ..self }
    }

    /// Says which 404s come from the API itself: a proxy, or another server behind a wrong base URL, answers 404 as well. Any
    /// other 404 is `unavailable`. Unless set, every 404 counts as the API's.
    #[must_use]
    pub const fn not_found(self, is_not_found: fn(&Response) -> bool) -> Self {
        Self { rules: Rules { is_not_found, ..self.rules }, ..self }
    }

    /// Says where a body that refuses has the cloud's own words, by names and by numbers in lists: `["errors", "0", "reason"]`. They
    /// become part of the error that people read. Without it, and where nothing is there, they are looked for where most clouds
    /// have them: see [`Response::complaint`].
    ///
    /// ```
    /// use aerostat_sdk::{http::Client, testing::{Host, answer}};
    ///
    /// const API: Client<'_> = Client::new("api").words(&["problems", "0", "text"]);
    ///
    /// let host = Host::new().answers(|_| answer(422, r#"{ "problems": [{ "text": "label is taken" }] }"#));
    /// let error = host.run(|| API.get(["machines"]).send()).unwrap_err();
    /// assert_eq!(error.why(), "GET /machines at endpoint api: 422 label is taken");
    /// ```
    #[must_use]
    pub const fn words(self, path: &'static [&'static str]) -> Self {
        Self { rules: Rules { words: Some(path), ..self.rules }, ..self }
    }

    /// Names the header of a 429 without `retry-after` that says when the limit ends, in seconds since 1970.
    #[must_use]
    pub const fn limit_ends(self, header: &'static str) -> Self {
        Self { rules: Rules { limit_ends: Some(header), ..self.rules }, ..self }
    }

    /// Names the header that says how many requests of a quota are left, in clouds that give one back each second. With less
    /// than `requests` of them left, the endpoint pauses for as many seconds as are missing: others need the quota too.
    #[must_use]
    pub const fn reserve(self, header: &'static str, requests: u32) -> Self {
        Self { rules: Rules { reserve: Some((header, requests)), ..self.rules }, ..self }
    }

    /// A GET of `path` under the endpoint's base URL, by unescaped segments.
    pub fn get<S: Into<String>>(self, path: impl IntoIterator<Item = S>) -> Request {
        self.request(Method::Get, path)
    }

    /// A HEAD, as [`Client::get`].
    pub fn head<S: Into<String>>(self, path: impl IntoIterator<Item = S>) -> Request {
        self.request(Method::Head, path)
    }

    /// A POST, as [`Client::get`].
    pub fn post<S: Into<String>>(self, path: impl IntoIterator<Item = S>) -> Request {
        self.request(Method::Post, path)
    }

    /// A PUT, as [`Client::get`].
    pub fn put<S: Into<String>>(self, path: impl IntoIterator<Item = S>) -> Request {
        self.request(Method::Put, path)
    }

    /// A PATCH, as [`Client::get`].
    pub fn patch<S: Into<String>>(self, path: impl IntoIterator<Item = S>) -> Request {
        self.request(Method::Patch, path)
    }

    /// A DELETE, as [`Client::get`].
    pub fn delete<S: Into<String>>(self, path: impl IntoIterator<Item = S>) -> Request {
        self.request(Method::Delete, path)
    }

    /// A request by any method.
    pub fn request<S: Into<String>>(self, method: Method, path: impl IntoIterator<Item = S>) -> Request {
        let request = wire::Request {
            endpoint: self.endpoint.to_owned(),
            method,
            path: path.into_iter().map(Into::into).collect(),
            query: Vec::new(),
            headers: vec![("accept".to_owned(), "application/json".to_owned())],
            body: None,
        };
        Request::new(request, self.rules)
    }
}
