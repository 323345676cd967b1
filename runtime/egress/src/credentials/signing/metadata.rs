//! Keys as services for machines and pods give them, and the service of machines itself: a token first, the name of the machine's role,
//! then that role's keys.

use bytes::Bytes;
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::super::shown::Shown;
use super::super::token_client::TokenClient;
use super::super::transport::Connect;
use super::asking::{limits, without_answer};
use super::keys::SigningKeys;
use super::no_keys::NoKeys;
use crate::canonical::PathPattern;
use crate::endpoint::{Endpoint, Rule};
use crate::error::EgressError;
use crate::key_service::KeyServiceUrl;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::OwnRequest;
use crate::request::Method;

/// The longest code. The longest of the clouds have about fifty characters.
const CODE_BYTES: usize = 64;

/// A cloud's names for the metadata of its machines.
pub(crate) struct MetadataNames {
    /// The path below which the keys of the machine's role are.
    pub(crate) roles: [&'static str; 4],
    pub(crate) token: HeaderName,
    pub(crate) token_lifetime: HeaderName,
    /// Ends the sentence about a token that is not to be had.
    pub(crate) unreached: &'static str,
    /// The remedy for a machine without a role.
    pub(crate) without_role: &'static str,
}

/// The service that gives keys to machines or pods.
pub(crate) struct RoleMetadata(TokenClient);

impl RoleMetadata {
    pub(crate) fn new(name: &str, url: &KeyServiceUrl, outside: &dyn Connect) -> Result<Self, EgressError> {
        let all = PathPattern::parse("/**").expect("it is a pattern");
        let endpoint = Endpoint {
            allow: vec![Rule::new([Method::Get, Method::Put], [all])],
            limits: limits(),
            ..Endpoint::new(name, url.base_url().clone())
        };
        Ok(Self(TokenClient::to_key_service(endpoint, outside)?))
    }

    /// The keys of the machine's role.
    pub(crate) async fn keys_of_machine(&self, names: &MetadataNames, shown: &Shown) -> Result<SigningKeys, NoKeys> {
        let lifetime = (names.token_lifetime.clone(), HeaderValue::from_static("300"));
        let answer = self.send(Method::Put, &["latest", "api", "token"], false, [lifetime]).await;
        let token = text(answer.map_err(|because| format!("{because}; {}", names.unreached))?, "a token")?;
        shown.add(&token);
        let token =
            HeaderValue::from_str(&token).map_err(|_| "the instance metadata gives no usable token".to_owned())?;
        let token = || [(names.token.clone(), token.clone())];
        let answer = self.send(Method::Get, &names.roles, true, token()).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Err(NoKeys::Refused(format!("the machine has no role: {}", names.without_role)));
        }
        let role = text(answer, "the name of the role")?;
        let role = role.lines().next().unwrap_or_default().trim();
        let answer = self.send(Method::Get, &[&names.roles[..], &[role]].concat(), false, token()).await?;
        if !answer.status.is_success() {
            let because =
                format!("the instance metadata answers {} about the keys of its role", answer.status.as_u16());
            return Err(NoKeys::answered(answer.status, false, because));
        }
        // A machine's role is of the machine's account, whichever role it is.
        let keys = keys_of(answer, |_| Some("instance".to_owned()));
        Ok(keys.map_err(|because| format!("the answer of the instance metadata {because}"))?)
    }

    pub(crate) async fn send<const N: usize>(
        &self,
        method: Method,
        path: &[&str],
        is_folder: bool,
        headers: [(HeaderName, HeaderValue); N],
    ) -> Result<CompleteAnswer, String> {
        let path = path.iter().map(|&it| it.to_owned()).collect();
        let headers = headers.into_iter().map(|(name, mut value)| {
            value.set_sensitive(true);
            (name, value)
        });
        let request = OwnRequest {
            method,
            path,
            is_folder,
            query: String::new(),
            headers: HeaderMap::from_iter(headers),
            body: Bytes::new(),
        };
        self.0.send(request).await.map_err(|failure| match failure {
            AnswerFailure::Paused(after) => format!("the service that gives keys wants to be left alone for {after:?}"),
            failure => without_answer(failure),
        })
    }
}

/// A small text in an answer of the instance metadata.
fn text(answer: CompleteAnswer, what: &str) -> Result<Zeroizing<String>, String> {
    let status = answer.status;
    let text = Zeroizing::new(String::from_utf8(answer.body).unwrap_or_default());
    if !status.is_success() || text.is_empty() {
        return Err(format!("the instance metadata answers {} when asked for {what}", status.as_u16()));
    }
    Ok(text)
}

/// Keys as these services write them.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct KeyAnswer {
    code: Option<String>,
    access_key_id: String,
    #[serde(alias = "AccessKeySecret")]
    secret_access_key: String,
    #[serde(alias = "SecurityToken")]
    token: String,
    expiration: String,
    pub(crate) account_id: Option<String>,
}

impl KeyAnswer {
    /// The keys of `owner`. The error continues a sentence about the answer.
    pub(crate) fn into_keys(self, owner: Option<String>) -> Result<SigningKeys, String> {
        let Self { access_key_id, secret_access_key, token, expiration, .. } = self;
        let (secret, token) = (Zeroizing::new(secret_access_key), Zeroizing::new(token));
        let expires: jiff::Timestamp =
            expiration.parse().map_err(|_| "says no time at which the keys end".to_owned())?;
        let owner = owner.unwrap_or_else(|| access_key_id.clone());
        SigningKeys::new(&access_key_id, &secret, Some(&token), Some(expires.into()), &owner)
    }
}

/// Reads keys. `owner` says whose they are, if that is known. The error continues a sentence about the answer.
pub(crate) fn keys_of(
    answer: CompleteAnswer,
    owner: impl FnOnce(&KeyAnswer) -> Option<String>,
) -> Result<SigningKeys, String> {
    let body = Zeroizing::new(answer.body);
    let answered: KeyAnswer = serde_json::from_slice(&body).map_err(|_| "is not what its API describes".to_owned())?;
    if let Some(code) = answered.code.as_deref().filter(|it| *it != "Success") {
        let code = if is_code(code) { code } else { "its code is none" };
        return Err(format!("holds no keys: {code}"));
    }
    let owner = owner(&answered);
    answered.into_keys(owner)
}

/// Whether a word can be the code of an error, such as `InvalidInstanceID.NotFound`, and so may be shown. Whoever answers may write
/// a token in its place.
pub(crate) fn is_code(word: &str) -> bool {
    (1..=CODE_BYTES).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'.')
}
