//! Sessions of a role from AWS's Security Token Service.
//!
//! The API: `AssumeRole` and `AssumeRoleWithWebIdentity` of the AWS STS API Reference, version 2011-06-15.

use std::time::SystemTime;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::super::clock::Clock;
use super::super::form::form;
use super::super::kind::{AssumeRole, RoleArn};
use super::super::signing::{NoKeys, SigningKeys, limits, without_answer};
use super::super::sts::Sts;
use super::super::token_client::TokenClient;
use super::super::transport::Connect;
use super::{refusal, sign, xml};
use crate::base_url::BaseUrl;
use crate::canonical::{FORM, PathPattern};
use crate::endpoint::{Endpoint, RegionName, Rule};
use crate::error::EgressError;
use crate::outcome::CompleteAnswer;
use crate::policy::OwnRequest;
use crate::request::Method;

const VERSION: &str = "2011-06-15";
/// The word for an identity provider that does not answer: `AssumeRoleWithWebIdentity` of the same reference.
const IDENTITY_PROVIDER: &str = "IDPCommunicationError";
/// How the session is called in CloudTrail and in the ARN of whoever uses it.
const SESSION_NAME: &str = "aerostat";
/// For how long a session is asked. No role can forbid an hour, and a role that was taken with another role's keys has no more.
const SECONDS: &str = "3600";

/// The region's Security Token Service.
pub(super) struct StsClient {
    client: TokenClient,
    credential: String,
    region: RegionName,
}

impl StsClient {
    pub(super) fn new(
        credential: &str,
        region: &RegionName,
        sts: &Sts,
        outside: &dyn Connect,
    ) -> Result<Self, EgressError> {
        let base_url = sts.base_url.clone().unwrap_or_else(|| base_url(region));
        let endpoint = Endpoint {
            allow: vec![Rule::new([Method::Post], [PathPattern::parse("/").expect("it is a pattern")])],
            addresses: sts.addresses.clone(),
            ca_file: sts.ca_file.clone(),
            proxy: sts.proxy.clone(),
            limits: limits(),
            ..Endpoint::new(&format!("sts of credential {credential}"), base_url)
        };
        let client = TokenClient::new(endpoint, outside)?;
        Ok(Self { client, credential: credential.to_owned(), region: region.clone() })
    }

    /// A session for a token of a service account. Who asks is in the token, so that the request is not signed.
    pub(super) async fn with_web_identity(&self, role: &RoleArn, token: &str) -> Result<SigningKeys, NoKeys> {
        let form = form(&[
            ("Action", "AssumeRoleWithWebIdentity"),
            ("Version", VERSION),
            ("RoleArn", role.as_str()),
            ("RoleSessionName", SESSION_NAME),
            ("DurationSeconds", SECONDS),
            ("WebIdentityToken", token),
        ]);
        let answer = self.client.send(request(HeaderMap::new(), form)).await;
        keys(role, answer.map_err(without_answer)?)
    }

    /// A session for a role that the owner of `keys` may take. A clock that differs is corrected once.
    pub(super) async fn assume_role(
        &self,
        keys: &SigningKeys,
        wanted: &AssumeRole,
        clock: &Clock,
        local: SystemTime,
    ) -> Result<SigningKeys, NoKeys> {
        let AssumeRole { role_arn, external_id, source_arn, source_account } = wanted;
        let mut pairs = vec![
            ("Action", "AssumeRole"),
            ("Version", VERSION),
            ("RoleArn", role_arn.as_str()),
            ("RoleSessionName", SESSION_NAME),
            ("DurationSeconds", SECONDS),
        ];
        pairs.extend(external_id.as_deref().map(|it| ("ExternalId", it)));
        let mut headers = HeaderMap::new();
        for (name, value) in [("x-amz-source-arn", source_arn), ("x-amz-source-account", source_account)] {
            let Some(value) = value else { continue };
            let value = HeaderValue::from_str(value).map_err(|_| format!("the value of {name} is no header"))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        let send = || {
            let request = request(headers.clone(), form(&pairs));
            self.client.send_as(request, |it| sign::signed(it, keys, &self.region, "sts", 0, clock.at(local)))
        };
        let mut answer = send().await.map_err(without_answer)?;
        if let Some(date) = refusal::refusal(&answer).and_then(|it| it.date)
            && clock.correct(date, local, &self.credential)
        {
            answer = send().await.map_err(without_answer)?;
        }
        self::keys(role_arn, answer)
    }
}

/// The region's own service. The suffixes are those of `partitions.json` in AWS's SDKs.
fn base_url(region: &RegionName) -> BaseUrl {
    let region = region.as_str();
    let suffix = match region {
        it if it.starts_with("cn-") => "amazonaws.com.cn",
        it if it.starts_with("eusc-") => "amazonaws.eu",
        it if it.starts_with("us-iso-") => "c2s.ic.gov",
        it if it.starts_with("us-isob-") => "sc2s.sgov.gov",
        it if it.starts_with("eu-isoe-") => "cloud.adc-e.uk",
        it if it.starts_with("us-isof-") => "csp.hci.ic.gov",
        _ => "amazonaws.com",
    };
    let region = region.trim_matches('-');
    BaseUrl::parse(&format!("https://sts.{region}.{suffix}")).expect("a region is a label of a name")
}

fn request(mut headers: HeaderMap, body: Zeroizing<String>) -> OwnRequest {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(FORM));
    let body = Bytes::copy_from_slice(body.as_bytes());
    OwnRequest { method: Method::Post, path: Vec::new(), is_folder: false, query: String::new(), headers, body }
}

