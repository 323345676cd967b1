//! Answers of Entra, of the machine's identity service, and of services that refuse a token. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::HeaderMap;
use http::header::{DATE, WWW_AUTHENTICATE};
use serde::Deserialize;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::outcome::CompleteAnswer;

/// The longest token: those of an account with many groups have some kilobytes.
const TOKEN_BYTES: usize = 16 << 10;
/// The longest words of a refusal that are repeated.
const WORDS: usize = 300;
/// The longest challenge.
const CHALLENGE_BYTES: usize = 4 << 10;

/// A token of Entra's.
pub(super) struct EntraToken {
    pub(super) token: Zeroizing<String>,
    pub(super) lasts: Duration,
    /// The identity that a machine's service has taken, if it says so.
    pub(super) client_id: Option<String>,
}

#[derive(Deserialize)]
struct EntraAnswer {
    access_token: Zeroizing<String>,
    expires_in: Option<TokenSeconds>,
    expires_on: Option<TokenSeconds>,
    client_id: Option<String>,
}

/// Entra writes a number, and the machine's service the same as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenSeconds {
    Number(u64),
    Text(String),
}

impl TokenSeconds {
    fn read(self) -> Option<u64> {
        match self {
            Self::Number(seconds) => Some(seconds),
            Self::Text(text) => text.parse().ok(),
        }
    }
}

/// The token in an answer, by the clock `now`. The error continues "the answer of …".
pub(super) fn token(body: &[u8], now: SystemTime) -> Result<EntraToken, String> {
    let unknown = || "is not what its API describes".to_owned();
    let EntraAnswer { access_token: token, expires_in, expires_on, client_id } =
        serde_json::from_slice(body).map_err(|_| unknown())?;
    if token.is_empty() || token.len() > TOKEN_BYTES || !token.bytes().all(|it| it.is_ascii_graphic()) {
        return Err(format!("has a token that is empty, longer than {TOKEN_BYTES} bytes, or not visible ASCII"));
    }
    let in_seconds = expires_in.and_then(TokenSeconds::read).map(Duration::from_secs);
    let until = || {
        let until = Duration::from_secs(expires_on.and_then(TokenSeconds::read)?);
        Some(until.saturating_sub(now.duration_since(UNIX_EPOCH).ok()?))
    };
    let lasts = in_seconds.or_else(until).ok_or_else(unknown)?;
    if lasts.is_zero() {
        return Err("has a token that had ended when it was given".to_owned());
    }
    Ok(EntraToken { token, lasts, client_id: client_id.map(|it| cloud_provider::printable(&it, 64)) })
}

/// A refusal in the words of Entra.
pub(super) struct EntraRefusal {
    /// The number behind AADSTS; 0 if there is none.
    pub(super) number: u64,
    /// Status and description.
    pub(super) words: String,
    /// The time by the clock of the server.
    pub(super) date: Option<SystemTime>,
}

#[derive(Default, Deserialize)]
struct EntraRefusalBody {
    error: Option<Value>,
    error_description: Option<String>,
    #[serde(default)]
    error_codes: Vec<u64>,
    message: Option<String>,
}

/// The refusal in an answer that is no success.
pub(super) fn refusal(answer: &CompleteAnswer) -> EntraRefusal {
    let said: EntraRefusalBody = serde_json::from_slice(&answer.body).unwrap_or_default();
    let description = said.error_description.or(said.message).unwrap_or_default();
    // Trace, correlation and time, which are different each time, would make each refusal another one.
    let end = [" Trace ID:", "\r", "\n"].iter().filter_map(|it| description.find(it)).min();
    let description = description[..end.unwrap_or(description.len())].trim_end_matches('.');
    let written = description.strip_prefix("AADSTS").and_then(|it| it.split(|it: char| !it.is_ascii_digit()).next());
    let number = written.and_then(|it| it.parse().ok()).or(said.error_codes.first().copied()).unwrap_or_default();
    let error = said.error.as_ref().and_then(Value::as_str).filter(|_| !description.starts_with("AADSTS"));
    let parts = [Some(&*answer.status.as_u16().to_string()), error, Some(description).filter(|it| !it.is_empty())]
        .into_iter()
        .flatten()
        .map(|it| cloud_provider::printable(it, WORDS))
        .collect::<Vec<_>>();
    let date = answer.headers.get(DATE).and_then(|it| httpdate::parse_http_date(it.to_str().ok()?).ok());
    EntraRefusal { number, words: parts.join(": "), date }
}

