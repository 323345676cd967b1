//! Answers of Google's givers of tokens. Pure.

use std::time::SystemTime;

use http::header::DATE;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::super::timed_token::TimedToken;
use crate::outcome::CompleteAnswer;

/// The longest words of a refusal that are repeated.
const WORDS: usize = 200;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ImpersonationAnswer {
    access_token: Zeroizing<String>,
    expire_time: String,
}

/// The token of a service account, whose end is a time by the clock `now`.
pub(super) fn impersonation(body: &[u8], now: SystemTime) -> Result<TimedToken, String> {
    let ImpersonationAnswer { access_token, expire_time } =
        serde_json::from_slice(body).map_err(|_| "is not what its API describes".to_owned())?;
    let ends: jiff::Timestamp = expire_time.parse().map_err(|_| "has a time that is none".to_owned())?;
    TimedToken::new(access_token, SystemTime::from(ends).duration_since(now).unwrap_or_default())
}

/// A refusal in the words of Google.
pub(super) struct TokenRefusal {
    /// `invalid_grant`, `PERMISSION_DENIED`, …
    pub(super) code: String,
    /// Code and description.
    pub(super) words: String,
    /// The time by Google's clock.
    pub(super) date: Option<SystemTime>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RefusalBody {
    Oauth { error: String, error_description: Option<String> },
    Api { error: ApiError },
}

#[derive(Deserialize)]
struct ApiError {
    status: Option<String>,
    message: Option<String>,
}

/// The refusal in an answer that is no success.
pub(super) fn refusal(answer: &CompleteAnswer) -> TokenRefusal {
    let status = answer.status.as_u16();
    let (code, description) = match serde_json::from_slice(&answer.body) {
        Ok(RefusalBody::Oauth { error, error_description }) => (Some(error), error_description),
        Ok(RefusalBody::Api { error }) => (error.status, error.message),
        Err(_) => (None, None),
    };
    let printable = |it: Option<String>| it.map(|it| cloud_provider::printable(it.trim_end_matches('.'), WORDS));
    let (code, description) = (printable(code), printable(description));
    let words =
        [Some(status.to_string()), code.clone(), description].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let date = answer.headers.get(DATE).and_then(|it| httpdate::parse_http_date(it.to_str().ok()?).ok());
    TokenRefusal { code: code.unwrap_or_default(), words, date }
}