/// Whether another try may help against an error with this code, although its status is one of the client's fault.
fn is_for_now(code: &str) -> bool {
    code == IDENTITY_PROVIDER || refusal::is_about_throttling(code)
}

/// The session in an answer about `role`.
fn keys(role: &RoleArn, answer: CompleteAnswer) -> Result<SigningKeys, NoKeys> {
    let role = role.as_str();
    if !answer.status.is_success() {
        let code = refusal::code(&answer);
        let reason = code.clone().unwrap_or_else(|| format!("status {}", answer.status.as_u16()));
        let because = format!(
            "STS does not give a session of the role {role} ({reason}); correct the role's name, or its trust policy"
        );
        return Err(NoKeys::answered(answer.status, code.as_deref().is_some_and(is_for_now), because));
    }
    let body = Zeroizing::new(answer.body);
    Ok(session(&body).map_err(|because| format!("the answer of STS about the role {role} {because}"))?)
}

/// The session in the body of a success.
pub(super) fn session(body: &[u8]) -> Result<SigningKeys, String> {
    let unknown = || "is not what its API describes".to_owned();
    let wanted = [
        ("Credentials", "AccessKeyId"),
        ("Credentials", "SecretAccessKey"),
        ("Credentials", "SessionToken"),
        ("Credentials", "Expiration"),
        ("AssumedRoleUser", "Arn"),
    ];
    let xml::XmlTexts { texts, is_whole } = xml::texts(std::str::from_utf8(body).map_err(|_| unknown())?, wanted);
    let [id, secret, token, expires, owner] = texts;
    let (Some(id), Some(secret), Some(token), Some(expires), true) = (id, secret, token, expires, is_whole) else {
        return Err(unknown());
    };
    let expires: jiff::Timestamp = expires.parse().map_err(|_| unknown())?;
    SigningKeys::new(&id, &secret, Some(&token), Some(expires.into()), owner.as_ref().unwrap_or(&id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_region_has_its_own_sts() {
        for (region, url) in [
            ("eu-west-1", "https://sts.eu-west-1.amazonaws.com"),
            ("us-gov-west-1", "https://sts.us-gov-west-1.amazonaws.com"),
            ("cn-north-1", "https://sts.cn-north-1.amazonaws.com.cn"),
        ] {
            assert_eq!(base_url(&RegionName::parse(region).unwrap()).to_string(), url);
        }
    }

    #[test]
    fn errors_that_time_heals_are_known() {
        assert!(is_for_now("Throttling") && is_for_now("IDPCommunicationError"));
        assert!(!is_for_now("InvalidIdentityToken") && !is_for_now("ExpiredTokenException"));
    }

    #[test]
    fn bad_an_answer_without_a_session_gives_no_keys() {
        let whole = "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult><AssumedRoleUser>\
                     <Arn>arn:aws:sts::1:assumed-role/a/b</Arn></AssumedRoleUser><Credentials><AccessKeyId>ASIA1</AccessKeyId>\
                     <SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2026-11-23T07:00:00Z\
                     </Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>";
        let keys = session(whole.as_bytes()).unwrap();
        assert_eq!(keys.id(), "ASIA1");
        for (from, to) in [
            ("Credentials", "Something"),
            ("SecretAccessKey", "Secret"),
            ("2026-11-23T07:00:00Z", "soon"),
            ("ASIA1", ""),
            ("ASIA1", "a b"),
            ("</AssumeRoleResponse>", ""),
        ] {
            assert!(session(whole.replace(from, to).as_bytes()).is_err(), "{from} {to}");
        }
        assert!(session(b"\xff").is_err() && session(b"").is_err());
    }
}