/// The demands of a service that refuses a token on the next one ("Claims challenges, claims requests, and client capabilities" of
/// Entra's documentation): JSON, in base64 in a parameter of `www-authenticate`.
pub(super) fn challenge(headers: &HeaderMap) -> Option<String> {
    headers.get_all(WWW_AUTHENTICATE).iter().find_map(|header| {
        let (_, rest) = header.to_str().ok()?.split_once("claims=\"")?;
        let text = rest.split('"').next()?;
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let decoded = [STANDARD, URL_SAFE].iter().find_map(|it| GeneralPurpose::new(it, config).decode(text).ok())?;
        let claims: Map<String, Value> = serde_json::from_slice(&decoded).ok()?;
        let claims = Value::Object(claims).to_string();
        (claims.len() <= CHALLENGE_BYTES).then_some(claims)
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, StatusCode};

    use super::*;

    fn lasts(body: &str) -> Result<u64, String> {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        token(body.as_bytes(), now).map(|it| it.lasts.as_secs())
    }

    #[test]
    fn times_of_tokens_are_numbers_or_texts() {
        assert_eq!(lasts(r#"{"access_token":"t","expires_in":3599}"#), Ok(3_599));
        assert_eq!(lasts(r#"{"access_token":"t","expires_in":"3599","expires_on":"9"}"#), Ok(3_599));
        assert_eq!(lasts(r#"{"access_token":"t","expires_on":"1500"}"#), Ok(500));
        assert!(lasts(r#"{"access_token":"t","expires_on":900}"#).unwrap_err().contains("had ended"));
        for body in [r#"{"access_token":"t"}"#, r#"{"access_token":"t","expires_on":"tomorrow"}"#, "{}", "", "[]"] {
            assert!(lasts(body).unwrap_err().contains("not what its API describes"), "{body}");
        }
    }

    #[test]
    fn refusals_keep_what_is_the_same_each_time() {
        let refused = |body: &str| {
            let body = body.as_bytes().to_vec();
            let status = StatusCode::UNAUTHORIZED;
            let EntraRefusal { number, words, .. } =
                refusal(&CompleteAnswer { status, headers: HeaderMap::new(), body });
            (number, words)
        };
        let body = r#"{"error":"invalid_client","error_codes":[7000215],"error_description":
            "AADSTS7000215: Invalid client secret provided. Trace ID: 1f Correlation ID: 2a Timestamp: 2026-11-27"}"#;
        assert_eq!(refused(body), (7_000_215, "401: AADSTS7000215: Invalid client secret provided".to_owned()));
        let body = r#"{"error":"invalid_request","error_description":"Identity not found"}"#;
        assert_eq!(refused(body), (0, "401: invalid_request: Identity not found".to_owned()));
        assert_eq!(refused(r#"{"error":{"code":"x"}}"#), (0, "401".to_owned()));
        assert_eq!(refused("<html>"), (0, "401".to_owned()));
    }

    #[test]
    fn a_challenge_is_json_in_base64() {
        let of =
            |value: &str| challenge(&HeaderMap::from_iter([(WWW_AUTHENTICATE, HeaderValue::from_str(value).unwrap())]));
        let claims = r#"{"access_token":{"nbf":{"essential":true}}}"#;
        for alphabet in [base64::prelude::BASE64_STANDARD, base64::prelude::BASE64_URL_SAFE_NO_PAD] {
            let written = alphabet.encode(claims);
            let value = format!("Bearer realm=\"\", error=\"insufficient_claims\", claims=\"{written}\"");
            assert_eq!(of(&value).as_deref(), Some(claims));
        }
        for value in ["Bearer", "Bearer claims=\"%\"", "Bearer claims=\"W10=\"", "Bearer claims=\""] {
            assert_eq!(of(value), None, "{value}");
        }
    }
}
