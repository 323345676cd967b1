//! A giver of tokens as OAuth has them: the way to it, and the requests that it gets.

use std::path::PathBuf;

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use zeroize::Zeroizing;

use super::form::form;
use super::no_token::NoToken;
use super::token_client::TokenClient;
use super::transport::Connect;
use crate::addresses::AllowedAddresses;
use crate::base_url::{BaseUrl, Origin};
use crate::canonical::{FORM, PathPattern};
use crate::endpoint::{Endpoint, EndpointLimits, Rule};
use crate::error::EgressError;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::OwnRequest;
use crate::proxy::Proxy;
use crate::request::Method;

/// The largest answer that is read.
const ANSWER_BYTES: usize = 64 << 10;

/// The content type of JSON.
pub(super) const JSON: &str = "application/json";

/// The way to one giver of tokens.
pub(super) struct TokenGiver {
    client: TokenClient,
    origin: Origin,
}

impl TokenGiver {
    /// A giver at a URL: `POST` alone.
    pub(super) fn new(
        credential: &str,
        url: BaseUrl,
        addresses: AllowedAddresses,
        ca_file: Option<PathBuf>,
        proxy: Option<Proxy>,
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let origin = url.origin();
        let endpoint = endpoint(&format!("tokens of credential {credential}"), url, &[Method::Post]);
        let endpoint = Endpoint { addresses, ca_file, proxy, ..endpoint };
        Ok(Self { client: TokenClient::new(endpoint, outside)?, origin })
    }

    /// A service that gives tokens to a machine.
    pub(super) fn of_machine(
        name: &str,
        url: BaseUrl,
        methods: &[Method],
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let origin = url.origin();
        Ok(Self { client: TokenClient::to_key_service(endpoint(name, url, methods), outside)?, origin })
    }

    /// Its name in sentences.
    pub(super) fn place(&self) -> String {
        self.origin.to_string()
    }

    pub(super) async fn post_form(&self, pairs: &[(&str, &str)]) -> Result<CompleteAnswer, String> {
        let accept = (ACCEPT, HeaderValue::from_static(JSON));
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(FORM)), accept]);
        self.send(Method::Post, &[], String::new(), headers, Bytes::copy_from_slice(form(pairs).as_bytes())).await
    }

    /// Posts JSON with a token.
    pub(super) async fn post_json(&self, token: &str, body: &serde_json::Value) -> Result<CompleteAnswer, String> {
        let json = HeaderValue::from_static(JSON);
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, json), (AUTHORIZATION, bearer(token)?)]);
        self.send(Method::Post, &[], String::new(), headers, body.to_string().into()).await
    }

    pub(super) async fn get(&self, pairs: &[(&str, &str)], headers: HeaderMap) -> Result<CompleteAnswer, String> {
        self.send(Method::Get, &[], form(pairs).to_string(), headers, Bytes::new()).await
    }

    /// The token in its answer, or why that is none.
    pub(super) fn given<T>(&self, answer: Result<T, String>) -> Result<T, NoToken> {
        answer.map_err(|because| NoToken::Failed(format!("the answer of {} {because}", self.place())))
    }

    /// Sends one request, to a path under the giver's URL. The error is a sentence without its full stop.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &[&str],
        query: String,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<CompleteAnswer, String> {
        let request = OwnRequest {
            method,
            path: path.iter().map(|&it| it.to_owned()).collect(),
            is_folder: false,
            query,
            headers,
            body,
        };
        self.client.send(request).await.map_err(|failure| match failure {
            AnswerFailure::Denied(denied) => denied.to_string(),
            AnswerFailure::Paused(after) => format!("{} wants to be left alone for {after:?}", self.origin),
            AnswerFailure::Unreachable(because) | AnswerFailure::Interrupted(because) => because,
        })
    }
}

/// The header's value with a token.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, String> {
    let bearer = Zeroizing::new(format!("Bearer {token}"));
    let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| "the token is no header".to_owned())?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

fn endpoint(name: &str, url: BaseUrl, methods: &[Method]) -> Endpoint {
    let all = PathPattern::parse("/**").expect("it is a pattern");
    Endpoint {
        allow: vec![Rule::new(methods, [all])],
        limits: EndpointLimits { response_bytes: ANSWER_BYTES, ..EndpointLimits::default() },
        ..Endpoint::new(name, url)
    }
}

/// Whether a person has to do something about an answer with this status.
pub(super) fn is_for_a_person(status: StatusCode) -> bool {
    status.is_client_error() && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status)
}
