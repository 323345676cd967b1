//! Keys from the services that give them to machines and pods: EC2's instance metadata (version 2), and EKS Pod Identity's agent,
//! which speaks as ECS's does.
//!
//! The forms: "Retrieve security credentials from instance metadata" in the EC2 User Guide, and "Container credential provider" in
//! the AWS SDKs and Tools Reference Guide.

use bytes::Bytes;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::super::shown::Shown;
use super::super::token_client::TokenClient;
use super::super::transport::Connect;
use super::keys::SigningKeys;
use super::no_keys::NoKeys;
use super::{refusal, sts};
use crate::canonical::PathPattern;
use crate::endpoint::{Endpoint, Rule};
use crate::error::EgressError;
use crate::key_service::KeyServiceUrl;
use crate::outcome::{AnswerFailure, CompleteAnswer};
use crate::policy::OwnRequest;
use crate::request::Method;

/// Where the instance metadata has the keys of the machine's role.
const ROLES: [&str; 4] = ["latest", "meta-data", "iam", "security-credentials"];
const METADATA_TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");
const METADATA_TOKEN_TTL: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");

/// A service that gives keys.
pub(super) struct KeyService(TokenClient);

impl KeyService {
    pub(super) fn new(name: &str, url: &KeyServiceUrl, outside: &dyn Connect) -> Result<Self, EgressError> {
        let all = PathPattern::parse("/**").expect("it is a pattern");
        let endpoint = Endpoint {
            allow: vec![Rule::new([Method::Get, Method::Put], [all])],
            limits: sts::limits(),
            ..Endpoint::new(name, url.base_url().clone())
        };
        Ok(Self(TokenClient::to_key_service(endpoint, outside)?))
    }

    /// The keys of the pod's role, for the token that the kubelet has given.
    pub(super) async fn of_pod(&self, token: &str) -> Result<SigningKeys, NoKeys> {
        let token = HeaderValue::from_str(token).map_err(|_| "the token is no header".to_owned())?;
        let answer = self.send(Method::Get, &[], false, [(AUTHORIZATION, token)]).await?;
        if !answer.status.is_success() {
            let because = format!(
                "the agent of Pod Identity answers {}; look whether the service account has an association",
                answer.status.as_u16()
            );
            return Err(NoKeys::answered(answer.status, None, because));
        }
        let keys = keys(answer, |keys| keys.account_id.clone());
        Ok(keys.map_err(|because| format!("the answer of the agent of Pod Identity {because}"))?)
    }

    /// The keys of the machine's role.
    pub(super) async fn of_instance(&self, shown: &Shown) -> Result<SigningKeys, NoKeys> {
        let ttl = (METADATA_TOKEN_TTL, HeaderValue::from_static("300"));
        let answer = self.send(Method::Put, &["latest", "api", "token"], false, [ttl]).await.map_err(|because| {
            format!("{because}; from a pod outside of the host's network it takes the hop limit 2 of the instance's metadata options")
        })?;
        let token = text(answer, "a token")?;
        shown.add(&token);
        let token =
            HeaderValue::from_str(&token).map_err(|_| "the instance metadata gives no usable token".to_owned())?;
        let token = || [(METADATA_TOKEN, token.clone())];
        let answer = self.send(Method::Get, &ROLES, true, token()).await?;
        if answer.status == StatusCode::NOT_FOUND {
            let because = "the machine has no role: attach an instance profile to it, or write another source of keys";
            return Err(NoKeys::Refused(because.to_owned()));
        }
        let role = text(answer, "the name of the role")?;
        let role = role.lines().next().unwrap_or_default().trim();
        let answer = self.send(Method::Get, &[&ROLES[..], &[role]].concat(), false, token()).await?;
        if !answer.status.is_success() {
            let because =
                format!("the instance metadata answers {} about the keys of its role", answer.status.as_u16());
            return Err(NoKeys::answered(answer.status, None, because));
        }
        // A machine's role is of the machine's account, whichever role it is.
        let keys = keys(answer, |_| Some("instance".to_owned()));
        Ok(keys.map_err(|because| format!("the answer of the instance metadata {because}"))?)
    }

    async fn send<const N: usize>(
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
            failure => sts::without_answer(failure),
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
pub(super) struct KeyAnswer {
    code: Option<String>,
    access_key_id: String,
    secret_access_key: String,
    token: String,
    expiration: String,
    account_id: Option<String>,
}

/// Reads keys. `owner` says whose they are, if that is known. The error continues a sentence about the answer.
pub(super) fn keys(
    answer: CompleteAnswer,
    owner: impl FnOnce(&KeyAnswer) -> Option<String>,
) -> Result<SigningKeys, String> {
    let body = Zeroizing::new(answer.body);
    let answered: KeyAnswer = serde_json::from_slice(&body).map_err(|_| "is not what its API describes".to_owned())?;
    if let Some(code) = answered.code.as_deref().filter(|it| *it != "Success") {
        let code = if refusal::is_code(code) { code } else { "its code is none" };
        return Err(format!("holds no keys: {code}"));
    }
    let owner = owner(&answered);
    let KeyAnswer { access_key_id, secret_access_key, token, expiration, .. } = answered;
    let (secret, token) = (Zeroizing::new(secret_access_key), Zeroizing::new(token));
    let expires: jiff::Timestamp = expiration.parse().map_err(|_| "says no time at which the keys end".to_owned())?;
    let owner = owner.unwrap_or_else(|| access_key_id.clone());
    SigningKeys::new(&access_key_id, &secret, Some(&token), Some(expires.into()), &owner)
}
