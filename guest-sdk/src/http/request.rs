//! Requests, and the ways to send them.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::refusal;
use super::response::{ReadJson, Response, Rules, into};
use crate::bindings::host::aerostat::cloud::http as wire;
use crate::{Change, Error, Method, Result, host};

/// The result of a request that must not be sent twice.
#[derive(Debug)]
pub enum Attempt {
    /// The cloud answered.
    Answered(Response),
    /// It was perhaps carried out, and the answer was lost: why, for a person.
    Lost(String),
}

/// A request that was not sent yet.
#[derive(Clone, Debug)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    request: wire::Request,
    rules: Rules,
    /// Why it cannot be sent.
    broken: Option<Error>,
}

impl Request {
    pub(super) fn new(request: wire::Request, rules: Rules) -> Self {
        Self { request, rules, broken: None }
    }

    /// Adds query parameters, unescaped.
    pub fn queries(self, parameters: &[(&str, &str)]) -> Self {
        parameters.iter().fold(self, |it, (name, value)| it.query(name, value))
    }

    /// Adds a query parameter, unescaped.
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.request.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Sets a header: `accept`, `content-type`, `if-match`, `if-none-match`, `idempotency-key`, `prefer`, and what
    /// [`Endpoint::header`](crate::Endpoint::header) describes and the operator allows. Others are refused by the host.
    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.request.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.request.headers.push((name.to_ascii_lowercase(), value.to_string()));
        self
    }

    /// Sets the body. Build it from structs, so that equal values make equal bytes.
    pub fn json(self, body: &impl Serialize) -> Self {
        self.written(serde_json::to_vec(body))
    }

    /// Apart from the type of the body, so that a module has it once.
    fn written(mut self, body: serde_json::Result<Vec<u8>>) -> Self {
        match body {
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

    /// Reads an object; `None` if the cloud answers 404.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success, and a body that is not a `T`.
    pub fn find<T: DeserializeOwned>(self) -> Result<Option<T>> {
        self.find_response()?.map(|it| it.json()).transpose()
    }

    /// Reads the object in this field of the answer, for clouds that answer `{ "server": { … } }`; `None` if the cloud answers
    /// 404.
    ///
    /// # Errors
    ///
    /// As [`Self::find`].
    pub fn find_in<T: DeserializeOwned>(self, field: &str) -> Result<Option<T>> {
        let mut found = None;
        self.find_read(field, &mut into(&mut found))?;
        Ok(found)
    }

    fn find_read(self, field: &str, read: ReadJson<'_>) -> Result<()> {
        self.find_response()?.map_or(Ok(()), |it| it.read_in(field, read))
    }

    /// Sends it, and returns the cloud's answer.
    ///
    /// # Errors
    ///
    /// Every answer that is not a success; 404 is `unavailable`: the next call looks for the object again.
    pub fn send(self) -> Result<Response> {
        self.answer()?.accepted()
    }

    /// Deletes an object: 404 is a success.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success.
    pub fn send_or_gone(self) -> Result<()> {
        self.find_response().map(drop)
    }

    /// Changes an object, or says that the cloud is still carrying out an earlier change of it.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success.
    pub fn change(self) -> Result<Change<Response>> {
        let response = self.answer()?;
        if response.is_busy() {
            return Ok(Change::Busy(response.complaint()));
        }
        response.accepted().map(Change::Done)
    }

    /// Deletes an object, or says that the cloud is still carrying out an earlier change of it.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success, but for 404.
    pub fn change_or_gone(self) -> Result<Change<()>> {
        let response = self.answer()?;
        if response.status() != 404 && response.is_busy() {
            return Ok(Change::Busy(response.complaint()));
        }
        response.found().map(|_| Change::Done(()))
    }

    /// Whatever the cloud answers, as no error: for a status that has a special meaning here. Go on with
    /// [`Response::accepted`].
    ///
    /// # Errors
    ///
    /// The reason for which the host got no answer.
    pub fn answer(self) -> Result<Response> {
        match self.attempt()? {
            Attempt::Answered(response) => Ok(response),
            Attempt::Lost(why) => Err(Error::Unavailable(why)),
        }
    }

    /// Whatever the cloud answers, as no error, or that the answer was lost: for a request that must not be sent twice, and
    /// may have been carried out.
    ///
    /// # Errors
    ///
    /// The reason for which the host did not send it. It was not carried out.
    pub fn attempt(self) -> Result<Attempt> {
        if let Some(broken) = self.broken {
            return Err(broken);
        }
        let asked = asked(&self.request);
        match host::send(&self.request) {
            Ok(response) => {
                let response = Response::new(asked, response, self.rules);
                if let Some((pause, why)) = response.pause_for_reserve() {
                    let milliseconds = u32::try_from(pause.as_millis()).unwrap_or(u32::MAX);
                    host::throttle(&self.request.endpoint, milliseconds, &why);
                }
                Ok(Attempt::Answered(response))
            }
            Err(wire::Error::Interrupted(why)) => Ok(Attempt::Lost(refusal::lost(&asked, &why))),
            Err(error) => Err(refusal::unanswered(&asked, error)),
        }
    }

    /// Reads an answer that [`Response::json`] cannot parse; `None` if the cloud answers 404.
    ///
    /// # Errors
    ///
    /// Every other answer that is not a success.
    pub fn find_response(self) -> Result<Option<Response>> {
        self.answer()?.found()
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
