//! The way to Keystone: one request for a token, and the meaning of its refusal.

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use super::super::no_token::NoToken;
use super::super::secrets::Secrets;
use super::super::token_client::TokenClient;
use super::super::token_source::GivenToken;
use super::super::transport::Connect;
use super::answer::{self, ANSWER_BYTES};
use super::login::{self, LoginWords};
use super::settings::{KeystoneLogin, KeystoneSettings};
use crate::base_url::BaseUrl;
use crate::canonical::PathPattern;
use crate::endpoint::{Endpoint, EndpointLimits, Rule};
use crate::error::EgressError;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::OwnRequest;
use crate::request::Method;

/// The path of tokens below `/v3`.
const TOKENS: [&str; 2] = ["auth", "tokens"];

/// The way to Keystone.
pub(super) struct KeystoneClient {
    client: TokenClient,
    settings: KeystoneSettings,
}

impl KeystoneClient {
    pub(super) fn new(
        credential: &str,
        settings: &KeystoneSettings,
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let tokens = PathPattern::parse(&format!("/{}", TOKENS.join("/"))).expect("it is a pattern");
        let endpoint = Endpoint {
            allow: vec![Rule::new([Method::Post], [tokens])],
            addresses: settings.addresses.clone(),
            ca_file: settings.ca_file.clone(),
            client_certificate: settings.client_certificate.clone(),
            proxy: settings.proxy.clone(),
            limits: EndpointLimits { response_bytes: ANSWER_BYTES, ..EndpointLimits::default() },
            ..Endpoint::new(&format!("keystone of credential {credential}"), versioned(&settings.base_url))
        };
        Ok(Self { client: TokenClient::new(endpoint, outside)?, settings: settings.clone() })
    }

    /// Asks for a token once. `secrets` are those of the login: no sentence holds them.
    pub(super) async fn ask(&self, words: &LoginWords, secrets: &Secrets) -> Result<GivenToken, NoToken> {
        let KeystoneSettings { login, project, .. } = &self.settings;
        let body = login::body(login, project.as_ref(), words);
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, json.clone()), (ACCEPT, json)]);
        let request = OwnRequest {
            method: Method::Post,
            path: TOKENS.map(str::to_owned).to_vec(),
            is_folder: false,
            query: String::new(),
            headers,
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        let answer = self.client.send(request).await.map_err(|failure| NoToken::Failed(without_answer(failure)))?;
        if answer.status.is_success() {
            let given = answer::given(&answer.headers, &answer.body);
            return given.map_err(|because| NoToken::Failed(format!("the answer of {} {because}", self.place())));
        }
        Err(self.refused(&answer, secrets))
    }

    fn refused(&self, answer: &CompleteAnswer, secrets: &Secrets) -> NoToken {
        let status = answer.status.as_u16();
        let said = answer::message(&answer.body).filter(|it| !secrets.are_in(it.as_bytes()));
        let is_keystone = said.is_some();
        let said = said.map(|it| format!("{status}: {it}")).unwrap_or_else(|| status.to_string());
        let KeystoneSettings { login, project, .. } = &self.settings;
        let (place, who) = (self.place(), login::described(login, project.as_ref()));
        if !is_for_a_person(answer.status) {
            return NoToken::Failed(format!("{place} gives no token ({said})"));
        }
        let next = match (answer.status, login) {
            (StatusCode::NOT_FOUND, _) if !is_keystone => "correct `keystone.baseUrl`: there is no Keystone there",
            (StatusCode::UNAUTHORIZED, KeystoneLogin::Password { .. } | KeystoneLogin::Trust { .. }) => {
                "correct the password, the user, its domain or the project, and look whether one of them is disabled or the user \
                 locked: Keystone does not say which it is"
            }
            (StatusCode::UNAUTHORIZED, KeystoneLogin::Token { .. }) => "put a token there that has not ended",
            (StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND, KeystoneLogin::ApplicationCredential { .. }) => {
                "correct its id and its secret, or make a new one: it may have expired, or have gone with its user"
            }
            (StatusCode::FORBIDDEN, _) => "give the user a role in the project, or let it be asked for in this way",
            _ => "correct the user, the project and the domains in `keystone`",
        };
        NoToken::Refused(format!(
            "{place} refuses {who} ({said}); {next}. It is asked again when the file with the secret changes, and else once a \
             minute: many lock a user that is refused often"
        ))
    }

    fn place(&self) -> String {
        format!("Keystone ({})", self.settings.base_url.origin())
    }
}

/// Whether a person has to do something about an answer with this status.
fn is_for_a_person(status: StatusCode) -> bool {
    let is_for_now = [StatusCode::REQUEST_TIMEOUT, StatusCode::PAYLOAD_TOO_LARGE, StatusCode::TOO_MANY_REQUESTS];
    status.is_client_error() && !is_for_now.contains(&status)
}

/// The base URL with the version of the API.
fn versioned(url: &BaseUrl) -> BaseUrl {
    let mut path = url.path().to_vec();
    if path.last().is_none_or(|it| it != "v3") {
        path.push("v3".to_owned());
    }
    url.clone().with_path(path)
}

/// Why there was no answer, as a sentence without its full stop.
fn without_answer(failure: AnswerFailure) -> String {
    match failure {
        AnswerFailure::Denied(denied) => denied.to_string(),
        AnswerFailure::Paused(after) => format!("Keystone wants to be left alone for {after:?}"),
        AnswerFailure::Unreachable(because) | AnswerFailure::Interrupted(because) => because,
    }
}
