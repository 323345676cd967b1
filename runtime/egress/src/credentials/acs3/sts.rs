//! Sessions of a role from Alibaba Cloud's Security Token Service.
//!
//! The API: `AssumeRole` and `AssumeRoleWithOIDC`, version 2015-04-01.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::super::clock::Clock;
use super::super::form::form;
use super::super::signing::{KeyAnswer, NoKeys, SigningKeys, limits, without_answer};
use super::super::token_client::TokenClient;
use super::super::transport::Connect;
use super::settings::{Acs3Settings, RamArn, RamRoleTaken};
use super::{refusal, sign};
use crate::canonical::{FORM, PathPattern};
use crate::endpoint::{AcsVersion, Endpoint, Rule};
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::OwnRequest;
use crate::request::Method;

const VERSION: &str = "2015-04-01";
const ACTION: HeaderName = HeaderName::from_static("x-acs-action");
/// How the session is called in ActionTrail, and in the ARN of whoever uses it.
const SESSION_NAME: &str = "aerostat";
/// For how long a session is asked. No role can forbid an hour.
const SECONDS: &str = "3600";

/// The region's Security Token Service.
pub(super) struct RamSts {
    client: TokenClient,
    credential: String,
}

impl RamSts {
    pub(super) fn new(credential: &str, settings: &Acs3Settings, outside: &dyn Connect) -> Result<Self, EgressError> {
        let sts = &settings.sts;
        let endpoint = Endpoint {
            allow: vec![Rule::new([Method::Post], [PathPattern::parse("/").expect("it is a pattern")])],
            addresses: sts.addresses.clone(),
            ca_file: sts.ca_file.clone(),
            proxy: sts.proxy.clone(),
            limits: limits(),
            ..Endpoint::new(&format!("sts of credential {credential}"), settings.sts_base_url())
        };
        Ok(Self { client: TokenClient::new(endpoint, outside)?, credential: credential.to_owned() })
    }

    /// A session for a token of a service account. Who asks is in the token, so that the request is not signed.
    pub(super) async fn with_oidc(&self, role: &RamArn, provider: &RamArn, token: &str) -> Result<SigningKeys, NoKeys> {
        let form = form(&[
            ("Action", "AssumeRoleWithOIDC"),
            ("Version", VERSION),
            ("Format", "JSON"),
            ("RoleArn", role.as_str()),
            ("OIDCProviderArn", provider.as_str()),
            ("RoleSessionName", SESSION_NAME),
            ("DurationSeconds", SECONDS),
            ("OIDCToken", token),
        ]);
        let answer = self.client.send(request(HeaderMap::new(), form)).await;
        session_of(role, answer.map_err(without_answer)?)
    }

    /// A session for a role that the owner of `keys` may take. A clock that differs is corrected once.
    pub(super) async fn assume_role(
        &self,
        keys: &SigningKeys,
        wanted: &RamRoleTaken,
        clock: &Clock,
        local: SystemTime,
    ) -> Result<SigningKeys, NoKeys> {
        let RamRoleTaken { role_arn, external_id } = wanted;
        let mut pairs =
            vec![("RoleArn", role_arn.as_str()), ("RoleSessionName", SESSION_NAME), ("DurationSeconds", SECONDS)];
        pairs.extend(external_id.as_deref().map(|it| ("ExternalId", it)));
        let version = AcsVersion::parse(VERSION)?;
        let send = || {
            let headers = HeaderMap::from_iter([(ACTION, HeaderValue::from_static("AssumeRole"))]);
            let request = request(headers, form(&pairs));
            self.client.send_as(request, |it| sign::signed(it, keys, &version, 0, clock.at(local)))
        };
        let mut answer = send().await.map_err(without_answer)?;
        if let Some(date) = refusal::refusal(&answer).and_then(|it| it.date)
            && clock.correct(date, local, &self.credential)
        {
            answer = send().await.map_err(without_answer)?;
        }
        session_of(role_arn, answer)
    }
}

fn request(mut headers: HeaderMap, body: Zeroizing<String>) -> OwnRequest {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
    let body = Bytes::copy_from_slice(body.as_bytes());
    OwnRequest { method: Method::Post, path: Vec::new(), is_folder: false, query: String::new(), headers, body }
}

/// The session in an answer about `role`.
fn session_of(role: &RamArn, answer: CompleteAnswer) -> Result<SigningKeys, NoKeys> {
    let role = role.as_str();
    if !answer.status.is_success() {
        let code = refusal::code(&answer);
        let reason = code.clone().unwrap_or_else(|| format!("status {}", answer.status.as_u16()));
        let because = format!(
            "STS does not give a session of the role {role} ({reason}); correct the role's name, or its trust policy"
        );
        let is_for_now = code.is_some_and(|it| refusal::is_about_throttling(&it));
        return Err(NoKeys::answered(answer.status, is_for_now, because));
    }
    let body = Zeroizing::new(answer.body);
    Ok(session(&body).map_err(|because| format!("the answer of STS about the role {role} {because}"))?)
}

/// The session in the body of a success.
pub(super) fn session(body: &[u8]) -> Result<SigningKeys, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct SessionAnswer {
        credentials: KeyAnswer,
        assumed_role_user: Option<AssumedRoleUser>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct AssumedRoleUser {
        arn: String,
    }
    let answer: SessionAnswer = serde_json::from_slice(body).map_err(|_| "is not what its API describes".to_owned())?;
    answer.credentials.into_keys(answer.assumed_role_user.map(|it| it.arn))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_an_answer_without_a_session_gives_no_keys() {
        let whole = "{\"RequestId\":\"1\",\"AssumedRoleUser\":{\"Arn\":\"acs:ram::1:role/a/b\",\"AssumedRoleId\":\"3:b\"},\
                     \"Credentials\":{\"AccessKeyId\":\"STS.1\",\"AccessKeySecret\":\"s\",\"SecurityToken\":\"t\",\
                     \"Expiration\":\"2026-11-23T07:00:00Z\"}}";
        let keys = session(whole.as_bytes()).unwrap();
        assert_eq!((keys.id(), keys.session().map(|it| it.as_str())), ("STS.1", Some("t")));
        for (from, to) in [
            ("\"Credentials\"", "\"Something\""),
            ("AccessKeySecret", "Secret"),
            ("2026-11-23T07:00:00Z", "soon"),
            ("STS.1", ""),
            ("STS.1", "a b"),
            ("}}", "}"),
        ] {
            assert!(session(whole.replace(from, to).as_bytes()).is_err(), "{from} {to}");
        }
        assert!(session(b"\xff").is_err() && session(b"").is_err());
    }
}
