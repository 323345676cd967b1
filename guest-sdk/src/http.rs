//! The one way out. The host decides, attaches the credential, and sends.
//!
//! A request names an endpoint of the operator's config, never a host, and asks in one of three ways:
//!
//! ```no_run
//! # use aerostat_sdk::{Result, http};
//! # #[derive(serde::Deserialize)] struct Machine { id: String }
//! # #[derive(serde::Serialize)] struct Spec { size: String }
//! # fn example(id: &str, spec: &Spec) -> Result<()> {
//! let machine: Option<Machine> = http::get("api", ["machines", id]).find()?;             // is it there?
//! let made: Machine = http::post("api", ["machines"]).json(spec).send()?.json()?;        // do it
//! http::delete("api", ["machines", id]).send_or_gone()?;                                 // make sure it is gone
//! # Ok(()) }
//! ```
//!
//! Statuses are sorted into errors here, once for all clouds: 400 and 422 are `invalid`; 401 and 403 `denied`; 404 is
//! the answer to "is it there?"; 429 and 503 with `retry-after` are `retry-after`; everything else that is not a
//! success is `unavailable`. Where a cloud differs, its provider says so in one place: [`Client::refusals`].

mod refusal;
mod response;
mod within;

pub use self::response::{Refusals, Response};
pub use crate::Method;
pub use crate::bindings::host::aerostat::cloud::http::Location;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::host::aerostat::cloud::http as wire;
use crate::{Change, Error, Result, host};

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
/// Not for an answer that is an error anyway and says when to come back: that is [`Error::retry_after`].
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

/// Whether an answer says that its object is still carrying out an earlier change.
pub type IsBusy = fn(&Response) -> bool;

/// An endpoint, and how its answers are to be understood.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    endpoint: &'a str,
    refusals: Refusals,
    is_busy: IsBusy,
}

impl<'a> Client<'a> {
    /// The endpoint with this name in the operator's config.
    #[must_use]
    pub const fn new(endpoint: &'a str) -> Self {
        Self { endpoint, refusals: |_| None, is_busy: |response| matches!(response.status(), 409 | 423) }
    }

    /// Asks `refusals` first about every answer that is not a success, 404 included.
    #[must_use]
    pub const fn refusals(self, refusals: Refusals) -> Self {
        Self { refusals, ..self }
    }

    /// Says which answers mean [`Change::Busy`], in the place of 409 and 423.
    #[must_use]
    pub const fn busy(self, is_busy: IsBusy) -> Self {
        Self { is_busy, ..self }
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
        Request { request, refusals: self.refusals, is_busy: self.is_busy, broken: None }
    }
}

/// What became of a request that must not be sent twice.
#[derive(Debug)]
pub enum Attempt {
    /// The cloud answered.
    Answered(Response),
    /// It was perhaps carried out, and the answer was lost: why, for a person.
    Lost(String),
}

/// A request that was not sent yet.
#[derive(Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    request: wire::Request,
    refusals: Refusals,
    is_busy: IsBusy,
    /// Why it cannot be sent.
    broken: Option<Error>,
}

