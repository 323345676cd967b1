//! What AWS's answers say against a signature. Pure.

use std::time::SystemTime;

use http::HeaderMap;
use http::header::DATE;
use roxmltree::Document;

use super::super::credential::Refusal;
use crate::outcome::Answer;

/// The largest answer in which an error is looked for.
const ERROR_BYTES: usize = 64 << 10;

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

/// An error as AWS's APIs write it.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct AwsError {
    pub(super) code: String,
    pub(super) message: String,
}

/// What an answer says against the signature of its request, if it refuses it.
pub(super) fn refusal(answer: &Answer) -> Option<Refusal> {
    if !answer.status.is_client_error() {
        return None;
    }
    let AwsError { code, .. } = error(answer)?;
    REFUSALS.contains(&code.as_str()).then(|| Refusal { is_before_all: true, code, date: date(&answer.headers) })
}

/// When an answer was made, as it says itself.
pub(super) fn date(headers: &HeaderMap) -> Option<SystemTime> {
    httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()
}

/// The error in an answer: in XML as EC2 writes it or as the other query APIs do, or in JSON.
pub(super) fn error(answer: &Answer) -> Option<AwsError> {
    let text = std::str::from_utf8(&answer.body).ok().filter(|it| it.len() <= ERROR_BYTES)?;
    // `AccessDeniedException:http://…` of some JSON APIs.
    let of_header = answer.headers.get("x-amzn-errortype").and_then(|it| it.to_str().ok());
    let of_header = of_header.map(|it| it.split(':').next().unwrap_or_default().to_owned());
    if let Ok(document) = Document::parse(text) {
        let error = document.descendants().find(|it| it.has_tag_name_of("Error"))?;
        let text = |name| error.children().find(|it| it.has_tag_name_of(name)).and_then(|it| it.text());
        let message = text("Message").unwrap_or_default().trim().to_owned();
        return Some(AwsError { code: text("Code")?.trim().to_owned(), message });
    }
    let body: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let text = |names: [&str; 2]| names.iter().find_map(|it| body.get(it)?.as_str()).map(str::to_owned);
    // `com.amazon.coral.service#ExpiredTokenException`.
    let code = of_header.or_else(|| Some(text(["__type", "code"])?.rsplit('#').next()?.to_owned()))?;
    Some(AwsError { code, message: text(["message", "Message"]).unwrap_or_default() })
}

/// Elements by their name alone: each of AWS's APIs, and each version, has a namespace of its own.
pub(super) trait HasName {
    fn has_tag_name_of(&self, name: &str) -> bool;
}

impl HasName for roxmltree::Node<'_, '_> {
    fn has_tag_name_of(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, StatusCode};

    use super::*;

    const EC2: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Response><Errors><Error><Code>RequestExpired</Code><Message>\
                       Request has expired.</Message></Error></Errors><RequestID>1</RequestID></Response>";
    const QUERY: &str = "<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>\
                         ExpiredToken</Code><Message>The security token included in the request is expired</Message></Error>\
                         <RequestId>1</RequestId></ErrorResponse>";
    const JSON: &str = "{\"__type\":\"com.amazon.coral.service#ExpiredTokenException\",\"message\":\"expired\"}";

    fn answer(status: u16, body: &str) -> Answer {
        let date = HeaderValue::from_static("Sun, 30 Aug 2015 12:36:00 GMT");
        let headers = HeaderMap::from_iter([(DATE, date)]);
        Answer { status: StatusCode::from_u16(status).unwrap(), headers, body: body.as_bytes().to_vec() }
    }

    fn code(status: u16, body: &str) -> Option<String> {
        refusal(&answer(status, body)).map(|it| it.code)
    }

    #[test]
    fn each_way_to_write_an_error_is_read() {
        assert_eq!(code(400, EC2).as_deref(), Some("RequestExpired"));
        assert_eq!(code(403, QUERY).as_deref(), Some("ExpiredToken"));
        assert_eq!(code(400, JSON).as_deref(), Some("ExpiredTokenException"));
        let mut by_header = answer(403, "{\"message\":\"no\"}");
        by_header.headers.insert("x-amzn-errortype", HeaderValue::from_static("InvalidSignatureException:http://x/"));
        let read = refusal(&by_header).unwrap();
        assert_eq!((read.code.as_str(), read.is_before_all), ("InvalidSignatureException", true));
        let expected: jiff::Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        assert_eq!(read.date, Some(expected.into()));
    }

    #[test]
    fn what_is_no_word_about_the_signature_is_no_refusal() {
        assert_eq!(code(400, &EC2.replace("RequestExpired", "InvalidInstanceID.NotFound")), None);
        assert_eq!(code(403, &EC2.replace("RequestExpired", "UnauthorizedOperation")), None);
        assert_eq!(code(200, QUERY), None, "the request was carried out");
        assert_eq!(code(503, QUERY), None);
        for body in ["", "ExpiredToken", "<a", "[1]", "{\"__type\":1}", "<Code>ExpiredToken</Code>"] {
            assert_eq!(code(400, body), None, "{body}");
        }
        assert_eq!(code(400, &format!("{QUERY}<!-- {} -->", "a".repeat(ERROR_BYTES))), None);
    }

    #[test]
    fn an_answer_cannot_define_entities() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"ExpiredToken\">]><Response><Error><Code>&b;</Code></Error></Response>";
        assert_eq!(code(400, bomb), None);
    }
}
