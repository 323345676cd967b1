//! Refusals of a signature in AWS's answers. Pure.

use std::time::SystemTime;

use http::HeaderMap;
use http::header::DATE;

use super::super::credential::CredentialRefusal;
use super::super::signing::is_code;
use super::xml;
use crate::outcome::CompleteAnswer;

/// So much of an answer is looked at for an error: the code stands before the message.
const ERROR_BYTES: usize = 4 << 10;

/// Codes with which a request is refused because of who signed it or when, before anything is done. From "Common errors" of the
/// EC2, Elastic Load Balancing and STS API references, and from the list that AWS's SDKs renew and correct their clocks by.
const REFUSALS: [&str; 13] = [
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidAccessKeyId",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "InvalidToken",
    "RequestExpired",
    "RequestInTheFuture",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "UnrecognizedClientException",
];

/// Codes with which a request is refused because there were too many, also with 400. From the same pages, and from what AWS's SDKs
/// take for throttling.
const THROTTLING: [&str; 12] = [
    "BandwidthLimitExceeded",
    "DependencyThrottle",
    "EC2ThrottledException",
    "PriorRequestNotComplete",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];

/// The refusal of a request's signature, if its answer is one.
pub(super) fn refusal(answer: &CompleteAnswer) -> Option<CredentialRefusal> {
    if !answer.status.is_client_error() {
        return None;
    }
    let code = code(answer)?;
    REFUSALS.contains(&code.as_str()).then(|| CredentialRefusal {
        is_before_all: true,
        code,
        date: date(&answer.headers),
        challenge: None,
    })
}

/// Whether an answer refuses its request because there were too many.
pub(super) fn is_throttling(answer: &CompleteAnswer) -> bool {
    answer.status.is_client_error() && code(answer).is_some_and(|it| is_about_throttling(&it))
}

/// Whether an error with this code says that there were too many requests.
pub(super) fn is_about_throttling(code: &str) -> bool {
    THROTTLING.contains(&code)
}

/// When an answer was made, as it says itself.
pub(super) fn date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()
}

/// The code of the error in an answer: in XML as EC2 writes it or as the other query APIs do, or in JSON. The message is not read:
/// it may repeat what was sent.
pub(super) fn code(answer: &CompleteAnswer) -> Option<String> {
    let text = beginning(&answer.body)?;
    let xml::XmlTexts { texts: [in_xml], .. } = xml::texts(text, [("Error", "Code")]);
    // `AccessDeniedException:http://…` of some JSON APIs.
    let of_header = || {
        let value = answer.headers.get("x-amzn-errortype")?.to_str().ok()?;
        value.split(':').next().map(str::to_owned)
    };
    // `com.amazon.coral.service#ExpiredTokenException`.
    let in_json = || {
        let body: serde_json::Value = serde_json::from_str(text).ok()?;
        let found = ["__type", "code"].iter().find_map(|it| body.get(it)?.as_str())?;
        found.rsplit('#').next().map(str::to_owned)
    };
    in_xml.map(|it| it.to_string()).or_else(of_header).or_else(in_json).filter(|it| is_code(it))
}

