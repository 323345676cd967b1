//! The token of a machine's trusted profile, from its metadata service: a token of the instance first, then IAM's for it.
//!
//! The form: "Instance metadata" of the VPC's documentation, and the class `VPCInstanceTokenManager` of IBM's SDK.

use bytes::Bytes;
use http::StatusCode;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::no_token::NoToken;
use super::super::shown::Shown;
use super::super::timed_token::TimedToken;
use super::super::token_giver::{JSON, TokenGiver, bearer, is_for_a_person};
use super::answers;
use super::settings::IbmProfile;
use crate::outcome::CompleteAnswer;
use crate::request::Method;

/// The header of each request to the metadata service, which no request has that was tricked into going there.
const METADATA_FLAVOR: HeaderName = HeaderName::from_static("metadata-flavor");
/// For how long a token of the instance is good: one request.
const INSTANCE_SECONDS: u64 = 300;

/// A version of the metadata service, with its two paths.
struct MetadataVersion {
    query: &'static str,
    instance_token: [&'static str; 3],
    iam_token: [&'static str; 3],
}

/// The version of August 2025, and the one before it.
const VERSIONS: [MetadataVersion; 2] = [
    MetadataVersion {
        query: "version=2025-08-26",
        instance_token: ["identity", "v1", "token"],
        iam_token: ["identity", "v1", "iam_tokens"],
    },
    MetadataVersion {
        query: "version=2022-03-01",
        instance_token: ["instance_identity", "v1", "token"],
        iam_token: ["instance_identity", "v1", "iam_token"],
    },
];

/// The token of the machine's profile. A service without the newer paths is asked at the older ones.
pub(super) async fn token(
    giver: &TokenGiver,
    profile: Option<&IbmProfile>,
    shown: &Shown,
) -> Result<TimedToken, NoToken> {
    let [newer, older] = &VERSIONS;
    let body = json!({ "expires_in": INSTANCE_SECONDS });
    let (mut version, headers) = (newer, HeaderMap::new);
    let mut answer = send(giver, Method::Put, newer, &newer.instance_token, headers(), Some(&body)).await?;
    if answer.status == StatusCode::NOT_FOUND {
        version = older;
        answer = send(giver, Method::Put, older, &older.instance_token, headers(), Some(&body)).await?;
    }
    let next = "; turn on the metadata service of the instance";
    let instance = given(giver, &answer, next)?;
    shown.add(&instance.token);
    let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer(&instance.token).map_err(NoToken::Failed)?)]);
    let body = profile.map(|profile| match profile {
        IbmProfile::Id(word) => json!({ "trusted_profile": { "id": word.as_str() } }),
        IbmProfile::Name(word) => json!({ "trusted_profile": { "name": word.as_str() } }),
        IbmProfile::Crn(word) => json!({ "trusted_profile": { "crn": word.as_str() } }),
    });
    let answer = send(giver, Method::Post, version, &version.iam_token, headers, body.as_ref()).await?;
    let next = "; link a trusted profile to the instance, or correct `ibmIam.instanceIdentity.profile`";
    given(giver, &answer, next)
}

async fn send(
    giver: &TokenGiver,
    method: Method,
    version: &MetadataVersion,
    path: &[&str],
    mut headers: HeaderMap,
    body: Option<&Value>,
) -> Result<CompleteAnswer, NoToken> {
    let json = HeaderValue::from_static(JSON);
    headers.extend([(METADATA_FLAVOR, HeaderValue::from_static("ibm")), (ACCEPT, json.clone()), (CONTENT_TYPE, json)]);
    let body = body.map_or_else(Bytes::new, |it| it.to_string().into());
    giver.send(method, path, version.query.to_owned(), headers, body).await.map_err(NoToken::Failed)
}

/// The token in an answer. `next` ends the sentence about a refusal.
fn given(giver: &TokenGiver, answer: &CompleteAnswer, next: &str) -> Result<TimedToken, NoToken> {
    if answer.status.is_success() {
        return giver.given(TimedToken::read(&answer.body));
    }
    let (place, words) = (giver.place(), answers::refusal(answer));
    Err(match is_for_a_person(answer.status) {
        true => NoToken::Refused(format!("{place} refuses the machine ({words}){next}")),
        false => NoToken::Failed(format!("{place} gives no token ({words})")),
    })
}
