//! Answers of IBM Cloud's IAM and of the metadata service. Pure.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;

use crate::outcome::CompleteAnswer;

/// The longest code of a refusal.
const CODE_BYTES: usize = 64;

/// Both ways in which refusals are written: IAM's own, and that of the VPC's services.
#[derive(Default, Deserialize)]
#[serde(default)]
struct IbmRefusalBody {
    #[serde(rename = "errorCode")]
    error_code: Option<String>,
    errors: Vec<IbmRefusalEntry>,
}

#[derive(Deserialize)]
struct IbmRefusalEntry {
    code: Option<String>,
}

/// Status and code of an answer that is no success. Nothing else of it is repeated: IAM's details hold what it was sent.
pub(super) fn refusal(answer: &CompleteAnswer) -> String {
    let status = answer.status.as_u16();
    let body: IbmRefusalBody = serde_json::from_slice(&answer.body).unwrap_or_default();
    let code = body.error_code.or_else(|| body.errors.into_iter().find_map(|it| it.code));
    let is_part = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.');
    let is_code = |it: &String| (1..=CODE_BYTES).contains(&it.len()) && it.bytes().all(is_part);
    match code.filter(is_code) {
        Some(code) => format!("{status}: {code}"),
        None => status.to_string(),
    }
}

#[derive(Deserialize)]
struct TokenClaims {
    iam_id: Option<String>,
    account: Option<TokenAccount>,
}

#[derive(Deserialize)]
struct TokenAccount {
    bss: Option<String>,
}

/// The account and the identity that a token is for, as its claims say. IAM itself has given it, so that no signature is checked.
pub(super) fn account(token: &str) -> Option<Vec<String>> {
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let TokenClaims { iam_id, account } = serde_json::from_slice(&claims).ok()?;
    Some(vec![account?.bss?, iam_id?])
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;

    #[test]
    fn a_refusal_of_iam_is_its_status_and_its_code() {
        let told = |body: &str| {
            let body = body.as_bytes().to_vec();
            refusal(&CompleteAnswer { status: StatusCode::BAD_REQUEST, headers: HeaderMap::new(), body })
        };
        let body = r#"{"errorCode":"BXNIM0415E","errorMessage":"Provided API key could not be found.","errorDetails":"key x",
            "context":{"requestId":"1"}}"#;
        assert_eq!(told(body), "400: BXNIM0415E");
        assert_eq!(
            told(r#"{"errors":[{"code":"not_authorized","message":"No."}],"trace":"1"}"#),
            "400: not_authorized"
        );
        let long = format!(r#"{{"errorCode":"{}"}}"#, "A".repeat(65));
        for body in ["", "[]", "<html>", r#"{"errorCode":"a b"}"#, r#"{"errorCode":7}"#, r#"{"errors":[]}"#, &long] {
            assert_eq!(told(body), "400", "{body}");
        }
    }

    #[test]
    fn a_token_tells_its_account_and_its_identity() {
        let of = |claims: &str| account(&format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(claims)));
        let claims = r#"{"iam_id":"iam-ServiceId-1","account":{"valid":true,"bss":"0a1b"},"iat":1,"exp":2}"#;
        assert_eq!(of(claims), Some(vec!["0a1b".to_owned(), "iam-ServiceId-1".to_owned()]));
        for claims in ["", "{}", r#"{"iam_id":"a"}"#, r#"{"iam_id":"a","account":{}}"#, "[]"] {
            assert_eq!(of(claims), None, "{claims}");
        }
        assert_eq!(account("opaque"), None);
    }
}