impl Request {
    /// Adds a query parameter, unescaped.
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.request.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets a header: `accept`, `content-type`, `if-match`, `if-none-match`, `idempotency-key`, `prefer`, and what the
    /// operator added to the endpoint. Others are refused by the host.
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.request.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.request.headers.push((name.to_ascii_lowercase(), value.to_string()));
        self
    }

    /// Sets the body. Build it from structs, so that equal values make equal bytes.
    pub fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.request.body = Some(wire::Body::Bytes(bytes)),
            Err(error) => {
                let asked = asked(&self.request);
                self.broken = Some(Error::invalid(format_args!("{asked}: the body cannot be written: {error}")));
            }
        }
        self.header("content-type", "application/json")
    }

    /// Sets the body to a form of names and values in this order, unescaped: the host writes it, with its content type. Where
    /// an endpoint has an operation in its parameters, no other body leaves.
    ///
    /// ```
    /// # use aerostat_sdk::{Result, http};
    /// # fn example() -> Result<()> {
    /// http::post("compute", [""; 0]).form([("Action", "DescribeInstances"), ("MaxResults", "100")]).send()?;
    /// # Ok(()) }
    /// ```
    pub fn form<N: Into<String>, V: ToString>(mut self, pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.to_string()));
        self.request.body = Some(wire::Body::Form(pairs.collect()));
        self
    }

    /// Is it there? The object, or `None` if the cloud answers 404.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success, and a body that is not a `T`.
    pub fn find<T: DeserializeOwned>(self) -> Result<Option<T>> {
        self.find_response()?.map(|it| it.json()).transpose()
    }

    /// Is it there? The object in this field of the answer, for clouds that answer `{ "server": { … } }`; `None` if the cloud
    /// answers 404.
    ///
    /// # Errors
    ///
    /// As [`Self::find`].
    pub fn find_in<T: DeserializeOwned>(self, field: &str) -> Result<Option<T>> {
        self.find_response()?.map(|it| it.json_in(field)).transpose()
    }

    /// Does it, and answers with what the cloud said.
    ///
    /// # Errors
    ///
    /// Every answer that is not a success; 404 is `unavailable`: what was there a moment ago is searched again.
    pub fn send(self) -> Result<Response> {
        self.answer()?.accepted()
    }

    /// Makes sure that it is gone: 404 is a success.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success.
    pub fn send_or_gone(self) -> Result<()> {
        self.find_response().map(drop)
    }

    /// Changes something that is there, or says that the cloud is still carrying out an earlier change of it.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success.
    pub fn change(self) -> Result<Change<Response>> {
        let is_busy = self.is_busy;
        let response = self.answer()?;
        if is_busy(&response) {
            return Ok(Change::Busy(response.complaint()));
        }
        response.accepted().map(Change::Done)
    }

    /// Makes sure that it is gone, or says that the cloud is still carrying out an earlier change of it.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success, but for 404.
    pub fn change_or_gone(self) -> Result<Change<()>> {
        let (is_busy, refusals) = (self.is_busy, self.refusals);
        let response = self.answer()?;
        match response.status() {
            404 => refusals(&response).map_or(Ok(Change::Done(())), Err),
            _ if is_busy(&response) => Ok(Change::Busy(response.complaint())),
            _ => response.accepted().map(|_| Change::Done(())),
        }
    }

    /// Whatever the cloud answers, unsorted: for a status that says something here which it says nowhere else. Go on
    /// with [`Response::accepted`].
    ///
    /// # Errors
    ///
    /// What kept the host from getting an answer.
    pub fn answer(self) -> Result<Response> {
        match self.attempt()? {
            Attempt::Answered(response) => Ok(response),
            Attempt::Lost(why) => Err(Error::Unavailable(why)),
        }
    }

    /// Whatever the cloud answers, unsorted, or that the answer was lost: for a request that must not be sent twice, and
    /// may have been carried out.
    ///
    /// # Errors
    ///
    /// What kept the host from sending it. It was not carried out.
    pub fn attempt(self) -> Result<Attempt> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let asked = asked(&self.request);
        match host::send(&self.request) {
            Ok(response) => Ok(Attempt::Answered(Response::new(asked, response, self.refusals))),
            Err(wire::Error::Interrupted(why)) => Ok(Attempt::Lost(refusal::lost(&asked, &why))),
            Err(error) => Err(refusal::unanswered(&asked, error)),
        }
    }

    /// Is it there? The answer, for a body that [`Response::json`] does not read; `None` if the cloud answers 404.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success.
    pub fn find_response(self) -> Result<Option<Response>> {
        let refusals = self.refusals;
        let response = self.answer()?;
        match response.status() {
            404 => refusals(&response).map_or(Ok(None), Err),
            _ => response.accepted().map(Some),
        }
    }
}

/// A request for a person: "GET /machines/42 at endpoint api". Without its query.
fn asked(request: &wire::Request) -> String {
    let method = match request.method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Patch => "PATCH",
        Method::Delete => "DELETE",
    };
    format!("{method} /{} at endpoint {}", request.path.join("/"), request.endpoint)
}

#[cfg(test)]
mod tests;