/// The beginning of a text, in whole characters.
fn beginning(body: &[u8]) -> Option<&str> {
    let bytes = &body[..body.len().min(ERROR_BYTES)];
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        // A character that is cut in two, and no byte that is wrong.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderValue, StatusCode};

    use super::*;

    const EC2: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>RequestExpired</Code><Message>\
                       Request has expired.</Message></Error></Errors><RequestID>1</RequestID></Response>";
    const QUERY: &str = "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>\
                         ExpiredToken</Code><Message>The security token included in the request is expired</Message></Error>\
                         <RequestId>1</RequestId></ErrorResponse>";
    const JSON: &str = "{\"__type\":\"com.amazon.coral.service#ExpiredTokenException\",\"message\":\"expired\"}";

    fn answer(status: u16, body: &str) -> CompleteAnswer {
        let date = HeaderValue::from_static("Sun, 30 Aug 2015 12:36:00 GMT");
        let headers = HeaderMap::from_iter([(DATE, date)]);
        CompleteAnswer { status: StatusCode::from_u16(status).unwrap(), headers, body: body.as_bytes().to_vec() }
    }

    fn refused(status: u16, body: &str) -> Option<String> {
        refusal(&answer(status, body)).map(|it| it.code)
    }

    #[test]
    fn each_way_to_write_an_error_is_read() {
        assert_eq!(refused(400, EC2).as_deref(), Some("RequestExpired"));
        assert_eq!(refused(403, QUERY).as_deref(), Some("ExpiredToken"));
        assert_eq!(refused(400, JSON).as_deref(), Some("ExpiredTokenException"));
        let mut by_header = answer(403, "{\"message\":\"no\"}");
        by_header.headers.insert("x-amzn-errortype", HeaderValue::from_static("InvalidSignatureException:http://x/"));
        let read = refusal(&by_header).unwrap();
        assert_eq!((read.code.as_str(), read.is_before_all), ("InvalidSignatureException", true));
        let expected: jiff::Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        assert_eq!(read.date, Some(expected.into()));
    }

    #[test]
    fn an_error_of_another_kind_is_no_refusal_of_the_signature() {
        assert_eq!(refused(400, &EC2.replace("RequestExpired", "InvalidInstanceID.NotFound")), None);
        assert_eq!(refused(403, &EC2.replace("RequestExpired", "UnauthorizedOperation")), None);
        assert_eq!(refused(200, QUERY), None, "the request was carried out");
        assert_eq!(refused(503, QUERY), None);
        for body in ["", "ExpiredToken", "<a", "[1]", "{\"__type\":1}", "<Code>ExpiredToken</Code>"] {
            assert_eq!(refused(400, body), None, "{body}");
        }
    }

    #[test]
    fn adv_158_an_error_is_looked_for_in_the_first_4_kib() {
        let comment = format!("<!-- {} -->", "ä".repeat(ERROR_BYTES / 2));
        assert_eq!(refused(400, &format!("{QUERY}{comment}")).as_deref(), Some("ExpiredToken"));
        assert_eq!(refused(400, &format!("{comment}{QUERY}")), None);
        assert_eq!(refused(400, &format!("{QUERY} {comment}")).as_deref(), Some("ExpiredToken"), "a character is cut");
    }

    #[test]
    fn adv_158_nested_namespaces_cost_no_more_than_their_bytes() {
        let nested: String = (0..1500).map(|it| format!("<a xmlns:n{it}=\"http://example.com/{it}\">")).collect();
        let answers = [nested.clone(), format!("<Error><Code>ExpiredToken</Code>{nested}"), "<a ".repeat(20_000)];
        for body in answers {
            let answer = answer(400, &body);
            let start = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let _ = refusal(&answer);
            let end = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            let took = Duration::try_from(end - start).unwrap();
            assert!(took < Duration::from_millis(50), "{} bytes took {took:?}", body.len());
        }
    }

    #[test]
    fn adv_156_throttling_is_told_by_its_code() {
        assert!(is_throttling(&answer(400, &QUERY.replace("ExpiredToken", "Throttling"))));
        assert!(is_throttling(&answer(400, &EC2.replace("RequestExpired", "RequestLimitExceeded"))));
        assert!(!is_throttling(&answer(400, QUERY)));
        assert!(!is_throttling(&answer(400, &EC2.replace("RequestExpired", "InvalidInstanceID.NotFound"))));
        assert!(!is_throttling(&answer(200, &QUERY.replace("ExpiredToken", "Throttling"))));
    }

    #[test]
    fn adv_160_only_a_word_that_can_be_a_code_is_one() {
        for code in ["AccessDenied", "InvalidInstanceID.NotFound", "Throttling", "Client.VpcLimitExceeded"] {
            assert!(is_code(code), "{code}");
            assert_eq!(super::code(&answer(400, &QUERY.replace("ExpiredToken", code))).as_deref(), Some(code));
        }
        let jwt = format!("eyJhbGciOiJSUzI1NiJ9.{}.c2ln", "A".repeat(60));
        for word in ["", "token of a pod", "t0ken-of-the-pod", "dop_v1_canary", "a/b", "Zugriff verweigert", "é", &jwt]
        {
            assert!(!is_code(word), "{word}");
            assert_eq!(super::code(&answer(400, &QUERY.replace("ExpiredToken", word))), None);
            assert_eq!(super::code(&answer(400, &format!("{{\"__type\":\"{word}\"}}"))), None);
        }
    }

    #[test]
    fn an_answer_cannot_define_entities() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"ExpiredToken\">]><Response><Error><Code>&b;</Code></Error></Response>";
        assert_eq!(refused(400, bomb), None);
    }
}
