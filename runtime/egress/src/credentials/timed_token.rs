//! Tokens with their time, as OAuth's endpoints answer them. Pure.

use std::time::Duration;

use serde::Deserialize;
use zeroize::Zeroizing;

/// The longest token: nobody names a limit, and those of today have some hundred to two thousand bytes.
const TOKEN_BYTES: usize = 12 << 10;

/// A token with its time.
pub(super) struct TimedToken {
    pub(super) token: Zeroizing<String>,
    pub(super) lasts: Duration,
}

#[derive(Deserialize)]
struct OauthAnswer {
    access_token: Zeroizing<String>,
    expires_in: u64,
}

impl TimedToken {
    /// The token in an answer of OAuth. The error continues "the answer of …".
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let answer = serde_json::from_slice(body);
        let OauthAnswer { access_token, expires_in } =
            answer.map_err(|_| "is not what its API describes".to_owned())?;
        Self::new(access_token, Duration::from_secs(expires_in))
    }

    /// A token that was given. The error continues "the answer of …".
    pub(super) fn new(token: Zeroizing<String>, lasts: Duration) -> Result<Self, String> {
        if token.is_empty() || token.len() > TOKEN_BYTES || !token.bytes().all(|it| it.is_ascii_graphic()) {
            return Err(format!("has a token that is empty, longer than {TOKEN_BYTES} bytes, or not visible ASCII"));
        }
        if lasts.is_zero() {
            return Err("has a token that had ended when it was given".to_owned());
        }
        Ok(Self { token, lasts })
    }
}
