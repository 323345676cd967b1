//! Refusals of a signature in Alibaba Cloud's answers. Pure.

use http::header::DATE;
use serde::Deserialize;

use super::super::credential::CredentialRefusal;
use super::super::signing::is_code;
use crate::outcome::CompleteAnswer;

/// The longest answer that is looked at for an error: the largest ones of these APIs have a few hundred bytes.
const ERROR_BYTES: usize = 16 << 10;

/// The code with which a signature is refused because its time is another than the cloud's.
const TIME: &str = "InvalidTimeStamp.Expired";
/// The code with which a number is refused that another request has had.
const NONCE: &str = "SignatureNonceUsed";
/// Codes, or their beginnings before a full stop, with which a request is refused because of who signed it, before anything is done:
/// "Common error codes" of the documentation of OpenAPI, and of STS.
const KEYS: [&str; 4] = ["InvalidAccessKeyId", "InvalidSecurityToken", "MissingSecurityToken", "SignatureDoesNotMatch"];

/// The refusal of a request's signature, if its answer is one.
pub(super) fn refusal(answer: &CompleteAnswer) -> Option<CredentialRefusal> {
    let code = code(answer)?;
    let is_about_keys = code.split('.').next().is_some_and(|it| KEYS.contains(&it));
    if !is_about_keys && code != TIME && code != NONCE {
        return None;
    }
    let date = || httpdate::parse_http_date(answer.headers.get(DATE)?.to_str().ok()?).ok();
    let date = if code == TIME { date() } else { None };
    Some(CredentialRefusal { is_before_all: true, code, date, challenge: None })
}

/// Whether a refused request needs nothing but another number and another signature.
pub(super) fn is_about_nonce(refusal: &CredentialRefusal) -> bool {
    refusal.code == NONCE
}

/// Whether an answer refuses its request because there were too many.
pub(super) fn is_throttling(answer: &CompleteAnswer) -> bool {
    code(answer).is_some_and(|it| is_about_throttling(&it))
}

/// Whether an error with this code says that there were too many requests: `Throttling`, `Throttling.User`, `ServiceThrottling`.
pub(super) fn is_about_throttling(code: &str) -> bool {
    code.contains("Throttling")
}

/// The code of an error in an answer. The message is not read: it may repeat what was sent.
pub(super) fn code(answer: &CompleteAnswer) -> Option<String> {
    #[derive(Deserialize)]
    struct ErrorAnswer {
        #[serde(rename = "Code")]
        code: String,
    }
    if !answer.status.is_client_error() || answer.body.len() > ERROR_BYTES {
        return None;
    }
    let error: ErrorAnswer = serde_json::from_slice(&answer.body).ok()?;
    Some(error.code).filter(|it| is_code(it))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;

    fn answer(status: u16, code: &str) -> CompleteAnswer {
        let date = HeaderValue::from_static("Sun, 30 Aug 2015 12:36:00 GMT");
        let body = serde_json::json!({ "Code": code, "Message": "no", "RequestId": "1", "HostId": "ecs.aliyuncs.com" });
        CompleteAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::from_iter([(DATE, date)]),
            body: body.to_string().into_bytes(),
        }
    }

    #[test]
    fn refusals_are_told_by_their_codes() {
        for code in [
            "InvalidSecurityToken.Expired",
            "InvalidSecurityToken.MismatchWithAccessKey",
            "InvalidAccessKeyId.NotFound",
            "InvalidAccessKeyId.Inactive",
            "SignatureDoesNotMatch",
            "SignatureNonceUsed",
        ] {
            let read = refusal(&answer(400, code)).expect(code);
            assert!(read.is_before_all && read.code == code && read.date.is_none(), "{code}");
            assert_eq!(is_about_nonce(&read), code == "SignatureNonceUsed");
        }
        let late = refusal(&answer(400, "InvalidTimeStamp.Expired")).unwrap();
        let expected: jiff::Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        assert_eq!(late.date, Some(expected.into()));
    }

    #[test]
    fn errors_of_another_kind_are_no_refusals_of_a_signature() {
        for code in ["Forbidden.RAM", "InvalidInstanceId.NotFound", "Throttling.User", "InvalidAccessKeyIdX", "", "a b"]
        {
            assert!(refusal(&answer(403, code)).is_none(), "{code}");
        }
        for status in [200, 500, 503] {
            assert!(refusal(&answer(status, "InvalidSecurityToken.Expired")).is_none(), "{status}");
        }
        let body = |body: &[u8]| CompleteAnswer { body: body.to_vec(), ..answer(400, "x") };
        for text in [&b""[..], b"InvalidSecurityToken.Expired", b"[1]", b"{\"Code\":1}", b"\xff"] {
            assert!(refusal(&body(text)).is_none());
        }
        let padding = " ".repeat(ERROR_BYTES);
        assert!(refusal(&body(format!("{{\"Code\":\"SignatureNonceUsed\"}}{padding}").as_bytes())).is_none());
    }

    #[test]
    fn throttling_is_told_by_its_code() {
        for code in ["Throttling", "Throttling.User", "Throttling.Api", "ServiceThrottling"] {
            assert!(is_throttling(&answer(400, code)) && is_throttling(&answer(429, code)), "{code}");
        }
        assert!(!is_throttling(&answer(400, "InvalidParameter")) && !is_throttling(&answer(200, "Throttling")));
    }
}
