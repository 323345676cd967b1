//! HTTP requests. The host checks them against the operator's rules, adds the credential, and sends them.
//!
//! A request names an endpoint of the operator's config, never a host, and is sent in one of three ways:
//!
//! ```no_run
//! # use aerostat_sdk::{Result, http};
//! # #[derive(serde::Deserialize)] struct Machine { id: String }
//! # #[derive(serde::Serialize)] struct Spec { size: String }
//! # fn example(id: &str, spec: &Spec) -> Result<()> {
//! let machine: Option<Machine> = http::get("api", ["machines", id]).find()?;             // read it, or None
//! let made: Machine = http::put("api", ["machines", id]).json(spec).send()?.json()?;     // write it, by its name
//! http::delete("api", ["machines", id]).send_or_gone()?;                                 // delete it
//! # Ok(()) }
//! ```
//!
//! A POST that makes something is sent with [`Request::create`] alone, by a [`Backend`](crate::backend::Backend): if its answer
//! is lost, sending it again would make a second one.
//!
//! Statuses are sorted into errors here, once for all clouds: 400 and 422 are `invalid`; 401 and 403 `denied`; 404 is
//! `None` for a read; 429 and 503 with `retry-after` are `retry-after`; everything else that is not a success is
//! `unavailable`. Where a cloud differs, its provider says so in one place: its [`Client`]. A cloud
//! with codes of its own for what it refuses has a table from them to [`Refused`], which does not look at statuses.

mod client;
mod numbered;
mod refusal;
mod request;
mod response;
mod sorted;

pub use self::client::Client;
pub use self::numbered::{NumberedPage, NumberedPages, PageEnd};
pub use self::request::{Attempt, Request};
pub use self::response::{Refusals, Response};
pub use self::sorted::Refused;
pub use crate::Method;
pub use crate::bindings::host::aerostat::cloud::http::Location;

use std::time::Duration;

use crate::host;

/// A GET of `path` under the endpoint's base URL, by unescaped segments.
pub fn get<S: Into<String>>(endpoint: &str, path: impl IntoIterator<Item = S>) -> Request {
    Client::new(endpoint).get(path)
}

/// A HEAD, as [`get`].
pub fn head<S: Into<String>>(endpoint: &str, path: impl IntoIterator<Item = S>) -> Request {
    Client::new(endpoint).head(path)
}

/// A POST, as [`get`].
pub fn post<S: Into<String>>(endpoint: &str, path: impl IntoIterator<Item = S>) -> Request {
    Client::new(endpoint).post(path)
}

/// A PUT, as [`get`].
pub fn put<S: Into<String>>(endpoint: &str, path: impl IntoIterator<Item = S>) -> Request {
    Client::new(endpoint).put(path)
}

/// A PATCH, as [`get`].
pub fn patch<S: Into<String>>(endpoint: &str, path: impl IntoIterator<Item = S>) -> Request {
    Client::new(endpoint).patch(path)
}

/// A DELETE, as [`get`].
pub fn delete<S: Into<String>>(endpoint: &str, path: impl IntoIterator<Item = S>) -> Request {
    Client::new(endpoint).delete(path)
}

/// Asks the host to send nothing more to this endpoint for `pause`, at most an hour: the cloud throttles without saying
/// for how long, or a quota is nearly used up. Reads wait too. `reason` is for a person.
///
/// Not for an answer that is an error anyway and says when to come back: that is [`Error::retry_after`](crate::Error::retry_after).
///
/// ```
/// # use std::time::Duration;
/// # use aerostat_sdk::{http, testing::Host};
/// # let host = Host::new();
/// # host.run(|| {
/// http::throttle("api", Duration::from_secs(30), "12 of 3600 requests are left");
/// # });
/// # assert_eq!(host.throttles(), ["api 30000 ms: 12 of 3600 requests are left"]);
/// ```
pub fn throttle(endpoint: &str, pause: Duration, reason: &str) {
    let milliseconds = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX);
    host::throttle(endpoint, milliseconds, reason);
}

/// Which endpoint, path and query an absolute URL in an answer stands for; `None` if it belongs to no endpoint. Nothing is
/// sent, and nothing allowed: go on with [`Client::request`] and [`Request::query`].
#[must_use]
pub fn resolve_url(url: &str) -> Option<Location> {
    host::resolve_url(url)
}

#[cfg(test)]
mod tests;
