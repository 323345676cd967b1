//! The way to a giver of Google's tokens: one URL that is asked for tokens.

use bytes::Bytes;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::super::form::form;
use super::super::token_client::TokenClient;
use super::super::transport::Connect;
use super::answers::ANSWER_BYTES;
use super::settings::GoogleSettings;
use crate::base_url::{BaseUrl, CanonicalHost, Origin, Scheme};
use crate::canonical::{FORM, PathPattern};
use crate::endpoint::{Endpoint, EndpointLimits, Rule};
use crate::error::EgressError;
use crate::key_service::KeyServiceUrl;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::OwnRequest;
use crate::request::Method;

/// The header by which a client and the metadata server know each other ("About VM metadata" of the Compute Engine documentation).
pub(super) const METADATA_FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");
/// Its value.
pub(super) const GOOGLE: HeaderValue = HeaderValue::from_static("Google");
/// Where the metadata server has the token of the machine's service account.
const METADATA_TOKEN: &str = "computeMetadata/v1/instance/service-accounts/default/token";

/// The way to one giver of tokens.
pub(super) struct TokenGiver {
    client: TokenClient,
    origin: Origin,
}

impl TokenGiver {
    /// A URL that a file names: `POST` alone.
    pub(super) fn new(
        credential: &str,
        url: BaseUrl,
        settings: &GoogleSettings,
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let origin = url.origin();
        let endpoint = Endpoint {
            addresses: settings.addresses.clone(),
            ca_file: settings.ca_file.clone(),
            proxy: settings.proxy.clone(),
            ..endpoint(&format!("tokens of credential {credential}"), url, Method::Post)
        };
        Ok(Self { client: TokenClient::new(endpoint, outside)?, origin })
    }

    /// The metadata server: `GET` alone.
    pub(super) fn metadata(credential: &str, url: &KeyServiceUrl, outside: &dyn Connect) -> Result<Self, EgressError> {
        let url = url.base_url().clone().with_path(METADATA_TOKEN.split('/').map(str::to_owned).collect());
        let origin = url.origin();
        let endpoint = endpoint(&format!("metadata server of credential {credential}"), url, Method::Get);
        Ok(Self { client: TokenClient::to_key_service(endpoint, outside)?, origin })
    }

    /// Its name in sentences.
    pub(super) fn place(&self) -> String {
        self.origin.to_string()
    }

    pub(super) async fn post_form(&self, pairs: &[(&str, &str)]) -> Result<CompleteAnswer, String> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(FORM))]);
        self.send(Method::Post, headers, Bytes::copy_from_slice(form(pairs).as_bytes())).await
    }

    /// Posts JSON with a token.
    pub(super) async fn post_json(&self, token: &str, body: &serde_json::Value) -> Result<CompleteAnswer, String> {
        let bearer = Zeroizing::new(format!("Bearer {token}"));
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|_| "the token is no header".to_owned())?;
        bearer.set_sensitive(true);
        let json = HeaderValue::from_static("application/json");
        self.send(
            Method::Post,
            HeaderMap::from_iter([(CONTENT_TYPE, json), (AUTHORIZATION, bearer)]),
            body.to_string().into(),
        )
        .await
    }

    pub(super) async fn get(&self) -> Result<CompleteAnswer, String> {
        self.send(Method::Get, HeaderMap::from_iter([(METADATA_FLAVOR, GOOGLE)]), Bytes::new()).await
    }

    /// The error is a sentence without its full stop.
    async fn send(&self, method: Method, headers: HeaderMap, body: Bytes) -> Result<CompleteAnswer, String> {
        let request = OwnRequest { method, path: Vec::new(), is_folder: false, query: String::new(), headers, body };
        self.client.send(request).await.map_err(|failure| match failure {
            AnswerFailure::Denied(denied) => denied.to_string(),
            AnswerFailure::Paused(after) => format!("{} wants to be left alone for {after:?}", self.origin),
            AnswerFailure::Unreachable(because) | AnswerFailure::Interrupted(because) => because,
        })
    }
}

fn endpoint(name: &str, url: BaseUrl, method: Method) -> Endpoint {
    let all = PathPattern::parse("/**").expect("it is a pattern");
    Endpoint {
        allow: vec![Rule::new([method], [all])],
        limits: EndpointLimits { response_bytes: ANSWER_BYTES, ..EndpointLimits::default() },
        ..Endpoint::new(name, url)
    }
}

/// The URL of a giver of tokens that a file names: Google's own, or of one of the `listed` origins. The error continues "the file
/// names a giver of tokens that".
pub(super) fn permitted(url: &str, listed: &[Origin]) -> Result<BaseUrl, String> {
    let url = BaseUrl::parse(url).map_err(|because| format!("is no URL of one: {because}"))?;
    let origin = url.origin();
    let is_googles = matches!(origin.host(), CanonicalHost::Name(host) if host.ends_with(".googleapis.com"))
        && origin.scheme() == Scheme::Https
        && origin.port() == 443;
    if is_googles || listed.contains(&origin) {
        return Ok(url);
    }
    Err(format!(
        "is not Google's ({origin}), and secrets go to Google alone; if it is right, list the origin in `google.tokenOrigins`"
    ))
}

/// Whether a person has to do something about an answer with this status.
pub(super) fn is_for_a_person(status: StatusCode) -> bool {
    status.is_client_error() && ![StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS].contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_urls_of_others_are_refused_unless_they_are_listed() {
        let listed = [Origin::parse("https://sts.example.com").unwrap()];
        for url in [
            "https://sts.googleapis.com/v1/token",
            "https://sts.europe-west4.rep.googleapis.com/v1/token",
            "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.example:generateAccessToken",
            "https://sts.example.com/token",
        ] {
            assert!(permitted(url, &listed).is_ok(), "{url}");
        }
        for url in [
            "http://sts.googleapis.com/v1/token",
            "https://sts.googleapis.com:8443/v1/token",
            "https://googleapis.com.example/v1/token",
            "https://evilgoogleapis.com/v1/token",
            "https://a@sts.googleapis.com/v1/token",
            "https://169.254.169.254/v1/token",
            "http://127.0.0.1:8080/token",
            "token",
        ] {
            assert!(permitted(url, &listed).is_err(), "{url}");
        }
    }
}
